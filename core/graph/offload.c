// Values that wait on disk (bpt_graph_offload): behind its last reader in the forward pass a value is stashed, and before its first one in
// the backward pass it is fetched, as a new value that those read. Where nothing else is computed in between, it stays in memory. Runs
// behind recomputation.
#include <string.h>

#include "bpt/spill.h"
#include "core/graph/internal.h"

static bpt_value_t base_of(const bpt_graph_t *g, bpt_value_t v) {
    while (value_info(g, v)->kind == BPT_VALUE_VIEW) v = value_info(g, v)->base;
    return v;
}

static int32_t outermost(const bpt_graph_t *g, int32_t region) {
    while (region >= 0 && g->parent[region] >= 0) region = g->parent[region];
    return region;
}

static bool touches(const bpt_graph_t *g, const bpt_node_t *node, bpt_value_t v) {
    for (int j = 0; j < BPT_MAX_INPUTS; ++j)
        if (present(node->in[j]) && base_of(g, node->in[j]) == v) return true;
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j)
        if (present(node->out[j]) && bpt_storage_of(g, node->out[j], NULL) == v) return true;
    return false;
}

// The last node of the forward pass that makes or reads v, and the first one of the backward pass; false: v stays in memory.
static bool find_gap(const bpt_graph_t *g, bpt_value_t v, size_t *last, size_t *first) {
    bool made = false, wanted = false, others = false;
    for (size_t i = 0; i < g->n_nodes && !wanted; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        if (!touches(g, node, v)) continue;
        if (node->backward)
            *first = i, wanted = true;
        else
            *last = i, made = true;
    }
    if (!made || !wanted || *first < *last) return false;
    const int32_t own = outermost(g, g->nodes[*last].region);
    for (size_t i = *last + 1; i < *first; ++i) {
        const int32_t region = outermost(g, g->nodes[i].region);
        others |= region >= 0 && region != own;
    }
    return others;
}

// What reads `old` or rows of it reads `fresh` instead.
static void redirect(bpt_graph_t *g, bpt_node_t *node, bpt_value_t old, bpt_value_t fresh) {
    for (int j = 0; j < BPT_MAX_INPUTS; ++j) {
        size_t offset = 0;
        bpt_value_t v = node->in[j];
        if (!present(v) || base_of(g, v) != old) continue;
        for (; v != old; v = value_info(g, v)->base) offset += value_info(g, v)->offset_bytes;
        node->in[j] = bpt_view(g, fresh, offset, *value_shape(g, node->in[j]));
    }
}

static bpt_status_t offload(bpt_graph_t *g, bpt_value_t v, size_t offset, size_t last, size_t first) {
    const size_t room = g->n_nodes + 2;
    bpt_node_t *nodes, stash = bpt_node_init(BPT_OP_STASH), fetch = bpt_node_init(BPT_OP_FETCH);
    stash.attrs.stash = fetch.attrs.stash =
        (bpt_stash_attrs_t){.rows = value_rows(g, v), .columns = value_columns(g, v), .offset = (int64_t)offset};
    stash.in[0] = v;
    BPT_TRY(bpt_op_info(BPT_OP_STASH)->infer(g, &stash));
    fetch.in[0] = stash.out[0];
    fetch.dtype = value_info(g, v)->dtype;
    fetch.backward = true;
    BPT_TRY(bpt_op_info(BPT_OP_FETCH)->infer(g, &fetch));
    for (size_t i = first; i < g->n_nodes; ++i)
        if (g->nodes[i].backward) redirect(g, &g->nodes[i], v, fetch.out[0]);
    BPT_TRY(bpt_graph_status(g));
    BPT_TRY(bpt_alloc(room, sizeof *nodes, &nodes));
    memcpy(nodes, g->nodes, (last + 1) * sizeof *nodes);
    nodes[last + 1] = stash;
    memcpy(nodes + last + 2, g->nodes + last + 1, (first - last - 1) * sizeof *nodes);
    nodes[first + 1] = fetch;
    memcpy(nodes + first + 2, g->nodes + first, (g->n_nodes - first) * sizeof *nodes);
    bpt_free(g->nodes);
    g->nodes = nodes;
    g->n_nodes = g->node_capacity = room;
    bpt_set_producers(g);
    return BPT_OK;
}

bpt_status_t bpt_graph_offload_marked(bpt_graph_t *g) {
    BPT_TRY(bpt_graph_status(g));
    size_t offset = 0, last = 0, first = 0;
    const size_t n_values = g->n_values;
    for (size_t v = 0; v < n_values; ++v) {
        if (!g->values[v].offload || !find_gap(g, (bpt_value_t)v, &last, &first)) continue;
        BPT_TRY(bpt_graph_fail(g, offload(g, (bpt_value_t)v, offset, last, first)));
        offset += (value_bytes(g, (bpt_value_t)v) + BPT_SPILL_PIECE - 1) / BPT_SPILL_PIECE * BPT_SPILL_PIECE;
    }
    return BPT_OK;
}
