// Labelled sequences: label<TAB>text, trees, ids, text without labels; labels.txt.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/batch.h"
#include "data/examples/examples.h"
#include "data/examples/split.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"
#include "text_file.h"

typedef struct {
    bpt_vocab_t *vocab;
    bpt_labels_t labels;
    bpt_examples_t examples;
} set_t;

static bpt_status_t read_set(const bpt_range_t *text, bpt_unit_t unit, const bpt_examples_options_t *options, set_t *set) {
    *set = (set_t){0};
    BPT_TRY(bpt_vocab_create(unit, false, &set->vocab));
    BPT_TRY(bpt_examples_scan(text, options, set->vocab, &set->labels));
    bpt_labels_freeze(&set->labels);
    BPT_TRY(bpt_vocab_freeze(set->vocab));
    return bpt_examples_read(text, options, set->vocab, options->labelled ? &set->labels : NULL, &set->examples);
}

static void free_set(set_t *set) {
    bpt_vocab_destroy(set->vocab);
    bpt_labels_free(&set->labels);
    bpt_examples_free(&set->examples);
}

static bpt_status_t read_text(const char *text, bpt_unit_t unit, bpt_examples_options_t options, set_t *set) {
    const bpt_range_t range = bpt_range_of("x.tsv", text, strlen(text));
    const bpt_status_t status = read_set(&range, unit, &options, set);
    if (status != BPT_OK) free_set(set);
    return status;
}

// "label: word word" of example e.
static const char *shown(const set_t *set, uint64_t e) {
    static char text[512];
    const uint32_t label = set->examples.labels.of[e];
    size_t used = (size_t)snprintf(text, sizeof text, "%s:", label == BPT_NO_LABEL ? "-" : set->labels.name[label]);
    for (uint64_t i = set->examples.offsets[e]; i < set->examples.offsets[e + 1]; ++i) {
        const uint32_t id = set->examples.tokens[i];
        size_t bytes = 0;
        const char *token = bpt_vocab_unit(set->vocab) == BPT_UNIT_IDS ? "" : bpt_vocab_token(set->vocab, id, &bytes);
        used += bytes ? (size_t)snprintf(text + used, sizeof text - used, " %.*s", (int)bytes, token)
                      : (size_t)snprintf(text + used, sizeof text - used, " #%u", id);
    }
    return text;
}

#define MARK "\xEF\xBB\xBF"  // a byte order mark

