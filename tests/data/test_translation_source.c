// Batches of texts and their translations: both sides, steps of like lengths, documents.
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
#include "data/batches/prefetch.h"
#include "data/batches/shapes.h"
#include "data/examples/parallel.h"
#include "support/batches.h"
#include "support/check.h"

enum { TEXTS = 900, LONGEST = 60, OPENING = 7 };
static uint32_t source_tokens[TEXTS * LONGEST], target_tokens[TEXTS * LONGEST];
static uint64_t source_offsets[TEXTS + 1], target_offsets[TEXTS + 1];
static bpt_window_t windows[TEXTS];
static bpt_examples_t sentences, documents;

// Text t has the tokens 1000 t + 1, + 2, ..; its translation 1000 t + 501, ..
static int setup(void **state) {
    (void)state;
    for (uint32_t t = 0; t < TEXTS; ++t) {
        const uint32_t source = 1 + t * 31 % 20 + (t % 50 == 7 ? 30 : 0), target = 1 + (source + t * 17 % 5);
        for (uint32_t i = 0; i < source; ++i) source_tokens[source_offsets[t] + i] = 1000 * t + i + 1;
        for (uint32_t i = 0; i < target; ++i) target_tokens[target_offsets[t] + i] = 1000 * t + i + 501;
        source_offsets[t + 1] = source_offsets[t] + source;
        target_offsets[t + 1] = target_offsets[t] + target;
    }
    sentences = (bpt_examples_t){.tokens = source_tokens,
                                 .offsets = source_offsets,
                                 .n_tokens = source_offsets[TEXTS],
                                 .target = {true, target_tokens, target_offsets, target_offsets[TEXTS], OPENING},
                                 .count = TEXTS};
    documents = sentences;
    documents.windows = (bpt_example_windows_t){true, windows};
    documents.count = TEXTS / 3;
    for (uint64_t w = 0; w < documents.count; ++w)  // segments of three texts, documents of four segments
        windows[w] = (bpt_window_t){.first = 3 * (w % 4 ? w - 1 : w), .own = 3 * w, .end = 3 * w + 3};
    return 0;
}

static void next(bpt_batch_source_t *source, bpt_batch_t *batch) {
    bool end = true;
    assert_ok(source->next(source, batch, &end));
    assert_false(end);
    test_check_batch(batch, true);
    assert_true(test_has_shape(source, &batch->shape));
}

// The window of a sequence, all of whose rows must be right on both sides.
static uint64_t window_of(const bpt_batch_t *b, int64_t s, const bpt_examples_t *e, bool train) {
    const bpt_side_t *source = &b->side[0], *target = &b->side[1];
    const uint32_t from = source->start[s], to = target->start[s];
    uint64_t w = source->tokens[from] / 1000;
    if (e->windows.has)
        for (w = 0; windows[w].end * 1000 <= source->tokens[from + source->lengths[s] - 1]; ++w) {
        }
    const bpt_window_t texts = e->windows.has ? windows[w] : (bpt_window_t){w, w, w + 1};
    assert_int_equal(source->lengths[s], source_offsets[texts.end] - source_offsets[texts.first]);
    assert_int_equal(target->lengths[s], target_offsets[texts.end] - target_offsets[texts.first]);
    assert_memory_equal(source->tokens + from, source_tokens + source_offsets[texts.first], 4 * source->lengths[s]);
    assert_memory_equal(b->targets + to, target_tokens + target_offsets[texts.first], 4 * target->lengths[s]);
    assert_int_equal(target->tokens[to], OPENING);
    for (uint32_t i = 1; i < target->lengths[s]; ++i) assert_int_equal(target->tokens[to + i], b->targets[to + i - 1]);
    const uint64_t context = train ? 0 : target_offsets[texts.own] - target_offsets[texts.first];
    for (uint32_t i = 0; i < target->lengths[s]; ++i) assert_true(b->weights[to + i] == (i >= context));
    if (e->windows.has) assert_int_equal(b->first_segment[s + 1] - b->first_segment[s], texts.end - texts.first);
    for (uint64_t t = texts.first; e->windows.has && t < texts.end; ++t) {
        const uint32_t segment = b->first_segment[s] + (uint32_t)(t - texts.first);
        assert_int_equal(source->tokens[source->segment_start[segment]], 1000 * t + 1);
        assert_int_equal(source->segment_lengths[segment], source_offsets[t + 1] - source_offsets[t]);
        assert_int_equal(b->targets[target->segment_start[segment]], 1000 * t + 501);
        assert_int_equal(target->segment_lengths[segment], target_offsets[t + 1] - target_offsets[t]);
    }
    return w;
}

