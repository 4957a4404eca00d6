// The interval functions of the GPU kernels (core/intervals/rules/intervals.h), compiled here as C, against bpt/intervals.h: the same keys,
// the same consumers, the same rows, for every graph; and at the largest sizes, where 32 bits are narrow.
#include "bpt/rng.h"
#include "core/intervals/dialect.h"
#include "unit/interval_edges.h"

static int4 graph_of(const bpt_intervals_t *g) {
    int32_t word[4];
    bpt_intervals_words(g, word);
    return INT4(word[0], word[1], word[2], word[3]);
}

static void for_each_graph(int64_t n, int64_t n_true, int32_t rel_levels, graph_check_t check) {
    static const int32_t widths[] = {1, 2, 3, 4, 7, 64, 1000, INT32_MAX};
    graphs_visit(widths, BPT_COUNT(widths), n, n_true, rel_levels, check);
}

// ---- Small graphs: all edges ------------------------------------------------------------------------------------------

static void check_position(const bpt_intervals_t *g, int64_t n_true, int64_t node) {
    int level;
    int64_t index;
    const int4 k = graph_of(g), position = node_position(k, (int32_t)node);
    bpt_node_position(g, node, &level, &index);
    assert_int_equal(position.x, level);
    assert_int_equal(position.y, index);
    assert_int_equal(node_exists(k, (int32_t)n_true, position), bpt_node_exists(g, n_true, node));
}

// Keys, or consumers, of every node, one by one or in the ranges of tiles, other cuts of the same. The rows of a range are evenly spaced,
// from which kernels work them out.
static void add_range(edges_t *e, int32_t query, int4 range) {
    for (int32_t key = range.x; key < range.y; ++key) edges_add(e, query, key, range.z + (key - range.x) * range.w);
}

static edges_t kernel_keys(const bpt_intervals_t *g, int64_t n_true) {
    edges_t e = edges_empty(g);
    const int4 k = graph_of(g);
    for (int32_t query = 0; query < (int32_t)e.nodes; ++query) {
        const int4 position = node_position(k, query);
        if (!node_exists(k, (int32_t)n_true, position)) continue;
        for (int s = 0; s < query_ranges(k, (int32_t)n_true, position.x); ++s) {
            const int4 range = query_range(k, (int32_t)n_true, position, s);
            assert_true(range.x <= range.y);
            add_range(&e, query, range);
        }
    }
    return e;
}

// The lanes of a tile; every node of the tile's levels must be a lane once, which the edges tell.
static void add_tile(edges_t *e, int4 k, int32_t n_true, int lanes, int level, int tile) {
    for (int lane = 0; lane < lanes; ++lane) {
        const int4 position = tile_position(lanes, level, tile, lane);
        if (!is_in_bucket(k, position) || !node_exists(k, n_true, position)) continue;
        for (int r = 0; r < tile_ranges(k, n_true, lanes, level); ++r)
            add_range(e, position.x ? node_number(k, position) : position.y, tile_range(k, n_true, level, position, r));
    }
}

static edges_t tile_keys(const bpt_intervals_t *g, int64_t n_true, int lanes) {
    edges_t e = edges_empty(g);
    const int4 k = graph_of(g);
    const int32_t length = (int32_t)n_true;
    for (int tile = 0; tile * lanes < k.y; ++tile) add_tile(&e, k, length, lanes, 0, tile);
    if (!bpt_intervals_has_spans(g)) {  // the root goes by itself
        for (int32_t query = k.y; query < (int32_t)e.nodes; ++query)
            for (int s = 0; s < 2; ++s) add_range(&e, query, query_range(k, length, node_position(k, query), s));
        return e;
    }
    for (int level = 1; level < bpt_tree_levels(g); level += tile_levels(lanes))
        for (int tile = 0; tile * (lanes / 2) < bpt_tree_level_size(g, level) * bpt_tree_level_step(g, level); ++tile)
            add_tile(&e, k, length, lanes, level, tile);
    return e;
}

static edges_t kernel_consumers(const bpt_intervals_t *g, int64_t n_true, bool tiles) {
    edges_t e = edges_empty(g);
    const int4 k = graph_of(g);
    for (int32_t key = 0; key < (int32_t)e.nodes; ++key) {
        const int4 position = node_position(k, key);
        if (!node_exists(k, (int32_t)n_true, position)) continue;
        for (int s = 0; s < key_ranges(k, (int32_t)n_true, position.x); ++s) {
            const int4 range = tiles ? tile_key_range(k, (int32_t)n_true, position, s) : key_range(k, (int32_t)n_true, position, s);
            assert_true(tiles || range.x <= range.y);
            for (int32_t query = range.x; query < range.y; ++query)
                edges_add(&e, query, key, edge_row(k, node_position(k, query), position));
        }
    }
    return e;
}

