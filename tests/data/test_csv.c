// CSV: what records give to each task, by names and by numbers of columns, and what is refused with file, line and remedy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/formats.h"
#include "example_sets.h"
#include "support/check.h"
#include "support/scratch.h"

#define FIELD(name) \
    { name, sizeof name - 1 }
#define NAMED .format = BPT_FORMAT_CSV, .labelled = true, .by_name = true
#define COUNTED .format = BPT_FORMAT_CSV, .labelled = true, .label_column = 1, .text_column = {2, 3}
#define HEAD "label,text\n"

static void records_give_the_examples(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *wanted;
    } cases[] = {
        // Columns by name
        {HEAD "good,a fine  film\nbad,dull\n", {NAMED}, "good: a fine film;bad: dull;"},
        {"\xEF\xBB\xBFid,\"text\", label \r\n1,\"a, b\",x\r\n\r\n2,c,\"y\"\r\n", {NAMED}, "x: a, b;y: c;"},
        {"body,stars,text\n\"a \"\"b\"\"\",5,z", {NAMED, .text_field = {FIELD("body")}, .label_field = FIELD("stars")}, "5: a \"b\";"},
        {"text\na\n\"b\nc\"\n", {.format = BPT_FORMAT_CSV, .by_name = true}, "-: a;-: b c;"},
        {"premise,hypothesis,gold_label\na,\"b\r\nc\",no\n", {NAMED, .texts = 2}, "no: a | b c;"},
        {"score,sentence\n4.5,a\n-1e2,b\n", {NAMED, .numbers = true}, "4.5: a;-100: b;"},
        {"tokens,tags\n\"EU rejects ,\",B-ORG O O\n", {NAMED, .per_token = true}, " EU/B-ORG rejects/O ,/O;"},
        {"words,ner_tags\na b,B-X I-X\n", {NAMED, .per_token = true, .scheme = BPT_SCHEME_BIOES}, " a/B-X b/E-X;"},
        // Columns by number
        {"x,a b\ny,\"c,\n\nd\"\n", {COUNTED}, "x: a b;y: c, d;"},
        {"\"the\nlabel\",text\nx,a\n", {COUNTED, .header = true}, "x: a;"},
        {"x,a,b\n", {COUNTED, .texts = 2}, "x: a | b;"},
        {"1,de,x\n1,en,y\n",
         {.format = BPT_FORMAT_CSV, .labelled = true, .label_column = 1, .text_column = {3}, .where_column = 2, .where = "en"},
         "1: y;"},
        {"a\nb\n", {.format = BPT_FORMAT_CSV, .text_column = {2}}, "-: a;-: b;"},
        {"x,a\n", {.format = BPT_FORMAT_CSV, .text_column = {2}}, "-: a;"},
        {"a b,O X\n", {.format = BPT_FORMAT_CSV, .labelled = true, .per_token = true, .label_column = 2, .text_column = {1}}, " a/O b/X;"},
        // Empty ones
        {HEAD "x,\"\"\ny,a\n", {NAMED, .skip_empty = true}, "y: a;"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) expect_examples(i, cases[i].text, &cases[i].options, cases[i].wanted);
}

static void other_records_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *message;
    } cases[] = {
        // Quotes
        {HEAD "x,a\ny,\"b\nc\nd\n", {NAMED}, "x.txt: line 3: the quote that begins here is not closed"},
        {HEAD "x,\"a\nb\" c\n", {NAMED}, "x.txt: line 3: something other than a comma behind a closing quote"},
        {HEAD "x,a \"b\"\n", {NAMED}, "x.txt: line 2: a quote in a cell that does not begin with one"},
        {HEAD "x,a 5\" b\ny,c\n", {NAMED}, "x.txt: line 2: a quote in a cell that does not begin with one"},
        // Columns
        {HEAD "x,a\ny,b,c\n", {NAMED}, "x.txt: line 3: 3 columns, and line 1 has 2; a text with commas in it stands between quotes"},
        {HEAD "x,\"a\nb\"\ny\n", {NAMED}, "x.txt: line 4: 1 column, and line 1 has 2"},
        {"labels,txt\nx,a\n",
         {NAMED},
         "x.txt: line 1: no column \"text\" for the text: the first line has \"labels\", \"txt\"; --text-field"},
        {"label;text\nx;a\n", {NAMED}, "columns are separated by commas, not semicolons: convert the file"},
        {"label\ttext\nx\ta\n", {NAMED}, "columns between tabs are --format columns"},
        {"x,text\nx,a\n", {NAMED}, "x.txt: line 1: no column \"label\" for the label"},
        {HEAD "x,a\n", {NAMED, .text_field = {FIELD("body")}}, "no column \"body\" for the text"},
        {"label,text,sentence\nx,a,b\n", {NAMED}, "columns 2 and 3 may both be the text; --text-field names a column"},
        {"label,text,text\nx,a,b\n", {NAMED, .text_field = {FIELD("text")}}, "columns 2 and 3 may both be the text"},
        {"x,a\n", {COUNTED, .texts = 2}, "x.txt: line 1: 2 columns, but the text is in column 3; columns are separated by commas"},
        {HEAD "x,a\n", {NAMED, .where_column = 3, .where = "x"}, "x.txt: line 1: 2 columns, but the value of --where is in column 3"},
        // Values
        {HEAD ",a\n", {NAMED}, "x.txt: line 2: the label is empty"},
        {HEAD "x,\" \"\n", {NAMED}, "x.txt: line 2: an empty text; every text needs at least one word; --skip-empty"},
        {HEAD "x,a\n", {NAMED, .numbers = true}, "x.txt: line 2: 'x' in the label column is not a finite number"},
        {HEAD "\"x\ny\",a\n", {NAMED}, "a control character in the label"},
        {"tokens,tags\na b,O\n", {NAMED, .per_token = true}, "x.txt: line 2: 2 tokens and 1 tags; every token needs one tag"},
        {HEAD, {NAMED}, "no example in it"},
    };
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        assert_fails(read_all(cases[i].text, &cases[i].options, BPT_UNIT_WORD, &s), BPT_ERR_INPUT, cases[i].message);
        free_set(&s);
    }
    assert_int_equal(bpt_alloc_live(), live);
}

