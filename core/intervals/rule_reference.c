// Leaf queries of BP-Transformer as the authors' code builds them: exactly k slots per level and side; when the last node's
// sibling is left over it takes slot 0 of the *next* level ("residual"). The bound of a residual is tested on the residual
// itself, so the extra edges of the released code do not occur. Formulas: README.md.
#include "core/intervals/rule.h"

// The nodes next to leaf i on level j, before clipping: L_j(i) and R_j(i). The walk goes from L_j to (L_j - k) >> 1.
static int64_t left_nearest(int64_t i, int j, int64_t k) { return floor_shift(i - 1 - k * (((int64_t)1 << j) - 1), j); }
static int64_t right_nearest(int64_t i, int j, int64_t k) { return floor_shift(i + 1 + k * (((int64_t)1 << j) - 1), j); }

static int left_keys(const bpt_intervals_t *g, int64_t i, bpt_slot_t *slots, int count) {
    const int64_t k = g->k;
    int64_t nearest = i - 1, offset = 0, below = 0;  // below: offset of level j - 1
    bool residual = false;
    for (int j = 0; nearest >= 0; ++j) {
        const int32_t row = block_row(g, j, LEFT, k + 1);
        if (residual) count = put_slot(g, slots, count, below + 2 * nearest, below + 2 * nearest + 1, row, 0);
        const int64_t begin = max64(nearest - k + 1, 0), end = nearest + !residual;
        count = put_slot(g, slots, count, offset + begin, offset + end, row + (nearest - begin), -1);
        residual = !((nearest - k) & 1);
        nearest = floor_shift(nearest - k, 1);
        below = offset;
        offset += bucket_nodes(g, j);
    }
    return count;
}

static int right_keys(const bpt_intervals_t *g, int64_t n_true, int64_t i, bpt_slot_t *slots, int count) {
    const int64_t k = g->k;
    int64_t nearest = i + 1, offset = 0, below = 0;
    bool residual = false;
    for (int j = 0; nearest < level_nodes(n_true, j); ++j) {
        const int32_t row = block_row(g, j, RIGHT, k + 1);
        const int64_t child = 2 * nearest + 1;
        if (residual && child < level_nodes(n_true, j - 1)) count = put_slot(g, slots, count, below + child, below + child + 1, row, 0);
        const int64_t begin = nearest + residual, end = min64(nearest + k, level_nodes(n_true, j));
        count = put_slot(g, slots, count, offset + begin, offset + end, row + residual, +1);
        residual = (nearest + k) & 1;
        nearest = floor_shift(nearest + k, 1);
        below = offset;
        offset += bucket_nodes(g, j);
    }
    return count;
}

static int keys(const bpt_intervals_t *g, int64_t n_true, int64_t i, bpt_slot_t *slots) {
    int count = put_slot(g, slots, 0, i, i + 1, 0, 0);
    count = left_keys(g, i, slots, count);
    return g->causal ? count : right_keys(g, n_true, i, slots, count);
}

// A node is first read in the regular slots of its level, by a contiguous range of leaves that ends `reach` leaves away, and
// then, when it is the farther sibling, for 2^j more leaves as the residual of the level above.
static int consumers(const bpt_intervals_t *g, int64_t n_true, int j, int64_t m, bpt_slot_t *slots) {
    const int64_t k = g->k, scale = (int64_t)1 << j, reach = (2 * scale - 1) * k - scale + 1;
    const int64_t skip = j == 0 ? 0 : (scale - 1) * k - (scale / 2 - 1);
    int count = j == 0 ? put_slot(g, slots, 0, m, m + 1, 0, 0) : 0;
    const int64_t after = (m + 1) * scale;
    count = put_slot(g, slots, count, after + skip, min64(after + reach, n_true), j == 0 ? block_row(g, 0, LEFT, k + 1) : NOT_LINEAR, +1);
    if (!(m & 1))
        count = put_slot(g, slots, count, after + reach, min64(after + reach + scale, n_true), block_row(g, j + 1, LEFT, k + 1), 0);
    if (g->causal) return count;
    const int64_t before = m * scale, begin = max64(before - reach, 0);
    count = put_slot(g, slots, count, begin, before - skip, j == 0 ? block_row(g, 0, RIGHT, k + 1) + (before - 1 - begin) : NOT_LINEAR, -1);
    if (m & 1) count = put_slot(g, slots, count, max64(before - reach - scale, 0), before - reach, block_row(g, j + 1, RIGHT, k + 1), 0);
    return count;
}

static int32_t rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t i, int j, int64_t m) {
    (void)n_true;
    const int64_t k = g->k, left = left_nearest(i, j, k) - m, right = m - right_nearest(i, j, k);
    int side, level = j;
    int64_t rank;
    if (j == 0 && m == i) return g->rel_levels ? 0 : NO_ROW;
    if (left >= 0 && left <= k) {
        side = LEFT, rank = left;
        if (rank == 0 && j > 0 && !((left_nearest(i, j - 1, k) - k) & 1)) return NO_EDGE;  // slot 0 went to the residual
        if (rank == k && (m & 1)) return NO_EDGE;
    } else if (!g->causal && right >= 0 && right <= k) {
        side = RIGHT, rank = right;
        if (rank == 0 && j > 0 && ((right_nearest(i, j - 1, k) + k) & 1)) return NO_EDGE;
        if (rank == k && !(m & 1)) return NO_EDGE;
    } else {
        return NO_EDGE;
    }
    if (rank == k) level = j + 1, rank = 0;
    return g->rel_levels ? (int32_t)(block_row(g, level, side, k + 1) + rank) : NO_ROW;
}

const bpt_graph_rule_t bpt_rule_reference = {keys, consumers, rel_row};
