// Reverse-mode differentiation from graph to graph. Knows no op by name but those that carry gradients of views.
#include "core/graph/internal.h"

void bpt_take_over(bpt_graph_t *g, bpt_value_t value, int outputs) {
    bpt_node_t *forward = &g->nodes[value_info(g, value)->node], *backward = &g->nodes[g->n_nodes - 1];
    backward->backward = false;  // it stands for the forward op: what it reads is a result of the forward pass
    for (int j = 0; j < outputs; ++j) {
        const bpt_value_t fresh = backward->out[j], old = forward->out[j];
        if (!present(old)) continue;
        backward->out[j] = old;
        forward->out[j] = fresh;
        g->values[old].info.node = (int32_t)(g->n_nodes - 1);
        g->values[fresh].info.node = (int32_t)(forward - g->nodes);
    }
}

typedef struct {
    bpt_graph_t *g;
    bpt_value_t *grad;  // of each value of the forward graph, BPT_NO_VALUE = none so far
    bool *need;         // loss depends on it and it depends on one of the wanted values
    bool *wanted;
    size_t n_values;  // of the forward graph
} pass_t;

// The value that v, a view, hands its gradient to: what it sees, through other views too, but none that was asked for. *offset in elements.
static bpt_value_t seen_through(const pass_t *p, bpt_value_t v, int64_t *offset) {
    size_t bytes = 0;
    const size_t element = bpt_dtype_size(value_info(p->g, v)->dtype);
    do {
        bytes += value_info(p->g, v)->offset_bytes;
        v = value_info(p->g, v)->base;
    } while (value_info(p->g, v)->kind == BPT_VALUE_VIEW && !p->wanted[v]);
    *offset = (int64_t)(bytes / element);
    return v;
}

// Adds the gradient of some rows of v, which begin at element `first`.
static bpt_status_t contribute_rows(pass_t *p, bpt_value_t v, int64_t first, bpt_value_t gradient) {
    bpt_graph_t *g = p->g;
    const bpt_shape_t shape = *value_shape(g, v);
    const int64_t columns = bpt_shape_columns(&shape), count = bpt_shape_count(value_shape(g, gradient));
    GRAPH_EXPECT(first % columns == 0 && count % columns == 0, "only views of whole rows can be differentiated");
    const bpt_value_t sofar = p->grad[v];
    bpt_value_t rows = bpt_view(g, gradient, 0, bpt_shape2(count / columns, columns));
    BPT_TRY(bpt_graph_status(g));
    if (present(sofar)) rows = bpt_cast(g, rows, value_info(g, sofar)->dtype);
    p->grad[v] = bpt_add_rows(g, sofar, rows, first / columns, bpt_shape_rows(&shape));
    return bpt_graph_status(g);
}

// Adds a contribution to the gradient of v. A view hands it on to what it views, unless the view itself was asked for.
static bpt_status_t contribute(pass_t *p, bpt_value_t v, bpt_value_t gradient) {
    bpt_graph_t *g = p->g;
    BPT_TRY(bpt_graph_status(g));
    if (value_info(g, v)->kind == BPT_VALUE_VIEW && !p->wanted[v]) {
        int64_t first;
        v = seen_through(p, v, &first);
        if (!p->need[v]) return BPT_OK;
        const bpt_shape_t base = *value_shape(g, v);
        if (bpt_shape_count(&base) != bpt_shape_count(value_shape(g, gradient))) return contribute_rows(p, v, first, gradient);
        gradient = bpt_view(g, gradient, 0, base);
    }
    if (!p->need[v]) return BPT_OK;
    if (present(p->grad[v])) {
        if (value_info(g, gradient)->dtype != value_info(g, p->grad[v])->dtype)
            gradient = bpt_cast(g, gradient, value_info(g, p->grad[v])->dtype);
        gradient = bpt_add(g, p->grad[v], gradient);
    }
    p->grad[v] = gradient;
    return bpt_graph_status(g);
}

