// One file of examples in three parts: each part is like the whole, whatever the order of the file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/strbuf.h"
#include "data/examples/examples.h"
#include "support/check.h"
#include "support/scratch.h"

enum { MOST_CLASSES = 64 };

typedef struct {
    uint64_t of_part[BPT_PARTS], of_class[BPT_PARTS][MOST_CLASSES];
} tally_t;

// The classes of a file that is sorted by them.
static tally_t cut_sorted(const uint64_t *counts, size_t classes, uint64_t seed) {
    uint32_t class[20000];
    uint64_t n = 0;
    bpt_cut_t cut;
    tally_t t = {0};
    for (size_t c = 0; c < classes; ++c)
        for (uint64_t i = 0; i < counts[c]; ++i) class[n++] = (uint32_t)c;
    assert_ok(bpt_cut_make("x", n, class, classes, seed, &cut));
    assert_int_equal(cut.count, n);
    for (uint64_t i = 0; i < n; ++i) {
        ++t.of_part[cut.part[i]];
        ++t.of_class[cut.part[i]][class[i]];
    }
    bpt_free(cut.part);
    return t;
}

static void every_class_has_its_share_of_every_part(void **state) {
    (void)state;
    const uint64_t two[] = {500, 500}, skewed[] = {9000, 900, 100}, small[] = {10, 10}, many[] = {3, 3, 4, 4, 6, 10, 30};
    tally_t t = cut_sorted(two, 2, 1);
    assert_int_equal(t.of_part[BPT_TRAIN], 900);
    assert_int_equal(t.of_class[BPT_VALID][0], 25);
    assert_int_equal(t.of_class[BPT_TEST][1], 25);
    t = cut_sorted(skewed, 3, 1);
    assert_int_equal(t.of_part[BPT_VALID], 500);
    assert_int_equal(t.of_class[BPT_VALID][0], 450);
    assert_int_equal(t.of_class[BPT_VALID][1], 45);
    assert_int_equal(t.of_class[BPT_TEST][2], 5);
    t = cut_sorted(small, 2, 1);  // 5 % is one example: a part grows to have both classes
    for (int p = 0; p < BPT_PARTS; ++p) assert_true(t.of_class[p][0] && t.of_class[p][1]);
    assert_int_equal(t.of_part[BPT_TRAIN], 16);
    t = cut_sorted(many, 7, 1);  // a tenth is six examples: the largest classes are in all parts
    assert_int_equal(t.of_part[BPT_VALID], 6);
    for (int p = 0; p < BPT_PARTS; ++p) assert_true(t.of_class[p][6] && t.of_class[p][5] && t.of_class[p][4]);
    for (int c = 0; c < 7; ++c) assert_true(t.of_class[BPT_TRAIN][c]);
}

static void parts_have_the_sizes_of_a_cut_in_order(void **state) {
    (void)state;
    for (uint64_t n = 3; n < 300; ++n) {
        uint64_t begin[BPT_PARTS + 1], of_part[BPT_PARTS] = {0};
        bpt_cut_t cut;
        bpt_split_places(n, begin);
        assert_ok(bpt_cut_make("x", n, NULL, 0, n, &cut));
        for (uint64_t i = 0; i < n; ++i) ++of_part[cut.part[i]];
        for (int p = 0; p < BPT_PARTS; ++p) assert_int_equal(of_part[p], begin[p + 1] - begin[p]);
        bpt_free(cut.part);
    }
}

static void classes_of_few_examples_are_trained_on_first(void **state) {
    (void)state;
    uint64_t counts[60];
    for (size_t c = 0; c < 60; ++c) counts[c] = c < 58 ? 1 : 21;
    tally_t t = cut_sorted(counts, 60, 7);  // 100 examples
    assert_int_equal(t.of_part[BPT_VALID], 5);
    for (size_t c = 0; c < 60; ++c) assert_true(t.of_class[BPT_TRAIN][c]);
    for (size_t c = 0; c < 60; ++c) counts[c] = 1;
    t = cut_sorted(counts, 60, 7);  // nothing else is there
    assert_int_equal(t.of_part[BPT_TRAIN], 54);
    assert_int_equal(t.of_part[BPT_VALID], 3);
    assert_int_equal(t.of_part[BPT_TEST], 3);
}

static void the_seed_says_which_examples(void **state) {
    (void)state;
    enum { N = 200 };
    bpt_cut_t a, b, c;
    assert_ok(bpt_cut_make("x", N, NULL, 0, 1, &a));
    assert_ok(bpt_cut_make("x", N, NULL, 0, 1, &b));
    assert_ok(bpt_cut_make("x", N, NULL, 0, 2, &c));
    assert_memory_equal(a.part, b.part, N);
    assert_memory_not_equal(a.part, c.part, N);
    bpt_free(a.part), bpt_free(b.part), bpt_free(c.part);
    assert_fails(bpt_cut_make("few.tsv", 2, NULL, 0, 1, &a), BPT_ERR_INPUT, "few.tsv has 2 examples, too few to be cut");
}

