// Rules of batches (see batches.h).
#include "support/batches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

void test_check_batch(const bpt_batch_t *b, bool per_leaf) {
    assert_true(b->n >= 1 && b->batch >= 1 && b->n_real >= 1 && b->n_real <= b->batch);
    const int64_t per_row = per_leaf ? b->n : 1;
    assert_int_equal(b->n_targets, b->batch * per_row);
    int64_t scored = 0, tokens = 0;
    for (int64_t row = 0; row < b->batch; ++row) {
        const int64_t length = b->lengths[row];
        assert_in_range(length, 1, b->n);
        tokens += row < b->n_real ? length : 0;
        if (row >= b->n_real) assert_int_equal(length, 1);
        for (int64_t i = 0; i < b->n; ++i)
            if (i >= length || row >= b->n_real) assert_int_equal(b->tokens[row * b->n + i], 0);
        for (int64_t i = 0; i < per_row; ++i) {
            const float weight = b->weights[row * per_row + i];
            assert_true(weight == 0 || weight == 1);
            scored += weight == 1;
            if (row < b->n_real && (!per_leaf || i < length)) continue;
            assert_true(weight == 0);
            assert_int_equal(b->targets[row * per_row + i], 0);
        }
    }
    assert_int_equal(b->n_scored, scored);
    assert_int_equal(b->n_tokens, tokens);
    assert_true(b->window_scored >= b->n_scored && b->epoch >= 0 && b->epoch_end > (double)b->epoch &&
                b->epoch_end <= (double)b->epoch + 1);
}

uint64_t test_hash_batch(const bpt_batch_t *b) {
    const size_t rows = (size_t)b->batch, targets = (size_t)b->n_targets;
    const uint64_t parts[] = {
        (uint64_t)b->n,
        (uint64_t)b->batch,
        (uint64_t)b->n_real,
        XXH3_64bits(b->tokens, rows * (size_t)b->n * sizeof *b->tokens),
        XXH3_64bits(b->targets, targets * sizeof *b->targets),
        XXH3_64bits(b->weights, targets * sizeof *b->weights),
        XXH3_64bits(b->lengths, rows * sizeof *b->lengths),
        XXH3_64bits(b->sequences, rows * sizeof *b->sequences),
        (uint64_t)b->n_targets,
        (uint64_t)b->n_scored,
        (uint64_t)b->n_tokens,
        (uint64_t)b->window_scored,
        b->first,
        b->last,
        (uint64_t)b->epoch,
        (uint64_t)(b->epoch_end * 1e9),
    };
    return XXH3_64bits(parts, sizeof parts);
}

bool test_has_shape(const bpt_batch_source_t *source, int64_t n, int64_t batch) {
    bool found = false;
    for (int64_t i = 0; i < source->n_shapes; ++i) {
        found = found || (source->shapes[i][0] == n && source->shapes[i][1] == batch);
        if (i) assert_true(source->shapes[i - 1][0] * source->shapes[i - 1][1] >= source->shapes[i][0] * source->shapes[i][1]);
    }
    return found;
}
