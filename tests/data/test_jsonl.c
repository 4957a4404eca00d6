// JSON lines: what their fields give to each task, and what is refused with file, line and remedy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/cut.h"
#include "example_sets.h"
#include "support/check.h"
#include "support/scratch.h"

#define FIELD(name) \
    { name, sizeof name - 1 }
#define JSONL .format = BPT_FORMAT_JSONL, .labelled = true
#define PAIR JSONL, .texts = 2
#define TAGS JSONL, .per_token = true
#define MARK "\xEF\xBB\xBF"

static void fields_give_the_examples(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *wanted;
    } cases[] = {
        // Names of fields
        {"{\"text\": \"a fine  film\", \"label\": \"good\"}\n{\"label\": \"bad\", \"text\": \"dull\"}\n",
         {JSONL},
         "good: a fine film;bad: dull;"},
        {"{\"sentence\": \"a b\", \"label\": 1, \"idx\": 7, \"more\": {\"text\": [1, null]}}", {JSONL}, "1: a b;"},
        {"{\"body\": \"a b\", \"stars\": 5, \"text\": \"x\", \"label\": \"y\"}",
         {JSONL, .text_field = {FIELD("body")}, .label_field = FIELD("stars")},
         "5: a b;"},
        {"{\"text\": \"a\"}\n{\"text\": \"b\", \"label\": {}}\n", {.format = BPT_FORMAT_JSONL}, "-: a;-: b;"},
        {"{\"sentence1\": \"a b\", \"sentence2\": \"c\", \"label\": \"yes\"}", {PAIR}, "yes: a b | c;"},
        {"{\"premise\": \"a\", \"hypothesis\": \"c d\", \"gold_label\": \"no\", \"label_id\": 3}", {PAIR}, "no: a | c d;"},
        {"{\"x\": \"a\", \"y\": \"b\", \"label\": 0}", {PAIR, .text_field = {FIELD("y"), FIELD("x")}}, "0: b | a;"},
        {"{\"tokens\": [\"EU\", \"rejects\"], \"ner_tags\": [\"B-ORG\", \"O\"], \"pos_tags\": [1, 2]}", {TAGS}, " EU/B-ORG rejects/O;"},
        {"{\"words\": [\"New York\", \" b \"], \"tags\": [3, 0]}", {TAGS}, " New York/3 b/0;"},
        {"{\"tokens\": [1, -2], \"labels\": [\"O\", \"X\"]}", {TAGS}, " 1/O -2/X;"},
        {"{\"tokens\": [\"a\"]}\n{\"tokens\": [\"b\"], \"tags\": 3}", {.format = BPT_FORMAT_JSONL, .per_token = true}, " a/-; b/-;"},
        {"{\"tokens\": [\"a\", \"b\"], \"tags\": [\"B-X\", \"I-X\"]}", {TAGS, .scheme = BPT_SCHEME_BIOES}, " a/B-X b/E-X;"},
        // Labels and numbers
        {"{\"text\": \"a\", \"label\": \" very good \"}\n{\"text\": \"b\", \"label\": true}\n{\"text\": \"c\", \"label\": 2.0}\n"
         "{\"text\": \"d\", \"label\": -0.0}\n{\"text\": \"e\", \"label\": -9007199254740993}\n",
         {JSONL},
         "very good: a;true: b;2: c;0: d;-9007199254740993: e;"},
        {"{\"text\": \"a\", \"score\": 4.5}\n{\"text\": \"b\", \"label\": -3}\n{\"text\": \"c\", \"label\": \" 1e-2 \"}\n",
         {JSONL, .numbers = true},
         "4.5: a;-3: b;0.01: c;"},
        // Strings
        {"{\"text\": \"tab\\there\\nline\\\\ \\\"q\\\" \\/ \\u0041\\u00e9\", \"label\": \"a\\u0062\"}",
         {JSONL},
         "ab: tab here line\\ \"q\" / A\xC3\xA9;"},
        {"{\"text\": \"\\uD83D\\uDE00 \xF0\x9F\x98\x80\", \"label\": 1}", {JSONL}, "1: \xF0\x9F\x98\x80 \xF0\x9F\x98\x80;"},
        {"{\"te\\u0078t\": \"a\", \"l\xC3\xA4\": 1}", {JSONL, .label_field = FIELD("l\xC3\xA4")}, "1: a;"},
        // Lines
        {MARK "{\"text\": \"a\", \"label\": 1}\r\n\n \t \n" MARK " {\"text\" : \"b\",\t\"label\":2 } \r\n", {JSONL}, "1: a;2: b;"},
        // What is left out because it is asked for
        {"{\"text\": \"\", \"label\": 1}\n{\"text\": null, \"label\": 1}\n{\"text\": \" \\n\", \"label\": 1}\n{\"text\": \"a\", \"label\": "
         "1}",
         {JSONL, .skip_empty = true},
         "1: a;"},
        {"{\"tokens\": [], \"tags\": []}\n{\"tokens\": [\"a\"], \"tags\": [\"O\"]}", {TAGS, .skip_empty = true}, " a/O;"},
        {"{\"text\": \"a , b c\", \"label\": 1}", {JSONL, .strip_punctuation = true, .truncate = 2}, "1: a b;"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) expect_examples(i, cases[i].text, &cases[i].options, cases[i].wanted);
    assert_int_equal(bpt_alloc_live(), 0);
}

