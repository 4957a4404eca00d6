// The keys of a query: a few contiguous ranges by index arithmetic, in O(levels).
#include "bpt/intervals.h"

typedef struct {
    const bpt_intervals_t *g;
    int64_t n;  // true length
    bpt_slot_t *slot;
    int count;
} out_t;

enum { LEFT, RIGHT };

// Adds keys begin..last (inclusive) of one level; they are level indices when `offset` is the level's first node.
static void add(out_t *o, int64_t offset, int64_t begin, int64_t last, int32_t row, int32_t step) {
    if (begin > last) return;
    const bool table = o->g->rel_levels > 0 && row >= 0;
    o->slot[o->count++] = (bpt_slot_t){offset + begin, offset + last + 1, table ? row : -1, table ? step : 0};
}

static int64_t floor_shift(int64_t x, int j) { return x >> j; }  // arithmetic: rounds towards minus infinity
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

// First row of the block of (level, side) in the table of a bpt graph; levels from rel_levels on share the last block.
static int32_t bpt_row(const bpt_intervals_t *g, int level, int side) {
    const int j = level < g->rel_levels ? level : g->rel_levels - 1;
    return 1 + (2 * j + side) * (g->k + 1);
}

// Text of the BPT paper, 3.2.2: k nodes a level; when the last one's sibling is left over it comes too.
static void paper_leaf(out_t *o, int64_t i) {
    const bpt_intervals_t *g = o->g;
    const int64_t k = g->k;
    int64_t offset = 0;
    for (int j = 0;; ++j) {
        const int64_t l = floor_shift(i - 1 - (((int64_t)1 << j) - 1) * (k + 1), j);
        if (l < 0) break;
        int64_t b = l - k + 1;
        b = max64(b - (b & 1), 0);
        add(o, offset, b, l, bpt_row(g, j, LEFT) + (int32_t)(l - b), -1);
        offset += bpt_level_size(g->n, j);
    }
    offset = 0;
    for (int j = 0; !g->causal; ++j) {
        const int64_t ones = ((int64_t)1 << j) - 1, size = bpt_level_size(o->n, j);
        const int64_t r = floor_shift(i + 1 + ones * k + ones, j);
        if (r >= size) break;
        int64_t e = r + k - 1;
        e += !(e & 1);
        add(o, offset, r, min64(e, size - 1), bpt_row(g, j, RIGHT), 1);
        offset += bpt_level_size(g->n, j);
    }
}

// The released code: a left-over child takes slot 0 of the next level; the child's own bound is tested.
static void reference_leaf(out_t *o, int64_t i) {
    const bpt_intervals_t *g = o->g;
    const int64_t k = g->k;
    int64_t offset = 0, below = 0;  // first node of this level and of the one below
    int64_t left_over = -1;         // index on the level below, even = exists
    for (int j = 0;; ++j) {
        const int64_t l = floor_shift(i - 1 - k * (((int64_t)1 << j) - 1), j);
        const bool residual = j > 0 && left_over >= 0 && left_over % 2 == 0;
        if (residual) add(o, below, left_over, left_over, bpt_row(g, j, LEFT), 0);
        if (l < 0) break;
        const int64_t b = max64(l - k + 1, 0), e = l - (residual ? 1 : 0);
        add(o, offset, b, e, bpt_row(g, j, LEFT) + (int32_t)(l - b), -1);
        left_over = l - k;
        below = offset;
        offset += bpt_level_size(g->n, j);
    }
    offset = below = 0;
    left_over = 0;
    for (int j = 0; !g->causal; ++j) {
        const int64_t size = bpt_level_size(o->n, j), r = floor_shift(i + 1 + k * (((int64_t)1 << j) - 1), j);
        const bool odd = j > 0 && left_over % 2 == 1;
        if (odd && left_over < bpt_level_size(o->n, j - 1)) add(o, below, left_over, left_over, bpt_row(g, j, RIGHT), 0);
        if (r >= size) break;
        add(o, offset, r + odd, min64(r + k, size) - 1, bpt_row(g, j, RIGHT) + odd, 1);
        left_over = r + k;
        below = offset;
        offset += bpt_level_size(g->n, j);
    }
}