// Record by record, as they come through a pipe that cuts them anywhere.
static void pieces_give_the_same(void **state) {
    (void)state;
    static const char text[] = "text,x\n\"a\nb\",1\nc,\"2\n\"\n\"d\"\"\",3\n";
    for (size_t cut = 0; cut < sizeof text; ++cut) {
        bpt_csv_columns_t cells = {0};
        const bpt_examples_options_t o = {.format = BPT_FORMAT_CSV, .by_name = true, .cells = &cells};
        bpt_range_t rest = bpt_range_of("x", text, cut), lines;
        bpt_open_tree_t open = {0};
        set_t s = {0};
        assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &s.vocab));
        const bpt_range_t all = bpt_range_of("x", text, sizeof text - 1);
        assert_ok(bpt_examples_scan(&all, &(bpt_examples_options_t){.format = BPT_FORMAT_CSV, .by_name = true}, s.vocab, NULL));
        assert_ok(bpt_vocab_freeze(s.vocab));
        bool more = true;
        for (;;) {
            bpt_lines_t found = bpt_examples_next(&o, &rest, more, &open, &lines);
            if (found == BPT_LINES_TEXT && more && rest.bytes == 0 && lines.data[lines.bytes] != '\n') {  // its line may go on
                rest = lines, found = BPT_LINES_OPEN;
            }
            if (found == BPT_LINES_TEXT) {
                assert_ok(bpt_examples_add(&lines, &o, s.vocab, NULL, &s.examples));
            } else if (more) {
                more = false;
                rest.data = rest.bytes ? rest.data : text + cut;
                rest.bytes = (uint64_t)(text + sizeof text - 1 - rest.data);
            } else {
                break;
            }
        }
        char found[100];
        show(&s, found, sizeof found);
        assert_string_equal(found, "-: a b;-: c;-: d\";");
        free_set(&s);
    }
}

static void expect_running(const char *text, const bpt_running_t *how, const char *wanted, const char *message) {
    bpt_store_t bytes = {0};
    const void *data;
    uint64_t size;
    const bpt_range_t range = bpt_range_of("x.csv", text, strlen(text));
    const bpt_status_t status = bpt_format_of(BPT_FORMAT_CSV)->write_running(&range, how, &bytes);
    if (message) {
        assert_fails(status, BPT_ERR_INPUT, message);
    } else {
        assert_ok(status);
        assert_ok(bpt_store_finish(&bytes, &data, &size));
        assert_int_equal(size, strlen(wanted));
        assert_memory_equal(data, wanted, size);
    }
    bpt_store_free(&bytes);
}

static void running_text_is_a_column(void **state) {
    (void)state;
    const bpt_running_t text = {.format = BPT_FORMAT_CSV, .field = ""}, second = {.format = BPT_FORMAT_CSV, .field = "2"},
                        side = {.format = BPT_FORMAT_CSV, .field = "de", .by_lines = true};
    expect_running("id,text\n1,\"a\nb\"\n2,\"c \"\"d\"\"\"\n", &text, "a\nb\nc \"d\"\n", NULL);
    expect_running("1,a\n2,b\n", &second, "a\nb\n", NULL);
    expect_running("en,de\nx,\"a\r\nb\"\ny,\"\"\nz,c\n", &side, "a  b\n\nc\n", NULL);
    expect_running("en,de\nx\n", &side, NULL, "x.csv: line 2: 1 column, and line 1 has 2");
    expect_running("en,fr\nx,y\n", &side, NULL,
                   "x.csv: line 1: no column \"de\" for the text: the first line has \"en\", \"fr\"; --source or --target");
    expect_running("a\n", &second, NULL, "line 1: 1 column, but the text is in column 2");
}

static void order_is_kept_between_records(void **state) {
    (void)state;
    char text[2000] = HEAD;
    for (int i = 0; i < 40; ++i) sprintf(text + strlen(text), "%c,\"%d\n\"\n", 'a' + i % 3, i);
    const bpt_range_t range = bpt_range_of("x.csv", text, strlen(text));
    const bpt_examples_options_t o = {NAMED};
    bpt_cut_t cut;
    assert_ok(bpt_examples_cut_in_order(&range, &o, &cut));
    assert_int_equal(cut.count, 40);
    for (uint64_t i = 0; i < cut.count; ++i) assert_int_equal(cut.part[i], i < 36 ? BPT_TRAIN : i < 38 ? BPT_VALID : BPT_TEST);
    bpt_free(cut.part);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_give_the_examples),     cmocka_unit_test(other_records_are_refused),
        cmocka_unit_test(pieces_give_the_same),          cmocka_unit_test(running_text_is_a_column),
        cmocka_unit_test(order_is_kept_between_records),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
