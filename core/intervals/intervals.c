// The edges of a graph in both directions and their number (see bpt/intervals.h): chooses the rule of the leaf queries and
// adds the span and virtual root queries, which are the same for every rule.
#include "core/intervals/rule.h"

static const bpt_graph_rule_t *rule_of(const bpt_intervals_t *g) {
    switch (g->kind) {
    case BPT_GRAPH_BPT: return g->reference_rule ? &bpt_rule_reference : &bpt_rule_paper;
    case BPT_GRAPH_SEGTREE: return &bpt_rule_segtree;
    case BPT_GRAPH_DENSE:
    case BPT_GRAPH_WINDOW: return &bpt_rule_flat;
    case BPT_GRAPH_TABLE: break;
    }
    return NULL;
}

static bool is_flat(const bpt_intervals_t *g) { return g->kind == BPT_GRAPH_DENSE || g->kind == BPT_GRAPH_WINDOW; }
static bool reads_itself(const bpt_intervals_t *g) { return g->kind == BPT_GRAPH_SEGTREE && g->span_self; }

// Row of the edges span <- leaf. One row for all leaves of a span cancels in the softmax, unless the span reads itself too.
static int32_t span_row(const bpt_intervals_t *g, int level) {
    if (!reads_itself(g) || g->rel_levels == 0) return NO_ROW;
    return (int32_t)(2 * (int64_t)g->rel_levels + min64(level, g->rel_levels));
}

int bpt_intervals_keys(const bpt_intervals_t *g, int64_t n_true, int64_t query, bpt_slot_t slots[BPT_MAX_SLOTS]) {
    const bpt_graph_rule_t *rule = rule_of(g);
    if (!rule || !bpt_node_exists(g, n_true, query)) return 0;
    if (query < g->n) return rule->keys(g, n_true, query, slots);
    if (is_flat(g)) return put_slot(g, slots, 0, 0, n_true, NO_ROW, 0);
    int level;
    int64_t index;
    bpt_node_position(g, query, &level, &index);
    const int count = reads_itself(g) ? put_slot(g, slots, 0, query, query + 1, 0, 0) : 0;
    return put_slot(g, slots, count, index << level, min64((index + 1) << level, n_true), span_row(g, level), 0);
}

int bpt_intervals_consumers(const bpt_intervals_t *g, int64_t n_true, int64_t key, bpt_slot_t slots[BPT_MAX_SLOTS]) {
    const bpt_graph_rule_t *rule = rule_of(g);
    if (!rule || !bpt_node_exists(g, n_true, key)) return 0;
    int level;
    int64_t index;
    bpt_node_position(g, key, &level, &index);
    int count = level > 0 && reads_itself(g) ? put_slot(g, slots, 0, key, key + 1, 0, 0) : 0;
    count += rule->consumers(g, n_true, level, index, slots + count);
    if (level > 0) return count;
    if (is_flat(g)) return g->root ? put_slot(g, slots, count, g->n, g->n + 1, NO_ROW, 0) : count;
    for (int j = 1; j < bpt_levels(n_true); ++j) {
        const int64_t ancestor = bpt_graph_node(g, j, index >> j);
        if (ancestor >= 0) count = put_slot(g, slots, count, ancestor, ancestor + 1, span_row(g, j), 0);
    }
    return count;
}

int32_t bpt_intervals_rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t query, int64_t key) {
    const bpt_graph_rule_t *rule = rule_of(g);
    if (!rule || !bpt_node_exists(g, n_true, query) || !bpt_node_exists(g, n_true, key)) return NO_EDGE;
    int level;
    int64_t index;
    if (query < g->n) {
        bpt_node_position(g, key, &level, &index);
        return rule->rel_row(g, n_true, query, level, index);
    }
    if (is_flat(g)) return key < g->n ? NO_ROW : NO_EDGE;
    if (query == key) return !reads_itself(g) ? NO_EDGE : g->rel_levels ? 0 : NO_ROW;
    bpt_node_position(g, query, &level, &index);
    return key < g->n && key >> level == index ? span_row(g, level) : NO_EDGE;
}

// Edges of the spans of a level.
static int64_t span_edges(const bpt_intervals_t *g, int64_t n_true, int level) {
    const int64_t size = level_nodes(n_true, level), step = bpt_graph_level_step(g, level);
    if (!g->trimmed) return n_true + (reads_itself(g) ? size : 0);
    int64_t edges = 0;
    for (int64_t m = 0; m < size && m / step < bpt_graph_level_size(g, level); m += step)
        edges += min64((m + 1) << level, n_true) - (m << level) + reads_itself(g);
    return edges;
}

// Leaf queries, counted at their keys: far fewer ranges than at the queries.
void bpt_intervals_count(const bpt_intervals_t *g, int64_t n_true, int64_t *all, int64_t *contextual) {
    const bpt_graph_rule_t *rule = rule_of(g);
    *all = *contextual = 0;
    if (!rule || n_true < 1 || n_true > g->n) return;
    const int levels = is_flat(g) ? 1 : bpt_levels(n_true);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    for (int j = 0; j < levels; ++j) {
        const int64_t size = level_nodes(n_true, j);
        for (int64_t m = 0; m < size; ++m) {
            const int count = rule->consumers(g, n_true, j, m, slots);
            for (int s = 0; s < count; ++s) *contextual += slots[s].end - slots[s].begin;
        }
        if (j > 0) *all += span_edges(g, n_true, j);
    }
    *all += *contextual;
    *contextual -= n_true;  // the self edges of the leaves
    if (is_flat(g) && g->root) *all += n_true;
}