static void check_small(const bpt_intervals_t *g, int64_t n_true) {
    edges_t want = edges_by_keys(g, n_true), keys = kernel_keys(g, n_true), consumers = kernel_consumers(g, n_true, false);
    assert_same_edges(g, n_true, &keys, &want);
    assert_same_edges(g, n_true, &consumers, &want);
    edges_t to_tiles = kernel_consumers(g, n_true, true);
    assert_same_edges(g, n_true, &to_tiles, &want);
    edges_free(&to_tiles);
    for (int lanes = 4; lanes <= 16; lanes *= 2) {
        edges_t of_tiles = tile_keys(g, n_true, lanes);
        assert_same_edges(g, n_true, &of_tiles, &want);
        edges_free(&of_tiles);
    }
    for (int64_t node = 0; node < want.nodes; ++node) check_position(g, n_true, node);
    for (int level = 0; level <= bpt_tree_levels(g) && bpt_intervals_has_spans(g); ++level) {
        assert_int_equal(bucket_offset(graph_of(g), level), bpt_tree_level_offset(g, level));
        if (level < bpt_levels(g->n)) assert_int_equal(bucket_nodes(graph_of(g), level), bpt_tree_level_size(g, level));
    }
    if (bpt_intervals_has_spans(g)) assert_int_equal(bucket_levels(graph_of(g)), bpt_tree_levels(g));
    const int64_t root = bpt_root_node(g, n_true);
    if (root >= 0) assert_int_equal(root_node(graph_of(g), (int32_t)n_true), root);
    edges_free(&want);
    edges_free(&keys);
    edges_free(&consumers);
}

static void small_graphs_have_the_same_edges(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 130; n += n < 35 ? 1 : 19) for_each_graph(n, n, n % 3 == 0 ? 2 : bpt_default_rel_levels(n), check_small);
    for_each_graph(130, 130, 0, check_small);
}

static void shorter_sequences_of_a_bucket_have_the_same_edges(void **state) {
    (void)state;
    for (int64_t n_true = 1; n_true <= 37; n_true += 3) for_each_graph(37, n_true, 3, check_small);
    for_each_graph(100, 64, 7, check_small);
}

// ---- Tiles of leaves: rows of the table that a batch of the list uses (cl/software/tiles.h) --------------------------------

enum { MOST_TILE = 16, TILE_RANGES = 128 };

typedef struct {
    int4 lane[TILE_RANGES][MOST_TILE];
    int32_t begin[TILE_RANGES], end[TILE_RANGES], start[TILE_RANGES + 1], step[TILE_RANGES];
    int ranges;
} tile_t;

static void make_tile(const bpt_intervals_t *g, int32_t n_true, int32_t first_leaf, int size, tile_t *t) {
    const int4 k = graph_of(g);
    t->ranges = query_ranges(k, n_true, 0);
    for (int r = 0; r < t->ranges; ++r) {
        t->begin[r] = INT32_MAX, t->end[r] = 0, t->step[r] = 0;
        for (int lane = 0; lane < size; ++lane) {
            const int4 range = first_leaf + lane < n_true ? leaf_range(k, n_true, first_leaf + lane, r) : INT4(0, 0, -1, 0);
            t->lane[r][lane] = range;
            if (range.x == range.y) continue;
            if (t->begin[r] < INT32_MAX) assert_int_equal(t->step[r], range.w);
            t->begin[r] = range.x < t->begin[r] ? range.x : t->begin[r], t->end[r] = range.y > t->end[r] ? range.y : t->end[r];
            t->step[r] = range.w;
        }
        t->begin[r] = t->begin[r] < t->end[r] ? t->begin[r] : t->end[r];
        t->start[r + 1] = (r ? t->start[r] : 0) + t->end[r] - t->begin[r];
    }
}

static int entries_of(const tile_t *t, int size, int32_t first, int batch) {
    int entries = 0;
    for (int r = 0; r < t->ranges; ++r) {
        const int32_t start = r ? t->start[r] : 0, from = t->begin[r] + (first > start ? first - start : 0);
        const int32_t to = t->begin[r] + (first + batch < t->start[r + 1] ? first + batch : t->start[r + 1]) - start;
        int32_t low = INT32_MAX, high = -1;
        for (int lane = 0; lane < size; ++lane) {
            const int4 range = t->lane[r][lane];
            const int32_t begin = range.x > from ? range.x : from, end = range.y < to ? range.y : to;
            for (int32_t key = begin; key < end; key += key < end - 1 ? end - 1 - key : 1) {  // the first and the last one
                const int32_t row = range.z + (key - range.x) * range.w;
                low = row < low ? row : low, high = row > high ? row : high;
            }
        }
        if (low <= high) entries += (high - low) / (t->step[r] == 2 || t->step[r] == -2 ? 2 : 1) + 1;
    }
    return entries;
}

