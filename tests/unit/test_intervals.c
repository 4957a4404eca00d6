// Attention graphs as intervals against independent restatements: exact cover, the two-pointer walks of paper and released code,
// the transposed graph, padding, and what happens at the edges of the contract.
#include "bpt/intervals.h"
#include "bpt/rng.h"
#include "unit/interval_edges.h"

static const int32_t widths[] = {1, 2, 3, 4, 8, 64};

static void for_each_tree(int64_t n, int64_t n_true, int32_t rel_levels, graph_check_t check) {
    trees_visit(widths, BPT_COUNT(widths), n, n_true, rel_levels, check);
}
static void for_each_graph(int64_t n, int64_t n_true, int32_t rel_levels, graph_check_t check) {
    graphs_visit(widths, BPT_COUNT(widths), n, n_true, rel_levels, check);
}

// ---- Nodes ----------------------------------------------------------------------------------------------------------

static void levels_are_halved_rounding_up_and_numbered_in_order(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 1100; ++n) {
        const bpt_intervals_t g = {BPT_INTERVALS_BPT, .k = 1, .n = n};
        int64_t size = n, node = 0;
        int level = 0;
        for (;; size = (size + 1) / 2, ++level) {
            assert_int_equal(bpt_level_size(n, level), size);
            assert_int_equal(bpt_tree_level_size(&g, level), size);
            assert_int_equal(bpt_tree_level_offset(&g, level), node);
            for (int64_t m = 0; m < size; ++m, ++node) {
                int found_level;
                int64_t index;
                bpt_node_position(&g, node, &found_level, &index);
                assert_int_equal(found_level, level);
                assert_int_equal(index, m);
                assert_int_equal(bpt_tree_node(&g, level, m), node);
                assert_int_equal(bpt_intervals_node_code(&g, node), (uint32_t)level << 26 | (uint32_t)m);
            }
            if (size == 1) break;
        }
        assert_int_equal(bpt_levels(n), level + 1);
        assert_int_equal(bpt_level_size(n, level + 1), 0);
        assert_int_equal(bpt_node_count(&g), node);
        assert_int_equal(bpt_tree_levels(&g), level + 1);
        assert_int_equal(bpt_tree_level_size(&g, level + 1), 0);
        assert_int_equal(bpt_tree_node(&g, level, 1), -1);
        assert_int_equal(bpt_root_node(&g, n), node - 1);
        assert_int_equal(bpt_default_rel_levels(n), level > 1 ? level : 1);
    }
    assert_int_equal(bpt_levels((int64_t)1 << 26), BPT_MAX_LEVELS);
    const bpt_intervals_t largest = {BPT_INTERVALS_BPT, .k = 1, .n = (int64_t)1 << 26};
    assert_int_equal(bpt_tree_level_offset(&largest, 26), ((int64_t)1 << 27) - 2);
}

static void nodes_of_a_shorter_sequence_keep_the_numbers_of_the_bucket(void **state) {
    (void)state;
    const bpt_intervals_t g = {BPT_INTERVALS_SEGTREE, .n = 21};  // levels 21 11 6 3 2 1
    const struct {
        int64_t n_true, root;
    } roots[] = {{1, 0}, {2, 21}, {3, 32}, {4, 32}, {5, 38}, {8, 38}, {9, 41}, {16, 41}, {17, 43}, {21, 43}};
    for (size_t i = 0; i < BPT_COUNT(roots); ++i) assert_int_equal(bpt_root_node(&g, roots[i].n_true), roots[i].root);
    for (int64_t node = 0; node < 44; ++node) {  // 5 leaves: levels 5 3 2 1
        const bool want = node < 5 || (node >= 21 && node < 24) || (node >= 32 && node < 34) || node == 38;
        assert_int_equal(bpt_node_exists(&g, 5, node), want);
    }
}

static void virtual_root_follows_the_leaves_of_flat_graphs(void **state) {
    (void)state;
    bpt_intervals_t g = {BPT_INTERVALS_DENSE, .root = true, .n = 6};
    bpt_slot_t slots[BPT_MAX_SLOTS];
    assert_int_equal(bpt_node_count(&g), 7);
    assert_int_equal(bpt_root_node(&g, 4), 6);
    assert_int_equal(bpt_intervals_node_code(&g, 6), bpt_node_code(1, 0));
    assert_true(bpt_node_exists(&g, 4, 6) && !bpt_node_exists(&g, 4, 5));
    assert_int_equal(bpt_intervals_keys(&g, 4, 6, slots), 1);
    assert_int_equal(slots[0].begin, 0);
    assert_int_equal(slots[0].end, 4);
    assert_int_equal(slots[0].rel_row, -1);
    g.root = false;
    assert_int_equal(bpt_node_count(&g), 6);
    assert_int_equal(bpt_root_node(&g, 4), -1);
    assert_int_equal(bpt_intervals_keys(&g, 4, 6, slots), 0);
}

