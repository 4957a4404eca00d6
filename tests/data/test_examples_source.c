// Batches of labelled sequences: steps, micro-batches, order, padding.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "data/batches/shapes.h"
#include "support/batches.h"
#include "support/check.h"

enum { EXAMPLES = 700, LONGEST = 150 };
static uint32_t tokens[EXAMPLES * LONGEST], labels[EXAMPLES];
static uint64_t offsets[EXAMPLES + 1];
static bpt_examples_t examples;

// Example e has label e % 5 and tokens e * 1000 + 1, + 2, ..; many are short, some are long.
static int setup(void **state) {
    (void)state;
    for (uint32_t e = 0; e < EXAMPLES; ++e) {
        const uint32_t length = e % 3 == 0 ? 1 : e % 50 == 7 ? LONGEST - e % 7 : 1 + e * 31 % 40;
        for (uint32_t i = 0; i < length; ++i) tokens[offsets[e] + i] = e * 1000 + i + 1;
        offsets[e + 1] = offsets[e] + length;
        labels[e] = e % 5;
    }
    examples = (bpt_examples_t){
        .tokens = tokens, .offsets = offsets, .labels = {.has = true, .of = labels}, .count = EXAMPLES, .n_tokens = offsets[EXAMPLES]};
    return 0;
}

static const bpt_batching_t trainings[] = {
    {64, 512, 1, 1, false, false},  {1, 512, 1, 2, false, false},       {700, 4096, 1, 3, false, false},
    {701, 100, 1, 4, false, false}, {699, 1000000, 1, 5, false, false}, {0, 512, 1, 6, false, false},
    {0, 512, 4, 7, false, false},   {32, 1, 1, 8, false, false},        {0, 1, 1, 9, false, false},
};

static bpt_batch_source_t *training(size_t i) {
    bpt_batch_source_t *source;
    assert_ok(bpt_examples_train_source(&examples, &trainings[i], &source));
    return source;
}

static void next(bpt_batch_source_t *source, bpt_batch_t *batch) {
    bool end = true;
    assert_ok(source->next(source, batch, &end));
    assert_false(end);
    test_check_batch(batch, false);
    assert_true(test_has_shape(source, &batch->shape));
}

// The example of a row, whose tokens and label must be right.
static uint32_t example_of(const bpt_batch_t *b, int64_t row) {
    const uint32_t e = b->side[0].tokens[row * b->shape.side[0].n] / 1000;
    assert_in_range(e, 0, EXAMPLES - 1);
    assert_int_equal(b->side[0].lengths[row], offsets[e + 1] - offsets[e]);
    for (uint32_t i = 0; i < b->side[0].lengths[row]; ++i)
        assert_int_equal(b->side[0].tokens[row * b->shape.side[0].n + i], e * 1000 + i + 1);
    assert_int_equal(b->targets[row], e % 5);
    assert_true(b->weights[row] == 1);
    return e;
}

static void an_epoch_has_every_example_once(void **state) {
    (void)state;
    for (size_t c = 0; c < BPT_COUNT(trainings); ++c) {
        bpt_batch_source_t *source = training(c);
        for (int64_t epoch = 0; epoch < 2; ++epoch) {
            int seen[EXAMPLES] = {0}, ranks[EXAMPLES] = {0};
            for (int64_t step = 0; step < source->steps_per_epoch; ++step) {
                bpt_batch_t b = {0};
                int64_t scored = 0;
                for (bool first = true; first || !b.last; first = false) {
                    next(source, &b);
                    assert_int_equal(b.first, first);
                    assert_int_equal(b.epoch, epoch);
                    assert_true(b.shape.batch == 1 || b.shape.side[0].n * b.shape.batch <= trainings[c].batch_tokens);
                    for (int64_t row = 0; row < b.n_real; ++row) {
                        ++seen[example_of(&b, row)];
                        ++ranks[b.sequences[row]];
                    }
                    scored += b.n_scored;
                }
                assert_int_equal(scored, b.window_scored);
                if (trainings[c].batch_examples && step + 1 < source->steps_per_epoch)
                    assert_int_equal(scored, trainings[c].batch_examples);
                if (step + 1 == source->steps_per_epoch) assert_true(b.epoch_end == (double)epoch + 1);
            }
            for (int e = 0; e < EXAMPLES; ++e) assert_true(seen[e] == 1 && ranks[e] == 1);
        }
        source->destroy(source);
    }
}