static void bad_lines_are_refused_with_their_line(void **state) {
    (void)state;
#define GOOD "{\"text\": \"a\", \"label\": 1}\n"
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *message;
    } cases[] = {
        {"", {JSONL}, "no example in it"},
        {GOOD "\n{\"text\": \"a\" \"label\": 1}\n", {JSONL}, "x.txt: line 3, column 20: not valid JSON"},
        {GOOD "{\n\"text\": \"a\",\n\"label\": 1}\n", {JSONL}, "line 2, column 1: not valid JSON"},
        {GOOD "{\n", {JSONL}, "a line holds one whole object"},
        {GOOD "a\tb\n", {JSONL}, "line 2, column 1: not valid JSON"},
        {GOOD GOOD "{\"text\": \"a\", \"label\": 1} {}\n", {JSONL}, "line 3, column 27: not valid JSON"},
        {"[" GOOD "]", {JSONL}, "line 1"},
        {"[{\"text\": \"a\", \"label\": 1}]", {JSONL}, "line 1: a list where an object is expected"},
        {"[{\"text\": \"a\", \"label\": 1}]", {JSONL}, "jq -c '.[]'"},
        {"\"text\"", {JSONL}, "line 1"},
        {"{\"text\": \"a\", \"text\": \"b\", \"label\": 1}", {JSONL}, "duplicate object key"},
        {"{\"text\": \"a\", \"label\": 1, \"x\": NaN}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\", \"label\": 1e999}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\", \"label\": 99999999999999999999}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\\uD83D b\", \"label\": 1}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\\uDE00\", \"label\": 1}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\\u0000\", \"label\": 1}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\\x\", \"label\": 1}", {JSONL}, "not valid JSON"},
        {"{\"text\": \"a\xFF\", \"label\": 1}", {JSONL}, "UTF-8"},
        // Fields
        {GOOD "{\"txt\": \"a\", \"label\": 1}",
         {JSONL},
         "line 2: no field \"text\" for the text: the line has \"txt\", \"label\"; --text-field names the field"},
        {"{\"text\": \"a\"}", {JSONL}, "no field \"label\" for the label: the line has \"text\"; --label-field names the field"},
        {"{}", {JSONL}, "the line has no fields; --label-field"},
        {"{\"text\": \"a\", \"label\": 1}", {JSONL, .text_field = {FIELD("tex")}}, "no field \"tex\" for the text"},
        {"{\"text\": \"a\", \"label\": 1}", {JSONL, .text_field = {FIELD("texts")}}, "no field \"texts\" for the text"},
        {"{\"text\": \"a\", \"sentence\": \"b\", \"label\": 1}", {JSONL}, "both \"text\" and \"sentence\" may be the text; --text-field"},
        {"{\"text\": \"a\", \"label\": 1, \"score\": 2}", {JSONL}, "both \"label\" and \"score\" may be the label; --label-field"},
        {"{\"text\": \"a\", \"label\": 1}", {PAIR}, "no field \"sentence1\" for the first text"},
        {"{\"premise\": \"a\", \"label\": 1}", {PAIR}, "no field \"sentence2\" for the second text"},
        // Values
        {"{\"text\": 5, \"label\": 1}", {JSONL}, "line 1: field \"text\" is no text"},
        {"{\"text\": [\"a\"], \"label\": 1}", {JSONL}, "field \"text\" is no text"},
        {"{\"text\": {\"a\": \"b\"}, \"label\": 1}", {JSONL}, "field \"text\" is no text"},
        {"{\"text\": \"a\", \"label\": [1]}", {JSONL}, "field \"label\" is no label; a label is a text or a number"},
        {"{\"text\": \"a\", \"label\": null}", {JSONL}, "field \"label\" is no label"},
        {"{\"text\": \"a\", \"label\": \" \"}", {JSONL}, "field \"label\" is empty"},
        {"{\"text\": \"a\", \"label\": 0.5}", {JSONL}, "field \"label\" is a fraction"},
        {"{\"text\": \"a\", \"label\": 1e300}", {JSONL}, "field \"label\" is a fraction"},
        {"{\"text\": \"a\", \"label\": \"x\\ny\"}", {JSONL}, "a control character in the label"},
        {"{\"text\": \"a\", \"label\": \"x\"}", {JSONL, .numbers = true}, "field \"label\" is not a finite number"},
        {"{\"text\": \"a\", \"label\": \"nan\"}", {JSONL, .numbers = true}, "field \"label\" is not a finite number"},
        {"{\"text\": \"a\", \"label\": 1e39}", {JSONL, .numbers = true}, "field \"label\" is not a finite number"},
        {"{\"text\": \"a\", \"label\": true}", {JSONL, .numbers = true}, "field \"label\" is no label"},
        {"{\"text\": \"\", \"label\": 1}", {JSONL}, "line 1: an empty text; every text needs at least one word; --skip-empty leaves out"},
        {"{\"text\": null, \"label\": 1}", {JSONL}, "line 1: an empty text"},
        {"{\"sentence1\": \"a\", \"sentence2\": \" \", \"label\": 1}", {PAIR}, "line 1: an empty text"},
        // Lists
        {"{\"tokens\": \"a b\", \"tags\": []}", {TAGS}, "field \"tokens\" is no list"},
        {"{\"tokens\": [\"a\"], \"tags\": \"O\"}", {TAGS}, "field \"tags\" is no list"},
        {"{\"tokens\": [\"a\", \"b\"], \"tags\": [\"O\"]}", {TAGS}, "line 1: 2 tokens and 1 tags; every token needs one tag"},
        {"{\"tokens\": [\"a\", \"\"], \"tags\": [\"O\", \"O\"]}", {TAGS}, "field \"tokens\" has an empty element"},
        {"{\"tokens\": [\"a\"], \"tags\": [\" \"]}", {TAGS}, "field \"tags\" has an empty element"},
        {"{\"tokens\": [\"a\\nb\"], \"tags\": [\"O\"]}", {TAGS}, "field \"tokens\" has an element with a line break"},
        {"{\"tokens\": [[\"a\"]], \"tags\": [\"O\"]}", {TAGS}, "has an element that is neither a text nor a whole number"},
        {"{\"tokens\": [\"a\"], \"tags\": [0.5]}", {TAGS}, "has an element that is neither a text nor a whole number"},
        {"{\"tokens\": [], \"tags\": []}", {TAGS}, "line 1: no tokens"},
        {"{\"tokens\": [\"a\"], \"tags\": [\"B-X\"]}\n{\"tokens\": [\"a\"], \"tags\": [\"X\"]}",
         {TAGS, .scheme = BPT_SCHEME_BIOES},
         "x.txt: line 2: tag 'X' does not fit the tags before it"},
        {"{\"text\": \"a b c\", \"label\": 1}", {JSONL, .longest = 2}, "line 1: 3 tokens, more than --max-length 2"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        const bpt_status_t status = read_all(cases[i].text, &cases[i].options, BPT_UNIT_WORD, &s);
        if (status != BPT_ERR_INPUT || !strstr(bpt_error_message(), cases[i].message))
            fail_msg("case %zu: status %d, '%s', wanted '%s'", i, (int)status, status ? bpt_error_message() : "", cases[i].message);
        free_set(&s);
    }
    assert_int_equal(bpt_alloc_live(), 0);
}

