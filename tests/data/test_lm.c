// Windows over a text: what is trained on and scored, in which order, in which batches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/batches/lm.h"
#include "support/batches.h"
#include "support/check.h"

enum { LONGEST = 3000 };
static uint32_t ids[LONGEST];  // token i of the text is 1000 + i, so that a token tells its place

static const bpt_ids_t *first_ids(uint64_t count) {
    static bpt_ids_t text;
    text = bpt_ids_of(ids, count);
    return &text;
}

static int setup(void **state) {
    (void)state;
    for (uint32_t i = 0; i < LONGEST; ++i) ids[i] = 1000 + i;
    return 0;
}

static const struct {
    uint64_t count;
    bpt_lm_options_t options;  // context, stride, batch_tokens, accumulate, seed
} trainings[] = {
    {1000, {16, 16, 64, 1, 1}}, {1000, {16, 8, 64, 3, 2}},   {1000, {16, 5, 100, 2, 3}},          {17, {16, 16, 64, 1, 4}},
    {18, {16, 16, 64, 4, 5}},   {2, {1, 1, 1, 1, 6}},        {161, {16, 16, 48, 3, 6}},           {160, {16, 16, 16, 7, 7}},
    {999, {1, 1, 10, 3, 8}},    {3000, {300, 300, 1, 1, 9}}, {2000, {64, 32, 1024, 1000000, 10}}, {97, {32, 1, 64, 2, 11}},
};

static bpt_batch_source_t *training(size_t i) {
    bpt_batch_source_t *source;
    assert_ok(bpt_lm_train_source(first_ids(trainings[i].count), &trainings[i].options, &source));
    return source;
}

static void next(bpt_batch_source_t *source, bpt_batch_t *batch) {
    bool end = true;
    assert_ok(source->next(source, batch, &end));
    assert_false(end);
    test_check_batch(batch, true);
    assert_true(test_has_shape(source, &batch->shape));
}

// Inputs are consecutive tokens and every target is the token behind its input.
static void check_row(const bpt_batch_t *b, int64_t row) {
    for (int64_t i = 0; i < b->side[0].lengths[row]; ++i) {
        assert_int_equal(b->side[0].tokens[row * b->shape.side[0].n + i], b->side[0].tokens[row * b->shape.side[0].n] + i);
        assert_int_equal(b->targets[row * b->shape.side[0].n + i], b->side[0].tokens[row * b->shape.side[0].n] + i + 1);
    }
}

static void an_epoch_trains_on_every_window_once(void **state) {
    (void)state;
    for (size_t c = 0; c < BPT_COUNT(trainings); ++c) {
        const bpt_lm_options_t *o = &trainings[c].options;
        const int64_t targets = (int64_t)trainings[c].count - 1;
        bpt_batch_source_t *source = training(c);
        for (int64_t epoch = 0; epoch < 3; ++epoch) {
            static int windows[LONGEST], seen[LONGEST + 1];
            memset(windows, 0, sizeof windows);
            memset(seen, 0, sizeof seen);
            bpt_batch_t b = {0};
            int64_t sequences = 0;
            do {
                next(source, &b);
                assert_int_equal(b.epoch, epoch);
                assert_int_equal(b.shape.side[0].n, o->context);
                for (int64_t row = 0; row < b.n_real; ++row) {
                    check_row(&b, row);
                    const int64_t begin = b.side[0].tokens[row * b.shape.side[0].n] - 1000;
                    assert_int_equal(begin % o->stride, 0);
                    ++windows[begin / o->stride];
                    for (int64_t i = 0; i < b.side[0].lengths[row]; ++i) {
                        assert_true(b.weights[row * b.shape.side[0].n + i] == 1);
                        ++seen[begin + i + 1];
                    }
                    assert_int_equal(b.sequences[row], sequences++);
                }
            } while (!(b.last && b.epoch_end == (double)epoch + 1));
            const int64_t wanted = targets <= o->context ? 1 : 1 + (targets - o->context + o->stride - 1) / o->stride;
            assert_int_equal(sequences, wanted);
            for (int64_t w = 0; w < wanted; ++w) assert_int_equal(windows[w], 1);
            for (int64_t t = 1; t <= targets; ++t) {
                assert_true(seen[t] >= 1);
                if (o->stride == o->context) assert_int_equal(seen[t], 1);
            }
        }
        source->destroy(source);
    }
}