// A trimmed graph has the nodes of the whole one that some leaf reads, in the same order, and the same queries and rows of them.
static void check_trimmed(const bpt_intervals_t *g, int64_t n_true) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    bpt_intervals_t whole = *g;
    if (!g->trimmed) return;
    whole.trimmed = whole.root = false;
    int64_t node = 0;
    for (int64_t old = 0; old < bpt_node_count(&whole); ++old) {
        int level, found_level;
        int64_t index, found;
        bpt_node_position(&whole, old, &level, &index);
        const int count = bpt_intervals_consumers(&whole, g->n, old, slots), own = count && slots[0].begin == old;
        const bool read = level == 0 || count > own || (g->root && index == 0);
        if (read != (bpt_tree_node(g, level, index) == node)) describe(g, n_true);
        assert_int_equal(bpt_tree_node(g, level, index), read ? node : -1);
        if (!read) continue;
        bpt_node_position(g, node, &found_level, &found);
        assert_int_equal(found_level, level);
        assert_int_equal(found, index);
        assert_int_equal(bpt_node_exists(g, n_true, node), bpt_node_exists(&whole, n_true, old));
        assert_int_equal(bpt_intervals_node_code(g, node), bpt_intervals_node_code(&whole, old));
        ++node;
    }
    assert_int_equal(bpt_node_count(g), node);
    assert_int_equal(bpt_root_node(g, n_true), g->root ? bpt_tree_node(g, bpt_levels(n_true) - 1, 0) : -1);
    // What tiles of spans rely on: no level begins a tile that the level below has not.
    for (int level = 2; level < bpt_tree_levels(g); ++level) {
        const int64_t last = (bpt_tree_level_size(g, level) - 1) * bpt_tree_level_step(g, level);
        assert_true(bpt_tree_node(g, level - 1, 2 * last) >= 0);
    }
}

static void trimmed_graphs_have_the_spans_that_leaves_read(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 300; ++n) for_each_tree(n, n, 3, check_trimmed);
    for (int64_t n_true = 1; n_true <= 70; ++n_true) for_each_tree(70, n_true, 3, check_trimmed);
}

// ---- Cover ----------------------------------------------------------------------------------------------------------

static void check_cover(const bpt_intervals_t *g, int64_t n) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    int covered[301];
    for (int64_t i = 0; i < n; ++i) {
        memset(covered, 0, sizeof covered);
        const int count = bpt_intervals_keys(g, n, i, slots);
        for (int s = 0; s < count; ++s) {  // a slot lies in one level, so its keys cover one range of leaves
            int level, last_level;
            int64_t first, last;
            bpt_node_position(g, slots[s].begin, &level, &first);
            bpt_node_position(g, slots[s].end - 1, &last_level, &last);
            if (level != last_level) describe(g, n);
            assert_int_equal(level, last_level);
            const int64_t end = (last + 1) << level;
            ++covered[first << level];
            --covered[end < n ? end : n];
        }
        for (int64_t leaf = 0, times = 0; leaf < n; ++leaf) {
            times += covered[leaf];
            const int64_t want = !g->causal || leaf <= i;
            if (times != want) describe(g, n);
            assert_int_equal(times, want);
        }
    }
}

static void every_leaf_is_covered_exactly_once(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 300; ++n) for_each_tree(n, n, 0, check_cover);
}

// ---- Independent restatements of the rules -----------------------------------------------------------------------------

static int64_t node_of(const bpt_intervals_t *g, int level, int64_t index) { return bpt_tree_node(g, level, index); }

static int32_t bpt_row(const bpt_intervals_t *g, int level, int side, int64_t rank) {
    const int clamped = level < g->rel_levels ? level : g->rel_levels - 1;
    return g->rel_levels ? (int32_t)(1 + (2 * clamped + side) * (g->k + 1) + rank) : -1;
}

