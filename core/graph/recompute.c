// Recomputation (Chen et al. 2016, "Training deep nets with sublinear memory cost"): inside a region, what only the backward
// pass reads is forgotten after the forward pass and computed again from the region's inputs just before its first reader.
// Dropout is counter-based, so the copies give the same bits. Regions lie in one another: the inner ones come first, so that what they
// compute again is, for the region around them, one more reader in the backward pass.
#include <string.h>

#include "core/graph/internal.h"

typedef struct {
    bpt_graph_t *g;
    bpt_value_t *copy;  // of each old value that was cloned, else BPT_NO_VALUE
    bool *outer;        // read outside of the region by the forward pass, its result, kept or placed: stays stored
    bool *wanted;       // nodes to clone
    size_t n_values;
} pass_t;

static bpt_value_t base_of(const bpt_graph_t *g, bpt_value_t v) {
    while (value_info(g, v)->kind == BPT_VALUE_VIEW) v = value_info(g, v)->base;
    return v;
}

static const bpt_node_t *producer(const bpt_graph_t *g, bpt_value_t v) {
    const bpt_value_info_t *info = value_info(g, base_of(g, v));
    return info->kind == BPT_VALUE_TEMP && info->node >= 0 ? &g->nodes[info->node] : NULL;
}

// Whether a node is of the forward pass and of this region or one in it. A region has a greater number than the one that it lies in.
static bool within(const bpt_graph_t *g, const bpt_node_t *node, int32_t region) {
    int32_t r = node->region;
    while (r > region) r = g->parent[r];
    return r == region && !node->backward;
}

static void find_outer(pass_t *p, int32_t region) {
    const bpt_graph_t *g = p->g;
    memset(p->outer, 0, p->n_values);
    for (size_t v = 0; v < g->n_values; ++v) {
        const bpt_value_record_t *r = &g->values[v];
        const bool result = r->result && r->info.node >= 0 && g->nodes[r->info.node].region == region;
        if (r->kept || result || present(r->place)) p->outer[base_of(g, (bpt_value_t)v)] = true;
    }
    for (size_t i = 0; i < g->n_nodes; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        if (node->backward || within(g, node, region)) continue;
        for (int j = 0; j < BPT_MAX_INPUTS; ++j)
            if (present(node->in[j])) p->outer[base_of(g, node->in[j])] = true;
    }
}

static bool inner(const pass_t *p, bpt_value_t v, int32_t region) {
    const bpt_node_t *from = producer(p->g, v);
    return from && within(p->g, from, region) && !p->outer[base_of(p->g, v)];
}

static bpt_value_t mapped(pass_t *p, bpt_value_t v) {
    bpt_graph_t *g = p->g;
    if (!present(v) || (size_t)v >= p->n_values) return v;
    if (present(p->copy[v])) return p->copy[v];
    const bpt_value_info_t info = *value_info(g, v);
    if (info.kind != BPT_VALUE_VIEW) return v;
    const bpt_value_t base = mapped(p, info.base);
    if (base == info.base) return v;
    return p->copy[v] = bpt_view(g, base, info.offset_bytes, info.shape);
}

// Marks the nodes of the region that the backward pass needs again; returns its first reader, n_nodes if there is none.
static size_t mark_region(pass_t *p, int32_t region) {
    const bpt_graph_t *g = p->g;
    size_t first = g->n_nodes;
    for (size_t i = g->n_nodes; i-- > 0;) {
        const bpt_node_t *node = &g->nodes[i];
        if (!node->backward && !(p->wanted[i] && within(g, node, region))) continue;
        for (int j = 0; j < BPT_MAX_INPUTS; ++j) {
            if (!present(node->in[j]) || !inner(p, node->in[j], region)) continue;
            p->wanted[value_info(g, base_of(g, node->in[j]))->node] = true;
            if (node->backward) first = i;
        }
    }
    return first;
}

static bpt_status_t clone_region(pass_t *p, int32_t region) {
    bpt_graph_t *g = p->g;
    memset(p->wanted, 0, g->n_nodes);
    const size_t at = mark_region(p, region), n_old = g->n_nodes;
    if (at == n_old) return BPT_OK;
    const size_t room = g->n_nodes * 2;
    bpt_node_t *nodes;
    BPT_TRY(bpt_alloc(room, sizeof *nodes, &nodes));
    memcpy(nodes, g->nodes, at * sizeof *nodes);
    size_t k = at;
    for (size_t v = 0; v < p->n_values; ++v) p->copy[v] = BPT_NO_VALUE;
    for (size_t i = 0; i < n_old; ++i) {
        if (!p->wanted[i]) continue;
        bpt_node_t clone = g->nodes[i];
        clone.backward = true;
        for (int j = 0; j < BPT_MAX_INPUTS; ++j) clone.in[j] = mapped(p, clone.in[j]);
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) {
            if (!present(clone.out[j])) continue;
            const bpt_value_info_t info = *value_info(g, clone.out[j]);
            const bpt_value_t fresh = bpt_new_value(g, BPT_VALUE_TEMP, info.dtype, info.shape, info.name);
            if (!p->outer[clone.out[j]]) p->copy[clone.out[j]] = fresh;
            clone.out[j] = fresh;
        }
        nodes[k++] = clone;
    }
    for (size_t i = at; i < n_old; ++i) {
        nodes[k] = g->nodes[i];
        for (int j = 0; j < BPT_MAX_INPUTS && nodes[k].backward; ++j) nodes[k].in[j] = mapped(p, nodes[k].in[j]);
        ++k;
    }
    bpt_free(g->nodes);
    g->nodes = nodes;
    g->n_nodes = k;
    g->node_capacity = room;
    bpt_set_producers(g);
    return bpt_graph_status(g);
}

bpt_status_t bpt_graph_recompute(bpt_graph_t *g) {
    BPT_TRY(bpt_graph_eliminate(g));
    for (int32_t region = (int32_t)g->n_regions - 1; region >= 0; --region) {
        pass_t p = {.g = g, .n_values = g->n_values};
        bpt_status_t status;
        BPT_TRY_GOTO(bpt_alloc(p.n_values, sizeof *p.copy, &p.copy), done);
        BPT_TRY_GOTO(bpt_alloc(p.n_values, 1, &p.outer), done);
        BPT_TRY_GOTO(bpt_alloc(g->n_nodes, 1, &p.wanted), done);
        find_outer(&p, region);
        BPT_TRY_GOTO(clone_region(&p, region), done);
    done:
        bpt_free(p.copy);
        bpt_free(p.outer);
        bpt_free(p.wanted);
        BPT_TRY(bpt_graph_fail(g, status));
    }
    BPT_TRY(bpt_graph_sort(g));
    return bpt_graph_eliminate(g);
}
