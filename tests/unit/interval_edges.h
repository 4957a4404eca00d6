// All edges of a small graph as a matrix, for the tests of interval graphs. edge[query * nodes + key] is the row of the relative
// position table, -1 for an edge without a row, NONE where there is no edge.
#ifndef BPT_TEST_INTERVAL_EDGES_H
#define BPT_TEST_INTERVAL_EDGES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/intervals.h"

enum { NONE = -2 };

typedef struct {
    int64_t nodes;
    int32_t *edge;
} edges_t;

static inline edges_t edges_empty(const bpt_intervals_t *g) {
    edges_t e = {bpt_node_count(g), NULL};
    e.edge = malloc((size_t)(e.nodes * e.nodes) * sizeof *e.edge);
    assert_non_null(e.edge);
    for (int64_t i = 0; i < e.nodes * e.nodes; ++i) e.edge[i] = NONE;
    return e;
}

static inline int32_t *edge_at(const edges_t *e, int64_t query, int64_t key) { return &e->edge[query * e->nodes + key]; }

// Adds an edge that must not be there yet.
static inline void edges_add(edges_t *e, int64_t query, int64_t key, int32_t row) {
    assert_in_range(query, 0, e->nodes - 1);
    assert_in_range(key, 0, e->nodes - 1);
    assert_int_equal(*edge_at(e, query, key), NONE);
    *edge_at(e, query, key) = row;
}

static inline edges_t edges_by_keys(const bpt_intervals_t *g, int64_t n_true) {
    edges_t e = edges_empty(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    for (int64_t query = 0; query < e.nodes; ++query) {
        const int count = bpt_intervals_keys(g, n_true, query, slots);
        assert_in_range(count, 0, BPT_MAX_SLOTS);
        for (int s = 0; s < count; ++s) {
            assert_true(slots[s].begin < slots[s].end);
            for (int64_t t = 0; t < slots[s].end - slots[s].begin; ++t)
                edges_add(&e, query, slots[s].begin + t, slots[s].rel_row + (int32_t)t * slots[s].rel_step);
        }
    }
    return e;
}

static inline void edges_free(edges_t *e) { free(e->edge); }

// Says which graph a failing assertion was about.
static inline void describe(const bpt_intervals_t *g, int64_t n_true) {
    fprintf(stderr, "graph: kind %d n %lld of %lld k %d window %d stride %d tail %d L %d%s%s%s%s\n", (int)g->kind, (long long)n_true,
            (long long)g->n, g->k, g->window, g->stride, g->tail, g->rel_levels, g->causal ? " causal" : "",
            g->reference_rule ? " reference" : "", g->span_self ? " span_self" : "", g->root ? " root" : "");
}

static inline void assert_same_edges(const bpt_intervals_t *g, int64_t n_true, const edges_t *have, const edges_t *want) {
    assert_int_equal(have->nodes, want->nodes);
    for (int64_t i = 0; i < have->nodes * have->nodes; ++i) {
        if (have->edge[i] == want->edge[i]) continue;
        describe(g, n_true);
        fail_msg("query %lld key %lld: row %d, expected %d", (long long)(i / have->nodes), (long long)(i % have->nodes), have->edge[i],
                 want->edge[i]);
    }
}

// ---- The graphs that tests run over ------------------------------------------------------------------------------------

typedef void (*graph_check_t)(const bpt_intervals_t *g, int64_t n_true);

// Every tree with these numbers k of nodes a level and side, but those whose table of positions would be too large.
static inline void trees_visit(const int32_t *widths, size_t n_widths, int64_t n, int64_t n_true, int32_t rel_levels, graph_check_t check) {
    for (int sides = 0; sides < 4; ++sides)
        for (int variant = 0; variant < 2; ++variant) {
            bpt_intervals_t g = {BPT_INTERVALS_BPT, .causal = sides > 0,      .trimmed = sides > 1,
                                 .root = sides > 2, .rel_levels = rel_levels, .n = n};
            g.reference_rule = variant;
            for (size_t w = 0; w < n_widths; ++w) {
                g.k = widths[w];
                if (bpt_intervals_check(&g) == BPT_OK) check(&g, n_true);
            }
            g.kind = BPT_INTERVALS_SEGTREE, g.k = 0, g.reference_rule = false, g.span_self = variant;
            check(&g, n_true);
        }
}

static inline void graphs_visit(const int32_t *widths, size_t n_widths, int64_t n, int64_t n_true, int32_t rel_levels,
                                graph_check_t check) {
    trees_visit(widths, n_widths, n, n_true, rel_levels, check);
    for (int causal = 0; causal < 2; ++causal)
        for (int root = 0; root < 2; ++root) {
            bpt_intervals_t g = {BPT_INTERVALS_DENSE, .causal = causal, .root = root, .rel_levels = rel_levels, .n = n};
            check(&g, n_true);
            g.kind = BPT_INTERVALS_WINDOW;
            for (g.window = 0; g.window < 12; g.window = 2 * g.window + 1) check(&g, n_true);
        }
    const int32_t strides[] = {1, 4, 7, 64, (int32_t)(n / 50 + 1), INT32_MAX};
    for (size_t s = 0; s < BPT_COUNT(strides); ++s)
        for (int tail = 0; tail < 3; ++tail) {
            bpt_intervals_t g = {BPT_INTERVALS_SPARSE, .causal = true, .root = tail == 1, .stride = strides[s], .n = n};
            g.tail = tail == 0 ? 1 : tail == 1 ? (g.stride - 1) / 2 + 1 : g.stride;
            if (bpt_intervals_check(&g) == BPT_OK) check(&g, n_true);
        }
}

#endif