static void steps_have_their_micro_batches_and_weights(void **state) {
    (void)state;
    for (size_t c = 0; c < BPT_COUNT(trainings); ++c) {
        const bpt_lm_options_t *o = &trainings[c].options;
        bpt_batch_source_t *source = training(c);
        for (int64_t step = 0; step < 3 * source->steps_per_epoch; ++step) {
            bpt_batch_t b = {0};
            int64_t scored = 0, window = 0, micro = 0;
            do {
                next(source, &b);
                assert_int_equal(b.first, micro == 0);
                if (!b.last) assert_int_equal(b.n_real, b.shape.batch);  // only the last micro-batch of an epoch has padding sequences
                if (micro == 0) window = b.window_scored;
                assert_int_equal(b.window_scored, window);
                assert_int_equal(b.epoch, step / source->steps_per_epoch);
                scored += b.n_scored;
                ++micro;
            } while (!b.last);
            assert_int_equal(scored, window);
            assert_true(micro <= o->accumulate);
            if ((step + 1) % source->steps_per_epoch) {
                assert_int_equal(micro, o->accumulate);
                assert_true(b.epoch_end < (double)b.epoch + 1);
            } else {
                assert_true(b.epoch_end == (double)b.epoch + 1);
            }
        }
        source->destroy(source);
    }
}

static void seek_reaches_any_step_exactly(void **state) {
    (void)state;
    for (size_t c = 0; c < BPT_COUNT(trainings); ++c) {
        bpt_batch_source_t *straight = training(c), *seeking = training(c);
        const int64_t steps = 3 * straight->steps_per_epoch < 60 ? 3 * straight->steps_per_epoch : 60;
        for (int64_t step = 0; step < steps; ++step) {
            bpt_batch_t a = {0}, b = {0};
            assert_ok(seeking->seek(seeking, (step * 7919) % steps));  // from anywhere, with a step begun
            next(seeking, &b);
            assert_ok(seeking->seek(seeking, step));
            do {
                next(straight, &a);
                next(seeking, &b);
                assert_int_equal(test_hash_batch(&a), test_hash_batch(&b));
            } while (!a.last);
        }
        assert_ok(seeking->seek(seeking, (int64_t)1 << 40));
        bpt_batch_t b;
        next(seeking, &b);
        assert_int_equal(b.epoch, ((int64_t)1 << 40) / seeking->steps_per_epoch);
        straight->destroy(straight);
        seeking->destroy(seeking);
    }
}

// First inputs of an epoch's windows in their order.
static int64_t epoch_order(uint64_t seed, int64_t batch_tokens, int64_t accumulate, int64_t epoch, uint32_t *order) {
    const bpt_lm_options_t o = {16, 16, batch_tokens, accumulate, seed};
    bpt_batch_source_t *source;
    bpt_batch_t b;
    int64_t count = 0;
    assert_ok(bpt_lm_train_source(first_ids(1000), &o, &source));
    assert_ok(source->seek(source, epoch * source->steps_per_epoch));
    do {
        next(source, &b);
        for (int64_t row = 0; row < b.n_real; ++row) order[count++] = b.side[0].tokens[row * b.shape.side[0].n];
    } while (b.epoch_end < (double)epoch + 1 || !b.last);
    source->destroy(source);
    return count;
}

static void the_order_depends_on_seed_and_epoch_alone(void **state) {
    (void)state;
    uint32_t a[100], b[100];
    const int64_t n = epoch_order(1, 16, 1, 0, a);
    assert_int_equal(n, 63);
    assert_int_equal(epoch_order(1, 64, 3, 0, b), n);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    epoch_order(1, 16, 1, 5, a);
    epoch_order(1, 64, 3, 5, b);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    epoch_order(1, 16, 1, 6, b);
    assert_memory_not_equal(a, b, (size_t)n * sizeof *a);
    epoch_order(2, 16, 1, 5, b);
    assert_memory_not_equal(a, b, (size_t)n * sizeof *a);
}

