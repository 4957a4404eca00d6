// Fusion: a pointwise node is merged into the node that makes its operand when nobody else reads that operand. The merged
// node stands where the later one stood, so every input exists by then.
#include <string.h>

#include "core/graph/internal.h"

typedef struct {
    bpt_graph_t *g;
    int32_t *uses;
} fusion_t;

// The node that makes v for one reader alone, NULL otherwise.
static bpt_node_t *sole_producer(const fusion_t *f, bpt_value_t v) {
    const bpt_graph_t *g = f->g;
    if (!present(v) || value_info(g, v)->kind != BPT_VALUE_TEMP || f->uses[v] != 1) return NULL;
    if (g->values[v].kept || present(g->values[v].place) || value_info(g, v)->node < 0) return NULL;
    return &g->nodes[value_info(g, v)->node];
}

static bool same_state(const bpt_graph_t *g, bpt_value_t a, bpt_value_t b) {
    if (!present(a) || !present(b)) return false;
    const bpt_value_info_t *x = value_info(g, bpt_storage_of(g, a, NULL)), *y = value_info(g, bpt_storage_of(g, b, NULL));
    return x->kind == BPT_VALUE_STATE && y->kind == BPT_VALUE_STATE && x->state == y->state;
}

// Whether a node between the producer and node i writes a state that the producer reads: it must not read later than it does.
static bool state_changes(const bpt_graph_t *g, const bpt_node_t *producer, size_t i) {
    for (const bpt_node_t *node = producer + 1; node < &g->nodes[i]; ++node) {
        if (node->op == BPT_OP_COUNT) continue;  // merged
        for (int j = 0; j < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++j) {
            const bool output = j >= BPT_MAX_INPUTS;
            if (!output && !(bpt_op_info(node->op)->mutates >> j & 1)) continue;
            for (int k = 0; k < BPT_MAX_INPUTS; ++k)
                if (same_state(g, output ? node->out[j - BPT_MAX_INPUTS] : node->in[j], producer->in[k])) return true;
        }
    }
    return false;
}

// Appends the steps of pointwise node `later` to `steps` of `node`, whose free operand slots are first..last.
static bool append_steps(bpt_node_t *node, bpt_pointwise_attrs_t *steps, const bpt_node_t *later, int first, int last) {
    bpt_node_t merged = *node;
    bpt_pointwise_attrs_t all = *steps;
    for (int i = 0; i < later->attrs.pointwise.n_steps; ++i) {
        bpt_pointwise_step_t s = later->attrs.pointwise.step[i];
        const bpt_pointwise_form_t *form = bpt_pointwise_form(s.code);
        if (all.n_steps == BPT_MAX_STEPS) return false;
        if (form->operand != BPT_OPERAND_NONE) {
            int slot = first;
            while (slot <= last && present(merged.in[slot])) ++slot;
            if (slot > last || later->in[s.arg] == later->in[0]) return false;
            merged.in[slot] = later->in[s.arg];
            s.arg = slot;
        }
        if (form->constant == BPT_CONSTANT_RATE) {
            for (int k = BPT_IN_ROW_KEYS; k <= BPT_IN_RNG; ++k) {
                if (present(merged.in[k]) && merged.in[k] != later->in[k]) return false;
                merged.in[k] = later->in[k];
            }
        }
        all.step[all.n_steps++] = s;
    }
    *node = merged;
    *steps = all;
    return true;
}

// Before differentiation only {relu}, {relu, dropout} and {dropout} behind a product have a known gradient.
static bool differentiable(const bpt_pointwise_attrs_t *have, const bpt_node_t *later) {
    const bpt_pointwise_attrs_t *add = &later->attrs.pointwise;
    if (add->n_steps != 1) return false;
    if (have->n_steps == 0) return add->step[0].code == BPT_POINTWISE_RELU || add->step[0].code == BPT_POINTWISE_DROPOUT;
    return have->n_steps == 1 && have->step[0].code == BPT_POINTWISE_RELU && add->step[0].code == BPT_POINTWISE_DROPOUT;
}