static const bpt_batching_t trainings[] = {
    {.batch_examples = 64, .batch_tokens = 512, .seed = 1}, {.batch_examples = 1, .batch_tokens = 64, .seed = 2},
    {.batch_examples = 899, .batch_tokens = 4096},          {.batch_tokens = 300, .accumulate = 1, .seed = 3},
    {.batch_tokens = 1, .accumulate = 1, .seed = 4},        {.batch_tokens = 512, .accumulate = 4, .seed = 5},
};

static void an_epoch_has_every_example_once(void **state) {
    (void)state;
    const bpt_examples_t *const sets[] = {&sentences, &documents};
    for (size_t c = 0; c < 2 * BPT_COUNT(trainings); ++c) {
        const bpt_examples_t *e = sets[c % 2];
        const bpt_batching_t *o = &trainings[c / 2];
        bpt_batch_source_t *source;
        bpt_batch_t b = {0};
        int seen[TEXTS] = {0}, ranks[TEXTS] = {0};
        assert_ok(bpt_examples_train_source(e, o, &source));
        for (int64_t step = 0; step < source->steps_per_epoch; ++step) {
            int64_t scored = 0;
            for (bool first = true; first || !b.last; first = false) {
                next(source, &b);
                assert_int_equal(b.first, first);
                assert_true(b.shape.batch == 1 || b.shape.side[0].rows <= o->batch_tokens);
                for (int64_t s = 0; s < b.n_real; ++s) ++seen[window_of(&b, s, e, true)], ++ranks[b.sequences[s]];
                scored += b.n_scored;
            }
            assert_int_equal(scored, b.window_scored);
        }
        assert_true(b.epoch_end == 1);
        for (uint64_t w = 0; w < e->count; ++w) assert_true(seen[w] == 1 && ranks[w] == 1);
        source->destroy(source);
    }
}

static void an_evaluation_scores_every_text_once_in_file_order(void **state) {
    (void)state;
    const bpt_examples_t *const sets[] = {&sentences, &documents};
    for (int c = 0; c < 2; ++c) {
        const bpt_batching_t o = {.batch_tokens = 400};
        bpt_batch_source_t *source;
        bpt_batch_t b = {0};
        int64_t scored = 0;
        assert_ok(bpt_examples_eval_source(sets[c], &o, &source));
        while (!b.last) {
            next(source, &b);
            for (int64_t s = 0; s < b.n_real; ++s) assert_int_equal(window_of(&b, s, sets[c], false), b.sequences[s]);
            scored += b.n_scored;
        }
        assert_int_equal(scored, target_offsets[TEXTS]);
        assert_int_equal(b.window_scored, scored);
        source->destroy(source);
    }
}