// The text of the paper: k nodes; if the last one's sibling is left over, that one too; then the next nodes of the level above.
static void walk_paper(const bpt_intervals_t *g, int64_t n, int64_t leaf, edges_t *e) {
    int64_t index = leaf - 1, rank;
    for (int level = 0; index >= 0; ++level, index >>= 1) {
        for (rank = 0; rank < g->k && index >= 0; ++rank, --index) edges_add(e, leaf, node_of(g, level, index), bpt_row(g, level, 0, rank));
        if (index >= 0 && index % 2 == 0) edges_add(e, leaf, node_of(g, level, index--), bpt_row(g, level, 0, rank));
    }
    index = leaf + 1;
    for (int level = 0; !g->causal && index < bpt_level_size(n, level); ++level, index /= 2) {
        const int64_t size = bpt_level_size(n, level);
        for (rank = 0; rank < g->k && index < size; ++rank, ++index)
            edges_add(e, leaf, node_of(g, level, index), bpt_row(g, level, 1, rank));
        if (index % 2 == 1) {
            if (index < size) edges_add(e, leaf, node_of(g, level, index), bpt_row(g, level, 1, rank));
            ++index;
        }
    }
}

// The released builder: two pointers, k slots a level, and a flag that makes slot 0 of the next level take the remaining child.
static void walk_reference(const bpt_intervals_t *g, int64_t n, int64_t leaf, edges_t *e) {
    const int top = bpt_levels(n) - 1;
    int64_t l = leaf - 1, r = leaf + 1, l_child = 0, r_child = 0;
    bool l_flag = false, r_flag = false;
    for (int level = 0; level < top; ++level) {
        for (int slot = 0; slot < g->k; ++slot, --l, ++r) {
            if (l >= 0) {
                edges_add(e, leaf, l_flag ? node_of(g, level - 1, l_child) : node_of(g, level, l), bpt_row(g, level, 0, slot));
                l_flag = false;
            }
            if (!g->causal && r < bpt_level_size(n, level)) {
                if (!r_flag)
                    edges_add(e, leaf, node_of(g, level, r), bpt_row(g, level, 1, slot));
                else if (r_child < bpt_level_size(n, level - 1))  // the bound that the released code forgets
                    edges_add(e, leaf, node_of(g, level - 1, r_child), bpt_row(g, level, 1, slot));
                r_flag = false;
            }
        }
        l_flag = l % 2 == 0, r_flag = r % 2 == 1;
        l_child = l, r_child = r;
        l >>= 1, r >>= 1;
    }
}

// The minimal cover from the root down: a node that holds none of i - 1, i, i + 1 is taken whole.
static void cover_segtree(const bpt_intervals_t *g, int64_t n, int64_t leaf, int level, int64_t index, edges_t *e) {
    const int64_t begin = index << level, end = (index + 1) << level;
    if (begin >= n) return;
    if (level > 0 && begin <= leaf + 1 && end > leaf - 1) {
        cover_segtree(g, n, leaf, level - 1, 2 * index, e);
        cover_segtree(g, n, leaf, level - 1, 2 * index + 1, e);
        return;
    }
    if (level == 0 && index == leaf) return;
    if (g->causal && begin > leaf) return;
    const int clamped = level < g->rel_levels ? level : g->rel_levels - 1;
    edges_add(e, leaf, node_of(g, level, index), g->rel_levels ? 1 + 2 * clamped + (begin > leaf) : -1);
}

static void add_distances(const bpt_intervals_t *g, int64_t n, int64_t leaf, edges_t *e) {
    for (int64_t key = 0; key < n; ++key) {
        const int64_t d = llabs(leaf - key), clamped = d < g->rel_levels ? d : g->rel_levels;
        if (d == 0 || (g->kind == BPT_INTERVALS_WINDOW && d > g->window) || (g->causal && key > leaf)) continue;
        edges_add(e, leaf, key, g->rel_levels == 0 ? -1 : (int32_t)(key < leaf ? 2 * clamped - 1 : 2 * clamped));
    }
}

static void add_blocks(const bpt_intervals_t *g, int64_t leaf, edges_t *e) {
    for (int64_t key = 0; key < leaf; ++key)
        if (key / g->stride == leaf / g->stride || key % g->stride >= g->stride - g->tail) edges_add(e, leaf, key, -1);
}

static void add_spans(const bpt_intervals_t *g, int64_t n, edges_t *e) {
    const bool self = g->kind == BPT_INTERVALS_SEGTREE && g->span_self;
    for (int level = 1; level < bpt_levels(n); ++level)
        for (int64_t leaf = 0; leaf < n; ++leaf) {
            const int64_t span = node_of(g, level, leaf >> level);
            if (span < 0) continue;  // trimmed
            const int clamped = level < g->rel_levels ? level : g->rel_levels;
            edges_add(e, span, leaf, self && g->rel_levels ? 1 + 2 * g->rel_levels + clamped - 1 : -1);
            if (self && leaf % (1 << level) == 0) edges_add(e, span, span, g->rel_levels ? 0 : -1);
        }
}

