// Key lists of a tile of 16 leaf queries in bpt and segtree graphs: per level and side the union of the queries' intervals, and
// which lanes use which part of it. Index arithmetic only; the formulas are those of bpt/intervals.h for 16 queries at once.
#include "backends/cpu/kernels/attention.h"

// A table row is 1 + block * width + s, block = 2 min(level, L - 1) + side; groups hold (block, s) until the rows in use are known.
enum { LEFT, RIGHT, SELF = -1, NO_BLOCK = -2, MAX_BLOCKS = 2 * BPT_MAX_LEVELS };

typedef struct {
    const bpt_attention_t *a;
    const bpt_attention_unit_t *unit;
    const bpt_attention_ring_t *ring;
    bpt_attention_tile_t *tile;
    int64_t first, end;  // leaf queries
    int level, region;   // the open level and its first group
    int32_t block[BPT_ATTENTION_GROUPS];
    int n_whole;
    struct {
        bpt_attention_group_t group;
        int level, block;
    } whole[2 * MAX_BLOCKS];  // groups of whole keys, which come last
} builder_t;

static int64_t power(int level) { return (int64_t)1 << level; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int32_t block_of(const builder_t *b, int level, int side) { return 2 * (int32_t)least(level, b->a->t->graph.rel_levels - 1) + side; }

static void open_level(builder_t *b, int level) {
    b->level = level;
    b->region = b->tile->n_groups;
}

// Queries [from, to) read the nodes at places [begin, end) of the open level; the first key's row is entry `s` of `block`.
static void add(builder_t *b, int64_t from, int64_t to, int64_t begin, int64_t end, int32_t block, int64_t s, int32_t step) {
    if (begin >= end) return;
    const int g = b->tile->n_groups++;
    if (!b->a->rel) block = NO_BLOCK;
    b->block[g] = block;
    b->tile->group[g] = (bpt_attention_group_t){.key = (int32_t)begin,
                                                .keys = (int32_t)(end - begin),
                                                .rel = (int32_t)s,
                                                .step = step,
                                                .lane = (int32_t)(from - b->first),
                                                .lanes = (int32_t)(to - from)};
}

static void place_key(builder_t *b, int level, int32_t m) {
    bpt_attention_tile_t *tile = b->tile;
    tile->row[tile->n_keys] = (int32_t)bpt_attention_ring_row(b->ring, level, m);
    tile->keys[tile->n_keys++] = (int32_t)b->unit->first[level] + m;
}

// Gives the nodes [low, high) of the open level places in the key list, and groups [from, to), which read them, theirs.
static void place_keys(builder_t *b, int from, int to, int32_t low, int32_t high) {
    bpt_attention_tile_t *tile = b->tile;
    for (int g = from; g < to; ++g) tile->group[g].key += tile->n_keys - low;
    for (int32_t m = low; m < high; ++m) place_key(b, b->level, m);
}

static void range_of_groups(const builder_t *b, int from, int to, int32_t *low, int32_t *high) {
    *low = INT32_MAX, *high = 0;
    for (int g = from; g < to; ++g) {
        const bpt_attention_group_t *group = &b->tile->group[g];
        if (group->key < *low) *low = group->key;
        if (group->key + group->keys > *high) *high = group->key + group->keys;
    }
}

// Sets groups [from, to) of the open level aside when their keys are whole.
static bool set_aside(builder_t *b, int from, int to) {
    for (int g = from; g < to; ++g)
        if (b->block[g] < 0 || b->tile->group[g].lanes < BPT_TILE || b->a->t->zero_spans) return false;
    for (int g = from; g < to; ++g) {
        b->whole[b->n_whole].group = b->tile->group[g], b->whole[b->n_whole].level = b->level;
        b->whole[b->n_whole++].block = b->block[g];
        b->tile->group[g].keys = 0, b->block[g] = NO_BLOCK;
    }
    return true;
}

// Closes a level whose groups from `right` on are those of the right side. A node is listed once: where the sides of different
// queries overlap, they share one range of nodes.
static void close_level(builder_t *b, int right) {
    const int end = b->tile->n_groups;
    int32_t low[2], high[2];
    range_of_groups(b, b->region, right, &low[LEFT], &high[LEFT]);
    range_of_groups(b, right, end, &low[RIGHT], &high[RIGHT]);
    if (low[RIGHT] < high[LEFT] && low[LEFT] < high[RIGHT]) {
        range_of_groups(b, b->region, end, &low[LEFT], &high[LEFT]);
        right = end;
    }
    if (b->region < right && !set_aside(b, b->region, right)) place_keys(b, b->region, right, low[LEFT], high[LEFT]);
    if (right < end && !set_aside(b, right, end)) place_keys(b, right, end, low[RIGHT], high[RIGHT]);
}

// The last query from `i` on for which (query + shift) >> level is what it is for i, plus one.
static int64_t run_end(const builder_t *b, int64_t i, int64_t shift, int level) {
    return least(b->end, (((i + shift) >> level) + 1) * power(level) - shift);
}

// ---- bpt, paper rule -------------------------------------------------------------------------------------------------

static void paper_left(builder_t *b, int level) {
    const int64_t k = b->a->t->graph.k;
    for (int64_t i = b->first, next; i < b->end; i = next) {
        next = run_end(b, i, k, level);
        const int64_t l = ((i + k) >> level) - k - 1;
        int64_t begin = l - k + 1;
        begin -= begin & 1;
        begin = most(begin, 0);
        add(b, i, next, begin, l + 1, block_of(b, level, LEFT), l - begin, -1);
    }
}

static void paper_right(builder_t *b, int level) {
    const int64_t k = b->a->t->graph.k, size = b->unit->size[level];
    for (int64_t i = b->first, next; i < b->end; i = next) {
        next = run_end(b, i, -k, level);
        const int64_t r = ((i - k) >> level) + k + 1;
        int64_t last = r + k - 1;
        last += 1 - (last & 1);
        add(b, i, next, r, least(last + 1, size), block_of(b, level, RIGHT), 0, 1);
    }
}

// ---- bpt, reference rule: the node that is left over of a pair comes with the next level's first row -------------------------

static void reference_left(builder_t *b, int level) {
    const int64_t k = b->a->t->graph.k;
    for (int64_t i = b->first, next; i < b->end; i = next) {
        const int finer = level ? level - 1 : 0;
        next = run_end(b, i, k - 1, finer);
        const int64_t l = ((i - 1 + k) >> level) - k, begin = most(l - k + 1, 0);
        const int64_t skip = level && !(((i - 1 + k) >> finer) & 1);
        add(b, i, next, begin, l - skip + 1, block_of(b, level, LEFT), l - begin, -1);
        const int64_t residual = l - k;
        if (residual >= 0 && !(residual & 1)) add(b, i, next, residual, residual + 1, block_of(b, level + 1, LEFT), 0, 0);
    }
}

static void reference_right(builder_t *b, int level) {
    const int64_t k = b->a->t->graph.k, size = b->unit->size[level];
    for (int64_t i = b->first, next; i < b->end; i = next) {
        const int finer = level ? level - 1 : 0;
        next = run_end(b, i, 1 - k, finer);
        const int64_t r = ((i + 1 - k) >> level) + k;
        const int64_t skip = level && (((i + 1 - k) >> finer) & 1);
        add(b, i, next, r + skip, least(r + k, size), block_of(b, level, RIGHT), skip, 1);
        const int64_t residual = r + k;
        if (residual < size && (residual & 1)) add(b, i, next, residual, residual + 1, block_of(b, level + 1, RIGHT), 0, 0);
    }
}

// ---- segtree ---------------------------------------------------------------------------------------------------------

static void segtree_left(builder_t *b, int level) {
    for (int64_t i = b->first, next; i < b->end; i = next) {
        next = run_end(b, i, -1, level);
        const int64_t a = (i - 1) >> level;
        if (i == 0 || (level && !(a & 1))) continue;
        const int64_t begin = level ? bpt_attention_place(b->a, level, a - 1) : a - (a & 1);
        add(b, i, next, begin, level ? begin + 1 : a + 1, block_of(b, level, LEFT), 0, 0);
    }
}

static void segtree_right(builder_t *b, int level) {
    const int64_t size = b->unit->size[level];
    for (int64_t i = b->first, next; i < b->end; i = next) {
        next = run_end(b, i, 1, level);
        const int64_t a = (i + 1) >> level, sibling = !(a & 1);
        if (level)
            add(b, i, next, a + 1, least(a + 1 + sibling, size), block_of(b, level, RIGHT), 0, 0);
        else
            add(b, i, next, a, least(a + 1 + sibling, size), block_of(b, level, RIGHT), 0, 0);
    }
}

// ----------------------------------------------------------------------------------------------------------------------

static void add_side(builder_t *b, int level, int side) {
    const bpt_intervals_t *graph = &b->a->t->graph;
    if (graph->kind == BPT_GRAPH_SEGTREE) {
        if (side == LEFT)
            segtree_left(b, level);
        else
            segtree_right(b, level);
    } else if (graph->reference_rule) {
        if (side == LEFT)
            reference_left(b, level);
        else
            reference_right(b, level);
    } else {
        if (side == LEFT)
            paper_left(b, level);
        else
            paper_right(b, level);
    }
}

// The table's row of entry `s` of a block.
static int32_t table_row(const builder_t *b, int32_t block, int32_t s) {
    const bpt_intervals_t *graph = &b->a->t->graph;
    return 1 + block * (graph->kind == BPT_GRAPH_SEGTREE ? 1 : graph->k + 1) + s;
}

// Gives the whole keys their places: last in the list, with rows for the sums.
static void place_whole(builder_t *b) {
    bpt_attention_tile_t *tile = b->tile;
    tile->n_grouped = tile->n_keys;
    for (int32_t p = 0; p < tile->n_grouped; ++p) tile->sum_row[p] = tile->row[p];
    for (int i = 0; i < b->n_whole; ++i) {
        const bpt_attention_group_t *group = &b->whole[i].group;
        for (int32_t m = 0; m < group->keys; ++m) {
            tile->sum_row[tile->n_keys] = (int32_t)b->ring->rows + tile->n_keys - tile->n_grouped;
            tile->key_rel[tile->n_keys] = table_row(b, b->whole[i].block, group->rel + m * group->step);
            place_key(b, b->whole[i].level, group->key + m);
        }
    }
}

// Gives the table rows that groups use their places in the tile's list.
static void place_rows(builder_t *b) {
    bpt_attention_tile_t *tile = b->tile;
    int32_t place[MAX_BLOCKS], needed[MAX_BLOCKS] = {0};
    for (int g = 0; g < tile->n_groups; ++g) {
        const bpt_attention_group_t *group = &tile->group[g];
        if (b->block[g] < 0) continue;
        const int64_t last = group->rel + (int64_t)group->step * (group->keys - 1);
        needed[b->block[g]] = (int32_t)most(needed[b->block[g]], most(group->rel, last) + 1);
    }
    tile->n_rel = 0;
    if (b->a->rel) tile->rel[tile->n_rel++] = 0;
    for (int32_t block = 0; block < MAX_BLOCKS; ++block) {
        place[block] = tile->n_rel;
        for (int32_t s = 0; s < needed[block]; ++s) tile->rel[tile->n_rel++] = table_row(b, block, s);
    }
    for (int g = 0; g < tile->n_groups; ++g) {
        bpt_attention_group_t *group = &tile->group[g];
        if (b->block[g] == NO_BLOCK)
            group->rel = -1, group->step = 0;
        else if (b->block[g] >= 0)
            group->rel += place[b->block[g]];
    }
}

int64_t bpt_attention_tile_end(const bpt_attention_t *a, int64_t first) {
    const bpt_intervals_t *graph = &a->t->graph;
    int64_t shift = 0;  // left intervals move on where first + shift is a multiple of 2^level
    if (graph->kind == BPT_GRAPH_BPT) shift = graph->reference_rule ? graph->k - 1 : graph->k;
    if (graph->kind == BPT_GRAPH_SEGTREE) shift = BPT_TILE - 1;
    return first + BPT_TILE - (first + shift) % BPT_TILE;
}

void bpt_attention_tile(const bpt_attention_t *a, const bpt_attention_unit_t *unit, const bpt_attention_ring_t *ring,
                        bpt_attention_tile_t *tile) {
    builder_t b = {.a = a, .unit = unit, .ring = ring, .tile = tile, .first = tile->first, .end = tile->end};
    const bool causal = a->t->graph.causal, paper = a->t->graph.kind == BPT_GRAPH_BPT && !a->t->graph.reference_rule;
    tile->n_keys = tile->n_groups = 0;
    for (int level = 0; level == 0 || level < unit->levels - 1; ++level) {  // the root is never context
        open_level(&b, level);
        for (int64_t i = b.first; level == 0 && i < b.end; ++i) add(&b, i, i + 1, i, i + 1, SELF, 0, 0);
        if (level < unit->levels - 1) add_side(&b, level, LEFT);
        const int right = tile->n_groups;
        if (level < unit->levels - 1 && !causal) add_side(&b, level, RIGHT);
        close_level(&b, right);
        if (level == 0) tile->n_leaves = tile->n_keys;
        if (paper && tile->n_groups == b.region) break;  // nothing is left farther away
    }
    place_whole(&b);
    place_rows(&b);
}

int64_t bpt_attention_tile_keys(const bpt_attention_t *a) {
    const bpt_intervals_t *graph = &a->t->graph;
    const int64_t k = graph->kind == BPT_GRAPH_SEGTREE ? 2 : graph->k;
    int64_t keys = 2 * BPT_TILE;
    for (int level = 0; level < bpt_levels(a->n); ++level)
        keys += least((graph->causal ? 1 : 2) * (k + 3 + (BPT_TILE >> level)), bpt_level_size(a->n, level) + 2 * BPT_TILE);
    return keys;
}
