// Words that are read as <unk> while training: how many, which, and what stays as it is.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "data/batches/lm.h"
#include "data/batches/word_dropout.h"
#include "data/examples/parallel.h"
#include "support/batches.h"
#include "support/check.h"

enum { EXAMPLES = 400, WORDS_OF_TEXT = 10 };

static bpt_vocab_t *vocab;
static bpt_labels_t labels;
static bpt_examples_t examples;
static bpt_ids_t ids;
static char text[EXAMPLES * WORDS_OF_TEXT * 12];

// Each text has one word of its own, one that 20 texts have, and eight times "the".
static int setup(void **state) {
    (void)state;
    char *to = text;
    for (int e = 0; e < EXAMPLES; ++e) to += sprintf(to, "%d\tr%d m%d the the the the the the the the\n", e % 2, e, e / 20);
    const bpt_range_t range = {.path = "texts", .data = text, .bytes = (uint64_t)(to - text), .line = 1};
    const bpt_examples_options_t options = {.labelled = true};
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    assert_ok(bpt_examples_scan(&range, &options, vocab, &labels));
    assert_ok(bpt_vocab_freeze(vocab));
    bpt_labels_freeze(&labels);
    assert_ok(bpt_examples_read(&range, &options, vocab, &labels, &examples));
    assert_ok(bpt_vocab_encode(vocab, &range, true, &ids));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    bpt_examples_free(&examples);
    bpt_labels_free(&labels);
    bpt_ids_free(&ids);
    bpt_vocab_destroy(vocab);
    return 0;
}

static bpt_batch_source_t *dropping(bpt_batch_source_t *source, double rate, uint64_t seed) {
    const bpt_word_dropout_t o = {.side = {{vocab, bpt_ids_of(examples.tokens, examples.n_tokens)}}, .rate = rate, .seed = seed};
    bpt_batch_source_t *out;
    assert_ok(bpt_word_dropout_create(&source, &o, &out));
    assert_null(source);
    return out;
}

static bpt_batch_source_t *plain(int64_t batch_tokens) {
    const bpt_batching_t o = {.batch_examples = 50, .batch_tokens = batch_tokens, .accumulate = 1, .seed = 3};
    bpt_batch_source_t *source;
    assert_ok(bpt_examples_train_source(&examples, &o, &source));
    return source;
}

static void take(bpt_batch_source_t *source, bpt_batch_t *batch) {
    bool end = true;
    assert_ok(source->next(source, batch, &end));
    assert_false(end);
}

// How often a word that `count` texts of an epoch have is <unk>, over `epochs`.
static void the_probability_is_that_of_the_formula(void **state) {
    (void)state;
    static const double rates[] = {0.25, 1, 4};
    for (size_t r = 0; r < BPT_COUNT(rates); ++r) {
        enum { EPOCHS = 40 };
        bpt_batch_source_t *a = plain(512), *b = dropping(plain(512), rates[r], 7);
        double seen[3] = {0}, dropped[3] = {0};  // by count: 1, 20, 3200
        for (bpt_batch_t x, y; take(a, &x), take(b, &y), x.epoch < EPOCHS;) {
            test_check_batch(&y, false);
            assert_memory_equal(x.targets, y.targets, (size_t)x.n_targets * sizeof *x.targets);
            for (int64_t s = 0; s < x.n_real; ++s)
                for (uint32_t i = 0; i < x.side[0].lengths[s]; ++i) {
                    const uint32_t was = x.side[0].tokens[x.side[0].start[s] + i], is = y.side[0].tokens[y.side[0].start[s] + i];
                    const int kind = i == 0 ? 0 : i == 1 ? 1 : 2;
                    if (was != is) assert_int_equal(is, 0);
                    ++seen[kind], dropped[kind] += was != is;
                }
        }
        static const double counts[] = {1, 20, EXAMPLES * 8};
        for (int k = 0; k < 3; ++k) {
            const double p = rates[r] / (rates[r] + counts[k]), deviation = sqrt(p * (1 - p) * seen[k]);
            if (fabs(dropped[k] - p * seen[k]) > 5 * deviation)
                fail_msg("rate %g, count %g: %g of %g", rates[r], counts[k], dropped[k], seen[k]);
        }
        a->destroy(a);
        b->destroy(b);
    }
}