static void check_against_walk(const bpt_intervals_t *g, int64_t n) {
    edges_t have = edges_by_keys(g, n), want = edges_empty(g);
    for (int64_t leaf = 0; leaf < n; ++leaf) {
        edges_add(&want, leaf, leaf, g->rel_levels ? 0 : -1);
        if (g->kind == BPT_INTERVALS_SEGTREE)
            cover_segtree(g, n, leaf, bpt_levels(n) - 1, 0, &want);
        else if (g->kind == BPT_INTERVALS_SPARSE)
            add_blocks(g, leaf, &want);
        else if (g->kind != BPT_INTERVALS_BPT)
            add_distances(g, n, leaf, &want);
        else if (g->reference_rule)
            walk_reference(g, n, leaf, &want);
        else
            walk_paper(g, n, leaf, &want);
    }
    if (g->kind == BPT_INTERVALS_BPT || g->kind == BPT_INTERVALS_SEGTREE)
        add_spans(g, n, &want);
    else if (g->root)
        for (int64_t leaf = 0; leaf < n; ++leaf) edges_add(&want, g->n, leaf, -1);
    assert_same_edges(g, n, &have, &want);
    edges_free(&have);
    edges_free(&want);
}

static void keys_and_rows_are_those_of_the_walk_along_the_tree(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 70; ++n) for_each_graph(n, n, bpt_default_rel_levels(n), check_against_walk);
    for_each_graph(257, 257, 3, check_against_walk);
}

static void rows_are_clamped_to_the_table_and_absent_without_one(void **state) {
    (void)state;
    for (int32_t rel_levels = 0; rel_levels <= 3; ++rel_levels) for_each_graph(45, 45, rel_levels, check_against_walk);
}

static void padding_does_not_change_a_graph(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 34; ++n)
        for (int64_t bucket = n; bucket <= 64; bucket += bucket < n + 3 ? 1 : 13) for_each_graph(bucket, n, 3, check_against_walk);
}

// ---- The transposed graph -----------------------------------------------------------------------------------------------

static void check_transposed(const bpt_intervals_t *g, int64_t n) {
    edges_t want = edges_by_keys(g, n), have = edges_empty(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    int64_t all, contextual, counted = 0, leaf_context = 0;
    for (int64_t key = 0; key < have.nodes; ++key) {
        const int count = bpt_intervals_consumers(g, n, key, slots);
        for (int s = 0; s < count; ++s)
            for (int64_t t = 0; t < slots[s].end - slots[s].begin; ++t) {
                const int64_t query = slots[s].begin + t;
                const int32_t row =
                    slots[s].rel_row == -2 ? *edge_at(&want, query, key) : slots[s].rel_row + (int32_t)t * slots[s].rel_step;
                edges_add(&have, query, key, row);
            }
    }
    assert_same_edges(g, n, &have, &want);
    for (int64_t query = 0; query < want.nodes; ++query)
        for (int64_t key = 0; key < want.nodes; ++key) {
            const int32_t row = *edge_at(&want, query, key);
            if (bpt_intervals_rel_row(g, n, query, key) != row) describe(g, n);
            assert_int_equal(bpt_intervals_rel_row(g, n, query, key), row);
            counted += row != NONE;
            leaf_context += row != NONE && query < g->n && query != key;
        }
    bpt_intervals_count(g, n, &all, &contextual);
    assert_int_equal(all, counted);
    assert_int_equal(contextual, leaf_context);
    edges_free(&have);
    edges_free(&want);
}

static void consumers_rows_and_counts_are_those_of_the_keys(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 40; ++n) for_each_graph(n, n, bpt_default_rel_levels(n), check_transposed);
    for (int64_t n = 1; n <= 33; n += 4) for_each_graph(37, n, 2, check_transposed);
    for_each_graph(50, 50, 0, check_transposed);
    for_each_graph(129, 129, 4, check_transposed);
}

static void table_rows_of_leaf_consumers_need_no_search(void **state) {
    (void)state;  // on level 0 every range has linear rows, so backward passes find them without asking edge by edge
    bpt_slot_t slots[BPT_MAX_SLOTS];
    for (size_t w = 0; w < BPT_COUNT(widths); ++w)
        for (int reference = 0; reference < 2; ++reference) {
            const bpt_intervals_t g = {BPT_INTERVALS_BPT, .reference_rule = reference, .k = widths[w], .rel_levels = 4, .n = 200};
            for (int64_t leaf = 0; leaf < 200; ++leaf)
                for (int s = bpt_intervals_consumers(&g, 200, leaf, slots) - 1; s >= 0; --s) assert_int_not_equal(slots[s].rel_row, -2);
        }
}