static void steps_without_a_number_of_examples_have_about_the_leaves_asked_for(void **state) {
    (void)state;
    const bpt_batching_t o = {.batch_tokens = 512, .accumulate = 3, .seed = 1};
    bpt_batch_source_t *source;
    bpt_batch_t b;
    assert_ok(bpt_examples_train_source(&examples, &o, &source));
    const double leaves = (double)examples.n_tokens / (double)source->steps_per_epoch;
    assert_true(leaves > 0.7 * 512 * 3 && leaves < 1.3 * 512 * 3);
    next(source, &b);
    source->destroy(source);
}

// Examples of an epoch in the order of their ranks.
static void epoch_order(uint64_t seed, int64_t batch_examples, int64_t batch_tokens, int64_t epoch, uint32_t order[EXAMPLES]) {
    const bpt_batching_t o = {.batch_examples = batch_examples, .batch_tokens = batch_tokens, .accumulate = 1, .seed = seed};
    bpt_batch_source_t *source;
    bpt_batch_t b;
    assert_ok(bpt_examples_train_source(&examples, &o, &source));
    assert_ok(source->seek(source, epoch * source->steps_per_epoch));
    do {
        next(source, &b);
        for (int64_t row = 0; row < b.n_real; ++row) order[b.sequences[row]] = example_of(&b, row);
    } while (b.epoch_end < (double)epoch + 1 || !b.last);
    source->destroy(source);
}

static void the_order_depends_on_seed_and_epoch_alone(void **state) {
    (void)state;
    uint32_t a[EXAMPLES], b[EXAMPLES];
    epoch_order(1, 64, 512, 3, a);
    epoch_order(1, 10, 9000, 3, b);
    assert_memory_equal(a, b, sizeof a);
    epoch_order(1, 64, 512, 4, b);
    assert_memory_not_equal(a, b, sizeof a);
    epoch_order(2, 64, 512, 3, b);
    assert_memory_not_equal(a, b, sizeof a);
}

static void seek_reaches_any_step_exactly(void **state) {
    (void)state;
    for (size_t c = 0; c < BPT_COUNT(trainings); ++c) {
        bpt_batch_source_t *straight = training(c), *seeking = training(c);
        const int64_t steps = 2 * straight->steps_per_epoch < 40 ? 2 * straight->steps_per_epoch : 40;
        for (int64_t step = 0; step < steps; ++step) {
            bpt_batch_t a = {0}, b = {0};
            assert_ok(seeking->seek(seeking, step * 7919 % steps));
            next(seeking, &b);
            assert_ok(seeking->seek(seeking, step));
            do {
                next(straight, &a);
                next(seeking, &b);
                assert_int_equal(test_hash_batch(&a), test_hash_batch(&b));
            } while (!a.last);
        }
        straight->destroy(straight);
        seeking->destroy(seeking);
    }
}

static void evaluation_has_every_example_at_its_place_in_the_file(void **state) {
    (void)state;
    static const int64_t batch_tokens[] = {1, 64, 2048, 1 << 20};
    uint32_t *const all_labels = examples.labels.of;
    uint32_t none[EXAMPLES];
    memset(none, 0xFF, sizeof none);  // BPT_NO_LABEL
    for (size_t t = 0; t < 2 * BPT_COUNT(batch_tokens); ++t) {
        const bool labelled = t % 2;
        bpt_batch_source_t *source;
        examples.labels.of = labelled ? all_labels : none;
        assert_ok(bpt_examples_eval_source(&examples, &(bpt_batching_t){.batch_tokens = batch_tokens[t / 2]}, &source));
        for (int pass = 0; pass < 2; ++pass) {
            int seen[EXAMPLES] = {0};
            int64_t count = 0;
            for (bool end = false;;) {
                bpt_batch_t b;
                assert_ok(source->next(source, &b, &end));
                if (end) break;
                test_check_batch(&b, false);
                assert_true(test_has_shape(source, &b.shape));
                for (int64_t row = 0; row < b.n_real; ++row, ++count) {
                    if (labelled) assert_int_equal(example_of(&b, row), b.sequences[row]);
                    assert_int_equal(b.side[0].tokens[row * b.shape.side[0].n] / 1000, b.sequences[row]);
                    if (!labelled) assert_true(b.targets[row] == 0 && b.weights[row] == 1);
                    ++seen[b.sequences[row]];
                }
            }
            assert_int_equal(count, EXAMPLES);
            for (int e = 0; e < EXAMPLES; ++e) assert_int_equal(seen[e], 1);
            assert_ok(source->seek(source, 0));
        }
        source->destroy(source);
    }
    examples.labels.of = all_labels;
}

