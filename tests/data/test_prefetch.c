// Batches prepared ahead: the same ones, errors passed on, clean ends. Run under ThreadSanitizer too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/batches/lm.h"
#include "data/batches/prefetch.h"
#include "support/batches.h"
#include "support/check.h"

static uint32_t ids[2000];

static bpt_batch_source_t *training(void) {
    const bpt_lm_options_t o = {16, 8, 64, 3, 7};
    bpt_batch_source_t *source;
    const bpt_ids_t text = bpt_ids_of(ids, BPT_COUNT(ids));
    for (uint32_t i = 0; i < BPT_COUNT(ids); ++i) ids[i] = i * 7 % 256;
    assert_ok(bpt_lm_train_source(&text, &o, &source));
    return source;
}

static bpt_batch_source_t *evaluation(void) {
    bpt_batch_source_t *source;
    const bpt_ids_t text = bpt_ids_of(ids, BPT_COUNT(ids));
    assert_ok(bpt_lm_eval_source(&text, 32, 64, BPT_PROTOCOL_HALF, &source));
    return source;
}

static bpt_batch_source_t *ahead(bpt_batch_source_t *source, int depth) {
    bpt_batch_source_t *out;
    assert_ok(bpt_prefetch_create(&source, depth, &out));
    assert_null(source);
    return out;
}

static void assert_same(bpt_batch_source_t *a, bpt_batch_source_t *b, int batches) {
    for (int i = 0; i < batches; ++i) {
        bpt_batch_t x, y;
        bool end_x = false, end_y = false;
        assert_ok(a->next(a, &x, &end_x));
        assert_ok(b->next(b, &y, &end_y));
        assert_int_equal(end_x, end_y);
        if (end_x) return;
        test_check_batch(&y, true);
        assert_int_equal(test_hash_batch(&x), test_hash_batch(&y));
    }
}

static void batches_are_the_same_as_without(void **state) {
    (void)state;
    for (int depth = 0; depth < 5; ++depth) {
        bpt_batch_source_t *a = training(), *b = ahead(training(), depth);
        assert_int_equal(a->steps_per_epoch, b->steps_per_epoch);
        assert_int_equal(a->n_shapes, b->n_shapes);
        assert_memory_equal(a->shapes, b->shapes, (size_t)a->n_shapes * sizeof *a->shapes);
        assert_same(a, b, 500);
        a->destroy(a);
        b->destroy(b);
    }
}

static void seek_drops_what_was_prepared(void **state) {
    (void)state;
    bpt_batch_source_t *a = training(), *b = ahead(training(), 3);
    for (int64_t i = 0; i < 60; ++i) {
        const int64_t step = i * 37 % 50;
        assert_ok(a->seek(a, step));
        assert_ok(b->seek(b, step));
        assert_same(a, b, (int)(i % 6));
    }
    a->destroy(a);
    b->destroy(b);
}

static void an_end_stays_until_the_next_seek(void **state) {
    (void)state;
    bpt_batch_source_t *a = evaluation(), *b = ahead(evaluation(), 2);
    for (int pass = 0; pass < 3; ++pass) {
        assert_same(a, b, 10000);
        bpt_batch_t batch;
        for (int i = 0; i < 3; ++i) {
            bool end = false;
            assert_ok(b->next(b, &batch, &end));
            assert_true(end);
        }
        assert_ok(a->seek(a, 0));
        assert_ok(b->seek(b, 0));
    }
    a->destroy(a);
    b->destroy(b);
}

// A source whose batch number `bad` fails, and whose seek to a negative step does; it can be slow.
typedef struct {
    bpt_batch_source_t base;
    int64_t at, bad;
    int *destroyed;
    bool slow;
    uint32_t words[4];
    float weights[4];
} faulty_t;

static bpt_status_t faulty_next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    faulty_t *f = (faulty_t *)source;
    if (f->slow) nanosleep(&(struct timespec){0, 2000000}, NULL);
    if (f->at++ == f->bad) return bpt_fail(BPT_ERR_INPUT, "batch %lld is broken", (long long)f->bad);
    f->words[0] = (uint32_t)f->at;
    *end = false;
    *batch = (bpt_batch_t){.shape = bpt_batch_buckets(1, 1),
                           .n_real = 1,
                           .n_targets = 1,
                           .side = {{.tokens = f->words, .start = f->words, .lengths = f->words}},
                           .targets = f->words,
                           .sequences = f->words,
                           .weights = f->weights};
    return BPT_OK;
}