static void impossible_training_is_refused(void **state) {
    (void)state;
    static const struct {
        uint64_t count;
        bpt_lm_options_t options;
        bpt_status_t status;
        const char *message;
    } cases[] = {
        {1, {16, 16, 64, 1, 1}, BPT_ERR_INPUT, "a text of 1 token has nothing to predict"},
        {0, {16, 16, 64, 1, 1}, BPT_ERR_INPUT, "a text of 0 tokens"},
        {16, {16, 16, 64, 1, 1}, BPT_ERR_INPUT, "16 tokens, fewer than one window of --context 16 needs; use --context 15 or"},
        {100, {0, 16, 64, 1, 1}, BPT_ERR_USAGE, "context 0"},
        {100, {16, 17, 64, 1, 1}, BPT_ERR_USAGE, "stride 17"},
        {100, {16, 0, 64, 1, 1}, BPT_ERR_USAGE, "stride 0"},
        {100, {16, 16, 0, 1, 1}, BPT_ERR_USAGE, "batch of 0 tokens"},
        {100, {16, 16, 64, 0, 1}, BPT_ERR_USAGE, "accumulate 0"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_batch_source_t *source;
        assert_fails(bpt_lm_train_source(first_ids(cases[i].count), &cases[i].options, &source), cases[i].status, cases[i].message);
    }
}

// ---- Evaluation. Where the inputs of a scored target begin, by the definition of the protocol; -1: not scored.
static int64_t context_begin(bpt_protocol_t protocol, int64_t target, int64_t E) {
    const int64_t H = E / 2;
    switch (protocol) {
    case BPT_PROTOCOL_CHUNKS: return (target - 1) / E * E;
    case BPT_PROTOCOL_HALF: return target <= E ? 0 : (target - E + H - 1) / H * H;
    default:  // halves of H tokens; each is read behind the half before it, and its first token is not scored
        if (target % H == 0) return -1;
        return target / H == 0 ? 0 : (target / H - 1) * H;
    }
}

static void every_protocol_scores_what_its_definition_says(void **state) {
    (void)state;
    static const int64_t contexts[] = {1, 2, 4, 6, 16, 100}, batch_tokens[] = {1, 40, 1000};
    for (int protocol = 0; protocol < 3; ++protocol)
        for (size_t e = 0; e < BPT_COUNT(contexts); ++e)
            for (uint64_t count = 2; count < 80; count += 1 + count / 20)
                for (size_t t = 0; t < BPT_COUNT(batch_tokens); ++t) {
                    const int64_t E = contexts[e];
                    bpt_batch_source_t *source;
                    bpt_batch_t b;
                    bool end = false;
                    if ((protocol == BPT_PROTOCOL_HALF && E < 2) || (protocol == BPT_PROTOCOL_RELEASED && E < 4)) continue;
                    assert_ok(bpt_lm_eval_source(first_ids(count), E, batch_tokens[t], (bpt_protocol_t)protocol, &source));
                    int64_t target = 1, batches = 0;  // the next that may be scored, in file order
                    for (;; ++batches) {
                        assert_ok(source->next(source, &b, &end));
                        if (end) break;
                        test_check_batch(&b, true);
                        assert_true(test_has_shape(source, &b.shape));
                        for (int64_t row = 0; row < b.n_real; ++row) {
                            check_row(&b, row);
                            for (int64_t i = 0; i < b.side[0].lengths[row]; ++i) {
                                if (b.weights[row * b.shape.side[0].n + i] == 0) continue;
                                while (context_begin((bpt_protocol_t)protocol, target, E) < 0) ++target;
                                assert_int_equal(b.targets[row * b.shape.side[0].n + i], 1000 + target);
                                assert_int_equal(b.side[0].tokens[row * b.shape.side[0].n],
                                                 1000 + context_begin((bpt_protocol_t)protocol, target, E));
                                ++target;
                            }
                        }
                    }
                    while (target < (int64_t)count && context_begin((bpt_protocol_t)protocol, target, E) < 0) ++target;
                    assert_int_equal(target, count);
                    assert_int_equal(batches, source->steps_per_epoch);
                    assert_ok(source->next(source, &b, &end));
                    assert_true(end);
                    assert_ok(source->seek(source, 0));
                    assert_ok(source->next(source, &b, &end));
                    assert_false(end);
                    source->destroy(source);
                }
}

static void impossible_evaluation_is_refused(void **state) {
    (void)state;
    bpt_batch_source_t *source;
    assert_fails(bpt_lm_eval_source(first_ids(1), 16, 64, BPT_PROTOCOL_CHUNKS, &source), BPT_ERR_INPUT, "a text of 1 token");
    assert_fails(bpt_lm_eval_source(first_ids(100), 0, 64, BPT_PROTOCOL_CHUNKS, &source), BPT_ERR_USAGE, "context 0");
    assert_fails(bpt_lm_eval_source(first_ids(100), 16, 0, BPT_PROTOCOL_CHUNKS, &source), BPT_ERR_USAGE, "batch of 0");
    assert_fails(bpt_lm_eval_source(first_ids(100), 15, 64, BPT_PROTOCOL_HALF, &source), BPT_ERR_USAGE,
                 "--eval-context 15: this protocol needs an even number");
    assert_fails(bpt_lm_eval_source(first_ids(100), 2, 64, BPT_PROTOCOL_RELEASED, &source), BPT_ERR_USAGE, "at least 4");
}

static void lines_are_sequences_of_their_own(void **state) {
    (void)state;
    uint64_t offsets[200] = {0}, count = 0;
    uint64_t random = 1;
    while (count < 150) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t length = count % 11 == 3 ? 0 : count % 13 == 5 ? 1 : (random >> 33) % (count % 7 ? 24 : 90);
        offsets[count + 1] = offsets[count] + length;
        ++count;
    }
    assert_true(offsets[count] < LONGEST);
    bpt_batch_source_t *source;
    bpt_batch_t b;
    bool end = false;
    int64_t row_after = -1, scored = 0, batches = 0, padded = 0, wanted = 0;
    assert_ok(bpt_lm_lines_source(ids, offsets, count, &source));
    for (;; ++batches) {
        assert_ok(source->next(source, &b, &end));
        if (end) break;
        test_check_batch(&b, true);
        assert_true(test_has_shape(source, &b.shape));
        padded += b.shape.side[0].n * b.shape.batch;
        for (int64_t row = 0; row < b.n_real; ++row) {
            const uint32_t s = b.sequences[row];
            assert_true((int64_t)s > row_after);  // file order
            row_after = s;
            const uint64_t tokens = offsets[s + 1] - offsets[s];
            if (tokens < 2) continue;
            check_row(&b, row);
            assert_int_equal(b.side[0].lengths[row], tokens - 1);
            assert_int_equal(b.side[0].tokens[row * b.shape.side[0].n], 1000 + offsets[s]);
            scored += b.side[0].lengths[row];
            for (uint64_t i = 0; i + 1 < tokens; ++i) assert_true(b.weights[(uint64_t)(row * b.shape.side[0].n) + i] == 1);
        }
    }
    for (uint64_t s = 0; s < count; ++s) wanted += offsets[s + 1] > offsets[s] + 1 ? (int64_t)(offsets[s + 1] - offsets[s]) - 1 : 0;
    assert_int_equal(scored, wanted);
    assert_int_equal(batches, source->steps_per_epoch);
    assert_true(batches < 140 && padded < 4 * wanted);  // sequences share batches, and padding stays small
    source->destroy(source);

    const uint64_t nothing[4] = {0, 0, 1, 2};
    assert_ok(bpt_lm_lines_source(ids, nothing, 3, &source));
    assert_ok(source->next(source, &b, &end));
    assert_true(end);
    source->destroy(source);
}

