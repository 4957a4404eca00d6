// Joins as places: the result of a join becomes a tensor that is made part by part (bpt_parts), and each part is made in its rows of it, or
// copied there. Runs last, so that until then a join is a node like any other, for differentiation, fusion and recomputation.
#include <string.h>

#include "core/graph/internal.h"

// What a view of all of a value sees.
static bpt_value_t whole(const bpt_graph_t *g, bpt_value_t v) {
    while (value_info(g, v)->kind == BPT_VALUE_VIEW && value_bytes(g, v) == value_bytes(g, value_info(g, v)->base))
        v = value_info(g, v)->base;
    return v;
}

// Whether a node changes v, or a part of it, in place.
static bool is_changed(const bpt_graph_t *g, bpt_value_t v) {
    for (size_t i = 0; i < g->n_nodes; ++i)
        for (int j = 0; j < BPT_MAX_INPUTS; ++j)
            if (bpt_op_info(g->nodes[i].op)->mutates >> j & 1 && present(g->nodes[i].in[j]) &&
                bpt_storage_of(g, g->nodes[i].in[j], NULL) == v)
                return true;
    return false;
}

// A part can be made in its place when one node makes it as a tensor of its own. A join of joins copies: its parts are no node's.
static bool can_be_placed(const bpt_graph_t *g, bpt_value_t v) {
    const bpt_value_info_t *info = value_info(g, v);
    return info->kind == BPT_VALUE_TEMP && info->node >= 0 && !present(g->values[v].place) && g->nodes[info->node].op != BPT_OP_JOIN &&
           !is_changed(g, v);
}

// Places the parts of `join`; appends the copies that are needed to `nodes`.
static void place_parts(bpt_graph_t *g, const bpt_node_t *join, bpt_node_t *nodes, size_t *n_nodes) {
    const bpt_value_t out = join->out[0];
    const bool changed = present(g->values[out].place) || is_changed(g, out);  // then no part may share its bytes
    int64_t row = 0;
    g->values[out].parts = true;
    for (int i = 0; i < BPT_MAX_PARTS && present(join->in[i]) && g->status == BPT_OK; ++i) {
        const int64_t rows = value_rows(g, join->in[i]);
        bpt_value_t part = whole(g, join->in[i]);
        if (changed || !can_be_placed(g, part)) {
            bpt_node_t copy = bpt_node_init(BPT_OP_COPY);
            copy.region = join->region;
            copy.backward = join->backward;
            copy.dtype = join->dtype;
            copy.in[0] = part;
            if (bpt_op_info(BPT_OP_COPY)->infer(g, &copy) != BPT_OK) return;  // the graph remembers why
            part = copy.out[0];
            nodes[(*n_nodes)++] = copy;
        }
        bpt_graph_place(g, part, bpt_rows(g, out, row, rows));
        row += rows;
    }
}

bpt_status_t bpt_graph_place_joins(bpt_graph_t *g) {
    size_t n_joins = 0, n_nodes = 0;
    BPT_TRY(bpt_graph_status(g));
    for (size_t i = 0; i < g->n_nodes; ++i) n_joins += g->nodes[i].op == BPT_OP_JOIN;
    if (!n_joins) return g->n_marks ? bpt_graph_sort(g) : BPT_OK;
    const size_t capacity = g->n_nodes + n_joins * BPT_MAX_PARTS;
    bpt_node_t *nodes;
    BPT_TRY(bpt_alloc(capacity, sizeof *nodes, &nodes));
    for (size_t i = 0; i < g->n_nodes; ++i) {
        if (g->nodes[i].op == BPT_OP_JOIN)
            place_parts(g, &g->nodes[i], nodes, &n_nodes);
        else
            nodes[n_nodes++] = g->nodes[i];
    }
    bpt_free(g->nodes);
    g->nodes = nodes;
    g->n_nodes = n_nodes;
    g->node_capacity = capacity;
    BPT_TRY(bpt_graph_status(g));
    return bpt_graph_sort(g);
}
