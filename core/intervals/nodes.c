// Levels and node numbers (see bpt/intervals.h): the part that knows trees but no edges.
#include "bpt/rng.h"
#include "core/intervals/rule.h"

static bool has_virtual_root(const bpt_intervals_t *g) { return g->root && g->kind != BPT_GRAPH_TABLE; }
static bool is_tree(const bpt_intervals_t *g) { return g->kind == BPT_GRAPH_BPT || g->kind == BPT_GRAPH_SEGTREE; }

int bpt_levels(int64_t n) {
    int levels = 1;
    while (((int64_t)1 << (levels - 1)) < n) ++levels;
    return levels;
}

int64_t bpt_level_size(int64_t n, int level) { return level >= 0 && level < bpt_levels(n) ? level_nodes(n, level) : 0; }

int bpt_graph_levels(const bpt_intervals_t *g) {
    if (!is_tree(g)) return 1 + has_virtual_root(g);
    int levels = 1;
    while (levels < bpt_levels(g->n) && bucket_nodes(g, levels) > 0) ++levels;
    return levels;
}

int64_t bpt_graph_level_size(const bpt_intervals_t *g, int level) {
    if (level <= 0) return level == 0 ? g->n : 0;
    if (!is_tree(g)) return level == 1 && has_virtual_root(g);
    return level < bpt_levels(g->n) ? bucket_nodes(g, level) : 0;
}

int64_t bpt_graph_level_offset(const bpt_intervals_t *g, int level) {
    if (!is_tree(g)) return level > 1 ? g->n + has_virtual_root(g) : level > 0 ? g->n : 0;
    const int levels = bpt_levels(g->n);
    int64_t offset = 0;
    for (int j = 0; j < level && j < levels; ++j) offset += bucket_nodes(g, j);
    return offset;
}

int64_t bpt_graph_level_step(const bpt_intervals_t *g, int level) { return (int64_t)1 << span_shift(g, level); }

int64_t bpt_graph_node(const bpt_intervals_t *g, int level, int64_t index) {
    const int64_t step = bpt_graph_level_step(g, level), place = index / step;
    if (index < 0 || index % step || place >= bpt_graph_level_size(g, level)) return -1;
    return bpt_graph_level_offset(g, level) + place;
}

int64_t bpt_node_count(const bpt_intervals_t *g) { return bpt_graph_level_offset(g, BPT_MAX_LEVELS); }

int64_t bpt_root_node(const bpt_intervals_t *g, int64_t n_true) {
    if (n_true < 1 || n_true > g->n || (g->trimmed && !g->root)) return -1;
    if (is_tree(g)) return bpt_graph_level_offset(g, bpt_levels(n_true) - 1);
    return has_virtual_root(g) ? g->n : -1;
}

void bpt_node_position(const bpt_intervals_t *g, int64_t node, int *level, int64_t *index) {
    *level = 0;
    *index = node;
    if (node < g->n) return;
    if (!is_tree(g)) {
        *level = 1;
        *index = node - g->n;
        return;
    }
    for (int64_t size = g->n; *index >= size; size = bucket_nodes(g, *level)) {
        *index -= size;
        ++*level;
    }
    *index <<= span_shift(g, *level);
}

uint32_t bpt_intervals_node_code(const bpt_intervals_t *g, int64_t node) {
    int level;
    int64_t index;
    bpt_node_position(g, node, &level, &index);
    return bpt_node_code((uint32_t)level, (uint32_t)index);
}

bool bpt_node_exists(const bpt_intervals_t *g, int64_t n_true, int64_t node) {
    if (n_true < 1 || n_true > g->n || node < 0) return false;
    if (node < g->n) return node < n_true;
    if (node >= bpt_node_count(g)) return false;
    if (!is_tree(g)) return true;
    int level;
    int64_t index;
    bpt_node_position(g, node, &level, &index);
    return index < bpt_level_size(n_true, level);
}

int32_t bpt_default_rel_levels(int64_t n) { return n <= 2 ? 1 : bpt_levels(n) - 1; }

int64_t bpt_rel_rows(const bpt_intervals_t *g) {
    const int64_t levels = g->rel_levels;
    if (levels == 0) return 0;
    switch (g->kind) {
    case BPT_GRAPH_BPT: return 1 + 2 * levels * ((int64_t)g->k + 1);
    case BPT_GRAPH_SEGTREE: return 1 + (g->span_self ? 3 : 2) * levels;
    case BPT_GRAPH_DENSE:
    case BPT_GRAPH_WINDOW: return 1 + 2 * levels;
    case BPT_GRAPH_TABLE: break;  // its table has as many rows as the op's input
    }
    return 0;
}

bpt_status_t bpt_intervals_check(const bpt_intervals_t *g) {
    const int64_t most = (int64_t)1 << (BPT_MAX_LEVELS - 1);
    if ((int)g->kind < BPT_GRAPH_BPT || g->kind > BPT_GRAPH_TABLE)
        return bpt_fail(BPT_ERR_USAGE, "graph: kind %d is unknown", (int)g->kind);
    if (g->n < 1 || g->n > most)
        return bpt_fail(BPT_ERR_USAGE, "graph: n is %lld; the number of leaves must be 1 to %lld", (long long)g->n, (long long)most);
    if (g->kind == BPT_GRAPH_TABLE) return BPT_OK;
    if (g->kind == BPT_GRAPH_BPT && g->k < 1)
        return bpt_fail(BPT_ERR_USAGE, "graph: k is %d; the number of nodes per level and side must be at least 1", g->k);
    if (g->kind == BPT_GRAPH_WINDOW && g->window < 0)
        return bpt_fail(BPT_ERR_USAGE, "graph: window is %d; the largest distance must be at least 0", g->window);
    if (g->rel_levels < 0)
        return bpt_fail(BPT_ERR_USAGE, "graph: rel_levels is %d; it must be at least 0 (0 = no relative positions)", g->rel_levels);
    if (g->trimmed && !(is_tree(g) && g->causal))
        return bpt_fail(BPT_ERR_USAGE, "graph: trimmed; only causal trees have spans that no leaf reads");
    const int64_t width = g->kind == BPT_GRAPH_BPT ? 2 * ((int64_t)g->k + 1) : 3;
    if (g->rel_levels > (INT32_MAX - 1) / width)
        return bpt_fail(BPT_ERR_USAGE,
                        "graph: rel_levels is %d; the relative position table would have more than 2^31 rows, use fewer levels%s",
                        g->rel_levels, g->kind == BPT_GRAPH_BPT ? " or a smaller k" : "");
    return BPT_OK;
}