static void check_entries(const bpt_intervals_t *g, int64_t n_true) {
    static tile_t t;
    if (g->rel_levels == 0) return;
    for (int size = 4; size <= MOST_TILE; size *= 2)
        for (int32_t leaf = 0; leaf < n_true; leaf += size) {
            make_tile(g, (int32_t)n_true, leaf, size, &t);
            for (int batch = 16; batch <= 64; batch *= 4)
                for (int32_t first = 0; first < t.start[t.ranges]; first += batch)
                    assert_in_range(entries_of(&t, size, first, batch), 0, batch + 2 * size + 8);
        }
}

// The list of a tile is no longer than the core says, of sequences as long as the bucket and of shorter ones.
static void check_length(const bpt_intervals_t *g, int64_t n_true) {
    static tile_t t;
    if (!bpt_intervals_is_steady(g)) return;
    for (int size = 4; size <= MOST_TILE; size *= 2)
        for (int32_t leaf = 0; leaf < n_true; leaf += size) {
            make_tile(g, (int32_t)n_true, leaf, size, &t);
            assert_in_range(t.start[t.ranges], 1, bpt_intervals_block_nodes(g, size));
        }
}

static void a_tile_reads_no_more_than_the_graph_says(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 200; n += n < 20 ? 1 : 19) for_each_graph(n, n, 0, check_length);
    for (int64_t n_true = 1; n_true <= 150; n_true += 7) for_each_graph(150, n_true, 2, check_length);
    for_each_graph(3000, 2900, 0, check_length);
}

// What finds the sums that tiles of leaves leave for a node (cl/attention/key_sums.h): each tile with a leaf that reads the node is among
// those of reading_leaves, and has the node in its ranges of the node's level, and in no other.
static void check_places(const bpt_intervals_t *g, int64_t n_true) {
    static tile_t t;
    const int4 k = graph_of(g);
    if (!bpt_intervals_is_steady(g)) return;
    for (int32_t leaf = 0; leaf < n_true; leaf += MOST_TILE) {
        make_tile(g, (int32_t)n_true, leaf, MOST_TILE, &t);
        for (int r = 0; r < t.ranges; ++r)
            for (int32_t node = t.begin[r]; node < t.end[r]; ++node) {
                const int4 position = node_position(k, node), ranges = level_ranges(k, position.x);
                const int4 leaves = reading_leaves(k, (int32_t)n_true, position);
                bool is_read = false;
                for (int lane = 0; lane < MOST_TILE; ++lane) is_read = is_read || (node >= t.lane[r][lane].x && node < t.lane[r][lane].y);
                assert_in_range(r, ranges.x, ranges.y - 1);
                if (is_read) assert_true(leaves.x < leaf + MOST_TILE && leaves.y > leaf);
            }
    }
}

static void a_node_is_found_in_the_tiles_that_read_it(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 200; n += n < 20 ? 1 : 19) for_each_graph(n, n, 0, check_places);
    for (int64_t n_true = 1; n_true <= 150; n_true += 7) for_each_graph(150, n_true, 2, check_places);
    for_each_graph(1000, 900, 0, check_places);
}

static void a_batch_of_a_tile_uses_few_rows(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 100; n += 11) for_each_graph(n, n, n % 3 == 0 ? 2 : bpt_default_rel_levels(n), check_entries);
    for_each_graph(300, 211, bpt_default_rel_levels(300), check_entries);
    for_each_graph(300, 300, 90, check_entries);
}

// ---- Large graphs: some nodes ------------------------------------------------------------------------------------------

