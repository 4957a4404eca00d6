// Rules of batches (see batches.h).
#include "support/batches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

static bool is_zero(const bpt_side_t *side, int64_t row) {
    bool zero = !side->tokens || side->tokens[row] == 0;
    for (int64_t c = 0; c < side->columns; ++c) zero = zero && side->numbers[row * side->columns + c] == 0;
    return zero && (!side->bag || side->bag_ranges[2 * row] == side->bag_ranges[2 * row + 1]);
}

// The sequence that a row is in, -1: none, of those that are not padding.
static int64_t sequence_of(const bpt_batch_t *b, const bpt_side_t *side, int64_t row) {
    for (int64_t s = 0; s < b->n_real; ++s)
        if (row >= side->start[s] && row < (int64_t)side->start[s] + side->lengths[s]) return s;
    return -1;
}

static int64_t check_side(const bpt_batch_t *b, const bpt_side_t *side, int64_t n, int64_t rows) {
    int64_t tokens = 0;
    for (int64_t s = 0; s < b->shape.batch; ++s) {
        const int64_t length = side->lengths[s];
        if (n) assert_true(side->start[s] == s * n && length >= 1 && length <= n);
        if (s >= b->n_real) assert_int_equal(length, n ? 1 : 0);
        if (s < b->n_real) assert_true(length >= 1 && side->start[s] == (n ? s * n : tokens));
        tokens += s < b->n_real ? length : 0;
    }
    assert_true(tokens <= rows && (!n || rows == n * b->shape.batch));
    for (int64_t row = 0; row < rows; ++row)
        if (sequence_of(b, side, row) < 0) assert_true(is_zero(side, row));
    return tokens;
}

// Segments fill the rows of their sequences, on both sides.
static void check_segments(const bpt_batch_t *b, const bpt_side_t *side) {
    assert_int_equal(b->first_segment[0], 0);
    assert_int_equal(b->first_segment[b->shape.batch], b->segments);
    for (int64_t s = 0; s < b->shape.batch; ++s) {
        uint32_t row = side->start[s];
        assert_true((b->first_segment[s] < b->first_segment[s + 1]) == (s < b->n_real));
        for (uint32_t t = b->first_segment[s]; t < b->first_segment[s + 1]; ++t) {
            assert_int_equal(side->segment_start[t], row);
            assert_true(side->segment_lengths[t] >= 1);
            row += side->segment_lengths[t];
        }
        if (s < b->n_real) assert_int_equal(row, side->start[s] + side->lengths[s]);
    }
}

void test_check_batch(const bpt_batch_t *b, bool per_token) {
    const int last = b->shape.side[1].rows ? 1 : 0;  // the side that has targets
    const bpt_side_t *side = &b->side[last];
    const int64_t rows = b->shape.side[last].rows;
    assert_true(rows >= 1 && b->shape.batch >= 1 && b->n_real >= 1 && b->n_real <= b->shape.batch);
    const int64_t tokens = check_side(b, &b->side[0], b->shape.side[0].n, b->shape.side[0].rows),
                  texts = per_token ? 1 : b->shape.batch / b->n_targets;
    if (last) (void)check_side(b, side, b->shape.side[1].n, rows);
    assert_true((b->first_segment != NULL) == (b->segments > 0));
    for (int i = 0; b->segments && i <= last; ++i) check_segments(b, &b->side[i]);
    assert_int_equal(b->n_targets * texts, per_token ? rows : b->shape.batch);
    int64_t scored = 0;
    for (int64_t i = 0; i < b->n_targets; ++i) {
        assert_true(b->weights[i] == 0 || b->weights[i] == 1);
        scored += b->weights[i] == 1;
        if (per_token ? sequence_of(b, side, i) >= 0 : i * texts < b->n_real) continue;
        assert_true(b->weights[i] == 0);
        if (b->targets) assert_int_equal(b->targets[i], 0);
    }
    assert_int_equal(b->n_scored, scored);
    assert_int_equal(b->n_tokens, tokens);
    assert_true(b->left >= 0 && b->last == (b->left == 0));
    assert_true(b->window_scored >= b->n_scored && b->epoch >= 0 && b->epoch_end > (double)b->epoch &&
                b->epoch_end <= (double)b->epoch + 1);
}

static uint64_t hash_ids(const uint32_t *ids, size_t count) { return ids ? XXH3_64bits(ids, count * sizeof *ids) : 0; }

static uint64_t hash_side(const bpt_batch_t *b, int i) {
    const bpt_side_t *side = &b->side[i];
    const size_t rows = (size_t)b->shape.side[i].rows, sequences = rows ? (size_t)b->shape.batch : 0;
    const uint64_t parts[] = {
        (uint64_t)b->shape.side[i].n,
        (uint64_t)b->shape.side[i].rows,
        (uint64_t)b->shape.side[i].bag,
        hash_ids(side->tokens, rows),
        side->numbers ? XXH3_64bits(side->numbers, rows * (size_t)side->columns * sizeof *side->numbers) : 0,
        hash_ids(side->bag, (size_t)b->shape.side[i].bag),
        hash_ids(side->bag_ranges, 2 * rows),
        hash_ids(side->start, sequences),
        hash_ids(side->lengths, sequences),
        hash_ids(side->segment_start, (size_t)b->segments),
        hash_ids(side->segment_lengths, (size_t)b->segments),
    };
    return XXH3_64bits(parts, sizeof parts);
}

uint64_t test_hash_batch(const bpt_batch_t *b) {
    const size_t sequences = (size_t)b->shape.batch, targets = (size_t)b->n_targets;
    const uint64_t parts[] = {
        hash_side(b, 0),
        hash_side(b, 1),
        (uint64_t)b->shape.batch,
        (uint64_t)b->n_real,
        (uint64_t)b->segments,
        hash_ids(b->first_segment, sequences + 1),
        b->targets ? XXH3_64bits(b->targets, targets * sizeof *b->targets) : 0,
        b->values ? XXH3_64bits(b->values, targets * (size_t)b->value_columns * sizeof *b->values) : 0,
        XXH3_64bits(b->weights, targets * sizeof *b->weights),
        XXH3_64bits(b->sequences, sequences * sizeof *b->sequences),
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

bool test_has_shape(const bpt_batch_source_t *source, const bpt_batch_shape_t *shape) {
    bool found = false;
    for (int64_t i = 0; i < source->n_shapes; ++i) {
        found = found || bpt_batch_shape_same(&source->shapes[i], shape);
        if (i) assert_true(source->shapes[i - 1].side[0].rows >= source->shapes[i].side[0].rows);
    }
    return found;
}