static void a_long_line_behind_many_short_ones_starts_a_new_batch(void **state) {
    (void)state;
    static uint32_t zeros[64 * 200];
    uint64_t offsets[201];
    for (uint64_t i = 0; i <= 200; ++i) offsets[i] = i < 150 ? i * 40 : 150 * 40 + (i - 150) * 90;  // buckets 48 and 96
    bpt_batch_source_t *source;
    bpt_batch_t b;
    bool end = false;
    int64_t rows = 0;
    assert_true(offsets[200] <= BPT_COUNT(zeros));
    assert_ok(bpt_lm_lines_source(zeros, offsets, 200, &source));
    for (;; rows += b.n_real) {
        assert_ok(source->next(source, &b, &end));
        if (end) break;
        test_check_batch(&b, true);
    }
    assert_int_equal(rows, 200);
    source->destroy(source);
}

static void failing_memory_leaks_nothing(void **state) {
    (void)state;
    const bpt_lm_options_t o = {16, 16, 64, 1, 1};
    const uint64_t offsets[3] = {0, 5, 90};
    const size_t live = bpt_alloc_live();
    for (int kind = 0; kind < 3; ++kind)
        for (size_t nth = 1;; ++nth) {
            bpt_batch_source_t *source = NULL;
            bpt_batch_t b;
            bool end;
            bpt_alloc_fail_after(nth);
            bpt_status_t status = kind == 0   ? bpt_lm_train_source(first_ids(100), &o, &source)
                                  : kind == 1 ? bpt_lm_eval_source(first_ids(100), 16, 64, BPT_PROTOCOL_HALF, &source)
                                              : bpt_lm_lines_source(ids, offsets, 2, &source);
            if (status == BPT_OK) status = source->next(source, &b, &end);
            bpt_alloc_fail_after(0);
            if (source) source->destroy(source);
            assert_int_equal(bpt_alloc_live(), live);
            if (status == BPT_OK) break;
            assert_int_equal(status, BPT_ERR_NO_MEMORY);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_trains_on_every_window_once),
        cmocka_unit_test(steps_have_their_micro_batches_and_weights),
        cmocka_unit_test(seek_reaches_any_step_exactly),
        cmocka_unit_test(the_order_depends_on_seed_and_epoch_alone),
        cmocka_unit_test(impossible_training_is_refused),
        cmocka_unit_test(every_protocol_scores_what_its_definition_says),
        cmocka_unit_test(impossible_evaluation_is_refused),
        cmocka_unit_test(lines_are_sequences_of_their_own),
        cmocka_unit_test(a_long_line_behind_many_short_ones_starts_a_new_batch),
        cmocka_unit_test(failing_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