static void seek_reaches_any_step_exactly_also_through_prefetch(void **state) {
    (void)state;
    const bpt_examples_t *const sets[] = {&sentences, &documents};
    for (size_t c = 0; c < 2 * BPT_COUNT(trainings); ++c) {
        bpt_batch_source_t *straight, *direct, *seeking;
        assert_ok(bpt_examples_train_source(sets[c % 2], &trainings[c / 2], &straight));
        assert_ok(bpt_examples_train_source(sets[c % 2], &trainings[c / 2], &direct));
        assert_ok(bpt_prefetch_create(&direct, 2, &seeking));
        const int64_t steps = 2 * straight->steps_per_epoch < 30 ? 2 * straight->steps_per_epoch : 30;
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

// Padded rows of an epoch for each real one, and micro-batches of a step.
static double padding_of(const bpt_examples_t *e, const bpt_batching_t *o, double *micro) {
    bpt_batch_source_t *source;
    bpt_batch_t b = {0};
    int64_t padded = 0, real = 0, batches = 0;
    assert_ok(bpt_examples_train_source(e, o, &source));
    for (int64_t step = 0; step < source->steps_per_epoch; ++step) do {
            bool end;
            assert_ok(source->next(source, &b, &end));
            padded += b.shape.side[0].rows + b.shape.side[1].rows;
            for (int64_t s = 0; s < b.n_real; ++s) real += b.side[0].lengths[s] + b.side[1].lengths[s];
            ++batches;
        } while (!b.last);
    *micro = (double)batches / (double)source->steps_per_epoch;
    source->destroy(source);
    return (double)padded / (double)real;
}

static void examples_of_a_step_have_like_lengths(void **state) {
    (void)state;
    const bpt_batching_t o = {.batch_examples = 20, .batch_tokens = 2000, .seed = 1};
    bpt_batch_source_t *source;
    bpt_batch_t b = {0};
    int64_t spread = 0, steps = 0;
    uint32_t first[2] = {0};
    assert_ok(bpt_examples_train_source(&sentences, &o, &source));
    for (int64_t step = 0; step < 2 * source->steps_per_epoch; ++step) {
        uint32_t least = UINT32_MAX, most = 0;
        do {
            next(source, &b);
            if (step % source->steps_per_epoch == 0) first[step > 0] = b.side[0].tokens[0];
            for (int64_t s = 0; s < b.n_real; ++s) {
                least = b.side[1].lengths[s] < least ? b.side[1].lengths[s] : least;
                most = b.side[1].lengths[s] > most ? b.side[1].lengths[s] : most;
            }
        } while (!b.last);
        spread += most - least;
        ++steps;
    }
    assert_true(spread < 3 * steps);  // of steps of random examples it is about 25
    assert_int_not_equal(first[0], first[1]);
    source->destroy(source);
}

static void multi30k_needs_little_padding(void **state) {
    (void)state;
    const char *shared = getenv("BPT_SHARED");
    char path[2][512];
    bpt_text_t *text[2];
    bpt_vocab_t *vocab[2];
    bpt_parallel_t pair = {0};
    bpt_examples_t e;
    if (!shared) skip();
    for (int i = 0; i < 2; ++i) {
        snprintf(path[i], sizeof path[i], "%s/data/multi30k-tok/train.%s", shared, i ? "de" : "en");
        assert_ok(bpt_text_open(path[i], &text[i]));
        pair.text[i] = bpt_text_range(text[i]);
        assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab[i]));
    }
    assert_ok(bpt_parallel_scan(&pair, vocab, NULL));
    for (int i = 0; i < 2; ++i) assert_ok(bpt_vocab_freeze(vocab[i]));
    const bpt_vocab_t *const frozen[] = {vocab[0], vocab[1]};
    assert_ok(bpt_parallel_read(&pair, &(bpt_parallel_options_t){0}, frozen, &e));
    assert_int_equal(e.count, 29000);
    assert_int_equal(e.n_tokens, 377534 + 29000);
    assert_int_equal(e.target.n_tokens, 360706 + 29000);
    static const bpt_batching_t settings[] = {{.batch_tokens = 4096, .accumulate = 1}, {.batch_tokens = 1024, .accumulate = 4}};
    for (size_t i = 0; i < BPT_COUNT(settings); ++i) {
        double micro, padding = padding_of(&e, &settings[i], &micro);
        print_message("--batch-tokens %d --accumulate %d: %.3f padded rows for each real one, %.2f micro-batches a step\n",
                      (int)settings[i].batch_tokens, (int)settings[i].accumulate, padding, micro);
        assert_true(padding < 1.25);
    }
    bpt_examples_free(&e);
    for (int i = 0; i < 2; ++i) bpt_vocab_destroy(vocab[i]), bpt_text_close(text[i]);
}

static void fine_buckets_waste_at_most_a_fifth(void **state) {
    (void)state;
    static const int64_t series[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40};
    for (size_t i = 0; i + 1 < BPT_COUNT(series); ++i) assert_int_equal(bpt_fine_length_bucket(series[i] + 1), series[i + 1]);
    for (int64_t x = 1; x < 10000; ++x) {
        const int64_t n = bpt_fine_length_bucket(x);
        assert_true(n >= x && bpt_fine_length_bucket(n) == n && 4 * n < 5 * x + 4);
    }
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    bpt_batch_source_t *source;
    bpt_examples_t shifted = sentences;
    assert_fails(bpt_examples_train_source(&sentences, &(bpt_batching_t){.batch_tokens = 64, .packed = true}, &source), BPT_ERR_UNSUPPORTED,
                 "cannot be packed");
    assert_fails(bpt_examples_shift(&shifted, 2), BPT_ERR_USAGE, "cannot be shifted");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_has_every_example_once),
        cmocka_unit_test(an_evaluation_scores_every_text_once_in_file_order),
        cmocka_unit_test(seek_reaches_any_step_exactly_also_through_prefetch),
        cmocka_unit_test(examples_of_a_step_have_like_lengths),
        cmocka_unit_test(multi30k_needs_little_padding),
        cmocka_unit_test(fine_buckets_waste_at_most_a_fifth),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