static void lines_and_trees_give_their_examples(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_unit_t unit;
        bpt_examples_options_t options;
        int n;
        const char *examples[8];
    } cases[] = {
        {"pos\tgood  film !\r\nneg\tbad\n", BPT_UNIT_WORD, {.labelled = true}, 2, {"pos: good film !", "neg: bad"}},
        {"\xEF\xBB\xBF"
         "b b\tx\na\ty",
         BPT_UNIT_WORD,
         {.labelled = true},
         2,
         {"b b: x", "a: y"}},
        {"good film\nbad\n", BPT_UNIT_WORD, {0}, 2, {"-: good film", "-: bad"}},
        {"(3 (2 The) (4 (2 big) (2 -LRB-)))\n(0 no)\n", BPT_UNIT_WORD, {.labelled = true}, 2, {"3: The big -LRB-", "0: no"}},
        {"(3 (2 The) (4 (2 big) (2 cat)))\n",
         BPT_UNIT_WORD,
         {.labelled = true, .subtrees = true},
         5,
         {"2: The", "2: big", "2: cat", "4: big cat", "3: The big cat"}},
        {"(3 (2\vThe\f) (2 big)\v)\f\n", BPT_UNIT_WORD, {.labelled = true}, 1, {"3: The big"}},  // other blanks
        {"(1 \t( 1\n", BPT_UNIT_WORD, {.labelled = true}, 1, {"(1: ( 1"}},                       // a tab: not a tree
        {"(3 (2 The)\n (2 cat))\n\n \n(0 no)\n\n\n", BPT_UNIT_WORD, {.labelled = true}, 2, {"3: The cat", "0: no"}},
        {"(3\n\t(2 The)\r\n  (4 (2 big)\n(2 cat)))\n(0\nno\n)", BPT_UNIT_WORD, {.labelled = true}, 2, {"3: The big cat", "0: no"}},
        {"(3\n  (2 The)\n  (2 cat))\nbig\n(so\nfar)\n(so\ngood",
         BPT_UNIT_WORD,
         {0},
         5,
         {"-: The cat", "-: big", "-: far", "-: (so", "-: good"}},
        {"(ROOT\n (3 (2 a) (1 b)))\n(ROOT c)\n(S (3 a))\n",
         BPT_UNIT_WORD,
         {.labelled = true, .skip_root = true},
         3,
         {"3: a b", "ROOT: c", "S: a"}},
        {"(ROOT\n (3 (2 a) (1 b)))\n",
         BPT_UNIT_WORD,
         {.labelled = true, .skip_root = true, .subtrees = true},
         3,
         {"2: a", "1: b", "3: a b"}},
        {"(ROOT\n (3 (2 a) (1 b)))\n", BPT_UNIT_WORD, {.labelled = true}, 1, {"ROOT: a b"}},
        {"(not a tree\n", BPT_UNIT_WORD, {0}, 1, {"-: (not a tree"}},
        {"(3 (2 The) (4 (2 big) (2 -LRB-)))\nbig\n", BPT_UNIT_WORD, {0}, 2, {"-: The big -LRB-", "-: big"}},
        {"(0 (1 5) (2 6))\n7\n", BPT_UNIT_IDS, {0}, 2, {"-: #5 #6", "-: #7"}},
        {"(good) film\n(so) (so)\n( a b )\n", BPT_UNIT_WORD, {0}, 3, {"-: (good) film", "-: (so) (so)", "-: ( a b )"}},
        {"1\t5 6 7\n0\t8\n", BPT_UNIT_IDS, {.labelled = true}, 2, {"1: #5 #6 #7", "0: #8"}},
        {"5 6 7\n8\n", BPT_UNIT_IDS, {0}, 2, {"-: #5 #6 #7", "-: #8"}},
        {"pos\tx y\n\n", BPT_UNIT_WORD, {.labelled = true, .longest = 2}, 1, {"pos: x y"}},  // an empty last line
        {"\npos\ta\n \r\nneg\tb\n\n\n \n", BPT_UNIT_WORD, {.labelled = true}, 2, {"pos: a", "neg: b"}},
        {"a\n\nb\n", BPT_UNIT_WORD, {0}, 2, {"-: a", "-: b"}},
        {"pos \ta\n pos\tb\nsci fi\tc\n", BPT_UNIT_WORD, {.labelled = true}, 3, {"pos: a", "pos: b", "sci fi: c"}},
        {MARK "pos\ta\n" MARK "pos\tb\n" MARK "\n", BPT_UNIT_WORD, {.labelled = true}, 2, {"pos: a", "pos: b"}},
        {MARK "(1 (2 a)\n(2 b))\n" MARK "(1 c)\n" MARK "1\td\n", BPT_UNIT_WORD, {.labelled = true}, 3, {"1: a b", "1: c", "1: d"}},
        {"label\ttext\npos\ta\n", BPT_UNIT_WORD, {.labelled = true, .header = true}, 1, {"pos: a"}},
        {MARK "label\ttext\r\npos\ta\n", BPT_UNIT_WORD, {.labelled = true, .header = true}, 1, {"pos: a"}},
        {"pos\ta\nneg\t \nneg\tb\n", BPT_UNIT_WORD, {.labelled = true, .skip_empty = true}, 2, {"pos: a", "neg: b"}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t set;
        assert_ok(read_text(cases[i].text, cases[i].unit, cases[i].options, &set));
        assert_int_equal(set.examples.count, cases[i].n);
        for (int e = 0; e < cases[i].n; ++e) assert_string_equal(shown(&set, (uint64_t)e), cases[i].examples[e]);
        assert_int_equal(set.examples.offsets[set.examples.count], set.examples.n_tokens);
        free_set(&set);
    }
}