// ---- What kernels rely on -----------------------------------------------------------------------------------------------

static void neighbouring_queries_read_neighbouring_keys(void **state) {
    (void)state;  // on a level and side, begin and end never go back from one leaf to the next, and advance by two at most
    const int64_t n = 333;
    for (size_t w = 0; w < BPT_COUNT(widths); ++w) {
        const bpt_intervals_t g = {BPT_INTERVALS_BPT, .k = widths[w], .rel_levels = 20, .n = n};
        int64_t begin[2][BPT_MAX_LEVELS], end[2][BPT_MAX_LEVELS];
        memset(begin, -1, sizeof begin);
        for (int64_t leaf = 0; leaf < n; ++leaf) {
            bpt_slot_t slots[BPT_MAX_SLOTS];
            const int count = bpt_intervals_keys(&g, n, leaf, slots);
            assert_true(slots[0].begin == leaf && slots[0].end == leaf + 1 && slots[0].rel_row == 0);
            for (int s = 1; s < count; ++s) {
                int level;
                int64_t index;
                bpt_node_position(&g, slots[s].begin, &level, &index);
                const int side = slots[s].rel_step > 0;
                int64_t *b = &begin[side][level], *e = &end[side][level];
                if (*b >= 0) {
                    assert_in_range(slots[s].begin - *b, 0, 2);
                    assert_in_range(slots[s].end - *e, 0, 2);
                }
                *b = slots[s].begin, *e = slots[s].end;
            }
        }
    }
}

// The keys of tiles of leaves, run by run.
static void check_runs(const bpt_intervals_t *g, int64_t n) {
    edges_t have = edges_empty(g), want = edges_empty(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    bpt_leaf_run_t runs[16];
    for (int64_t first = 0; first < n; first += 16)
        for (bpt_leaf_part_t of = {.level = 0}; of.level < (bpt_intervals_has_spans(g) ? bpt_levels(n) : 1); ++of.level)
            for (of.side = 0; of.side < (g->causal ? 1 : 2); ++of.side)
                for (of.part = 0; of.part < bpt_intervals_parts(g); ++of.part)
                    for (int r = bpt_intervals_runs(g, n, first, first + 16 < n ? first + 16 : n, &of, runs) - 1; r >= 0; --r)
                        for (int64_t leaf = runs[r].first; leaf < runs[r].end; ++leaf)
                            for (int64_t t = 0; t < runs[r].slot.end - runs[r].slot.begin; ++t)
                                edges_add(&have, leaf, bpt_tree_level_offset(g, of.level) + runs[r].slot.begin + t,
                                          runs[r].slot.rel_row + (int32_t)t * runs[r].slot.rel_step);
    for (int64_t leaf = 0; leaf < n; ++leaf)
        for (int s = bpt_intervals_keys(g, n, leaf, slots) - 1; s > 0; --s)
            for (int64_t t = 0; t < slots[s].end - slots[s].begin; ++t)
                edges_add(&want, leaf, slots[s].begin + t, slots[s].rel_row + (int32_t)t * slots[s].rel_step);
    assert_same_edges(g, n, &have, &want);
    edges_free(&have);
    edges_free(&want);
}

static void runs_of_leaves_read_what_each_of_them_reads(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 130; n += n < 35 ? 1 : 19) for_each_graph(n, n, bpt_default_rel_levels(n), check_runs);
    for_each_graph(100, 77, 3, check_runs);
}