// The tokens of an epoch in the order of its sequences.
static uint32_t *tokens_of_epoch(bpt_batch_source_t *source, int64_t epoch) {
    uint32_t *all;
    assert_ok(bpt_alloc(EXAMPLES * WORDS_OF_TEXT, sizeof *all, &all));
    assert_ok(source->seek(source, epoch * source->steps_per_epoch));
    for (bpt_batch_t b; take(source, &b), b.epoch == epoch;)
        for (int64_t s = 0; s < b.n_real; ++s)
            memcpy(all + b.sequences[s] * WORDS_OF_TEXT, b.side[0].tokens + b.side[0].start[s], WORDS_OF_TEXT * sizeof *all);
    return all;
}

static void the_choice_depends_on_seed_and_place_alone(void **state) {
    (void)state;
    bpt_batch_source_t *a = dropping(plain(512), 1, 7), *smaller = dropping(plain(30), 1, 7), *other = dropping(plain(512), 1, 8);
    uint32_t *first = tokens_of_epoch(a, 0), *second = tokens_of_epoch(a, 1), *again = tokens_of_epoch(a, 0);
    uint32_t *cut = tokens_of_epoch(smaller, 0), *seeded = tokens_of_epoch(other, 0);
    const size_t bytes = EXAMPLES * WORDS_OF_TEXT * sizeof *first;
    assert_memory_equal(first, again, bytes);
    assert_memory_equal(first, cut, bytes);
    assert_memory_not_equal(first, second, bytes);
    assert_memory_not_equal(first, seeded, bytes);
    uint32_t *const all[] = {first, second, again, cut, seeded};
    for (size_t i = 0; i < BPT_COUNT(all); ++i) bpt_free(all[i]);
    a->destroy(a);
    smaller->destroy(smaller);
    other->destroy(other);
}

// Windows of a language model: what is predicted, <unk> and <eos> stay.
static void targets_and_symbols_stay(void **state) {
    (void)state;
    const bpt_lm_options_t o = {.context = 16, .stride = 8, .batch_tokens = 64, .accumulate = 2, .seed = 5};
    bpt_batch_source_t *a, *b;
    int64_t dropped = 0;
    assert_ok(bpt_lm_train_source(&ids, &o, &a));
    assert_ok(bpt_lm_train_source(&ids, &o, &b));
    b = dropping(b, BPT_WORD_DROPOUT_MOST, 5);
    for (bpt_batch_t x, y; take(a, &x), take(b, &y), x.epoch < 2;) {
        test_check_batch(&y, true);
        assert_memory_equal(x.targets, y.targets, (size_t)x.n_targets * sizeof *x.targets);
        for (int64_t row = 0; row < x.shape.side[0].rows; ++row) {
            const uint32_t was = x.side[0].tokens[row], is = y.side[0].tokens[row];
            if (was < 2) assert_int_equal(was, is);
            dropped += was != is;
        }
    }
    assert_true(dropped > 100);
    a->destroy(a);
    b->destroy(b);
}

// Texts and their translations have words, counts and random numbers of their own; the sign that opens a translation stays.
static void both_sides_are_read(void **state) {
    (void)state;
    const bpt_range_t lines = {.path = "pairs", .data = text, .bytes = strlen(text), .line = 1};
    const bpt_parallel_t pair = {.text = {lines}};
    bpt_vocab_t *sides[2];
    for (int i = 0; i < 2; ++i) assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &sides[i]));
    assert_ok(bpt_parallel_scan(&pair, sides, NULL));
    for (int i = 0; i < 2; ++i) assert_ok(bpt_vocab_freeze(sides[i]));
    bpt_examples_t e;
    assert_ok(bpt_parallel_read(&pair, &(bpt_parallel_options_t){0}, (const bpt_vocab_t *const *)sides, &e));
    const bpt_batching_t o = {.batch_examples = 50, .batch_tokens = 600, .seed = 3};
    const bpt_word_dropout_t options = {
        .side = {{sides[0], bpt_ids_of(e.tokens, e.n_tokens)}, {sides[1], bpt_ids_of(e.target.tokens, e.target.n_tokens)}},
        .rate = 50,
        .seed = 1};
    bpt_batch_source_t *a, *inner, *b;
    assert_ok(bpt_examples_train_source(&e, &o, &a));
    assert_ok(bpt_examples_train_source(&e, &o, &inner));
    assert_ok(bpt_word_dropout_create(&inner, &options, &b));
    int64_t dropped[2] = {0};
    for (bpt_batch_t x, y; take(a, &x), take(b, &y), x.epoch < 1;) {
        assert_memory_equal(x.targets, y.targets, (size_t)x.n_targets * sizeof *x.targets);
        for (int side = 0; side < 2; ++side)
            for (int64_t row = 0; row < x.shape.side[side].rows; ++row)
                dropped[side] += x.side[side].tokens[row] != y.side[side].tokens[row];
        for (int64_t s = 0; s < y.n_real; ++s) assert_int_equal(y.side[1].tokens[y.side[1].start[s]], e.target.opening);
    }
    assert_true(dropped[0] > 20 && dropped[1] > 200);  // the only words of the first side are two labels, in 200 texts each
    a->destroy(a);
    b->destroy(b);
    bpt_examples_free(&e);
    for (int i = 0; i < 2; ++i) bpt_vocab_destroy(sides[i]);
}

