// Levels and numbers of nodes, checks, and the shape of the relative position table (bpt/intervals.h).
#include "bpt/intervals.h"

int bpt_levels(int64_t n) {
    int levels = 1;
    for (; n > 1; n = (n + 1) / 2) ++levels;
    return levels;
}

int64_t bpt_level_size(int64_t n, int level) { return (n + ((int64_t)1 << level) - 1) >> level; }

int64_t bpt_level_offset(int64_t n, int level) {
    int64_t offset = 0;
    for (int j = 0; j < level; ++j) offset += bpt_level_size(n, j);
    return offset;
}

static bool has_tree(const bpt_intervals_t *g) { return g->kind == BPT_GRAPH_BPT || g->kind == BPT_GRAPH_SEGTREE; }

bpt_status_t bpt_intervals_check(const bpt_intervals_t *g) {
    if (g->n < 1 || g->n > (int64_t)1 << 26)
        return bpt_fail(BPT_ERR_USAGE, "a sequence of %lld leaves is not possible (1 to 67108864)", (long long)g->n);
    if (g->kind == BPT_GRAPH_BPT && (g->k < 1 || g->k > 1 << 20)) return bpt_fail(BPT_ERR_USAGE, "k = %d is not possible (1 to 1048576)", g->k);
    if (g->kind == BPT_GRAPH_WINDOW && g->window < 0) return bpt_fail(BPT_ERR_USAGE, "window = %d is not possible (0 or more)", g->window);
    if (g->rel_levels < 0 || (has_tree(g) && g->rel_levels > 64))
        return bpt_fail(BPT_ERR_USAGE, "rel_levels = %d is not possible (0 to %s)", g->rel_levels, has_tree(g) ? "64" : "any distance");
    return BPT_OK;
}

int64_t bpt_node_count(const bpt_intervals_t *g) {
    if (has_tree(g)) return bpt_level_offset(g->n, bpt_levels(g->n));
    return g->n + (g->root ? 1 : 0);
}

int64_t bpt_root_node(const bpt_intervals_t *g, int64_t n_true) {
    return has_tree(g) ? bpt_level_offset(g->n, bpt_levels(n_true) - 1) : g->n;
}

void bpt_node_position(const bpt_intervals_t *g, int64_t node, int *level, int64_t *index) {
    if (!has_tree(g)) {
        *level = node >= g->n;
        *index = node >= g->n ? node - g->n : node;
        return;
    }
    int j = 0;
    for (int64_t size = g->n; node >= size && size > 1; size = (size + 1) / 2) {
        node -= size;
        ++j;
    }
    *level = j;
    *index = node;
}

uint32_t bpt_intervals_node_code(const bpt_intervals_t *g, int64_t node) {
    int level;
    int64_t index;
    bpt_node_position(g, node, &level, &index);
    return (uint32_t)level << 26 | (uint32_t)index;
}

bool bpt_node_exists(const bpt_intervals_t *g, int64_t n_true, int64_t node) {
    if (node < 0 || node >= bpt_node_count(g)) return false;
    if (!has_tree(g)) return node >= g->n || node < n_true;
    int level;
    int64_t index;
    bpt_node_position(g, node, &level, &index);
    return level < bpt_levels(n_true) && index < bpt_level_size(n_true, level);
}

int64_t bpt_rel_rows(const bpt_intervals_t *g) {
    const int64_t levels = g->rel_levels;
    if (levels == 0) return 0;
    switch (g->kind) {
    case BPT_GRAPH_BPT: return 1 + 2 * levels * ((int64_t)g->k + 1);
    case BPT_GRAPH_SEGTREE: return 1 + 2 * levels + (g->span_self ? levels : 0);
    case BPT_GRAPH_DENSE:
    case BPT_GRAPH_WINDOW: return 1 + 2 * levels;
    case BPT_GRAPH_TABLE: break;
    }
    return 0;
}

int32_t bpt_default_rel_levels(int64_t n) { return n > 2 ? bpt_levels(n) - 1 : 1; }