// Objects in objects without end, and a field of many bytes.
static void deep_and_long_lines_end_with_a_sentence(void **state) {
    (void)state;
    enum { DEEP = 100000 };
    const bpt_examples_options_t o = {JSONL};
    char *text;
    set_t s;
    assert_ok(bpt_alloc(6 * DEEP + 100, 1, &text));
    for (int i = 0; i < DEEP; ++i) memcpy(text + 5 * i, "{\"a\":", 5);
    assert_fails(read_bytes(text, 5 * DEEP, &o, BPT_UNIT_WORD, &s), BPT_ERR_INPUT, "not valid JSON");
    free_set(&s);
    size_t used = (size_t)sprintf(text, "{\"label\": 1, \"text\": \"");
    for (int i = 0; i < DEEP; ++i) memcpy(text + used + 2 * i, "w ", 2);
    used += 2 * DEEP + (size_t)sprintf(text + used + 2 * DEEP, "\"}\n");
    assert_ok(read_bytes(text, used, &o, BPT_UNIT_WORD, &s));
    assert_int_equal(s.examples.n_tokens, DEEP);
    free_set(&s);
    bpt_free(text);
}

// No line of it is suspected of being a header, and each example is in one part.
static void passes_that_keep_nothing_read_it_too(void **state) {
    (void)state;
    static char text[40 * 60];
    size_t used = 0;
    for (int i = 0; i < 40; ++i)
        used += (size_t)sprintf(text + used, "{\"text\": \"text %d\", \"label\": \"%s\"}\n\n", i, i ? i % 2 ? "a" : "b" : "label");
    const bpt_range_t range = bpt_range_of("x.jsonl", text, used);
    bpt_examples_options_t o = {JSONL};
    bpt_cut_t cut;
    bpt_header_t header;
    bpt_shown_t label;
    assert_ok(bpt_examples_check_header(&range, &o, NULL, &header, &label));
    assert_int_equal(header, BPT_HEADER_NONE);
    assert_ok(bpt_examples_cut(&range, &o, 1, &cut));
    assert_int_equal(cut.count, 40);
    bpt_free(cut.part);
}

