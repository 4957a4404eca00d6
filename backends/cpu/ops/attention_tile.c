// Key lists of a tile of 16 leaf queries: per level and side the union of the queries' intervals, and which lanes use which part of it. For
// any graph: the ranges are bpt/intervals.h's, of runs of queries that read the same.
#include "backends/cpu/kernels/attention.h"

// A table row is 1 + block * block_rows + s; groups hold (block, s) until the rows in use are known.
enum { LEFT, RIGHT, SELF = -1, NO_BLOCK = -2, MAX_BLOCKS = 2 * BPT_MAX_LEVELS };

typedef struct {
    const bpt_attention_t *a;
    const bpt_attention_unit_t *unit;
    const bpt_attention_ring_t *ring;
    bpt_cpu_attention_tile_t *tile;
    int64_t first, end;  // leaf queries
    int level;           // the open one
    int n_regions;
    int region[BPT_MAX_SLOTS + 2];  // first groups of its parts that are listed together, and the end
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
    b->n_regions = 0;
}

// Groups added from here on are listed by themselves, unless others share their nodes.
static void open_region(builder_t *b) { b->region[b->n_regions++] = b->tile->n_groups; }

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
        if (part > 0 && !b->a->tree) open_region(b);  // of a tree's level and side all parts lie close together
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
    bpt_cpu_attention_tile_t *tile = b->tile;
    tile->row[tile->n_keys] = (int32_t)bpt_attention_ring_row(b->ring, level, m);
    tile->keys[tile->n_keys++] = (int32_t)b->unit->first[level] + m;
}

// Groups [from, to) of the open level and the nodes [low, high) that they span.
typedef struct {
    int from, to;
    int32_t low, high;
} region_t;

static region_t region_of(const builder_t *b, int from, int to) {
    region_t r = {from, to, INT32_MAX, 0};
    for (int g = from; g < to; ++g) {
        const bpt_attention_group_t *group = &b->tile->group[g];
        if (group->key < r.low) r.low = group->key;
        if (group->key + group->keys > r.high) r.high = group->key + group->keys;
    }
    return r;
}

// Whether all keys of these regions are whole.
static bool are_whole(const builder_t *b, const region_t *regions, int count) {
    for (int r = 0; r < count; ++r)
        for (int g = regions[r].from; g < regions[r].to; ++g)
            if (b->block[g] < 0 || b->tile->group[g].lanes < BPT_TILE || b->a->t->zero_spans) return false;
    return true;
}

static void set_aside(builder_t *b, const region_t *region) {
    for (int g = region->from; g < region->to; ++g) {
        b->whole[b->n_whole].group = b->tile->group[g], b->whole[b->n_whole].level = b->level;
        b->whole[b->n_whole++].block = b->block[g];
        b->tile->group[g].keys = 0, b->block[g] = NO_BLOCK;
    }
}

// Gives the nodes [low, high) that these regions span places in the key list, and the groups, which read them, theirs. Whole keys wait.
static void place_regions(builder_t *b, const region_t *regions, int count, int32_t low, int32_t high) {
    bpt_cpu_attention_tile_t *tile = b->tile;
    const bool whole = are_whole(b, regions, count);
    for (int r = 0; r < count; ++r) {
        if (whole) set_aside(b, &regions[r]);
        for (int g = regions[r].from; g < regions[r].to && !whole; ++g) tile->group[g].key += tile->n_keys - low;
    }
    for (int32_t m = low; m < high && !whole; ++m) place_key(b, b->level, m);
}

// A node is listed once: regions that overlap share one range of nodes.
static void close_level(builder_t *b) {
    region_t regions[BPT_MAX_SLOTS + 1];
    int count = 0;
    b->region[b->n_regions] = b->tile->n_groups;
    for (int r = 0; r < b->n_regions; ++r) {
        const region_t region = region_of(b, b->region[r], b->region[r + 1]);
        int at = count;
        if (region.from == region.to) continue;
        for (; at > 0 && regions[at - 1].low > region.low; --at) regions[at] = regions[at - 1];
        regions[at] = region;
        ++count;
    }
    for (int first = 0, end; first < count; first = end) {
        int32_t high = regions[first].high;
        for (end = first + 1; end < count && regions[end].low < high; ++end) high = high > regions[end].high ? high : regions[end].high;
        place_regions(b, regions + first, end - first, regions[first].low, high);
    }
}

// The table's row of entry `s` of a block.
static int32_t table_row(const builder_t *b, int32_t block, int32_t s) { return 1 + block * (int32_t)b->a->block_rows + s; }

// Gives the whole keys their places: last in the list, with rows for the sums.
static void place_whole(builder_t *b) {
    bpt_cpu_attention_tile_t *tile = b->tile;
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
    bpt_cpu_attention_tile_t *tile = b->tile;
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
                        bpt_cpu_attention_tile_t *tile) {
    builder_t b;  // its lists are long, and filled as far as they are used
    b.a = a, b.unit = unit, b.ring = ring, b.tile = tile, b.first = tile->first, b.end = tile->end, b.n_whole = 0;
    const int levels = a->tree ? unit->levels - 1 : 1;  // the root is never context
    tile->n_keys = tile->n_groups = 0;
    for (int level = 0; level == 0 || level < levels; ++level) {
        open_level(&b, level);
        open_region(&b);
        for (int64_t i = b.first; level == 0 && i < b.end; ++i) add(&b, i, i + 1, i, i + 1, SELF, 0, 0);
        if (level < levels) add_side(&b, level, LEFT);
        open_region(&b);
        if (level < levels && !a->t->graph.causal) add_side(&b, level, RIGHT);
        close_level(&b);
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