// A model whose <unk> has no embedding reads placeholders, unless training has <unk> itself.
static void unknown_words_may_be_placeholders(void **state) {
    (void)state;
    uint32_t *with_symbol;
    assert_ok(bpt_alloc(examples.n_tokens, sizeof *with_symbol, &with_symbol));
    memcpy(with_symbol, examples.tokens, examples.n_tokens * sizeof *with_symbol);
    with_symbol[5] = 0;
    for (int has = 0; has < 2; ++has) {
        const bpt_word_dropout_t o = {
            .side = {{vocab, bpt_ids_of(has ? with_symbol : examples.tokens, examples.n_tokens)}}, .rate = 9, .zeros = true};
        bpt_batch_source_t *inner = plain(512), *source;
        int64_t dropped[2] = {0};
        assert_ok(bpt_word_dropout_create(&inner, &o, &source));
        for (bpt_batch_t b; take(source, &b), b.epoch < 1;)
            for (int64_t i = 0; i < b.n_real * WORDS_OF_TEXT; ++i) {
                const uint32_t token = b.side[0].tokens[b.side[0].start[i / WORDS_OF_TEXT] + i % WORDS_OF_TEXT];
                dropped[0] += token == BPT_PLACEHOLDER;
                dropped[1] += token == 0;
            }
        assert_true(dropped[has] > 300 && !dropped[!has]);
        source->destroy(source);
    }
    bpt_free(with_symbol);
}

static void rates_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const double rates[] = {-0.1, 1001, NAN, INFINITY};
    for (size_t i = 0; i < BPT_COUNT(rates); ++i) {
        bpt_batch_source_t *source = plain(512), *out;
        const bpt_word_dropout_t o = {.rate = rates[i]};
        assert_fails(bpt_word_dropout_create(&source, &o, &out), BPT_ERR_USAGE, "it must be 0 to 1000");
        source->destroy(source);
    }
}

static void out_of_memory_is_reported_and_nothing_leaks(void **state) {
    (void)state;
    const size_t before = bpt_alloc_live();
    for (size_t nth = 1; nth < 20; ++nth) {
        bpt_batch_source_t *source = plain(512), *out = NULL;
        const bpt_word_dropout_t o = {.side = {{vocab, bpt_ids_of(examples.tokens, examples.n_tokens)}}, .rate = 1};
        bpt_alloc_fail_after(nth);
        const bpt_status_t status = bpt_word_dropout_create(&source, &o, &out);
        bpt_alloc_fail_after(0);
        if (status != BPT_OK) assert_int_equal(status, BPT_ERR_NO_MEMORY);
        if (status == BPT_OK) source = out;
        source->destroy(source);
        assert_int_equal(bpt_alloc_live(), before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_probability_is_that_of_the_formula),
        cmocka_unit_test(the_choice_depends_on_seed_and_place_alone),
        cmocka_unit_test(targets_and_symbols_stay),
        cmocka_unit_test(both_sides_are_read),
        cmocka_unit_test(unknown_words_may_be_placeholders),
        cmocka_unit_test(rates_that_cannot_be_are_refused),
        cmocka_unit_test(out_of_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
