// SegTree-Transformer: what the host asks of core/intervals/rules/rule_segtree.h beside its arithmetic.
#include <stdio.h>

#include "core/intervals/rule.h"

static int32_t own_bits(const bpt_intervals_t *g) { return g->span_self ? GRAPH_SPAN_SELF : 0; }
static int64_t reach(const bpt_intervals_t *g) {
    (void)g;
    return 1;
}
static int64_t block_rows(const bpt_intervals_t *g) {
    (void)g;
    return 1;
}
static int64_t rel_rows(const bpt_intervals_t *g) { return 1 + (g->span_self ? 3 : 2) * (int64_t)g->rel_levels; }
static int64_t shift(const bpt_intervals_t *g) {
    (void)g;
    return -1;
}

const bpt_intervals_rule_t bpt_rule_SEGTREE = {
    .name = "segtree",
    .bits = GRAPH_TREE,
    .own_bits = own_bits,
    .reach = reach,
    .rel_rows = rel_rows,
    .block_rows = block_rows,
    .is_steady = true,
    .shift = shift,
};
