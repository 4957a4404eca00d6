// Key lists of a tile of 16 leaf queries: per level and side the union of the queries' intervals, and which lanes use which part of it. For
// any graph: the ranges are bpt/intervals.h's, of runs of queries that read the same.
#include "backends/cpu/kernels/attention.h"

// A table row is 1 + block * block_rows + s; groups hold (block, s) until the rows in use are known.
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
    } whole[BPT_MAX_SLOTS];  // groups of whole keys, which come last
} builder_t;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void open_level(builder_t *b, int level) {
    b->level = level;
    b->region = b->tile->n_groups;
}

// Queries [from, to) read the nodes at places [begin, end) of the open level; the first key's row is entry `s` of `block`.
static void add(builder_t *b, int64_t from, int64_t to, int64_t begin, int64_t end, int32_t block, int32_t s, int32_t step) {
    const int g = b->tile->n_groups++;
    b->block[g] = b->a->rel ? block : NO_BLOCK;
    b->tile->group[g] = (bpt_attention_group_t){.key = (int32_t)begin,
                                                .keys = (int32_t)(end - begin),
                                                .rel = s,
                                                .step = step,
                                                .lane = (int32_t)(from - b->first),
                                                .lanes = (int32_t)(to - from)};
}

static void add_side(builder_t *b, int level, int side) {
    bpt_leaf_run_t runs[BPT_TILE];
    const int32_t width = (int32_t)b->a->block_rows;
    for (int part = 0; part < b->a->parts; ++part) {
        const bpt_leaf_part_t of = {level, side, part};
        const int count = bpt_intervals_runs(&b->a->t->graph, b->unit->length, b->first, b->end, &of, runs);
        for (int r = 0; r < count; ++r) {
            const bpt_slot_t *slot = &runs[r].slot;
            const bool has_row = slot->rel_row > 0;
            add(b, runs[r].first, runs[r].end, slot->begin, slot->end, has_row ? (slot->rel_row - 1) / width : NO_BLOCK,
                has_row ? (slot->rel_row - 1) % width : 0, slot->rel_step);
        }
    }
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

// The table's row of entry `s` of a block.
static int32_t table_row(const builder_t *b, int32_t block, int32_t s) { return 1 + block * (int32_t)b->a->block_rows + s; }

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

// Tiles begin where left intervals move on.
int64_t bpt_attention_tile_end(const bpt_attention_t *a, int64_t first) {
    return first + BPT_TILE - ((first + bpt_intervals_shift(&a->t->graph)) & (BPT_TILE - 1));
}

void bpt_attention_tile(const bpt_attention_t *a, const bpt_attention_unit_t *unit, const bpt_attention_ring_t *ring,
                        bpt_attention_tile_t *tile) {
    builder_t b = {.a = a, .unit = unit, .ring = ring, .tile = tile, .first = tile->first, .end = tile->end};
    const int levels = a->tree ? unit->levels - 1 : 1;  // the root is never context
    tile->n_keys = tile->n_groups = 0;
    for (int level = 0; level == 0 || level < levels; ++level) {
        open_level(&b, level);
        for (int64_t i = b.first; level == 0 && i < b.end; ++i) add(&b, i, i + 1, i, i + 1, SELF, 0, 0);
        if (level < levels) add_side(&b, level, LEFT);
        const int right = tile->n_groups;
        if (level < levels && !a->t->graph.causal) add_side(&b, level, RIGHT);
        close_level(&b, right);
        if (level == 0) tile->n_leaves = tile->n_keys;
    }
    place_whole(&b);
    place_rows(&b);
}

int64_t bpt_attention_tile_keys(const bpt_attention_t *a) {
    const bpt_intervals_t *graph = &a->t->graph;
    int64_t keys = 2 * BPT_TILE;
    if (!bpt_intervals_is_steady(graph)) return keys + a->nodes;
    for (int level = 0; level < (a->tree ? bpt_levels(a->n) : 1); ++level)
        keys += least((graph->causal ? 1 : 2) * (bpt_intervals_reach(graph) + 4 + (BPT_TILE >> level)),
                      bpt_level_size(a->n, level) + 2 * BPT_TILE);
    return keys;
}