// sum = a + product, the product with no other reader: the product accumulates onto a.
static bool accumulate_into(fusion_t *f, const bpt_node_t *sum, int operand, bpt_node_t *merged) {
    const bpt_graph_t *g = f->g;
    const bpt_node_t *p = sole_producer(f, sum->in[operand]);
    const bpt_value_t acc = sum->in[1 - operand];
    if (!p || acc == sum->in[operand] || value_info(g, acc)->dtype != BPT_F32 || value_info(g, p->out[0])->dtype != BPT_F32) return false;
    const bool product = p->op == BPT_OP_MATMUL && p->attrs.matmul.epilogue.n_steps == 0;
    if (!(product || p->op == BPT_OP_GATHER_GRAD) || present(p->in[2])) return false;
    *merged = *p;
    merged->in[2] = acc;
    return true;
}

// sum = a + cast(b), the cast with no other reader: the sum reads b, to f32 as the cast does.
static bool read_uncast(fusion_t *f, const bpt_node_t *sum, int operand, bpt_node_t *merged) {
    const bpt_graph_t *g = f->g;
    const bpt_node_t *p = sole_producer(f, sum->in[operand]);
    const bpt_value_t other = sum->in[1 - operand];
    if (!p || p->op != BPT_OP_CAST || other == sum->in[operand]) return false;
    if (value_info(g, other)->dtype != BPT_F32 || value_info(g, p->out[0])->dtype != BPT_F32) return false;
    *merged = *sum;
    merged->in[0] = other;
    merged->in[1] = p->in[0];
    return true;
}

// Pieces of a region, which lie in it, exist one after the other: a node that is of two of them would make what both read exist at once.
static bool of_two_pieces(const bpt_graph_t *g, const bpt_node_t *a, const bpt_node_t *b) {
    if (a->region == b->region) return false;
    return (a->region >= 0 && g->parent[a->region] >= 0) || (b->region >= 0 && g->parent[b->region] >= 0);
}

// Tries to merge node i with a producer of its operands. True when the graph changed.
static bool merge(fusion_t *f, size_t i) {
    bpt_graph_t *g = f->g;
    bpt_node_t *node = &g->nodes[i];
    if (node->op != BPT_OP_POINTWISE) return false;
    const bpt_pointwise_attrs_t *a = &node->attrs.pointwise;
    const bool sum = a->n_steps == 1 && a->step[0].code == BPT_POINTWISE_ADD;
    bpt_node_t merged, *producer = NULL;
    bool found = false;
    if (g->differentiated && sum)
        for (int operand = 1; operand >= 0 && !found; --operand) {
            found = accumulate_into(f, node, operand, &merged) || read_uncast(f, node, operand, &merged);
            if (found) producer = sole_producer(f, node->in[operand]);
        }
    if (!found && (producer = sole_producer(f, node->in[0]))) {
        merged = *producer;
        if (producer->op == BPT_OP_MATMUL && (g->differentiated || differentiable(&producer->attrs.matmul.epilogue, node)))
            found = append_steps(&merged, &merged.attrs.matmul.epilogue, node, 4, 5);
        else if (producer->op == BPT_OP_POINTWISE && g->differentiated)
            found = append_steps(&merged, &merged.attrs.pointwise, node, 1, 5);
    }
    if (!found || of_two_pieces(g, producer, node) || state_changes(g, producer, i)) return false;
    memcpy(merged.out, node->out, sizeof merged.out);
    merged.region = node->region;
    merged.backward = node->backward;
    *node = merged;
    producer->op = BPT_OP_COUNT;  // removed below
    return true;
}

bpt_status_t bpt_graph_fuse(bpt_graph_t *g) {
    BPT_TRY(bpt_graph_remove_dead(g, g->differentiated));
    fusion_t f = {.g = g};
    BPT_TRY(bpt_alloc(g->n_values, sizeof *f.uses, &f.uses));
    bpt_count_uses(g, f.uses);
    for (size_t i = 0; i < g->n_nodes; ++i)
        while (merge(&f, i)) {
        }
    bpt_free(f.uses);
    size_t k = 0;
    for (size_t i = 0; i < g->n_nodes; ++i)
        if (g->nodes[i].op != BPT_OP_COUNT) g->nodes[k++] = g->nodes[i];
    g->n_nodes = k;
    return bpt_graph_sort(g);
}
