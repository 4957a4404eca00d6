// The graph itself: values, nodes, leaves and views. Knows no op by name.
#include <stdio.h>
#include <string.h>

#include "core/graph/internal.h"

bpt_status_t bpt_graph_create(bpt_graph_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->region = -1;
    return BPT_OK;
}

void bpt_graph_destroy(bpt_graph_t *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n_values; ++i) bpt_free(g->values[i].name);
    bpt_free(g->values);
    bpt_free(g->nodes);
    bpt_free(g->marks);
    bpt_free(g->parent);
    bpt_free(g);
}

bpt_status_t bpt_graph_fail(bpt_graph_t *g, bpt_status_t status) {
    if (status != BPT_OK && g->status == BPT_OK) {
        g->status = status;
        snprintf(g->message, sizeof g->message, "%s", bpt_error_message());
    }
    return status;
}

bpt_status_t bpt_graph_status(const bpt_graph_t *g) { return g->status == BPT_OK ? BPT_OK : bpt_fail(g->status, "%s", g->message); }

const bpt_value_info_t *bpt_graph_value(const bpt_graph_t *g, bpt_value_t value) { return value_info(g, value); }

bpt_value_t bpt_new_value(bpt_graph_t *g, bpt_value_kind_t kind, bpt_dtype_t dtype, bpt_shape_t shape, const char *name) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_status_t status = bpt_grow(&g->values, g->n_values, &g->value_capacity, sizeof *g->values);
    char *copy = NULL;
    if (status == BPT_OK && name && *name) status = bpt_strdup(name, &copy);
    if (status != BPT_OK) {
        (void)bpt_graph_fail(g, status);
        return BPT_NO_VALUE;
    }
    g->values[g->n_values] = (bpt_value_record_t){
        .info = {.kind = kind, .dtype = dtype, .shape = shape, .name = copy ? copy : "", .base = BPT_NO_VALUE, .state = -1, .node = -1},
        .name = copy,
        .place = BPT_NO_VALUE,
    };
    return (bpt_value_t)g->n_values++;
}

bpt_value_t bpt_input(bpt_graph_t *g, const char *name, bpt_dtype_t dtype, bpt_shape_t shape) {
    return bpt_new_value(g, BPT_VALUE_INPUT, dtype, shape, name);
}

bpt_value_t bpt_state(bpt_graph_t *g, const char *name, int32_t state, bpt_dtype_t dtype, bpt_shape_t shape) {
    const bpt_value_t v = bpt_new_value(g, BPT_VALUE_STATE, dtype, shape, name);
    if (present(v)) g->values[v].info.state = state;
    return v;
}

bpt_value_t bpt_view(bpt_graph_t *g, bpt_value_t base, size_t offset_bytes, bpt_shape_t shape) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    const bpt_dtype_t dtype = value_info(g, base)->dtype;
    const size_t bytes = (size_t)bpt_shape_count(&shape) * bpt_dtype_size(dtype), whole = value_bytes(g, base);
    if (offset_bytes > whole || bytes > whole - offset_bytes || offset_bytes % bpt_dtype_size(dtype)) {
        (void)bpt_graph_fail(g, bpt_fail(BPT_ERR_INTERNAL, "view of bytes %zu+%zu of '%s', which has %zu", offset_bytes, bytes,
                                         value_info(g, base)->name, whole));
        return BPT_NO_VALUE;
    }
    const bpt_value_t v = bpt_new_value(g, BPT_VALUE_VIEW, dtype, shape, NULL);
    if (present(v)) {
        g->values[v].info.base = base;
        g->values[v].info.offset_bytes = offset_bytes;
    }
    return v;
}

bpt_value_t bpt_rows(bpt_graph_t *g, bpt_value_t x, int64_t row, int64_t rows) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    const int64_t columns = value_columns(g, x);
    if (row == 0 && rows == value_rows(g, x) && value_shape(g, x)->rank == 2) return x;
    return bpt_view(g, x, (size_t)(row * columns) * bpt_dtype_size(value_info(g, x)->dtype), bpt_shape2(rows, columns));
}

void bpt_name(bpt_graph_t *g, bpt_value_t x, const char *name) {
    if (g->status != BPT_OK) return;
    char *copy;
    if (bpt_graph_fail(g, bpt_strdup(name, &copy)) != BPT_OK) return;
    bpt_free(g->values[x].name);
    g->values[x].name = copy;
    g->values[x].info.name = copy;
}

bpt_value_t bpt_parts(bpt_graph_t *g, bpt_dtype_t dtype, bpt_shape_t shape) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    const bpt_value_t v = bpt_new_value(g, BPT_VALUE_TEMP, dtype, shape, NULL);
    if (present(v)) g->values[v].parts = true;
    return v;
}