// What a graph says of all its edges.
static void check_properties(const bpt_intervals_t *g, int64_t n) {
    const bool tree = bpt_intervals_has_spans(g);
    const int64_t reach = bpt_intervals_reach(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    for (int64_t leaf = 0; leaf < n; ++leaf) {
        const int count = bpt_intervals_keys(g, n, leaf, slots);
        int64_t keys = 0;
        assert_in_range(count, 1, bpt_intervals_most_keys(g));
        for (int s = 1; s < count; ++s) {
            int level;
            int64_t first;
            bpt_node_position(g, slots[s].begin, &level, &first);
            const int64_t step = bpt_tree_level_step(g, level), last = first + (slots[s].end - 1 - slots[s].begin) * step,
                          own = leaf >> level;
            const int64_t distance = llabs(first - own) > llabs(last - own) ? llabs(first - own) : llabs(last - own);
            keys += slots[s].end - slots[s].begin;
            if (distance > (tree ? 2 * reach + 1 : reach) || slots[s].end - slots[s].begin > reach + tree) describe(g, n);
            assert_true(distance <= (tree ? 2 * reach + 1 : reach) && slots[s].end - slots[s].begin <= reach + tree);
            const int64_t behind = leaf - ((last + 1) << level);
            if (level > 0 && behind >= 0) assert_true(behind >= bpt_intervals_wait(g, level));
        }
        if (!bpt_intervals_is_window(g)) continue;
        const int64_t left = leaf < reach ? leaf : reach, right = n - 1 - leaf < reach ? n - 1 - leaf : reach;
        assert_int_equal(keys, g->causal ? left : left + right);
    }
    for (int64_t node = 0; node < bpt_node_count(g); ++node) {
        const int count = bpt_intervals_consumers(g, n, node, slots);
        int level;
        int64_t index, before = 0, after = 0;  // leaves that read the node
        bpt_node_position(g, node, &level, &index);
        assert_in_range(count, 0, bpt_intervals_most_consumers(g));
        for (int s = 0; s < count; ++s)
            if (slots[s].begin < g->n) *(slots[s].begin < index << level ? &before : &after) += slots[s].end - slots[s].begin;
        const int64_t most = (reach + 1) << level;
        assert_true(before <= most && after <= most + (level == 0));  // a leaf by itself too
    }
}

static void graphs_keep_what_they_say_of_their_edges(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 130; n += n < 35 ? 1 : 19) for_each_graph(n, n, 0, check_properties);
    for_each_graph(100, 77, 3, check_properties);
}

static void slots_go_from_near_to_far_left_before_right(void **state) {
    (void)state;
    for (int reference = 0; reference < 2; ++reference) {
        const bpt_intervals_t g = {BPT_INTERVALS_BPT, .reference_rule = reference, .k = 3, .rel_levels = 9, .n = 300};
        for (int64_t leaf = 0; leaf < g.n; ++leaf) {
            bpt_slot_t slots[BPT_MAX_SLOTS];
            const int count = bpt_intervals_keys(&g, g.n, leaf, slots);
            int64_t last = leaf;
            bool right = false;
            for (int s = 1; s < count; ++s) {
                int level;
                int64_t index;
                bpt_node_position(&g, slots[s].begin, &level, &index);
                const int64_t first = index << level;
                if (!right && first > leaf) right = true, last = leaf;
                assert_true(right ? first > last : first < last);
                last = first;
            }
        }
    }
}

static void longest_sequences_fit_the_slots_and_agree_both_ways(void **state) {
    (void)state;
    const int64_t n = (int64_t)1 << 26;
    uint64_t random = 1;
    for (int shape = 0; shape < 12; ++shape) {
        const bpt_intervals_t g = {shape % 3 == 2 ? BPT_INTERVALS_SEGTREE : BPT_INTERVALS_BPT,
                                   .causal = shape & 4,
                                   .reference_rule = shape % 3,
                                   .k = shape < 6 ? 1 : 5,
                                   .rel_levels = 26,
                                   .n = n};
        assert_int_equal(bpt_intervals_check(&g), BPT_OK);
        for (int trial = 0; trial < 60; ++trial) {
            const int64_t n_true = n - (int64_t)(bpt_mix64(random++) % 1000),
                          leaf = trial == 0 ? 0 : (int64_t)(bpt_mix64(random++) % (uint64_t)n_true);
            bpt_slot_t slots[BPT_MAX_SLOTS], back[BPT_MAX_SLOTS];
            const int count = bpt_intervals_keys(&g, n_true, leaf, slots);
            assert_in_range(count, 1, BPT_MAX_SLOTS);
            for (int s = 0; s < count; ++s)
                for (int64_t t = 0; t < slots[s].end - slots[s].begin; ++t) {
                    const int64_t key = slots[s].begin + t;
                    assert_int_equal(bpt_intervals_rel_row(&g, n_true, leaf, key), slots[s].rel_row + (int32_t)t * slots[s].rel_step);
                    int found = 0;
                    for (int b = bpt_intervals_consumers(&g, n_true, key, back) - 1; b >= 0; --b)
                        found += back[b].begin <= leaf && leaf < back[b].end;
                    assert_int_equal(found, 1);
                }
        }
    }
}

