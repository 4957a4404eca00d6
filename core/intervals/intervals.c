// The edges of a graph in both directions and their number (see bpt/intervals.h): those of leaves by the graph's rule, those of spans and
// of a virtual root, which are the same for every rule.
#include "core/intervals/rule.h"

static bool reads_itself(int4 w) { return graph_has(w, GRAPH_SPAN_SELF); }

// Writes [begin, end) as slot `count` unless it is empty; returns the new number of slots.
static int put_slot(const bpt_intervals_t *g, bpt_slot_t *slots, int count, int64_t begin, int64_t end, int32_t row, int32_t step) {
    if (begin >= end) return count;
    const int32_t its_row = g->rel_levels > 0 ? row : NO_ROW;
    slots[count] = (bpt_slot_t){begin, end, its_row, its_row >= 0 ? step : 0};
    return count + 1;
}

// The keys of a leaf beside itself, side by side from near to far. A call with a rule's function is a loop of its own for the compiler.
typedef int4 range_t(int4 g, int n_true, int i, int level, int side, int part);
static inline int put_sides(range_t *range_of, int parts, const bpt_intervals_t *g, int4 w, int32_t n_true, int32_t leaf, bpt_slot_t *slots,
                            int count) {
    const int levels = graph_has(w, GRAPH_TREE) ? level_count(n_true) : 1, sides = graph_sides(w);
    const int4 trimmed = trimmed_of(w);
    for (int side = 0; side < sides; ++side) {
        int32_t offset = 0;
        bool more =
            side == SIDE_LEFT ? leaf > 0 : leaf + 1 < n_true;  // ranges never overlap: nothing is farther than the first or last leaf
        for (int level = 0; more && level < levels; offset += nodes_of(w, trimmed, level), ++level)
            for (int part = 0; more && part < parts; ++part) {
                const int4 range = range_of(w, n_true, leaf, level, side, part);
                if (range.x >= range.y) continue;
                const int shift = level > 0 ? trimmed.w : 0;
                count = put_slot(g, slots, count, offset + (range.x >> shift), offset + ((range.y - 1) >> shift) + 1, range.z, range.w);
                more = side == SIDE_LEFT ? range.x > 0 : range.y < level_nodes(n_true, level);
            }
    }
    return count;
}
static int put_keys(const bpt_intervals_t *g, int4 w, int32_t n_true, int32_t leaf, bpt_slot_t *slots) {
    const int count = put_slot(g, slots, 0, leaf, leaf + 1, 0, 0);
    switch (graph_kind(w)) {
#define PUT_SIDES(number, kind, rule) \
    case number: return put_sides(rule##_range, rule##_parts(w), g, w, n_true, leaf, slots, count);
        GRAPH_RULES(PUT_SIDES)
    default: return count;
    }
}

int bpt_intervals_keys(const bpt_intervals_t *g, int64_t n_true, int64_t query, bpt_slot_t slots[BPT_MAX_SLOTS]) {
    if (!rule_of(g) || !bpt_node_exists(g, n_true, query)) return 0;
    const int4 w = words_of(g);
    if (query < g->n) return put_keys(g, w, (int32_t)n_true, (int32_t)query, slots);
    if (!graph_has(w, GRAPH_TREE)) return put_slot(g, slots, 0, 0, n_true, NO_ROW, 0);
    int level;
    int64_t index;
    bpt_node_position(g, query, &level, &index);
    const int count = reads_itself(w) ? put_slot(g, slots, 0, query, query + 1, 0, 0) : 0;
    return put_slot(g, slots, count, index << level, min64((index + 1) << level, n_true), span_row(w, level), 0);
}

// The leaves that read node (level, index), itself among them.
static int put_readers(const bpt_intervals_t *g, int4 w, int32_t n_true, int level, int64_t index, bpt_slot_t *slots, int count) {
    if (level == 0) count = put_slot(g, slots, count, index, index + 1, 0, 0);
    for (int r = 0; r < RULE_READERS; ++r) {
        const int4 range = rule_readers(w, n_true, level, (int32_t)index, r);
        count = put_slot(g, slots, count, range.x, range.y, range.z, range.w);
    }
    return count;
}

// The spans that read a leaf.
static int put_ancestors(const bpt_intervals_t *g, int4 w, int32_t n_true, int32_t leaf, bpt_slot_t *slots, int count) {
    const int4 trimmed = trimmed_of(w);
    const int levels = level_count(n_true);
    int32_t offset = w.y;
    for (int level = 1, size; level < levels; ++level, offset += size) {
        const int32_t index = leaf >> level, place = index >> trimmed.w;
        size = nodes_of(w, trimmed, level);
        if (place < size && place << trimmed.w == index)
            count = put_slot(g, slots, count, offset + place, offset + place + 1, span_row(w, level), 0);
    }
    return count;
}

int bpt_intervals_consumers(const bpt_intervals_t *g, int64_t n_true, int64_t key, bpt_slot_t slots[BPT_MAX_SLOTS]) {
    if (!rule_of(g) || !bpt_node_exists(g, n_true, key)) return 0;
    const int4 w = words_of(g);
    int level;
    int64_t index;
    bpt_node_position(g, key, &level, &index);
    int count = level > 0 && reads_itself(w) ? put_slot(g, slots, 0, key, key + 1, 0, 0) : 0;
    count = put_readers(g, w, (int32_t)n_true, level, index, slots, count);
    if (level > 0) return count;
    if (!graph_has(w, GRAPH_TREE)) return g->root ? put_slot(g, slots, count, g->n, g->n + 1, NO_ROW, 0) : count;
    return put_ancestors(g, w, (int32_t)n_true, (int32_t)index, slots, count);
}

static int32_t leaf_row(int4 w, int32_t n_true, int32_t leaf, int level, int32_t index) {
    const int32_t none = NO_ROW;
    if (level == 0 && index == leaf) return graph_has(w, GRAPH_ROWS) ? 0 : none;
    for (int r = 0; r < RULE_READERS; ++r) {
        const int4 range = rule_readers(w, n_true, level, index, r);
        if (leaf >= range.x && leaf < range.y) return graph_has(w, GRAPH_ROWS) ? rule_row(w, leaf, level, index) : none;
    }
    return NO_EDGE;
}

int32_t bpt_intervals_rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t query, int64_t key) {
    if (!rule_of(g) || !bpt_node_exists(g, n_true, query) || !bpt_node_exists(g, n_true, key)) return NO_EDGE;
    const int4 w = words_of(g);
    int level;
    int64_t index;
    if (query < g->n) {
        bpt_node_position(g, key, &level, &index);
        return leaf_row(w, (int32_t)n_true, (int32_t)query, level, (int32_t)index);
    }
    if (!graph_has(w, GRAPH_TREE)) return key < g->n ? NO_ROW : NO_EDGE;
    if (query == key) return !reads_itself(w) ? NO_EDGE : g->rel_levels ? 0 : NO_ROW;
    bpt_node_position(g, query, &level, &index);
    if (key >= g->n || key >> level != index) return NO_EDGE;
    return graph_has(w, GRAPH_ROWS) ? span_row(w, level) : NO_ROW;
}

