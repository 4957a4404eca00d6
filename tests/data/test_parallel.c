// Texts and their translations: formats, end signs, documents, errors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/parallel.h"
#include "data/examples/split.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

static bpt_parallel_t pair_of(const char *source, const char *target) {
    bpt_parallel_t pair = {.text = {bpt_range_of("a.en", source, strlen(source))}};
    if (target) pair.text[1] = bpt_range_of("a.de", target, strlen(target));
    return pair;
}

typedef struct {
    bpt_vocab_t *vocab[2];
    bpt_examples_t examples;
} set_t;

// Reads with a vocabulary of the unit for each side, or one for both.
static bpt_status_t read_with(const char *source, const char *target, const bpt_parallel_options_t *o, bpt_unit_t unit, bool joint,
                              set_t *s) {
    const bpt_parallel_t pair = pair_of(source, target);
    *s = (set_t){0};
    assert_ok(bpt_vocab_create(unit, false, &s->vocab[0]));
    if (joint)
        s->vocab[1] = s->vocab[0];
    else
        assert_ok(bpt_vocab_create(unit, false, &s->vocab[1]));
    bpt_status_t status = bpt_parallel_scan(&pair, s->vocab, NULL);
    if (status == BPT_OK) status = bpt_vocab_freeze(s->vocab[0]);
    if (status == BPT_OK && !joint) status = bpt_vocab_freeze(s->vocab[1]);
    const bpt_vocab_t *const vocab[] = {s->vocab[0], s->vocab[1]};
    return status == BPT_OK ? bpt_parallel_read(&pair, o, vocab, &s->examples) : status;
}

static void free_set(set_t *s) {
    bpt_examples_free(&s->examples);
    if (s->vocab[1] != s->vocab[0]) bpt_vocab_destroy(s->vocab[1]);
    bpt_vocab_destroy(s->vocab[0]);
}

static void show_tokens(const bpt_vocab_t *v, const uint32_t *tokens, uint64_t from, uint64_t to, char *out, size_t *used) {
    for (uint64_t i = from; i < to; ++i) {
        char number[16];
        size_t bytes = (size_t)snprintf(number, sizeof number, "%u", tokens[i]);
        const char *text = bpt_vocab_size(v) ? bpt_vocab_token(v, tokens[i], &bytes) : number;
        *used += (size_t)sprintf(out + *used, "%.*s ", (int)bytes, text);
    }
}

// "a b <eos> > x y <eos> ;" for each pair of texts.
static const char *show(const set_t *s, uint64_t texts) {
    static char out[1024];
    size_t used = 0;
    const bpt_examples_t *e = &s->examples;
    for (uint64_t t = 0; t < texts; ++t) {
        show_tokens(s->vocab[0], e->tokens, e->offsets[t], e->offsets[t + 1], out, &used);
        used += (size_t)sprintf(out + used, "> ");
        show_tokens(s->vocab[1], e->target.tokens, e->target.offsets[t], e->target.offsets[t + 1], out, &used);
        used += (size_t)sprintf(out + used, ";");
    }
    out[used] = 0;
    return out;
}