static void huge_widths_do_not_overflow(void **state) {
    (void)state;
    const bpt_intervals_t g = {BPT_INTERVALS_BPT, .k = INT32_MAX, .n = (int64_t)1 << 26};
    for (int reference = 0; reference < 2; ++reference) {
        bpt_intervals_t h = g;
        h.reference_rule = reference;
        bpt_slot_t slots[BPT_MAX_SLOTS];
        assert_int_equal(bpt_intervals_check(&h), BPT_OK);
        assert_int_equal(bpt_intervals_keys(&h, h.n, 1000, slots), 3);  // self and every other leaf
        assert_int_equal(slots[1].end - slots[1].begin + slots[2].end - slots[2].begin, h.n - 1);
        assert_int_equal(bpt_intervals_rel_row(&h, h.n, 1000, bpt_tree_node(&h, 20, 5)), -2);
    }
}

// ---- The edges of the contract ------------------------------------------------------------------------------------------

static void check_single_leaf(const bpt_intervals_t *g, int64_t n_true) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    int64_t all, contextual;
    const bool tree = g->kind == BPT_INTERVALS_BPT || g->kind == BPT_INTERVALS_SEGTREE;
    assert_int_equal(bpt_intervals_keys(g, n_true, 0, slots), 1);
    assert_true(slots[0].begin == 0 && slots[0].end == 1 && slots[0].rel_row == (g->rel_levels ? 0 : -1) && slots[0].rel_step == 0);
    bpt_intervals_count(g, n_true, &all, &contextual);
    assert_int_equal(contextual, 0);
    assert_int_equal(all, tree || !g->root ? 1 : 2);
    if (tree) assert_int_equal(bpt_root_node(g, n_true), g->trimmed && !g->root ? -1 : 0);
}

static void a_single_leaf_reads_itself_only(void **state) {
    (void)state;
    for_each_graph(1, 1, 1, check_single_leaf);
    for_each_graph(9, 1, 1, check_single_leaf);
}

static void check_nothing_outside(const bpt_intervals_t *g, int64_t n_true) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int64_t outside[] = {-1, INT64_MIN, n_true, bpt_node_count(g), INT64_MAX};
    for (size_t i = 0; i < BPT_COUNT(outside); ++i) {
        assert_int_equal(bpt_intervals_keys(g, n_true, outside[i], slots), 0);
        assert_int_equal(bpt_intervals_consumers(g, n_true, outside[i], slots), 0);
        assert_int_equal(bpt_intervals_rel_row(g, n_true, outside[i], 0), -2);
        assert_int_equal(bpt_intervals_rel_row(g, n_true, 0, outside[i]), -2);
    }
    const int64_t lengths[] = {0, -1, g->n + 1};
    for (size_t i = 0; i < BPT_COUNT(lengths); ++i) {
        int64_t all = -1, contextual = -1;
        assert_int_equal(bpt_intervals_keys(g, lengths[i], 0, slots), 0);
        assert_int_equal(bpt_intervals_consumers(g, lengths[i], 0, slots), 0);
        assert_int_equal(bpt_root_node(g, lengths[i]), -1);
        bpt_intervals_count(g, lengths[i], &all, &contextual);
        assert_true(all == 0 && contextual == 0);
    }
}

static void nodes_that_do_not_exist_have_no_edges(void **state) {
    (void)state;
    for_each_graph(12, 7, 2, check_nothing_outside);
}

