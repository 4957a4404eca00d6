// Private to core/intervals: what one rule of leaf queries (paper, reference, segtree, flat) tells the rest, and the helpers
// that all rules write their slots with. Span and virtual root queries are the same for every rule: intervals.c has them.
#ifndef BPT_INTERVALS_RULE_H
#define BPT_INTERVALS_RULE_H

#include "bpt/intervals.h"

enum { LEFT, RIGHT };
enum { NO_ROW = -1, NO_EDGE = -2, NOT_LINEAR = -2 };

// All three speak of edges whose query is a leaf, the self edge included. Arguments are in range: callers check.
typedef struct {
    int (*keys)(const bpt_intervals_t *g, int64_t n_true, int64_t leaf, bpt_slot_t *slots);
    int (*consumers)(const bpt_intervals_t *g, int64_t n_true, int level, int64_t index, bpt_slot_t *slots);
    int32_t (*rel_row)(const bpt_intervals_t *g, int64_t n_true, int64_t leaf, int level, int64_t index);
} bpt_graph_rule_t;

extern const bpt_graph_rule_t bpt_rule_paper, bpt_rule_reference, bpt_rule_segtree, bpt_rule_flat;

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

// ceil(n / 2^level): the size of any level that the tree of n leaves has.
static inline int64_t level_nodes(int64_t n, int level) { return ((n - 1) >> level) + 1; }

// Nodes of a level that the bucket has, for levels that the tree of its leaves has. Formulas of trimmed graphs: README.md.
static inline int64_t bucket_nodes(const bpt_intervals_t *g, int level) {
    if (level == 0 || !g->trimmed) return level_nodes(g->n, level);
    const int64_t half = (int64_t)1 << (level - 1), least = g->root;
    if (g->kind == BPT_GRAPH_SEGTREE) return max64((((g->n - 2) >> level) + 1) >> 1, least);
    if (g->reference_rule) return max64(((g->n - 2 + g->k + half) >> level) - g->k, least);
    return max64(((g->n - 1 + g->k) >> level) - g->k, least);
}
// log2 of bpt_graph_level_step: causal SegTrees read left siblings only.
static inline int span_shift(const bpt_intervals_t *g, int level) { return level > 0 && g->trimmed && g->kind == BPT_GRAPH_SEGTREE; }

// Floor and ceiling of x / 2^level, also for negative x: >> is an arithmetic shift in every compiler we build with.
static inline int64_t floor_shift(int64_t x, int level) { return x >> level; }
static inline int64_t ceil_shift(int64_t x, int level) { return (x + ((int64_t)1 << level) - 1) >> level; }

// Writes [begin, end) as slot `count` unless it is empty; returns the new number of slots.
static inline int put_slot(const bpt_intervals_t *g, bpt_slot_t *slots, int count, int64_t begin, int64_t end, int64_t row, int32_t step) {
    if (begin >= end) return count;
    const bool has_row = g->rel_levels > 0 && row >= 0;
    slots[count] = (bpt_slot_t){begin, end, g->rel_levels > 0 ? (int32_t)row : NO_ROW, has_row ? step : 0};
    return count + 1;
}

// Row of rank 0 in the block of a level and side; blocks of `width` rows, levels past the table share its last block.
static inline int32_t block_row(const bpt_intervals_t *g, int level, int side, int64_t width) {
    if (g->rel_levels == 0) return NO_ROW;
    return (int32_t)(1 + (2 * min64(level, g->rel_levels - 1) + side) * width);
}

#endif