// ---- Running text

static void texts_of_the_lines_are_one_text(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        bpt_running_t how;
        const char *wanted;
    } cases[] = {
        {MARK "{\"text\": \"a b\"}\r\n\n{\"id\": 1, \"text\": \"c\\n\\nd \\u00e9\"}",
         {.format = BPT_FORMAT_JSONL},
         "a b\nc\n\nd \xC3\xA9\n"},
        {"{\"body\": \"a\", \"text\": \"x\"}\n{\"body\": null}\n", {.format = BPT_FORMAT_JSONL, .field = "body"}, "a\n\n"},
        {"{\"en\": \"a\\nb\\r\"}\n\n{\"translation\": {\"en\": \"\", \"de\": \"x\"}}\n",
         {.format = BPT_FORMAT_JSONL, .field = "en", .by_lines = true},
         "a b \n\n\n"},
        {"{\"text\": \"a\"}\n", {.format = BPT_FORMAT_TEXT}, "{\"text\": \"a\"}\n"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_text_t *text;
        test_write_file(test_path("lines"), cases[i].lines, strlen(cases[i].lines));
        assert_ok(bpt_running_open(BPT_ONE_PATH(test_path("lines")), &cases[i].how, &text));
        const bpt_range_t range = bpt_text_range(text);
        assert_int_equal(range.bytes, strlen(cases[i].wanted));
        assert_memory_equal(range.data, cases[i].wanted, range.bytes);
        bpt_text_close(text);
    }
}