static void wrong_graphs_are_refused_by_the_name_of_the_field(void **state) {
    (void)state;
    const struct {
        bpt_intervals_t g;
        const char *field;
    } wrong[] = {
        {{BPT_INTERVALS_BPT, .k = 1, .n = 0}, "n is 0"},
        {{BPT_INTERVALS_DENSE, .n = ((int64_t)1 << 26) + 1}, "n is 67108865"},
        {{BPT_INTERVALS_TABLE, .n = -5}, "n is -5"},
        {{BPT_INTERVALS_BPT, .k = 0, .n = 8}, "k is 0"},
        {{BPT_INTERVALS_BPT, .k = -3, .n = 8}, "k is -3"},
        {{BPT_INTERVALS_WINDOW, .window = -1, .n = 8}, "window is -1"},
        {{BPT_INTERVALS_BPT, .k = 1, .rel_levels = -1, .n = 8}, "rel_levels is -1"},
        {{BPT_INTERVALS_BPT, .k = INT32_MAX, .rel_levels = 1, .n = 8}, "rel_levels is 1"},
        {{BPT_INTERVALS_SEGTREE, .rel_levels = INT32_MAX, .n = 8}, "rel_levels is 2147483647"},
        {{BPT_INTERVALS_SPARSE, .causal = true, .stride = 0, .tail = 1, .n = 8}, "stride is 0"},
        {{BPT_INTERVALS_SPARSE, .causal = true, .stride = 4, .tail = 5, .n = 8}, "tail is 5"},
        {{BPT_INTERVALS_SPARSE, .causal = true, .stride = 4, .tail = 0, .n = 8}, "tail is 0"},
        {{BPT_INTERVALS_SPARSE, .causal = true, .stride = 128, .tail = 4, .n = 14081}, "a stride of at least 129"},
        {{BPT_INTERVALS_SPARSE, .causal = true, .stride = 4, .tail = 4, .rel_levels = 1, .n = 8}, "no relative positions"},
        {{BPT_INTERVALS_SPARSE, .stride = 4, .tail = 4, .n = 8}, "must be causal"},
        {{(bpt_intervals_kind_t)17, .n = 8}, "kind 17"},
        {{BPT_INTERVALS_BPT, .k = 1, .trimmed = true, .n = 8}, "trimmed"},
        {{BPT_INTERVALS_DENSE, .causal = true, .trimmed = true, .n = 8}, "trimmed"},
    };
    for (size_t i = 0; i < BPT_COUNT(wrong); ++i) {
        assert_int_equal(bpt_intervals_check(&wrong[i].g), BPT_ERR_USAGE);
        if (!strstr(bpt_error_message(), wrong[i].field)) fail_msg("\"%s\" does not say \"%s\"", bpt_error_message(), wrong[i].field);
    }
    const bpt_intervals_t largest = {BPT_INTERVALS_BPT, .k = 1 << 20, .rel_levels = 26, .n = (int64_t)1 << 26};
    assert_int_equal(bpt_intervals_check(&largest), BPT_OK);
    const bpt_intervals_t most_blocks = {BPT_INTERVALS_SPARSE, .causal = true, .stride = 128, .tail = 8, .n = 14080};
    assert_int_equal(bpt_intervals_check(&most_blocks), BPT_OK);
    assert_int_equal(bpt_rel_rows(&largest), 1 + 2 * 26 * ((int64_t)(1 << 20) + 1));
}

static void a_table_graph_has_no_edges_of_its_own(void **state) {
    (void)state;
    const bpt_intervals_t g = {BPT_INTERVALS_TABLE, .n = 10};
    bpt_slot_t slots[BPT_MAX_SLOTS];
    int64_t all, contextual;
    assert_int_equal(bpt_intervals_check(&g), BPT_OK);
    assert_int_equal(bpt_node_count(&g), 10);
    assert_int_equal(bpt_intervals_keys(&g, 10, 3, slots), 0);
    assert_int_equal(bpt_intervals_consumers(&g, 10, 3, slots), 0);
    assert_int_equal(bpt_intervals_rel_row(&g, 10, 3, 3), -2);
    bpt_intervals_count(&g, 10, &all, &contextual);
    assert_int_equal(all, 0);
    assert_int_equal(bpt_rel_rows(&g), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_halved_rounding_up_and_numbered_in_order),
        cmocka_unit_test(nodes_of_a_shorter_sequence_keep_the_numbers_of_the_bucket),
        cmocka_unit_test(virtual_root_follows_the_leaves_of_flat_graphs),
        cmocka_unit_test(trimmed_graphs_have_the_spans_that_leaves_read),
        cmocka_unit_test(every_leaf_is_covered_exactly_once),
        cmocka_unit_test(keys_and_rows_are_those_of_the_walk_along_the_tree),
        cmocka_unit_test(rows_are_clamped_to_the_table_and_absent_without_one),
        cmocka_unit_test(padding_does_not_change_a_graph),
        cmocka_unit_test(consumers_rows_and_counts_are_those_of_the_keys),
        cmocka_unit_test(table_rows_of_leaf_consumers_need_no_search),
        cmocka_unit_test(neighbouring_queries_read_neighbouring_keys),
        cmocka_unit_test(runs_of_leaves_read_what_each_of_them_reads),
        cmocka_unit_test(graphs_keep_what_they_say_of_their_edges),
        cmocka_unit_test(slots_go_from_near_to_far_left_before_right),
        cmocka_unit_test(longest_sequences_fit_the_slots_and_agree_both_ways),
        cmocka_unit_test(huge_widths_do_not_overflow),
        cmocka_unit_test(a_single_leaf_reads_itself_only),
        cmocka_unit_test(nodes_that_do_not_exist_have_no_edges),
        cmocka_unit_test(wrong_graphs_are_refused_by_the_name_of_the_field),
        cmocka_unit_test(a_table_graph_has_no_edges_of_its_own),
    };
    return cmocka_run_group_tests_name("intervals", tests, NULL, NULL);
}