void bpt_graph_keep(bpt_graph_t *g, bpt_value_t value) {
    if (g->status == BPT_OK && present(value)) g->values[value].kept = true;
}

void bpt_graph_mark(bpt_graph_t *g, bpt_value_t value) {
    if (g->status != BPT_OK) return;
    if (value_info(g, bpt_storage_of(g, value, NULL))->kind != BPT_VALUE_STATE) {
        (void)bpt_graph_fail(g, bpt_fail(BPT_ERR_INTERNAL, "value '%s' cannot be marked: it is no state", value_info(g, value)->name));
        return;
    }
    if (bpt_graph_fail(g, bpt_grow(&g->marks, g->n_marks, &g->mark_capacity, sizeof *g->marks)) != BPT_OK) return;
    g->marks[g->n_marks++] = value;
}

void bpt_graph_place(bpt_graph_t *g, bpt_value_t value, bpt_value_t target) {
    if (g->status != BPT_OK) return;
    const bpt_value_info_t *v = value_info(g, value), *t = value_info(g, target);
    if (v->kind != BPT_VALUE_TEMP || v->dtype != t->dtype || bpt_shape_count(&v->shape) != bpt_shape_count(&t->shape))
        (void)bpt_graph_fail(g, bpt_fail(BPT_ERR_INTERNAL, "value '%s' cannot be placed in '%s'", v->name, t->name));
    else
        g->values[value].place = target;
}

void bpt_graph_region_begin(bpt_graph_t *g) {
    if (g->status != BPT_OK) return;
    if (bpt_graph_fail(g, bpt_grow(&g->parent, g->n_regions, &g->region_capacity, sizeof *g->parent)) != BPT_OK) return;
    g->parent[g->n_regions] = g->region;
    g->region = (int32_t)g->n_regions++;
}

void bpt_graph_region_end(bpt_graph_t *g) {
    if (g->region >= 0) g->region = g->parent[g->region];
}

void bpt_graph_region_result(bpt_graph_t *g, bpt_value_t value) {
    if (g->status == BPT_OK) g->values[value].result = true;
}

void bpt_graph_offload(bpt_graph_t *g, bpt_value_t value) {
    if (g->status == BPT_OK) g->values[value].offload = true;
}

uint32_t bpt_graph_randoms(const bpt_graph_t *g) { return g->next_uid; }
void bpt_graph_set_randoms(bpt_graph_t *g, uint32_t uid) { g->next_uid = uid; }

bpt_node_t bpt_node_init(bpt_op_t op) {
    bpt_node_t node = {.op = op, .region = -1};
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) node.in[i] = BPT_NO_VALUE;
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) node.out[j] = BPT_NO_VALUE;
    return node;
}

bpt_status_t bpt_new_output(bpt_graph_t *g, bpt_node_t *node, int j, bpt_dtype_t dtype, bpt_shape_t shape) {
    node->out[j] = bpt_new_value(g, BPT_VALUE_TEMP, dtype, shape, NULL);
    if (!present(node->out[j])) return bpt_graph_status(g);
    g->values[node->out[j]].info.node = (int32_t)g->n_nodes;  // it is appended right after inference
    return BPT_OK;
}

bpt_value_t bpt_add_node(bpt_graph_t *g, bpt_node_t *node) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_status_t status = bpt_op_info(node->op)->infer(g, node);
    if (status == BPT_OK) status = bpt_grow(&g->nodes, g->n_nodes, &g->node_capacity, sizeof *g->nodes);
    if (status != BPT_OK) {
        (void)bpt_graph_fail(g, bpt_context(status, "%s", bpt_op_name(node->op)));
        return BPT_NO_VALUE;
    }
    node->region = g->region;
    node->backward = g->differentiated;
    g->nodes[g->n_nodes++] = *node;
    return node->out[0];
}

bpt_value_t bpt_storage_of(const bpt_graph_t *g, bpt_value_t v, size_t *offset_bytes) {
    size_t offset = 0;
    for (;;) {
        const bpt_value_record_t *r = &g->values[v];
        if (r->info.kind == BPT_VALUE_VIEW) {
            offset += r->info.offset_bytes;
            v = r->info.base;
        } else if (present(r->place)) {
            v = r->place;
        } else {
            break;
        }
    }
    if (offset_bytes) *offset_bytes = offset;
    return v;
}

void bpt_count_uses(const bpt_graph_t *g, int32_t *uses) {
    memset(uses, 0, g->n_values * sizeof *uses);
    for (size_t i = 0; i < g->n_nodes; ++i)
        for (int j = 0; j < BPT_MAX_INPUTS; ++j)
            for (bpt_value_t v = g->nodes[i].in[j]; present(v); v = value_info(g, v)->base) ++uses[v];
}
