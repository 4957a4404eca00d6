// Leaf queries of BP-Transformer as the paper's text has them (Ye et al. 2019, 3.2.2): on every level and side k nodes, and one
// more when the sibling of the last one would be left over. Formulas: README.md. Knows nothing of spans as queries.
#include "core/intervals/rule.h"

// With 2^j = `scale`, the nodes of level j left of leaf i start (near side) at node (i - T(j,0)) >> j.
static int64_t left_origin(int64_t scale, int64_t k) { return (scale - 1) * (k + 1) + 1; }  // T(j,0)
static int64_t right_origin(int64_t scale, int64_t k) { return (scale - 1) * k + 1; }       // -U(j,0)

// Nodes [begin, end) of a level on the left of leaf i; end <= 0 when there are none on this level nor on any higher one.
static int64_t left_end(int64_t i, int j, int64_t k) { return floor_shift(i - left_origin((int64_t)1 << j, k), j) + 1; }
static int64_t left_begin(int64_t end, int64_t k) {
    const int64_t begin = end - k;
    return max64(begin - (begin & 1), 0);
}
// The same on the right, not clipped to the level's size; begin >= size when there are none, nor on any higher level.
static int64_t right_begin(int64_t i, int j, int64_t k) { return ceil_shift(i + right_origin((int64_t)1 << j, k), j); }
static int64_t right_end(int64_t begin, int64_t k) {
    const int64_t end = begin + k;
    return end + (end & 1);
}

static int keys(const bpt_intervals_t *g, int64_t n_true, int64_t i, bpt_slot_t *slots) {
    const int64_t k = g->k;
    int count = put_slot(g, slots, 0, i, i + 1, 0, 0);
    int64_t offset = 0;
    for (int j = 0;; offset += bucket_nodes(g, j), ++j) {
        const int64_t end = left_end(i, j, k);
        if (end <= 0) break;
        const int64_t begin = left_begin(end, k);
        count = put_slot(g, slots, count, offset + begin, offset + end, block_row(g, j, LEFT, k + 1) + (end - 1 - begin), -1);
    }
    if (g->causal) return count;
    offset = 0;
    for (int j = 0;; offset += bucket_nodes(g, j), ++j) {
        const int64_t begin = right_begin(i, j, k), size = level_nodes(n_true, j);
        if (begin >= size) return count;
        count = put_slot(g, slots, count, offset + begin, offset + min64(right_end(begin, k), size), block_row(g, j, RIGHT, k + 1), +1);
    }
}

// Leaves from T(j,m) on have (j,m) on their left, with rank (i - T(j,m)) >> j, and up to U(j,m) on their right, with rank
// (U(j,m) - i) >> j: linear in i for leaves only.
static int consumers(const bpt_intervals_t *g, int64_t n_true, int j, int64_t m, bpt_slot_t *slots) {
    const int64_t k = g->k, scale = (int64_t)1 << j;
    int count = j == 0 ? put_slot(g, slots, 0, m, m + 1, 0, 0) : 0;
    const int64_t first = m * scale + left_origin(scale, k), ranks = k + !(m & 1);
    count = put_slot(g, slots, count, first, min64(first + ranks * scale, n_true), j == 0 ? block_row(g, 0, LEFT, k + 1) : NOT_LINEAR, +1);
    if (g->causal) return count;
    const int64_t end = m * scale - right_origin(scale, k) + 1, begin = max64(end - (k + (m & 1)) * scale, 0);
    return put_slot(g, slots, count, begin, min64(end, n_true), j == 0 ? block_row(g, 0, RIGHT, k + 1) + (end - 1 - begin) : NOT_LINEAR,
                    -1);
}

static int32_t rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t i, int j, int64_t m) {
    const int64_t k = g->k;
    if (j == 0 && m == i) return g->rel_levels ? 0 : NO_ROW;
    const int64_t left = left_end(i, j, k);
    int64_t rank = left - 1 - m;
    int side = LEFT;
    if (m >= left || m < left_begin(left, k)) {
        const int64_t right = right_begin(i, j, k);
        if (g->causal || m < right || m >= min64(right_end(right, k), level_nodes(n_true, j))) return NO_EDGE;
        rank = m - right;
        side = RIGHT;
    }
    return g->rel_levels ? (int32_t)(block_row(g, j, side, k + 1) + rank) : NO_ROW;
}

const bpt_graph_rule_t bpt_rule_paper = {keys, consumers, rel_row};