static void buckets_and_row_counts_are_the_smallest_with_room(void **state) {
    (void)state;
    int64_t before = 0;
    for (int64_t x = 1; x < 10000; ++x) {
        const int64_t n = bpt_length_bucket(x);
        assert_true(n >= x && n >= before && bpt_length_bucket(n) == n && 2 * n < 3 * x);
        before = n;
        for (int64_t most = x; most < x + 40; most += 13) assert_true(bpt_row_count(most, x) >= x && bpt_row_count(most, x) <= most);
    }
    static const int64_t series[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    for (size_t i = 0; i + 1 < BPT_COUNT(series); ++i) assert_int_equal(bpt_length_bucket(series[i] + 1), series[i + 1]);
}

static void cutting_beats_one_bucket_at_a_time(void **state) {
    (void)state;
    bpt_micro_t micro[EXAMPLES];
    int64_t buckets[EXAMPLES];
    for (size_t count = 1; count <= 600; count += 37)
        for (int64_t batch_tokens = 16; batch_tokens < 20000; batch_tokens *= 5) {
            for (size_t i = 0; i < count; ++i) buckets[i] = bpt_length_bucket(1 + (int64_t)((count - i) * (count - i) / 900));
            const size_t n = bpt_cut_step(buckets, count, batch_tokens, micro);
            int64_t cut = 0, apart = 0;  // padded leaves and 64 for every micro-batch
            size_t covered = 0;
            for (size_t m = 0; m < n; ++m) {
                assert_int_equal(micro[m].first, covered);
                assert_int_equal(micro[m].n, buckets[covered]);
                assert_true(micro[m].count >= 1 && micro[m].count <= (size_t)micro[m].rows);
                assert_true(micro[m].rows == 1 || micro[m].n * micro[m].rows <= batch_tokens);
                covered += micro[m].count;
                cut += micro[m].n * micro[m].rows + 64;
            }
            assert_int_equal(covered, count);
            for (size_t i = 0, end; i < count; i = end) {
                const int64_t most = bpt_most_rows(buckets[i], batch_tokens);
                for (end = i; end < count && buckets[end] == buckets[i] && (int64_t)(end - i) < most;) ++end;
                apart += bpt_row_count(most, (int64_t)(end - i)) * buckets[i] + 64;
            }
            assert_true(cut <= apart);
        }
}

static void impossible_batches_are_refused(void **state) {
    (void)state;
    bpt_batch_source_t *source;
    const bpt_examples_t nothing = {0};
    assert_fails(bpt_examples_train_source(&examples, &(bpt_batching_t){.batch_examples = 8}, &source), BPT_ERR_USAGE,
                 "at least one token");
    assert_fails(bpt_examples_train_source(&examples, &(bpt_batching_t){.batch_examples = -1, .batch_tokens = 64}, &source), BPT_ERR_USAGE,
                 "one example");
    assert_fails(bpt_examples_eval_source(&nothing, &(bpt_batching_t){.batch_tokens = 64}, &source), BPT_ERR_USAGE, "one example");
}

static void failing_memory_leaks_nothing(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    for (size_t kind = 0; kind < 2; ++kind)
        for (size_t nth = 1;; ++nth) {
            bpt_batch_source_t *source = NULL;
            bpt_batch_t b;
            bool end;
            bpt_alloc_fail_after(nth);
            bpt_status_t status = kind ? bpt_examples_eval_source(&examples, &(bpt_batching_t){.batch_tokens = 512}, &source)
                                       : bpt_examples_train_source(&examples, &trainings[0], &source);
            if (status == BPT_OK) status = source->next(source, &b, &end);
            bpt_alloc_fail_after(0);
            if (source) source->destroy(source);
            assert_int_equal(bpt_alloc_live(), live);
            if (status == BPT_OK) break;
            assert_int_equal(status, BPT_ERR_NO_MEMORY);
        }
}

// ---- Packed rows, pairs, labels of tokens, numbers: every example is there once with what belongs to it

typedef struct {
    bpt_examples_t examples;
    bpt_batching_t batching;
} layout_case_t;

static uint32_t token_labels[EXAMPLES * LONGEST];
static float numbers[2 * EXAMPLES * LONGEST], values[3 * EXAMPLES];

static void check_text(const bpt_examples_t *e, const bpt_batch_t *b, int64_t sequence, uint64_t text) {
    const bpt_side_t *side = &b->side[0];
    const uint64_t from = e->offsets[text], length = e->offsets[text + 1] - from;
    assert_int_equal(side->lengths[sequence], length);
    for (uint64_t i = 0; i < length; ++i) {
        const uint64_t row = side->start[sequence] + i;
        if (e->vectors.has)
            assert_memory_equal(side->numbers + row * 2, e->vectors.of + (from + i) * 2, 2 * sizeof(float));
        else
            assert_int_equal(side->tokens[row], e->tokens[from + i]);
        if (e->labels.per_token) assert_true(b->targets[row] == e->labels.of[from + i] && b->weights[row] == 1);
    }
}

static void every_layout_has_every_example_with_its_targets(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(token_labels); ++i) token_labels[i] = (uint32_t)(i * 7 % 9);
    for (size_t i = 0; i < BPT_COUNT(numbers); ++i) numbers[i] = (float)i;
    for (size_t i = 0; i < BPT_COUNT(values); ++i) values[i] = (float)i / 8;
    bpt_examples_t tags = examples, pairs = examples, vectors = examples;
    tags.labels.per_token = true, tags.labels.of = token_labels;
    pairs.texts = 2, pairs.count = EXAMPLES / 2;
    vectors.tokens = NULL, vectors.vectors = (bpt_example_numbers_t){true, numbers, 2};
    vectors.labels = (bpt_example_labels_t){0}, vectors.values = (bpt_example_numbers_t){true, values, 3};
    const bpt_examples_t *const all[] = {&examples, &tags, &pairs, &vectors};
    for (size_t k = 0; k < 16; ++k) {
        const bpt_examples_t *e = all[k / 4];
        const bool packed = k % 2, scores_texts = e->labels.per_token && k % 4 > 1;
        const bpt_batching_t batching = {
            .batch_examples = 50, .batch_tokens = k % 4 > 1 ? 300 : 2000, .seed = 3, .packed = packed, .scores_texts = scores_texts};
        const int64_t texts = e->texts ? e->texts : 1;
        static int seen[EXAMPLES];
        bpt_batch_source_t *source;
        memset(seen, 0, sizeof seen);
        assert_ok(bpt_examples_eval_source(e, &batching, &source));
        for (int64_t scored = 0;;) {
            bpt_batch_t b;
            bool end;
            assert_ok(source->next(source, &b, &end));
            if (end) break;
            if (!scores_texts) test_check_batch(&b, e->labels.per_token);
            assert_true(packed ? b.shape.side[0].n == 0 && b.shape.side[0].rows <= source->shapes[0].side[0].rows &&
                                     b.shape.batch <= source->shapes[0].batch
                               : test_has_shape(source, &b.shape));
            for (int64_t s = 0; s < b.n_real; ++s) check_text(e, &b, s, b.sequences[s]);
            for (int64_t s = 0; s < b.n_real; s += texts) {
                const uint32_t example = b.sequences[s] / (uint32_t)texts;
                ++seen[example];
                for (int64_t t = 0; t < texts; ++t) assert_int_equal(b.sequences[s + t], example * (uint32_t)texts + t);
                if (e->values.has) assert_memory_equal(b.values + s * 3, e->values.of + example * 3, 3 * sizeof(float));
                if (!e->values.has && !e->labels.per_token) assert_int_equal(b.targets[s / texts], e->labels.of[example]);
            }
            scored += b.n_scored;
            if (b.last) assert_int_equal(scored, b.window_scored);
            if (b.last) assert_int_equal(scored, e->labels.per_token && !scores_texts ? e->n_tokens : e->count);
        }
        for (uint64_t i = 0; i < e->count; ++i) assert_int_equal(seen[i], 1);
        source->destroy(source);
    }
}