// Which lines are a tree, as "T:text" and "L:text" one behind the other; read as it is, or as its lines come one by one.
static void take_lines(const char *text, const bpt_examples_options_t *o, bool little_by_little, char *out, size_t bytes) {
    bpt_range_t rest = bpt_range_of("x", text, little_by_little ? 0 : strlen(text)), lines;
    const char *end = text + strlen(text);
    bpt_open_tree_t open = {0};
    size_t used = 0;
    *out = 0;
    for (;;) {
        const bool more = rest.data + rest.bytes < end;
        const bpt_lines_t found = bpt_examples_next(o, &rest, more, &open, &lines);
        if (found == BPT_LINES_NONE && !more) return;
        if (found == BPT_LINES_NONE || found == BPT_LINES_OPEN) {
            const char *next = rest.data + rest.bytes, *newline = strchr(next, '\n');
            rest.bytes += (uint64_t)((newline ? newline + 1 : end) - next);
            continue;
        }
        used += (size_t)snprintf(out + used, bytes - used, "%c%llu:%.*s|", found == BPT_LINES_TREE ? 'T' : 'L',
                                 (unsigned long long)lines.line, (int)lines.bytes, lines.data);
    }
}

static void lines_of_a_tree_belong_together(void **state) {
    (void)state;
    static const bpt_examples_options_t labelled = {.labelled = true}, alone = {0}, trees = {.format = BPT_FORMAT_TREES, .trees = true},
                                        made = {.format = BPT_FORMAT_TREES, .trees = true, .made = BPT_TREES_FLAT},
                                        columns = {.format = BPT_FORMAT_COLUMNS};
    static const struct {
        const char *text;
        const bpt_examples_options_t *options;
        const char *lines;
    } cases[] = {
        {"(1 a)\n(1 (2 a)\n  (2 b))\r\nx\ty\n", &labelled, "T1:(1 a)|T2:(1 (2 a)\n  (2 b))|L4:x\ty|"},
        {"(1\ta\n(2 b)", &labelled, "L1:(1\ta|T2:(2 b)|"},
        {"(1\n\n\t(2 a)\n)\n\n(1 a)", &labelled, "T1:(1\n\n\t(2 a)\n)|L5:|T6:(1 a)|"},
        {"(1 (2 a)\n(1 b)\n", &labelled, "T1:(1 (2 a)\n(1 b)|"},
        {"(1 a))\n(1 b) (1\n c)\n", &labelled, "T1:(1 a))|T2:(1 b) (1\n c)|"},
        {"(1\n (2 a)\n (2 b))\n(2 c)", &alone, "T1:(1\n (2 a)\n (2 b))|T4:(2 c)|"},
        {"(nice\nfilm\n", &alone, "L1:(nice|L2:film|"},
        {"(nice\nfilm)\n", &alone, "T1:(nice\nfilm)|"},
        {"(nice\n\nfilm)\n", &alone, "L1:(nice|L2:|L3:film)|"},
        {"(nice film\n(a b)\n)", &alone, "L1:(nice film|T2:(a b)|L3:)|"},
        {"(a (b c)\n (d e) f)\n", &alone, "L1:(a (b c)|L2: (d e) f)|"},
        {"(a (b c)\n (d e)) f\n", &alone, "L1:(a (b c)|L2: (d e)) f|"},
        {"(a b c)\n", &alone, "L1:(a b c)|"},
        {"(a b c)\n(a\n b c)\n(so) x\n", &made, "T1:(a b c)|L2:(a|L3: b c)|L4:(so) x|"},
        {"(a\n b\tc)\n()\nx\n((\n", &trees, "T1:(a\n b\tc)|T3:()|L4:x|T5:((|"},
        {"(1\ta\n(2\n", &columns, "L1:(1\ta|L2:(2|"},
    };
    for (size_t i = 0; i < 2 * BPT_COUNT(cases); ++i) {
        char lines[512];
        take_lines(cases[i / 2].text, cases[i / 2].options, i % 2, lines, sizeof lines);
        if (strcmp(lines, cases[i / 2].lines)) fail_msg("case %zu: '%s', wanted '%s'", i / 2, lines, cases[i / 2].lines);
    }
}