// Every example of `text` is in one part and read there once; an example of `lines` lines is never cut.
static void assert_covered(const char *text, const bpt_examples_options_t *options, uint64_t n) {
    const bpt_range_t range = bpt_range_of("x.txt", text, strlen(text));
    bpt_cut_t cut;
    bpt_vocab_t *vocab;
    bpt_labels_t labels = {0};
    uint64_t seen = 0, tokens = 0;
    bpt_examples_t whole;
    assert_ok(bpt_examples_cut(&range, options, 3, &cut));
    assert_int_equal(cut.count, n);
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    assert_ok(bpt_examples_scan(&range, options, vocab, options->numbers ? NULL : &labels));
    bpt_labels_freeze(&labels);
    assert_ok(bpt_vocab_freeze(vocab));
    assert_ok(bpt_examples_read(&range, options, vocab, &labels, &whole));
    for (int part = 0; part < BPT_PARTS; ++part) {
        bpt_examples_options_t o = *options;
        bpt_examples_t e;
        o.cut = &cut;
        o.part = part;
        assert_ok(bpt_examples_read(&range, &o, vocab, &labels, &e));
        seen += e.count;
        tokens += e.n_tokens;
        bpt_examples_free(&e);
    }
    assert_int_equal(seen, whole.count);
    assert_int_equal(tokens, whole.n_tokens);
    bpt_examples_free(&whole);
    bpt_labels_free(&labels);
    bpt_vocab_destroy(vocab);
    bpt_free(cut.part);
}

static void every_reader_cuts_between_its_examples(void **state) {
    (void)state;
    bpt_strbuf_t lines = {0}, numbers = {0}, tags = {0}, conll = {0}, trees = {0}, phrases = {0};
    enum { N = 40 };
    for (int i = 0; i < N; ++i) {
        assert_ok(bpt_strbuf_printf(&lines, "%s\ta b%d\tc\n", i < N / 2 ? "x" : "y", i));
        assert_ok(bpt_strbuf_printf(&numbers, "%d.5\ta b%d\n", i, i));
        assert_ok(bpt_strbuf_printf(&tags, "a b%d c\tX Y X\n", i));
        assert_ok(bpt_strbuf_printf(&conll, "%sa X\nb%d Y\n\n", i % 7 ? "" : "-DOCSTART- O\n\n", i));
        assert_ok(bpt_strbuf_printf(&trees, "(%d\n  (1 a)\n  (0 b%d))\n", i % 2, i));
        assert_ok(bpt_strbuf_printf(&phrases, "(%d (1 a) (0 b%d))\n", i % 2, i));
    }
    assert_covered(
        lines.data,
        &(bpt_examples_options_t){.format = BPT_FORMAT_COLUMNS, .labelled = true, .texts = 2, .label_column = 1, .text_column = {2, 3}}, N);
    assert_covered(
        lines.data,
        &(bpt_examples_options_t){
            .format = BPT_FORMAT_COLUMNS, .labelled = true, .label_column = 1, .text_column = {2}, .where_column = 1, .where = "x"},
        N / 2);
    assert_covered(
        numbers.data,
        &(bpt_examples_options_t){.format = BPT_FORMAT_COLUMNS, .labelled = true, .numbers = true, .label_column = 1, .text_column = {2}},
        N);
    assert_covered(tags.data, &(bpt_examples_options_t){.per_token = true, .labelled = true}, N);
    assert_covered(conll.data, &(bpt_examples_options_t){.format = BPT_FORMAT_CONLL, .per_token = true, .labelled = true}, N);
    assert_covered(trees.data, &(bpt_examples_options_t){.format = BPT_FORMAT_TREES, .labelled = true, .trees = true}, N);
    assert_covered(phrases.data, &(bpt_examples_options_t){.format = BPT_FORMAT_TEXT, .labelled = true, .subtrees = true}, N);
    assert_covered(phrases.data, &(bpt_examples_options_t){.format = BPT_FORMAT_TREES, .labelled = true, .subtrees = true, .trees = true},
                   N);
    bpt_strbuf_free(&lines), bpt_strbuf_free(&numbers), bpt_strbuf_free(&tags);
    bpt_strbuf_free(&conll), bpt_strbuf_free(&trees), bpt_strbuf_free(&phrases);
}

static void messages_name_the_line_of_the_file(void **state) {
    (void)state;
    bpt_strbuf_t text = {0};
    for (int i = 0; i < 30; ++i) assert_ok(bpt_strbuf_printf(&text, "%s\tword\n", i == 24 ? "unheard" : "x"));
    const bpt_range_t range = bpt_range_of("x.txt", text.data, text.length);
    uint8_t parts[30] = {[3] = BPT_TEST, [24] = BPT_TEST};
    const bpt_cut_t cut = {parts, 30};
    const bpt_examples_options_t options = {.labelled = true, .cut = &cut, .part = BPT_TEST};
    bpt_labels_t labels = {0};
    bpt_vocab_t *vocab;
    bpt_examples_t e;
    assert_ok(bpt_labels_add(&labels, &range, &(bpt_word_t){"x", 1}));
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    assert_ok(bpt_vocab_freeze(vocab));
    assert_fails(bpt_examples_read(&range, &options, vocab, &labels, &e), BPT_ERR_INPUT, "x.txt: line 25: label 'unheard'");
    bpt_vocab_destroy(vocab);
    bpt_labels_free(&labels);
    bpt_strbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_has_its_share_of_every_part),      cmocka_unit_test(parts_have_the_sizes_of_a_cut_in_order),
        cmocka_unit_test(classes_of_few_examples_are_trained_on_first), cmocka_unit_test(the_seed_says_which_examples),
        cmocka_unit_test(every_reader_cuts_between_its_examples),       cmocka_unit_test(messages_name_the_line_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