// need = reachable from a wanted value. Values are numbered in order of creation, views after what they view.
static void find_needed(pass_t *p) {
    const bpt_graph_t *g = p->g;
    bool changed = true;
    while (changed) {  // two rounds at most unless nodes were reordered
        changed = false;
        for (size_t v = 0; v < p->n_values; ++v) {
            const bpt_value_info_t *info = value_info(g, (bpt_value_t)v);
            if (p->need[v]) continue;
            bool need = p->wanted[v] || (info->kind == BPT_VALUE_VIEW && p->need[info->base]);
            if (info->kind == BPT_VALUE_TEMP && info->node >= 0) {
                const bpt_node_t *node = &g->nodes[info->node];
                for (int i = 0; i < BPT_MAX_INPUTS && !need; ++i) need = present(node->in[i]) && p->need[node->in[i]];
            }
            if (need) p->need[v] = changed = true;
            const bpt_value_t whole = bpt_storage_of(g, (bpt_value_t)v, NULL);  // of which it is a part
            if (need && g->values[whole].parts) p->need[whole] = true;
        }
    }
}

// The gradient of a value: of its own readers, and where it is a part of a tensor, of that tensor's.
static bpt_value_t gradient_of(pass_t *p, bpt_value_t v) {
    bpt_graph_t *g = p->g;
    if (!present(v)) return v;
    size_t offset;
    const bpt_value_t own = p->grad[v], whole = bpt_storage_of(g, v, &offset);
    if (whole == v || !g->values[whole].parts || !present(p->grad[whole])) return own;
    const bpt_dtype_t of_value = value_info(g, v)->dtype, of_gradient = value_info(g, p->grad[whole])->dtype;
    const size_t at = offset / bpt_dtype_size(of_value) * bpt_dtype_size(of_gradient);
    const bpt_value_t part = bpt_view(g, p->grad[whole], at, *value_shape(g, v));
    return present(own) ? bpt_add(g, bpt_cast(g, part, value_info(g, own)->dtype), own) : part;
}

static bpt_status_t backward_through(pass_t *p, size_t index) {
    bpt_graph_t *g = p->g;
    const bpt_node_t node = g->nodes[index];  // a copy: the array grows
    bpt_value_t dout[BPT_MAX_OUTPUTS], din[BPT_MAX_INPUTS];
    bool need[BPT_MAX_INPUTS], any_out = false, any_need = false;
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) {
        dout[j] = gradient_of(p, node.out[j]);
        any_out |= present(dout[j]);
    }
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
        need[i] = present(node.in[i]) && p->need[node.in[i]];
        din[i] = BPT_NO_VALUE;
        any_need |= need[i];
    }
    if (!any_out || !any_need) return BPT_OK;
    const bpt_op_info_t *info = bpt_op_info(node.op);
    if (!info->grad) return bpt_fail(BPT_ERR_INTERNAL, "op %s has no gradient", bpt_op_name(node.op));
    g->region = node.region;  // fusion keeps apart what belongs to different pieces
    bpt_status_t status = bpt_context(info->grad(g, &node, dout, need, din), "gradient of %s", bpt_op_name(node.op));
    for (int i = 0; i < BPT_MAX_INPUTS && status == BPT_OK; ++i)
        if (present(din[i])) status = contribute(p, node.in[i], din[i]);
    g->region = -1;
    return status;
}

bpt_status_t bpt_graph_gradients(bpt_graph_t *g, bpt_value_t loss, const bpt_value_t *wrt, int n_wrt, bpt_value_t *grads) {
    if (g->status != BPT_OK) return bpt_graph_status(g);
    pass_t p = {.g = g, .n_values = g->n_values};
    const size_t n_nodes = g->n_nodes;
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc(p.n_values, sizeof *p.grad, &p.grad), done);
    BPT_TRY_GOTO(bpt_alloc(p.n_values, 1, &p.need), done);
    BPT_TRY_GOTO(bpt_alloc(p.n_values, 1, &p.wanted), done);
    for (size_t v = 0; v < p.n_values; ++v) p.grad[v] = BPT_NO_VALUE;
    for (int i = 0; i < n_wrt; ++i) p.wanted[wrt[i]] = true;
    find_needed(&p);
    g->differentiated = true;
    g->region = -1;
    if (p.need[loss]) BPT_TRY_GOTO(contribute(&p, loss, bpt_fill(g, value_info(g, loss)->dtype, *value_shape(g, loss), 1)), done);
    for (size_t i = n_nodes; i-- > 0;) BPT_TRY_GOTO(backward_through(&p, i), done);
    for (int i = 0; i < n_wrt; ++i) grads[i] = p.grad[wrt[i]];
    status = bpt_graph_sort(g);  // results handed from a forward op to its gradient op have moved behind their readers
done:
    bpt_free(p.grad);
    bpt_free(p.need);
    bpt_free(p.wanted);
    return bpt_graph_fail(g, status);
}