static void broken_lines_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_unit_t unit;
        bpt_examples_options_t options;
        const char *message;
    } cases[] = {
        {"pos\ta\nno label here\n", BPT_UNIT_WORD, {.labelled = true}, "x.tsv: line 2: no tab"},
        {"pos\ta\n\tb\n", BPT_UNIT_WORD, {.labelled = true}, "line 2: the label is empty"},
        {"pos\ta\npos\t \n", BPT_UNIT_WORD, {.labelled = true}, "line 2: no text"},
        {"pos\ta\tb\n", BPT_UNIT_WORD, {.labelled = true}, "line 1: more than one tab"},
        {"pos\ta b c\n", BPT_UNIT_WORD, {.labelled = true, .longest = 2}, "line 1: 3 tokens, more than"},
        {"p\x01s\ta\n", BPT_UNIT_WORD, {.labelled = true}, "line 1: a control character in the label"},
        {"pos\ta\npos\t\xFF\n", BPT_UNIT_WORD, {.labelled = true}, "line 2, byte 10: not valid UTF-8"},
        {"pos\ta\n\xFF\ta\n", BPT_UNIT_IDS, {.labelled = true}, "line 2, byte 6: not valid UTF-8"},
        {"1\t5 six\n", BPT_UNIT_IDS, {.labelled = true}, "line 1: 'six' is not a token id"},
        {"\n", BPT_UNIT_WORD, {0}, "x.tsv: no example in it"},
        {" \t\n", BPT_UNIT_WORD, {.labelled = true}, "line 1: the label is empty"},
        {"pos\t\n",
         BPT_UNIT_WORD,
         {.labelled = true},
         "line 1: no text; every example needs at least one word; --skip-empty leaves out such lines"},
        {"label\ttext\n", BPT_UNIT_WORD, {.labelled = true, .header = true}, "no example in it"},
        {"(1 a)\n(1 (1 a)\n (2 b)\n(1 a)\n", BPT_UNIT_WORD, {.labelled = true}, "line 2: brackets are not closed"},
        {"(1 a)\n(1 (1 a)\n (2 b c))\n(1 a)\n", BPT_UNIT_WORD, {.labelled = true}, "line 2: two words or a word behind"},
        {"(1 a)\n(1 (1 a) (2 b)\n", BPT_UNIT_WORD, {.labelled = true}, "line 2: brackets are not closed"},
        {"(1 a))\n", BPT_UNIT_WORD, {.labelled = true}, "line 1: text behind the end of the tree"},
        {"(1 a) (2 b)\n", BPT_UNIT_WORD, {.labelled = true}, "text behind the end of the tree"},
        {"( (S a))\n", BPT_UNIT_WORD, {.labelled = true}, "a bracket without a label"},
        {"(1)\n", BPT_UNIT_WORD, {.labelled = true}, "a bracket without a word"},
        {"(1 (2))\n", BPT_UNIT_WORD, {.labelled = true}, "a bracket without a word"},
        {"(1 a b)\n", BPT_UNIT_WORD, {.labelled = true}, "two words or a word behind a bracket"},
        {"(1 (2 a) b)\n", BPT_UNIT_WORD, {.labelled = true}, "two words or a word behind a bracket"},
        {"(1 a (2 b))\n", BPT_UNIT_WORD, {.labelled = true}, "a bracket behind a word"},
        {"(", BPT_UNIT_WORD, {.labelled = true}, "a bracket without a label"},
    };
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t set;
        assert_fails(read_text(cases[i].text, cases[i].unit, cases[i].options, &set), BPT_ERR_INPUT, cases[i].message);
    }
    assert_int_equal(bpt_alloc_live(), live);
}

