// Leaf queries of SegTree-Transformer (Ye et al. 2019): the smallest set of disjoint nodes that covers the sentence and holds
// leaf i and its two neighbours. Above the leaves at most one node a level and side. Formulas: README.md.
#include "core/intervals/rule.h"

static int keys(const bpt_intervals_t *g, int64_t n_true, int64_t i, bpt_slot_t *slots) {
    int count = put_slot(g, slots, 0, i, i + 1, 0, 0);
    const int64_t left = i - 1, right = i + 1;
    if (left >= 0) {
        count = put_slot(g, slots, count, left - (left & 1), left + 1, block_row(g, 0, LEFT, 1), 0);
        int64_t offset = g->n;
        for (int j = 1; left >> j > 0; offset += bucket_nodes(g, j), ++j) {
            const int64_t near = left >> j;
            const int64_t sibling = offset + ((near - 1) >> span_shift(g, j));
            if (near & 1) count = put_slot(g, slots, count, sibling, sibling + 1, block_row(g, j, LEFT, 1), 0);
        }
    }
    if (right < n_true && !g->causal) {
        count = put_slot(g, slots, count, right, min64(right + 1 + !(right & 1), n_true), block_row(g, 0, RIGHT, 1), 0);
        int64_t offset = g->n;
        for (int j = 1; (right >> j) + 1 < level_nodes(n_true, j); offset += bucket_nodes(g, j), ++j) {
            const int64_t near = right >> j;
            if (!(near & 1)) count = put_slot(g, slots, count, offset + near + 1, offset + near + 2, block_row(g, j, RIGHT, 1), 0);
        }
    }
    return count;
}

// Left sibling m is read by the leaves whose left neighbour lies below m + 1, right sibling m by those whose right neighbour
// lies below m - 1; a leaf also by the leaf next to it.
static int consumers(const bpt_intervals_t *g, int64_t n_true, int j, int64_t m, bpt_slot_t *slots) {
    const int64_t scale = (int64_t)1 << j, begin = m * scale, end = begin + scale;
    const bool leaf = j == 0, right_sibling = m & 1;
    int count = leaf ? put_slot(g, slots, 0, m, m + 1, 0, 0) : 0;
    const int64_t after = right_sibling ? end + leaf : end + scale + 1;
    count = put_slot(g, slots, count, leaf ? end : end + 1, min64(after, n_true), block_row(g, j, LEFT, 1), 0);
    if (g->causal) return count;
    const int64_t before = right_sibling ? begin - scale - 1 : begin - leaf;
    return put_slot(g, slots, count, max64(before, 0), leaf ? begin : begin - 1, block_row(g, j, RIGHT, 1), 0);
}

static int32_t rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t i, int j, int64_t m) {
    (void)n_true;
    if (j == 0 && m == i) return g->rel_levels ? 0 : NO_ROW;
    const int64_t left = floor_shift(i - 1, j), right = (i + 1) >> j;
    if ((j == 0 && m == left) || (!(m & 1) && m + 1 == left)) return block_row(g, j, LEFT, 1);
    if (!g->causal && ((j == 0 && m == right) || ((m & 1) && m - 1 == right))) return block_row(g, j, RIGHT, 1);
    return NO_EDGE;
}

const bpt_graph_rule_t bpt_rule_segtree = {keys, consumers, rel_row};