static int by_begin(const void *a, const void *b) {
    const bpt_slot_t *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

// Sorted, neighbours joined.
static int join(bpt_slot_t *slots, int count) {
    int joined = 0;
    qsort(slots, (size_t)count, sizeof *slots, by_begin);
    for (int s = 0; s < count; ++s) {
        if (joined > 0 && slots[joined - 1].end == slots[s].begin)
            slots[joined - 1].end = slots[s].end;
        else
            slots[joined++] = slots[s];
    }
    return joined;
}

static void assert_same_ranges(const bpt_intervals_t *g, int64_t n_true, int64_t node, bpt_slot_t *have, int n_have, bpt_slot_t *want,
                               int n_want) {
    n_have = join(have, n_have);
    n_want = join(want, n_want);
    bool same = n_have == n_want;
    for (int s = 0; same && s < n_have; ++s) same = have[s].begin == want[s].begin && have[s].end == want[s].end;
    if (same) return;
    describe(g, n_true);
    fail_msg("node %lld: other ranges than core's", (long long)node);
}

static void check_node(const bpt_intervals_t *g, int64_t n_true, int64_t node) {
    bpt_slot_t have[BPT_MAX_SLOTS + 8], want[BPT_MAX_SLOTS];
    const int4 k = graph_of(g), position = node_position(k, (int32_t)node);
    check_position(g, n_true, node);
    if (!node_exists(k, (int32_t)n_true, position)) return;
    int count = 0, ranges = query_ranges(k, (int32_t)n_true, position.x);
    assert_in_range(ranges, 1, MOST_RANGES);
    for (int s = 0; s < ranges; ++s) {
        const int4 range = query_range(k, (int32_t)n_true, position, s);
        if (range.x == range.y) continue;
        have[count++] = (bpt_slot_t){range.x, range.y, 0, 0};
        assert_int_equal(range.z, bpt_intervals_rel_row(g, n_true, node, range.x));
        assert_int_equal(range.z + (range.y - 1 - range.x) * range.w, bpt_intervals_rel_row(g, n_true, node, range.y - 1));
    }
    assert_same_ranges(g, n_true, node, have, count, want, bpt_intervals_keys(g, n_true, node, want));
    count = 0, ranges = key_ranges(k, (int32_t)n_true, position.x);
    assert_in_range(ranges, 1, MOST_RANGES);
    for (int s = 0; s < ranges; ++s) {
        const int4 range = key_range(k, (int32_t)n_true, position, s);
        if (range.x == range.y) continue;
        have[count++] = (bpt_slot_t){range.x, range.y, 0, 0};
        for (int end = 0; end < 2; ++end) {
            const int32_t query = end ? range.y - 1 : range.x;
            assert_int_equal(edge_row(k, node_position(k, query), position), bpt_intervals_rel_row(g, n_true, query, node));
        }
    }
    assert_same_ranges(g, n_true, node, have, count, want, bpt_intervals_consumers(g, n_true, node, want));
}

static void check_large(const bpt_intervals_t *g, int64_t n_true) {
    const int64_t nodes = bpt_node_count(g);
    for (int64_t node = 0; node < 20; ++node) {
        check_node(g, n_true, node < nodes ? node : nodes - 1);
        check_node(g, n_true, nodes - 1 - node);
        check_node(g, n_true, n_true - 1 - node);
    }
    for (uint64_t i = 0; i < 300; ++i) check_node(g, n_true, (int64_t)(bpt_mix64(i) % (uint64_t)nodes));
}

static void large_graphs_have_the_same_ranges(void **state) {
    (void)state;
    static const int64_t lengths[] = {1000, 8192, 131073, 1000003, (1 << 26) - 1, 1 << 26};
    for (size_t i = 0; i < BPT_COUNT(lengths); ++i) {
        for_each_graph(lengths[i], lengths[i], bpt_default_rel_levels(lengths[i]), check_large);
        for_each_graph(lengths[i], lengths[i] / 3 + 21, 5, check_large);
    }
}

static void half_of_the_largest_graph_a_level(void **state) {
    (void)state;
    static const int32_t widths[] = {1 << 10, (1 << 20) + 1, (1 << 25) - 1, 1 << 25, (1 << 26) - 1, 1 << 26};
    for (size_t w = 0; w < BPT_COUNT(widths); ++w)
        for (int reference = 0; reference < 2; ++reference) {
            const bpt_intervals_t g = {BPT_INTERVALS_BPT, .reference_rule = reference, .k = widths[w], .rel_levels = 2, .n = 1 << 26};
            check_large(&g, g.n);
            check_large(&g, g.n / 2 + 12345);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_graphs_have_the_same_edges),         cmocka_unit_test(shorter_sequences_of_a_bucket_have_the_same_edges),
        cmocka_unit_test(a_tile_reads_no_more_than_the_graph_says), cmocka_unit_test(a_node_is_found_in_the_tiles_that_read_it),
        cmocka_unit_test(a_batch_of_a_tile_uses_few_rows),          cmocka_unit_test(large_graphs_have_the_same_ranges),
        cmocka_unit_test(half_of_the_largest_graph_a_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