static int32_t segtree_row(const bpt_intervals_t *g, int level, int side) {
    return 1 + 2 * (level < g->rel_levels ? level : g->rel_levels - 1) + side;
}

// The minimal disjoint cover that holds the leaf, its left and its right neighbour.
static void segtree_leaf(out_t *o, int64_t i) {
    const bpt_intervals_t *g = o->g;
    int64_t offset = 0;
    for (int j = 0; i > 0; ++j) {
        const int64_t a = (i - 1) >> j;
        if (j > 0 && a == 0) break;
        add(o, offset, a & 1 ? a - 1 : a, j == 0 ? a : a - 1, segtree_row(g, j, LEFT), 0);
        offset += bpt_level_size(g->n, j);
    }
    offset = 0;
    for (int j = 0; !g->causal && i + 1 < o->n; ++j) {
        const int64_t a = (i + 1) >> j, size = bpt_level_size(o->n, j);
        if (j > 0 && a + 1 >= size) break;
        const int64_t last = a % 2 == 0 && a + 1 < size ? a + 1 : a;
        add(o, offset, j == 0 ? a : a + 1, last, segtree_row(g, j, RIGHT), 0);
        offset += bpt_level_size(g->n, j);
    }
}

// Distances to the left use rows 2d-1, to the right 2d, clamped to the table's largest distance.
static void distance_leaf(out_t *o, int64_t i) {
    const bpt_intervals_t *g = o->g;
    const int64_t reach = g->kind == BPT_GRAPH_WINDOW ? g->window : o->n, far = g->rel_levels > 0 ? g->rel_levels : o->n;
    const int64_t first = max64(i - reach, 0), last = g->causal ? i : min64(i + reach, o->n - 1);
    const int64_t near_first = max64(first, i - far), near_last = min64(last, i + far);
    add(o, 0, near_first, i - 1, (int32_t)(2 * (i - near_first) - 1), -2);
    add(o, 0, first, near_first - 1, (int32_t)(2 * far - 1), 0);
    add(o, 0, i + 1, near_last, 2, 2);
    add(o, 0, near_last + 1, last, (int32_t)(2 * far), 0);
}

static void span(out_t *o, int level, int64_t index, int64_t node) {
    const bpt_intervals_t *g = o->g;
    const int64_t begin = index << level, end = min64((index + 1) << level, o->n);
    const bool self = g->kind == BPT_GRAPH_SEGTREE && g->span_self;
    if (self) add(o, node, 0, 0, 0, 0);
    add(o, 0, begin, end - 1, self ? 1 + 2 * g->rel_levels + (level < g->rel_levels ? level : g->rel_levels) - 1 : -1, 0);
}

int bpt_intervals_keys(const bpt_intervals_t *g, int64_t n_true, int64_t query, bpt_slot_t slots[BPT_MAX_SLOTS]) {
    if (g->kind == BPT_GRAPH_TABLE || !bpt_node_exists(g, n_true, query)) return 0;
    out_t o = {.g = g, .n = n_true, .slot = slots};
    const bool tree = g->kind == BPT_GRAPH_BPT || g->kind == BPT_GRAPH_SEGTREE;
    if (query >= g->n) {
        int level;
        int64_t index;
        bpt_node_position(g, query, &level, &index);
        if (tree)
            span(&o, level, index, query);
        else
            add(&o, 0, 0, n_true - 1, -1, 0);
        return o.count;
    }
    add(&o, 0, query, query, 0, 0);
    if (!tree)
        distance_leaf(&o, query);
    else if (g->kind == BPT_GRAPH_SEGTREE)
        segtree_leaf(&o, query);
    else if (g->reference_rule)
        reference_leaf(&o, query);
    else
        paper_leaf(&o, query);
    return o.count;
}
