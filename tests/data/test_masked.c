// Hidden tokens: how many, what they become, that targets are what was there, and that masks follow from seed, epoch and sequence alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/batches/lm.h"
#include "data/batches/masked.h"
#include "support/check.h"

enum { TOKENS = 20003, VOCAB = 500, MASK = 2, END = 1 };
static uint32_t ids[TOKENS];

static int setup(void **state) {
    (void)state;
    for (uint32_t i = 0; i < TOKENS; ++i) ids[i] = i % 11 == 10 ? END : 3 + (i * i + 7 * i) % (VOCAB - 3);
    return 0;
}

static bpt_batch_source_t *source_of(uint64_t tokens, const bpt_lm_options_t *options, uint64_t seed, bool packed) {
    static bpt_ids_t text;
    bpt_batch_source_t *inner, *out;
    const bpt_masking_t masking = {.seed = seed, .vocab = VOCAB, .mask = MASK, .end = END, .packed = packed};
    text = bpt_ids_of(ids, tokens);
    if (options)
        assert_ok(bpt_lm_train_source(&text, options, &inner));
    else
        assert_ok(bpt_lm_eval_source(&text, 64, 256, BPT_PROTOCOL_CHUNKS, &inner));
    assert_ok(bpt_masked_source(inner, &masking, &out));
    return out;
}

static const bpt_lm_options_t plain = {64, 64, 256, 3, 5};

static int64_t round_share(int64_t tokens) {
    const int64_t wanted = (tokens * 15 + 50) / 100;
    return wanted ? wanted : tokens > 0;
}

typedef struct {
    int64_t chosen, hidden, drawn, kept;
} counts_t;

// One sequence: its words, what is chosen of them, and what became of that.
static int64_t check_sequence(const bpt_batch_t *b, int64_t s, counts_t *counts) {
    const bpt_side_t *side = &b->side[0];
    int64_t words = 0, chosen = 0;
    for (int64_t i = side->start[s]; i < (int64_t)side->start[s] + side->lengths[s]; ++i) {
        words += side->tokens[i] != END || b->weights[i] > 0;  // a word may be drawn that is the end sign
        if (!(b->weights[i] > 0)) continue;
        assert_true(b->weights[i] == 1 && b->targets[i] != END);
        ++chosen;
        counts->hidden += side->tokens[i] == MASK;
        counts->kept += side->tokens[i] == b->targets[i];
        counts->drawn += side->tokens[i] != MASK && side->tokens[i] != b->targets[i];
        assert_true(side->tokens[i] < VOCAB);
    }
    assert_int_equal(chosen, round_share(words));
    counts->chosen += chosen;
    return chosen;
}

static void of_fifteen_percent_most_are_hidden_some_drawn_some_kept(void **state) {
    (void)state;
    for (int packed = 0; packed < 2; ++packed) {
        bpt_batch_source_t *s = source_of(TOKENS, &plain, 9, packed);
        counts_t counts = {0};
        int64_t step = 0, expected = -1;
        for (bpt_batch_t b = {0}; step < s->steps_per_epoch;) {
            bool end;
            int64_t scored = 0;
            assert_ok(s->next(s, &b, &end));
            assert_false(end);
            assert_int_equal(b.shape.side[0].n, packed ? 0 : 64);
            assert_true(bpt_batch_shape_same(&b.shape, &s->shapes[0]));
            for (int64_t i = 0; i < b.n_real; ++i) scored += check_sequence(&b, i, &counts);
            for (int64_t i = 0; i < b.n_targets; ++i) scored -= b.weights[i] > 0;
            assert_int_equal(scored, 0);  // nothing else is scored
            assert_true(b.n_scored <= bpt_batch_most_masked(&b.shape));
            if (b.first) expected = b.window_scored;
            assert_int_equal(b.window_scored, expected);
            step += b.last;
        }
        s->destroy(s);
        const double all = (double)counts.chosen;
        assert_true(counts.chosen > 2500);
        assert_true((double)counts.hidden > 0.77 * all && (double)counts.hidden < 0.83 * all);
        assert_true((double)counts.drawn > 0.08 * all && (double)counts.drawn < 0.12 * all);
        assert_true((double)counts.kept > 0.08 * all && (double)counts.kept < 0.12 * all);
    }
}

// The sum over a step's micro-batches is what each of them says.
static void micro_batches_know_the_targets_of_their_step(void **state) {
    (void)state;
    bpt_batch_source_t *s = source_of(TOKENS, &plain, 9, false);
    int64_t sum = 0;
    for (int i = 0; i < 30; ++i) {
        bpt_batch_t b;
        bool end;
        assert_ok(s->next(s, &b, &end));
        sum = (b.first ? 0 : sum) + b.n_scored;
        if (b.last) assert_int_equal(sum, b.window_scored);
    }
    s->destroy(s);
}

static void chosen_tokens_are_what_the_text_has(void **state) {
    (void)state;
    bpt_batch_source_t *s = source_of(1000, NULL, 1, false);
    for (bool end = false; !end;) {
        bpt_batch_t b;
        assert_ok(s->next(s, &b, &end));
        for (int64_t i = 0; !end && i < b.n_real; ++i)
            for (uint32_t k = 0; k < b.side[0].lengths[i]; ++k) {
                const uint32_t token = ids[b.sequences[i] * 64 + k], row = b.side[0].start[i] + k;
                assert_int_equal(b.weights[row] > 0 ? b.targets[row] : b.side[0].tokens[row], token);
            }
    }
    s->destroy(s);
}

// Tokens, targets and weights of the batches from step `from` on, `count` of them.
static uint64_t hash_of(bpt_batch_source_t *s, int64_t from, int count) {
    uint64_t hash = 0;
    assert_ok(s->seek(s, from));
    for (int i = 0; i < count; ++i) {
        bpt_batch_t b;
        bool end;
        assert_ok(s->next(s, &b, &end));
        if (end) break;
        for (int64_t k = 0; k < b.n_targets; ++k) hash = hash * 1000003 + (b.side[0].tokens[k] * 7 + b.targets[k] * 3 + (b.weights[k] > 0));
    }
    return hash;
}

static void masks_follow_from_seed_epoch_and_sequence(void **state) {
    (void)state;
    bpt_batch_source_t *s = source_of(TOKENS, &plain, 9, false), *again = source_of(TOKENS, &plain, 9, false),
                       *other = source_of(TOKENS, &plain, 10, false), *valid = source_of(TOKENS, NULL, 1, false);
    const uint64_t tenth = hash_of(s, 10, 5);
    (void)hash_of(again, 0, 7);  // wherever it was before
    assert_int_equal(hash_of(again, 10, 5), tenth);
    assert_int_not_equal(hash_of(other, 10, 5), tenth);
    assert_int_not_equal(hash_of(s, 10 + s->steps_per_epoch, 5), tenth);
    assert_int_equal(hash_of(valid, 0, 100), hash_of(valid, 0, 100));
    s->destroy(s);
    again->destroy(again);
    other->destroy(other);
    valid->destroy(valid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_fifteen_percent_most_are_hidden_some_drawn_some_kept),
        cmocka_unit_test(micro_batches_know_the_targets_of_their_step),
        cmocka_unit_test(chosen_tokens_are_what_the_text_has),
        cmocka_unit_test(masks_follow_from_seed_epoch_and_sequence),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