static void texts_get_the_end_sign_of_their_vocabulary(void **state) {
    (void)state;
    static const struct {
        const char *source, *target;
        bpt_parallel_options_t options;
        bpt_unit_t unit;
        uint64_t texts;
        const char *wanted;
    } cases[] = {
        {"a b\nc\n", "x y z\nw\n", {0}, BPT_UNIT_WORD, 2, "a b <eos> > x y z <eos> ;c <eos> > w <eos> ;"},
        {"a\r\n\r\nb", "x\n \ny", {0}, BPT_UNIT_WORD, 2, "a <eos> > x <eos> ;b <eos> > y <eos> ;"},
        {"a b c\tx\n\nd\ty z\n", NULL, {0}, BPT_UNIT_WORD, 2, "a b c <eos> > x <eos> ;d <eos> > y z <eos> ;"},
        {"5 3 1\t2 1\n", NULL, {0}, BPT_UNIT_IDS, 1, "5 3 1 > 2 1 ;"},
        {"a b c\n", "x y z\n", {.truncate = 3}, BPT_UNIT_WORD, 1, "a b <eos> > x y <eos> ;"},
        {"5 3 7 1\t2 1\n", NULL, {.truncate = 2}, BPT_UNIT_IDS, 1, "5 1 > 2 1 ;"},
        {"a b c\n", "x y z\n", {.longest = 4}, BPT_UNIT_WORD, 1, "a b c <eos> > x y z <eos> ;"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        assert_ok(read_with(cases[i].source, cases[i].target, &cases[i].options, cases[i].unit, false, &s));
        assert_int_equal(s.examples.count, cases[i].texts);
        assert_false(s.examples.windows.has);
        assert_string_equal(show(&s, cases[i].texts), cases[i].wanted);
        assert_int_equal(s.examples.target.opening, cases[i].unit == BPT_UNIT_WORD ? 1 : 0);
        free_set(&s);
    }
}

static void sides_have_their_own_words_or_share_them(void **state) {
    (void)state;
    set_t apart, joint;
    const bpt_parallel_options_t o = {0};
    assert_ok(read_with("a b\n", "b c d\n", &o, BPT_UNIT_WORD, false, &apart));
    assert_ok(read_with("a b\n", "b c d\n", &o, BPT_UNIT_WORD, true, &joint));
    assert_int_equal(bpt_vocab_size(apart.vocab[0]), 4);
    assert_int_equal(bpt_vocab_size(apart.vocab[1]), 5);
    assert_int_equal(bpt_vocab_size(joint.vocab[0]), 6);
    assert_int_equal(joint.examples.tokens[1], joint.examples.target.tokens[0]);
    assert_int_not_equal(apart.examples.tokens[1], apart.examples.target.tokens[0]);
    free_set(&apart);
    free_set(&joint);
}

// Segments of at least half the context; source texts have 3, 2, 4, 2 | 2 | 6 tokens with their end signs.
static void documents_are_cut_at_half_the_context(void **state) {
    (void)state;
    static const char source[] = "a b\nc\nd e f\ng\n\nh\n\n\nv w x y z\n", target[] = "A\nB\nC\nD\n\nE\n\n\nF\n";
    static const struct {
        int64_t context;
        size_t count;
        bpt_window_t windows[6];
    } cases[] = {
        {1, 6, {{0, 0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {4, 4, 5}, {5, 5, 6}}},
        {8, 5, {{0, 0, 2}, {0, 2, 3}, {2, 3, 4}, {4, 4, 5}, {5, 5, 6}}},
        {9, 5, {{0, 0, 2}, {0, 2, 3}, {2, 3, 4}, {4, 4, 5}, {5, 5, 6}}},
        {10, 4, {{0, 0, 2}, {0, 2, 4}, {4, 4, 5}, {5, 5, 6}}},
        {12, 4, {{0, 0, 3}, {0, 3, 4}, {4, 4, 5}, {5, 5, 6}}},
        {100, 3, {{0, 0, 4}, {4, 4, 5}, {5, 5, 6}}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        const bpt_parallel_options_t o = {.context_tokens = cases[i].context};
        assert_ok(read_with(source, target, &o, BPT_UNIT_WORD, false, &s));
        assert_int_equal(s.examples.count, cases[i].count);
        assert_memory_equal(s.examples.windows.items, cases[i].windows, cases[i].count * sizeof *cases[i].windows);
        free_set(&s);
    }
}

static void bad_files_are_refused_with_file_line_and_remedy(void **state) {
    (void)state;
    static const struct {
        const char *source, *target;
        bpt_parallel_options_t options;
        const char *message;
    } cases[] = {
        {"a\nb\n", "x\n", {0}, "a.en: line 2 has no counterpart: a.de ends before it"},
        {"a\n", "x\ny\nz\n", {0}, "a.de: line 2 has no counterpart: a.en ends before it"},
        {"a\n\n", "x\ny\n", {0}, "a.en: line 2: the source is empty, its target is not"},
        {"a\nb\n", "x\n \t\n", {0}, "a.de: line 2: the target is empty, its source is not"},
        {"a\n\xFF\n", "x\ny\n", {0}, "a.en: line 2, byte 2: not valid UTF-8"},
        {"a\nb\n", "x\n\xFF\n", {0}, "a.de: line 2, byte 2: not valid UTF-8"},
        {"a\nb c d\n", "x\ny\n", {.longest = 3}, "a.en: line 2: 4 tokens with the end sign, more than --max-length 3; --truncate"},
        {"a\nb\n", "x\ny z w\n", {.longest = 3}, "a.de: line 2: 4 tokens with the end sign"},
        {"a\nb c\n", "x\ny\n", {.room.positions = 2}, "a.en: line 2: 3 tokens are more than the model's 2 positions"},
        {"a\nb\n", "x\ny z\n", {.room.positions = 2}, "a.de: line 2: 3 tokens are more than the model's 2 positions"},
        {"a\nb\n", "x\ny z\n", {.room.positions = 4, .context_tokens = 8}, "a.de: line 2: 3 tokens and 2 for the lines before it are more"},
        {"a\tb\nc\n", NULL, {0}, "a.en: line 2: no tab; a line is source<TAB>target"},
        {"a\tb\tc\n", NULL, {0}, "a.en: line 1: more than one tab"},
        {"a\tb\n\tc\n", NULL, {0}, "a.en: line 2: the source is empty"},
        {"a\t\n", NULL, {0}, "a.en: line 1: the target is empty"},
        {"\n\n", "\n\n", {0}, "a.en: no text in it"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        assert_fails(read_with(cases[i].source, cases[i].target, &cases[i].options, BPT_UNIT_WORD, false, &s), BPT_ERR_INPUT,
                     cases[i].message);
        free_set(&s);
    }
}

static void a_failed_allocation_is_an_error_that_frees_everything(void **state) {
    (void)state;
    const bpt_parallel_t pair = pair_of("a b\nc\n", "x\ny z\n");
    const bpt_parallel_options_t o = {.context_tokens = 4};
    bpt_vocab_t *v;
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &v));
    assert_ok(bpt_vocab_freeze(v));
    const bpt_vocab_t *const vocab[] = {v, v};
    for (size_t nth = 1;; ++nth) {
        bpt_examples_t e;
        bpt_alloc_fail_after(nth);
        const bpt_status_t status = bpt_parallel_read(&pair, &o, vocab, &e);
        bpt_alloc_fail_after(0);
        if (status == BPT_OK) {
            assert_true(nth > 6);
            bpt_examples_free(&e);
            break;
        }
        assert_int_equal(status, BPT_ERR_NO_MEMORY);
        assert_null(e.tokens);
    }
    bpt_vocab_destroy(v);
}

static void files_of_a_language_are_found_by_their_ending(void **state) {
    (void)state;
    static const char *const names[] = {"train.en", "train.de", "valid.en", "valid.de", "test.en", "README"};
    const char *folder = test_path("pair");
    bpt_split_t split;
    test_make_folder(folder);
    for (size_t i = 0; i < BPT_COUNT(names); ++i) test_write_file(test_path("pair/%s", names[i]), names[i], strlen(names[i]));
    assert_ok(bpt_split_open_language(BPT_ONE_PATH(folder), "de", &split));
    assert_memory_equal(split.part[BPT_TRAIN].data, "train.de", 8);
    assert_memory_equal(split.part[BPT_VALID].data, "valid.de", 8);
    assert_int_equal(split.part[BPT_TEST].bytes, 0);
    bpt_split_close(&split);
    assert_fails(bpt_split_open_language(BPT_ONE_PATH(folder), "n", &split), BPT_ERR_INPUT,
                 "no file whose name holds 'train' and ends in '.n'");
    assert_fails(bpt_split_open_language(BPT_ONE_PATH(test_path("pair/train.en")), "en", &split), BPT_ERR_INPUT, "is no folder");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_get_the_end_sign_of_their_vocabulary),
        cmocka_unit_test(sides_have_their_own_words_or_share_them),
        cmocka_unit_test(documents_are_cut_at_half_the_context),
        cmocka_unit_test(bad_files_are_refused_with_file_line_and_remedy),
        cmocka_unit_test(a_failed_allocation_is_an_error_that_frees_everything),
        cmocka_unit_test(files_of_a_language_are_found_by_their_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
