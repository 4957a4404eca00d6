// Leaf queries of the graphs without a tree: dense (any distance) and window (distance up to `window`). Relative positions are
// distances, row 2d - 1 for d to the left and 2d to the right, clamped to the table's largest distance.
#include "core/intervals/rule.h"

static int64_t reach(const bpt_intervals_t *g) { return g->kind == BPT_GRAPH_WINDOW ? g->window : g->n; }
// Distances from here on share one row.
static int64_t farthest(const bpt_intervals_t *g) { return g->rel_levels ? g->rel_levels : g->n; }
static int64_t row_of(const bpt_intervals_t *g, int64_t distance, int side) { return 2 * min64(distance, farthest(g)) - (side == LEFT); }

// Leaves [first, centre) and (centre, end), each split where the row stops depending on the distance. `below`: the side on which
// the key of such an edge lies, seen from its query, for leaves below the centre.
static int around(const bpt_intervals_t *g, int64_t first, int64_t centre, int64_t end, int below, bpt_slot_t *slots) {
    const int above = below == LEFT ? RIGHT : LEFT;
    const int64_t far = farthest(g), near_first = max64(first, centre - far), near_end = min64(end, centre + far + 1);
    int count = put_slot(g, slots, 0, centre, centre + 1, 0, 0);
    count = put_slot(g, slots, count, near_first, centre, row_of(g, centre - near_first, below), -2);
    count = put_slot(g, slots, count, first, near_first, row_of(g, far, below), 0);
    count = put_slot(g, slots, count, centre + 1, near_end, row_of(g, 1, above), +2);
    return put_slot(g, slots, count, near_end, end, row_of(g, far, above), 0);
}

static int keys(const bpt_intervals_t *g, int64_t n_true, int64_t i, bpt_slot_t *slots) {
    const int64_t end = g->causal ? i + 1 : min64(i + reach(g) + 1, n_true);
    return around(g, max64(i - reach(g), 0), i, end, LEFT, slots);
}

static int consumers(const bpt_intervals_t *g, int64_t n_true, int level, int64_t m, bpt_slot_t *slots) {
    if (level > 0) return 0;  // nobody reads the virtual root
    const int64_t first = g->causal ? m : max64(m - reach(g), 0);
    return around(g, first, m, min64(m + reach(g) + 1, n_true), RIGHT, slots);
}

static int32_t rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t i, int level, int64_t m) {
    (void)n_true;
    const int64_t distance = m < i ? i - m : m - i;
    if (level > 0 || distance > reach(g) || (g->causal && m > i)) return NO_EDGE;
    if (g->rel_levels == 0) return NO_ROW;
    return distance == 0 ? 0 : (int32_t)row_of(g, distance, m < i ? LEFT : RIGHT);
}

const bpt_graph_rule_t bpt_rule_flat = {keys, consumers, rel_row};