static void deep_trees_need_no_deep_stack(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH * 4 + 2);
    for (int i = 0; i < DEPTH; ++i) memcpy(text + 3 * i, i + 1 < DEPTH ? "(1 " : "(2 ", 3);
    memset(text + 3 * DEPTH, 'w', 1);
    memset(text + 3 * DEPTH + 1, ')', DEPTH);
    text[4 * DEPTH + 1] = 0;
    set_t set;
    assert_ok(read_text(text, BPT_UNIT_WORD, (bpt_examples_options_t){.labelled = true}, &set));
    assert_int_equal(set.examples.count, 1);
    assert_string_equal(shown(&set, 0), "1: w");
    free_set(&set);
    free(text);
}

static void labels_are_sorted_and_must_be_known(void **state) {
    (void)state;
    set_t set;
    assert_ok(read_text("b\tx\n10\tx\na\tx\n9\tx\nb\ty\n", BPT_UNIT_WORD, (bpt_examples_options_t){.labelled = true}, &set));
    static const char *const sorted[] = {"10", "9", "a", "b"};
    assert_int_equal(set.labels.count, 4);
    for (size_t i = 0; i < 4; ++i) assert_string_equal(set.labels.name[i], sorted[i]);
    assert_true(set.examples.labels.of[0] == 3 && set.examples.labels.of[1] == 0 && set.examples.labels.of[4] == 3);
    bpt_examples_t valid;
    const bpt_range_t text = bpt_range_of("valid.tsv", "a\tx\nc\tx\n", 8);
    const bpt_examples_options_t options = {.labelled = true};
    assert_fails(bpt_examples_read(&text, &options, set.vocab, &set.labels, &valid), BPT_ERR_INPUT,
                 "valid.tsv: line 2: label 'c' is not one of the 4");
    free_set(&set);
}

static void labels_txt_reads_back(void **state) {
    (void)state;
    set_t set;
    bpt_labels_t again;
    const char *path = test_path("labels.txt");
    assert_ok(read_text("very good\tx\nbad\tx\n\xC3\xA9\tx\n", BPT_UNIT_WORD, (bpt_examples_options_t){.labelled = true}, &set));
    assert_ok(bpt_labels_write(&set.labels, path));
    size_t length;
    char *file = test_read_file(path, &length);
    assert_string_equal(file, "bad\nvery good\n\xC3\xA9\n");
    free(file);
    assert_ok(labels_of_file(path, &again));
    assert_int_equal(again.count, 3);
    for (size_t i = 0; i < 3; ++i) assert_string_equal(again.name[i], set.labels.name[i]);
    bpt_labels_free(&again);
    free_set(&set);
    static const struct {
        const char *text, *message;
    } bad[] = {{"a\na\n", "line 2: this label is there twice"},
               {"b\na\n", "line 2: labels must be sorted"},
               {"a\n\nb\n", "line 2: a label cannot be empty"},
               {"a\tb\n", "line 1: a control character"}};
    for (size_t i = 0; i < BPT_COUNT(bad); ++i) {
        test_write_file(path, bad[i].text, strlen(bad[i].text));
        assert_fails(labels_of_file(path, &again), BPT_ERR_INPUT, bad[i].message);
    }
}