static void packed_rows_have_little_padding_and_few_shapes(void **state) {
    (void)state;
    int shapes = 0;
    for (int64_t count = 1, last = 0; count <= 8192; ++count) {
        const int64_t rows = bpt_packed_rows(count, 8192);
        assert_true(rows >= count && rows <= 8192 && rows - count < (count / 8 > 8 ? count / 8 : 8));
        shapes += rows != last;
        last = rows;
    }
    assert_true(shapes < 100);
    assert_int_equal(bpt_packed_rows(999, 990), 1024);
    assert_int_equal(bpt_packed_rows(985, 990), 990);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_has_every_example_with_its_targets),
        cmocka_unit_test(packed_rows_have_little_padding_and_few_shapes),
        cmocka_unit_test(an_epoch_has_every_example_once),
        cmocka_unit_test(steps_without_a_number_of_examples_have_about_the_leaves_asked_for),
        cmocka_unit_test(the_order_depends_on_seed_and_epoch_alone),
        cmocka_unit_test(seek_reaches_any_step_exactly),
        cmocka_unit_test(evaluation_has_every_example_at_its_place_in_the_file),
        cmocka_unit_test(buckets_and_row_counts_are_the_smallest_with_room),
        cmocka_unit_test(cutting_beats_one_bucket_at_a_time),
        cmocka_unit_test(impossible_batches_are_refused),
        cmocka_unit_test(failing_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