static bpt_status_t faulty_seek(bpt_batch_source_t *source, int64_t step) {
    faulty_t *f = (faulty_t *)source;
    if (step < 0) return bpt_fail(BPT_ERR_INTERNAL, "no step %lld", (long long)step);
    f->at = step;
    return BPT_OK;
}

static void faulty_destroy(bpt_batch_source_t *source) {
    ++*((faulty_t *)source)->destroyed;
    bpt_free(source);
}

static bpt_batch_source_t *faulty(int64_t bad, bool slow, int *destroyed) {
    faulty_t *f;
    assert_ok(bpt_alloc(1, sizeof *f, &f));
    f->base = (bpt_batch_source_t){.next = faulty_next, .seek = faulty_seek, .destroy = faulty_destroy};
    f->bad = bad;
    f->destroyed = destroyed;
    f->slow = slow;
    return &f->base;
}

static void an_error_comes_in_its_place_with_its_message(void **state) {
    (void)state;
    int destroyed = 0;
    bpt_batch_source_t *source = ahead(faulty(5, false, &destroyed), 2);
    bpt_batch_t batch;
    bool end;
    for (int round = 0; round < 2; ++round) {
        for (uint32_t i = 0; i < 5; ++i) {
            assert_ok(source->next(source, &batch, &end));
            assert_int_equal(batch.side[0].tokens[0], i + 1);
        }
        bpt_error_clear();
        for (int i = 0; i < 3; ++i) assert_fails(source->next(source, &batch, &end), BPT_ERR_INPUT, "batch 5 is broken");
        assert_fails(source->seek(source, -1), BPT_ERR_INTERNAL, "no step -1");
        assert_ok(source->seek(source, 0));
    }
    source->destroy(source);
    assert_int_equal(destroyed, 1);
}

static void it_ends_at_any_moment(void **state) {
    (void)state;
    int destroyed = 0;
    const size_t live = bpt_alloc_live();
    for (int i = 0; i < 12; ++i) {
        bpt_batch_source_t *source = ahead(faulty(-1, i % 2, &destroyed), 1 + i % 3);
        bpt_batch_t batch;
        bool end;
        for (int taken = 0; taken < i / 2; ++taken) assert_ok(source->next(source, &batch, &end));
        source->destroy(source);
    }
    assert_int_equal(destroyed, 12);
    assert_int_equal(bpt_alloc_live(), live);
}

static void the_batch_in_hand_is_left_alone(void **state) {
    (void)state;
    int destroyed = 0;
    bpt_batch_source_t *source = ahead(faulty(-1, false, &destroyed), 2);
    for (uint32_t i = 1; i < 10; ++i) {
        bpt_batch_t batch;
        bool end;
        assert_ok(source->next(source, &batch, &end));
        nanosleep(&(struct timespec){0, 1000000}, NULL);  // the thread goes on meanwhile
        assert_int_equal(batch.side[0].tokens[0], i);
    }
    source->destroy(source);
}

static void a_failed_start_leaves_the_source_with_its_owner(void **state) {
    (void)state;
    int destroyed = 0;
    bpt_batch_source_t *source = faulty(-1, false, &destroyed), *out;
    const size_t live = bpt_alloc_live();
    for (size_t nth = 1; nth <= 2; ++nth) {
        bpt_alloc_fail_after(nth);
        assert_int_equal(bpt_prefetch_create(&source, 2, &out), BPT_ERR_NO_MEMORY);
        bpt_alloc_fail_after(0);
        assert_non_null(source);
        assert_int_equal(bpt_alloc_live(), live);
    }
    source->destroy(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_the_same_as_without),
        cmocka_unit_test(seek_drops_what_was_prepared),
        cmocka_unit_test(an_end_stays_until_the_next_seek),
        cmocka_unit_test(an_error_comes_in_its_place_with_its_message),
        cmocka_unit_test(it_ends_at_any_moment),
        cmocka_unit_test(the_batch_in_hand_is_left_alone),
        cmocka_unit_test(a_failed_start_leaves_the_source_with_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