// More than a block of lines, each with its number.
static void long_files_are_read_in_blocks(void **state) {
    (void)state;
    enum { LINES = 70000 };
    char *lines;
    size_t used = 0;
    bpt_text_t *text;
    const bpt_running_t how = {.format = BPT_FORMAT_JSONL};
    assert_ok(bpt_alloc(LINES * 40, 1, &lines));
    for (int i = 0; i < LINES; ++i) used += (size_t)sprintf(lines + used, "{\"n\": %d, \"text\": \"w%d\"}\n", i, i);
    test_write_file(test_path("long"), lines, used);
    assert_ok(bpt_running_open(BPT_ONE_PATH(test_path("long")), &how, &text));
    bpt_range_t rest = bpt_text_range(text), line;
    for (int i = 0; i < LINES; ++i) {
        char wanted[16];
        const size_t n = (size_t)sprintf(wanted, "w%d", i);
        assert_true(bpt_range_next_line(&rest, &line) && line.bytes == n && !memcmp(line.data, wanted, n));
    }
    assert_int_equal(rest.bytes, 0);
    bpt_text_close(text);
    memcpy(lines + used - 4, "\\x", 2);
    test_write_file(test_path("long"), lines, used);
    assert_fails(bpt_running_open(BPT_ONE_PATH(test_path("long")), &how, &text), BPT_ERR_INPUT, "long: line 70000, column");
    bpt_free(lines);
}

static void lines_without_the_text_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *lines, *message;
        bpt_running_t how;
    } cases[] = {
        {"{\"text\": \"a\"}\n{\"txt\": \"b\"}\n", "line 2: no field \"text\" for the text: the line has \"txt\"; --text-field", {0}},
        {"{\"text\": 1}\n", "line 1: field \"text\" is no text", {0}},
        {"{\"text\": [\"a\"]}\n", "line 1: field \"text\" is no text", {0}},
        {"[1]\n", "line 1: a list where an object is expected", {0}},
        {"text\n", "line 1, column 4: not valid JSON", {0}},
        {"\n \n", "is empty", {0}},
        {"{\"text\": \"\xFF\"}\n", "UTF-8", {0}},
        {"{\"translation\": {\"en\": \"a\"}}\n",
         "no field \"fr\" for the text: the line has \"en\"; --source or --target",
         {.field = "fr", .by_lines = true}},
        {"{\"en\": \"a\", \"translation\": [1]}\n", "no field \"fr\" for the text", {.field = "fr", .by_lines = true}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_text_t *text;
        bpt_running_t how = cases[i].how;
        how.format = BPT_FORMAT_JSONL;
        test_write_file(test_path("bad"), cases[i].lines, strlen(cases[i].lines));
        assert_fails(bpt_running_open(BPT_ONE_PATH(test_path("bad")), &how, &text), BPT_ERR_INPUT, cases[i].message);
    }
    assert_int_equal(bpt_alloc_live(), 0);
}

static void the_name_of_a_file_says_its_format(void **state) {
    (void)state;
    static const struct {
        const char *path;
        bool known;
    } cases[] = {{"a/train.jsonl", true}, {"b.ndjson", true}, {"x.json", false}, {"jsonl", false},
                 {".jsonl", false},       {"-", false},       {"x.tsv", false}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_format_id_t format;
        assert_int_equal(bpt_format_of_file(cases[i].path, &format), cases[i].known);
        if (cases[i].known) assert_int_equal(format, BPT_FORMAT_JSONL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_give_the_examples),
        cmocka_unit_test(bad_lines_are_refused_with_their_line),
        cmocka_unit_test(deep_and_long_lines_end_with_a_sentence),
        cmocka_unit_test(passes_that_keep_nothing_read_it_too),
        cmocka_unit_test(texts_of_the_lines_are_one_text),
        cmocka_unit_test(long_files_are_read_in_blocks),
        cmocka_unit_test(lines_without_the_text_are_refused),
        cmocka_unit_test(the_name_of_a_file_says_its_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
