// The transposed graph: which queries read a node, again as ranges by index arithmetic; and counts of edges.
#include "bpt/intervals.h"

typedef struct {
    const bpt_intervals_t *g;
    int64_t n;  // true length
    bpt_slot_t *slot;
    int count;
} out_t;

// Queries first..last (inclusive), clipped to the leaves that exist.
static void add_leaves(out_t *o, int64_t first, int64_t last) {
    if (first < 0) first = 0;
    if (last > o->n - 1) last = o->n - 1;
    if (first <= last) o->slot[o->count++] = (bpt_slot_t){first, last + 1, o->g->rel_levels > 0 ? -2 : -1, 0};
}

// T(j,m): the first leaf that reads (j,m) from the left side; U(j,m): the last one that reads it from the right.
static void paper(out_t *o, int j, int64_t m) {
    const int64_t k = o->g->k, power = (int64_t)1 << j;
#define T(index) (power * (index) + (power - 1) * (k + 1) + 1)
#define U(index) (power * (index) - (power - 1) * k - 1)
    add_leaves(o, T(m), T(m + k + (m % 2 == 0)) - 1);
    if (!o->g->causal) add_leaves(o, U(m - k - (m % 2 == 1)) + 1, U(m));
#undef T
#undef U
}

static void reference(out_t *o, int j, int64_t m) {
    const int64_t k = o->g->k, power = (int64_t)1 << j, e = (m + 1) * power, a = power * m - 1;
    const int64_t lo = j == 0 ? 0 : (power - 1) * k - (power / 2 - 1), hi = (2 * power - 1) * k;
    add_leaves(o, e + lo, e + hi - (m % 2 == 1 ? power : 0));
    if (!o->g->causal) add_leaves(o, a - hi + (m % 2 == 0 ? power : 0), a - lo);
}

static void segtree(out_t *o, int j, int64_t m) {
    const int64_t power = (int64_t)1 << j;
    if (j == 0) {
        add_leaves(o, m + 1, m % 2 == 0 ? m + 2 : m + 1);
        if (!o->g->causal) add_leaves(o, m % 2 == 1 ? m - 2 : m - 1, m - 1);
        return;
    }
    if (m % 2 == 0) add_leaves(o, (m + 1) * power + 1, (m + 2) * power);
    if (m % 2 == 1 && !o->g->causal) add_leaves(o, (m - 1) * power - 1, m * power - 2);
}

static void distance(out_t *o, int64_t m) {
    const int64_t reach = o->g->kind == BPT_GRAPH_WINDOW ? o->g->window : o->n;
    if (!o->g->causal) add_leaves(o, m - reach, m - 1);
    add_leaves(o, m + 1, m + reach);
}

int bpt_intervals_consumers(const bpt_intervals_t *g, int64_t n_true, int64_t key, bpt_slot_t slots[BPT_MAX_SLOTS]) {
    if (g->kind == BPT_GRAPH_TABLE || !bpt_node_exists(g, n_true, key)) return 0;
    out_t o = {.g = g, .n = n_true, .slot = slots};
    const int32_t self_row = g->rel_levels > 0 ? 0 : -1;
    int level;
    int64_t index;
    bpt_node_position(g, key, &level, &index);
    if (g->kind == BPT_GRAPH_DENSE || g->kind == BPT_GRAPH_WINDOW) {
        if (key >= g->n) return 0;
        slots[o.count++] = (bpt_slot_t){key, key + 1, self_row, 0};
        distance(&o, key);
        if (g->root) slots[o.count++] = (bpt_slot_t){g->n, g->n + 1, -1, 0};
        return o.count;
    }
    const bool span_self = g->kind == BPT_GRAPH_SEGTREE && g->span_self;
    if (level == 0 || span_self) slots[o.count++] = (bpt_slot_t){key, key + 1, self_row, 0};
    if (level < bpt_levels(n_true) - 1 || level == 0) {  // the root is nobody's context
        if (g->kind == BPT_GRAPH_SEGTREE)
            segtree(&o, level, index);
        else if (g->reference_rule)
            reference(&o, level, index);
        else
            paper(&o, level, index);
    }
    if (level == 0) {  // the one ancestor of every level
        int64_t offset = 0;
        for (int j = 1; j < bpt_levels(n_true); ++j) {
            offset += bpt_level_size(g->n, j - 1);
            const int64_t node = offset + (index >> j);
            const int32_t row = span_self && g->rel_levels > 0 ? 1 + 2 * g->rel_levels + (j < g->rel_levels ? j : g->rel_levels) - 1 : -1;
            slots[o.count++] = (bpt_slot_t){node, node + 1, row, 0};
        }
    }
    return o.count;
}

int32_t bpt_intervals_rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t query, int64_t key) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_keys(g, n_true, query, slots);
    for (int s = 0; s < count; ++s)
        if (key >= slots[s].begin && key < slots[s].end)
            return slots[s].rel_row < 0 ? -1 : slots[s].rel_row + (int32_t)(key - slots[s].begin) * slots[s].rel_step;
    return -2;
}

// Contextual edges, counted from the side of the keys: n_j lengths a level instead of n log n.
static int64_t count_contextual(const bpt_intervals_t *g, int64_t n) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    int64_t total = 0;
    if (g->kind == BPT_GRAPH_DENSE) return g->causal ? n * (n - 1) / 2 : n * (n - 1);
    if (g->kind == BPT_GRAPH_WINDOW) {
        const int64_t w = g->window < n - 1 ? g->window : n - 1, side = w * n - w * (w + 1) / 2;
        return g->causal ? side : 2 * side;
    }
    for (int j = 0; j < bpt_levels(n); ++j) {
        if (j > 0 && j == bpt_levels(n) - 1) break;
        for (int64_t m = 0; m < bpt_level_size(n, j); ++m) {
            out_t o = {.g = g, .n = n, .slot = slots};
            if (g->kind == BPT_GRAPH_SEGTREE)
                segtree(&o, j, m);
            else if (g->reference_rule)
                reference(&o, j, m);
            else
                paper(&o, j, m);
            for (int s = 0; s < o.count; ++s) total += slots[s].end - slots[s].begin;
        }
    }
    return total;
}

void bpt_intervals_count(const bpt_intervals_t *g, int64_t n_true, int64_t *all, int64_t *contextual) {
    *contextual = g->kind == BPT_GRAPH_TABLE ? 0 : count_contextual(g, n_true);
    *all = *contextual + n_true;
    if (g->kind == BPT_GRAPH_DENSE || g->kind == BPT_GRAPH_WINDOW) {
        *all += g->root ? n_true : 0;
    } else if (g->kind != BPT_GRAPH_TABLE) {
        for (int j = 1; j < bpt_levels(n_true); ++j) *all += n_true + (g->kind == BPT_GRAPH_SEGTREE && g->span_self ? bpt_level_size(n_true, j) : 0);
    }
}