static void placeholders_stand_in_front_of_every_text(void **state) {
    (void)state;
    static const char lines[] = "yes\ta b c\nno\tb\n";
    const bpt_range_t text = bpt_range_of("x.tsv", lines, strlen(lines));
    const bpt_examples_options_t plain = {.labelled = true};
    const bpt_examples_options_t with_ngrams = {.labelled = true, .ngram_min = 2, .ngram_max = 3, .ngram_rows = 50};
    for (int ngrams = 0; ngrams < 2; ++ngrams) {
        set_t before, after;
        assert_ok(read_set(&text, BPT_UNIT_WORD, ngrams ? &with_ngrams : &plain, &before));
        assert_ok(read_set(&text, BPT_UNIT_WORD, ngrams ? &with_ngrams : &plain, &after));
        assert_ok(bpt_examples_shift(&after.examples, 0));
        assert_int_equal(after.examples.n_tokens, 4);
        assert_ok(bpt_examples_shift(&after.examples, 2));
        const bpt_examples_t *a = &before.examples, *b = &after.examples;
        assert_int_equal(b->n_tokens, 8);
        assert_true(b->offsets[0] == 0 && b->offsets[1] == 5 && b->offsets[2] == 8);
        for (uint64_t t = 0; t < 2; ++t)
            for (uint64_t i = b->offsets[t]; i < b->offsets[t + 1]; ++i) {
                const bool placeholder = i < b->offsets[t] + 2;
                const uint64_t from = i - 2 * (t + 1);
                assert_int_equal(b->tokens[i], placeholder ? BPT_PLACEHOLDER : a->tokens[from]);
                if (!ngrams) continue;
                const uint64_t count = b->bags.offsets[i + 1] - b->bags.offsets[i];
                assert_int_equal(count, placeholder ? 0 : a->bags.offsets[from + 1] - a->bags.offsets[from]);
                if (!placeholder) assert_int_equal(b->bags.offsets[i], a->bags.offsets[from]);
            }
        free_set(&before);
        free_set(&after);
    }
    bpt_examples_t tags = {.labels.per_token = true}, vectors = {.vectors = {.has = true, .columns = 3}};
    assert_fails(bpt_examples_shift(&tags, 1), BPT_ERR_USAGE, "no label");
    assert_fails(bpt_examples_shift(&vectors, 1), BPT_ERR_USAGE, "no vector");
}

static void failing_memory_leaks_nothing(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    for (size_t nth = 1;; ++nth) {
        set_t set;
        bpt_alloc_fail_after(nth);
        const bpt_status_t status = read_text("(3 (2 The) (4 (2 big) (2 cat)))\npos\tx y\n", BPT_UNIT_WORD,
                                              (bpt_examples_options_t){.labelled = true, .subtrees = true}, &set);
        bpt_alloc_fail_after(0);
        if (status == BPT_OK) free_set(&set);
        assert_int_equal(bpt_alloc_live(), live);
        if (status == BPT_OK) break;
        assert_int_equal(status, BPT_ERR_NO_MEMORY);
    }
}

static void published_counts_of_sst_are_met(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    static const struct {
        const char *folder;
        bool subtrees;
        int part;
        uint64_t examples;
    } cases[] = {
        {"sst-trees", false, BPT_TRAIN, 8544}, {"sst-trees", true, BPT_TRAIN, 318582}, {"sst-trees", false, BPT_VALID, 1101},
        {"sst-trees", false, BPT_TEST, 2210},  {"sst5", false, BPT_TRAIN, 8544},       {"imdb", false, BPT_TEST, 5000},
    };
    uint64_t tokens[2] = {0};  // of the sentences in both forms
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char path[512];
        set_t set;
        bpt_split_t split;
        snprintf(path, sizeof path, "%s/data/%s", test_shared_dir(), cases[i].folder);
        assert_ok(bpt_split_open(BPT_ONE_PATH(path), BPT_UNIT_WORD, true, &split));
        const bpt_examples_options_t options = {.labelled = true, .subtrees = cases[i].subtrees};
        assert_ok(read_set(&split.part[cases[i].part], BPT_UNIT_WORD, &options, &set));
        assert_int_equal(set.examples.count, cases[i].examples);
        assert_int_equal(set.labels.count, !strcmp(cases[i].folder, "imdb") ? 2 : 5);
        if (i == 0 || i == 4) tokens[i / 4] = set.examples.n_tokens;
        free_set(&set);
        bpt_split_close(&split);
    }
    assert_int_equal(tokens[0], tokens[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_trees_give_their_examples),
        cmocka_unit_test(lines_of_a_tree_belong_together),
        cmocka_unit_test(broken_lines_are_named),
        cmocka_unit_test(deep_trees_need_no_deep_stack),
        cmocka_unit_test(labels_are_sorted_and_must_be_known),
        cmocka_unit_test(labels_txt_reads_back),
        cmocka_unit_test(placeholders_stand_in_front_of_every_text),
        cmocka_unit_test(failing_memory_leaks_nothing),
        cmocka_unit_test(published_counts_of_sst_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