// ---- Runs of leaves

int bpt_intervals_runs(const bpt_intervals_t *g, int64_t n_true, int64_t first, int64_t end, const bpt_leaf_part_t *of,
                       bpt_leaf_run_t *runs) {
    const int4 w = words_of(g);
    const int finer = of->level > 0 && rule_of(g)->shift ? of->level - 1 : 0, places = span_shift(w, of->level);
    const int64_t shift = of->side == SIDE_LEFT ? bpt_intervals_shift(g) : -bpt_intervals_shift(g);
    int count = 0;
    int4 before = EMPTY_RANGE;
    for (int64_t leaf = first, next; leaf < end; leaf = next) {
        next = min64(end, (((leaf + shift) >> finer) + 1) * ((int64_t)1 << finer) - shift);
        const int4 range = rule_range(w, (int32_t)n_true, (int32_t)leaf, of->level, of->side, of->part);
        if (range.x >= range.y) {
            before = EMPTY_RANGE;
        } else if (before.x == range.x && before.y == range.y && before.z == range.z) {
            runs[count - 1].end = next;
        } else {
            const bpt_slot_t slot = {range.x >> places, ((range.y - 1) >> places) + 1, range.z, range.w};
            runs[count++] = (bpt_leaf_run_t){leaf, next, slot};
            before = range;
        }
    }
    return count;
}

// ---- Counts

// Edges of the spans of a level.
static int64_t span_edges(const bpt_intervals_t *g, int4 w, int64_t n_true, int level) {
    const int64_t size = bpt_level_size(n_true, level), step = bpt_tree_level_step(g, level);
    if (!g->trimmed) return n_true + (reads_itself(w) ? size : 0);
    int64_t edges = 0;
    for (int64_t m = 0; m < size && m / step < bpt_tree_level_size(g, level); m += step)
        edges += min64((m + 1) << level, n_true) - (m << level) + reads_itself(w);
    return edges;
}

void bpt_intervals_count(const bpt_intervals_t *g, int64_t n_true, int64_t *all, int64_t *contextual) {
    *all = *contextual = 0;
    if (!rule_of(g) || n_true < 1 || n_true > g->n) return;
    const int4 w = words_of(g);
    const int levels = graph_has(w, GRAPH_TREE) ? bpt_levels(n_true) : 1;
    for (int j = 0; j < levels; ++j) {
        const int64_t size = bpt_level_size(n_true, j);
        for (int64_t m = 0; m < size; ++m)
            for (int r = 0; r < RULE_READERS; ++r) {
                const int4 range = rule_readers(w, (int32_t)n_true, j, (int32_t)m, r);
                *contextual += range.y - range.x;
            }
        if (j > 0) *all += span_edges(g, w, n_true, j);
    }
    *all += *contextual + n_true;  // the self edges of the leaves
    if (!graph_has(w, GRAPH_TREE) && g->root) *all += n_true;
}
