// Levels and node numbers (see bpt/intervals.h): the part that knows trees but no edges.
#include "bpt/rng.h"
#include "core/intervals/rule.h"

static bool has_virtual_root(const bpt_intervals_t *g) { return g->root && !bpt_intervals_is_table(g); }

// ceil(n / 2^level): the size of any level that the tree of n leaves has.
static int64_t whole_level(int64_t n, int level) { return ((n - 1) >> level) + 1; }

// A tree's levels. Only trimmed trees ask their rule.
typedef struct {
    int64_t n;
    bool is_trimmed;
    int4 words, trimmed;
} tree_t;
static tree_t tree_of(const bpt_intervals_t *g) {
    tree_t t = {.n = g->n, .is_trimmed = g->trimmed};
    if (g->trimmed) t.words = words_of(g), t.trimmed = trimmed_of(t.words);
    return t;
}
// Nodes of a level that the bucket has, for levels that the tree of its leaves has.
static int64_t level_nodes_of(const tree_t *t, int level) {
    return t->is_trimmed ? nodes_of(t->words, t->trimmed, level) : whole_level(t->n, level);
}
// log2 of bpt_tree_level_step.
static int step_shift(const tree_t *t, int level) { return level > 0 ? t->trimmed.w : 0; }

int bpt_levels(int64_t n) {
    int levels = 1;
    while (((int64_t)1 << (levels - 1)) < n) ++levels;
    return levels;
}

int64_t bpt_level_size(int64_t n, int level) { return level >= 0 && level < bpt_levels(n) ? whole_level(n, level) : 0; }

int bpt_tree_levels(const bpt_intervals_t *g) {
    if (!is_tree(g)) return 1 + has_virtual_root(g);
    const tree_t tree = tree_of(g);
    int levels = 1;
    while (levels < bpt_levels(g->n) && level_nodes_of(&tree, levels) > 0) ++levels;
    return levels;
}

int64_t bpt_tree_level_size(const bpt_intervals_t *g, int level) {
    if (level <= 0) return level == 0 ? g->n : 0;
    if (!is_tree(g)) return level == 1 && has_virtual_root(g);
    const tree_t tree = tree_of(g);
    return level < bpt_levels(g->n) ? level_nodes_of(&tree, level) : 0;
}

int64_t bpt_tree_level_offset(const bpt_intervals_t *g, int level) {
    if (!is_tree(g)) return level > 1 ? g->n + has_virtual_root(g) : level > 0 ? g->n : 0;
    const tree_t tree = tree_of(g);
    const int levels = bpt_levels(g->n);
    int64_t offset = 0;
    for (int j = 0; j < level && j < levels; ++j) offset += level_nodes_of(&tree, j);
    return offset;
}

int64_t bpt_tree_level_step(const bpt_intervals_t *g, int level) {
    const tree_t tree = tree_of(g);
    return (int64_t)1 << step_shift(&tree, level);
}

int64_t bpt_tree_node(const bpt_intervals_t *g, int level, int64_t index) {
    const int64_t step = bpt_tree_level_step(g, level), place = index / step;
    if (index < 0 || index % step || place >= bpt_tree_level_size(g, level)) return -1;
    return bpt_tree_level_offset(g, level) + place;
}

int64_t bpt_node_count(const bpt_intervals_t *g) { return bpt_tree_level_offset(g, BPT_MAX_LEVELS); }

int64_t bpt_root_node(const bpt_intervals_t *g, int64_t n_true) {
    if (n_true < 1 || n_true > g->n || (g->trimmed && !g->root)) return -1;
    if (is_tree(g)) return bpt_tree_level_offset(g, bpt_levels(n_true) - 1);
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
    const tree_t tree = tree_of(g);
    for (int64_t size = g->n; *index >= size; size = level_nodes_of(&tree, *level)) {
        *index -= size;
        ++*level;
    }
    *index <<= step_shift(&tree, *level);
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
