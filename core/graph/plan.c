// Memory planning: liveness of every temporary, storages shared in place or by best fit, scratch included; barriers only
// where two ops touch the same bytes and one of them writes. Works on a graph in execution order.
#include "core/graph/plan.h"

#include <stdlib.h>
#include <string.h>

static size_t align(size_t bytes) { return (bytes + BPT_TENSOR_ALIGNMENT - 1) / BPT_TENSOR_ALIGNMENT * BPT_TENSOR_ALIGNMENT; }

static bpt_operand_t operand(const bpt_graph_t *g, bpt_value_t v) {
    if (!present(v)) return (bpt_operand_t){0};
    return (bpt_operand_t){.dtype = value_info(g, v)->dtype, .shape = *value_shape(g, v), .present = true};
}

void bpt_node_call(const bpt_graph_t *g, const bpt_node_t *node, bpt_op_call_t *call) {
    *call = (bpt_op_call_t){.op = node->op, .attrs = node->attrs};
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) call->in[i] = operand(g, node->in[i]);
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) call->out[j] = operand(g, node->out[j]);
}

// The TEMP in the workspace whose storage holds v, BPT_NO_VALUE when v lives in a state or an input.
static bpt_value_t workspace_root(const bpt_graph_t *g, bpt_value_t v) {
    const bpt_value_t root = bpt_storage_of(g, v, NULL);
    return value_info(g, root)->kind == BPT_VALUE_TEMP ? root : BPT_NO_VALUE;
}

static bpt_status_t add_storage(bpt_plan_t *plan, size_t *capacity, bpt_storage_t storage, int32_t *index) {
    BPT_TRY(bpt_grow(&plan->storage, plan->n_storage, capacity, sizeof *plan->storage));
    *index = (int32_t)plan->n_storage;
    plan->storage[plan->n_storage++] = storage;
    return BPT_OK;
}

// The last op that reads each TEMP root; n_nodes for values that outlive the program.
static void last_uses(const bpt_graph_t *g, int32_t *last) {
    for (size_t v = 0; v < g->n_values; ++v) last[v] = -1;
    for (size_t i = 0; i < g->n_nodes; ++i)
        for (int j = 0; j < BPT_MAX_INPUTS; ++j) {
            if (!present(g->nodes[i].in[j])) continue;
            const bpt_value_t root = workspace_root(g, g->nodes[i].in[j]);
            if (present(root)) last[root] = (int32_t)i;
        }
    for (size_t v = 0; v < g->n_values; ++v)
        if (g->values[v].kept) {
            const bpt_value_t root = workspace_root(g, (bpt_value_t)v);
            if (present(root)) last[root] = (int32_t)g->n_nodes;
        }
}

// An input of node i whose storage dies there and fits out[0] exactly, as the op allows; -1 = none.
static int32_t share_in_place(const bpt_graph_t *g, const bpt_plan_t *plan, const int32_t *last, size_t i) {
    const bpt_node_t *node = &g->nodes[i];
    const bpt_op_info_t *info = bpt_op_info(node->op);
    if (!info->share) return -1;
    for (int nth = 0, input; (input = info->share(g, node, nth)) >= 0; ++nth) {
        if (!present(node->in[input])) continue;
        const bpt_value_t v = node->in[input], root = workspace_root(g, v);
        if (!present(root) || last[root] != (int32_t)i || value_info(g, v)->dtype != value_info(g, node->out[0])->dtype) continue;
        size_t offset;
        (void)bpt_storage_of(g, v, &offset);
        if (offset || value_bytes(g, v) != value_bytes(g, node->out[0]) || value_bytes(g, root) != value_bytes(g, v)) continue;
        bool elsewhere = false;  // the same storage read through another slot
        for (int j = 0; j < BPT_MAX_INPUTS; ++j)
            if (j != input && present(node->in[j]) && workspace_root(g, node->in[j]) == root) elsewhere = true;
        const int32_t s = plan->storage_of_value[root];
        if (!elsewhere && plan->storage[s].last == (int32_t)i) return s;
    }
    return -1;
}

static bpt_status_t find_storages(bpt_plan_t *plan, bpt_device_t *device, const bpt_graph_t *g, int32_t *last) {
    size_t capacity = 0;
    last_uses(g, last);
    for (size_t v = 0; v < g->n_values; ++v) plan->storage_of_value[v] = -1;
    for (size_t i = 0; i < g->n_nodes; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        plan->scratch_of_node[i] = -1;
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) {
            // A tensor made in parts lives from its first part on.
            const bpt_value_t v = present(node->out[j]) ? workspace_root(g, node->out[j]) : BPT_NO_VALUE;
            if (!present(v)) continue;
            if (plan->storage_of_value[v] >= 0) {
                bpt_storage_t *begun = &plan->storage[plan->storage_of_value[v]];
                if (begun->last < (int32_t)i) begun->last = (int32_t)i;
                continue;
            }
            const int32_t end = last[v] > (int32_t)i ? last[v] : (int32_t)i;
            plan->summary.unshared_bytes += align(value_bytes(g, v));
            int32_t s = j == 0 && v == node->out[0] ? share_in_place(g, plan, last, i) : -1;
            if (s >= 0)
                plan->storage[s].last = end;
            else
                BPT_TRY(add_storage(plan, &capacity,
                                    (bpt_storage_t){.bytes = align(value_bytes(g, v)), .first = (int32_t)i, .last = end, .value = v}, &s));
            plan->storage_of_value[v] = s;
        }
        if (node->op == BPT_OP_STASH) plan->summary.offload_bytes += value_bytes(g, node->in[0]);
        if (bpt_op_info(node->op)->by_host) continue;
        bpt_op_call_t call;
        size_t scratch = 0;
        bpt_node_call(g, node, &call);
        BPT_TRY(device->backend->op(device, &call, NULL, &scratch));
        plan->summary.unshared_bytes += align(scratch);
        if (scratch)
            BPT_TRY(add_storage(plan, &capacity,
                                (bpt_storage_t){.bytes = align(scratch), .first = (int32_t)i, .last = (int32_t)i, .value = BPT_NO_VALUE},
                                &plan->scratch_of_node[i]));
    }
    return BPT_OK;
}

static int larger_first(const void *a, const void *b) {
    const bpt_storage_t *x = *(bpt_storage_t *const *)a, *y = *(bpt_storage_t *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->first - y->first ? x->first - y->first : (x < y ? -1 : 1);
}
static int lower_first(const void *a, const void *b) {
    const bpt_storage_t *x = *(bpt_storage_t *const *)a, *y = *(bpt_storage_t *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

// Largest first, each into the smallest gap between the storages that live at the same time (best fit).
static bpt_status_t place_storages(bpt_plan_t *plan) {
    const size_t n = plan->n_storage;
    bpt_storage_t **order, **busy;
    BPT_TRY(bpt_alloc(2 * n, sizeof *order, &order));
    busy = order + n;
    for (size_t i = 0; i < n; ++i) order[i] = &plan->storage[i];
    qsort(order, n, sizeof *order, larger_first);
    for (size_t i = 0; i < n; ++i) {
        bpt_storage_t *s = order[i];
        size_t n_busy = 0, best = SIZE_MAX, best_gap = SIZE_MAX, end = 0;
        for (size_t k = 0; k < i; ++k)
            if (order[k]->first <= s->last && s->first <= order[k]->last) busy[n_busy++] = order[k];
        qsort(busy, n_busy, sizeof *busy, lower_first);
        for (size_t k = 0; k < n_busy; ++k) {
            const size_t gap = busy[k]->offset > end ? busy[k]->offset - end : 0;
            if (gap >= s->bytes && gap < best_gap) best = end, best_gap = gap;
            if (busy[k]->offset + busy[k]->bytes > end) end = busy[k]->offset + busy[k]->bytes;
        }
        s->offset = best != SIZE_MAX ? best : end;
        if (s->offset + s->bytes > plan->summary.workspace_bytes) plan->summary.workspace_bytes = s->offset + s->bytes;
    }
    bpt_free(order);
    return BPT_OK;
}

// ---- Barriers ---------------------------------------------------------------------------------------------------------
typedef struct {
    int32_t space;  // 0 workspace, 1 inputs, 2 + s: state s
    size_t begin, end;
    bool write;
} range_t;

static range_t range_of(const bpt_graph_t *g, const bpt_plan_t *plan, bpt_value_t v, bool write) {
    size_t offset;
    const bpt_value_t root = bpt_storage_of(g, v, &offset);
    const bpt_value_info_t *info = value_info(g, root);
    range_t r = {.begin = offset, .write = write};
    if (info->kind == BPT_VALUE_TEMP)
        r.begin += plan->storage[plan->storage_of_value[root]].offset;
    else if (info->kind == BPT_VALUE_INPUT)
        r.space = 1, r.begin += plan->input_offset[root];
    else
        r.space = 2 + info->state;
    r.end = r.begin + value_bytes(g, v);
    return r;
}

static bool conflict(const range_t *a, const range_t *b) {
    return a->space == b->space && (a->write || b->write) && a->begin < b->end && b->begin < a->end;
}

static int node_ranges(const bpt_graph_t *g, const bpt_plan_t *plan, size_t i, range_t *out) {
    const bpt_node_t *node = &g->nodes[i];
    int n = 0;
    for (int j = 0; j < BPT_MAX_INPUTS; ++j)
        if (present(node->in[j])) out[n++] = range_of(g, plan, node->in[j], bpt_op_info(node->op)->mutates >> j & 1);
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j)
        if (present(node->out[j])) out[n++] = range_of(g, plan, node->out[j], true);
    if (plan->scratch_of_node[i] >= 0) {
        const bpt_storage_t *s = &plan->storage[plan->scratch_of_node[i]];
        out[n++] = (range_t){.begin = s->offset, .end = s->offset + s->bytes, .write = true};
    }
    return n;
}

static bpt_status_t place_barriers(bpt_plan_t *plan, const bpt_graph_t *g) {
    enum { MOST = BPT_MAX_INPUTS + BPT_MAX_OUTPUTS + 1 };
    range_t *open, mine[MOST];  // everything touched since the last barrier
    size_t n_open = 0;
    BPT_TRY(bpt_alloc(g->n_nodes * MOST, sizeof *open, &open));
    for (size_t i = 0; i < g->n_nodes; ++i) {
        if (bpt_op_info(g->nodes[i].op)->by_host) {  // what is before it has ended, what follows has not begun
            n_open = 0;
            continue;
        }
        const int n = node_ranges(g, plan, i, mine);
        bool hazard = false;
        for (size_t k = 0; k < n_open && !hazard; ++k)
            for (int m = 0; m < n && !hazard; ++m) hazard = conflict(&open[k], &mine[m]);
        if (hazard) {
            plan->barrier_before[i] = true;
            ++plan->summary.n_barriers;
            n_open = 0;
        }
        memcpy(open + n_open, mine, (size_t)n * sizeof *mine);
        n_open += (size_t)n;
    }
    bpt_free(open);
    return BPT_OK;
}

static void add_costs(bpt_plan_t *plan, const bpt_graph_t *g) {
    for (size_t i = 0; i < g->n_nodes; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        if (bpt_op_info(node->op)->flops) plan->summary.flops += bpt_op_info(node->op)->flops(g, node);
        plan->summary.bytes_moved += bpt_node_bytes(g, node);
    }
}

bpt_status_t bpt_plan_create(bpt_device_t *device, const bpt_graph_t *g, bpt_plan_t **out) {
    BPT_TRY(bpt_graph_status(g));
    for (size_t i = 0; i < g->n_nodes; ++i)
        GRAPH_EXPECT(g->nodes[i].op < BPT_OP_COUNT || bpt_op_info(g->nodes[i].op)->by_host,
                     "a %s cannot be planned: bpt_graph_place_joins comes first", bpt_op_name(g->nodes[i].op));
    bpt_plan_t *plan;
    int32_t *last = NULL;
    BPT_TRY(bpt_alloc(1, sizeof *plan, &plan));
    plan->n_values = g->n_values;
    plan->n_nodes = g->n_nodes;
    plan->summary.n_ops = (int32_t)g->n_nodes;
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc(g->n_values, sizeof *last, &last), done);
    BPT_TRY_GOTO(bpt_alloc(g->n_values, sizeof *plan->storage_of_value, &plan->storage_of_value), done);
    BPT_TRY_GOTO(bpt_alloc(g->n_nodes, sizeof *plan->scratch_of_node, &plan->scratch_of_node), done);
    BPT_TRY_GOTO(bpt_alloc(g->n_values, sizeof *plan->input_offset, &plan->input_offset), done);
    BPT_TRY_GOTO(bpt_alloc(g->n_nodes, sizeof *plan->barrier_before, &plan->barrier_before), done);
    for (size_t v = 0; v < g->n_values; ++v)
        if (value_info(g, (bpt_value_t)v)->kind == BPT_VALUE_INPUT) {
            plan->input_offset[v] = plan->summary.input_bytes;
            plan->summary.input_bytes += align(value_bytes(g, (bpt_value_t)v));
        }
    BPT_TRY_GOTO(find_storages(plan, device, g, last), done);
    BPT_TRY_GOTO(place_storages(plan), done);
    BPT_TRY_GOTO(place_barriers(plan, g), done);
    add_costs(plan, g);
    *out = plan;
    plan = NULL;
done:
    bpt_free(last);
    bpt_plan_destroy(plan);
    return status;
}

void bpt_plan_destroy(bpt_plan_t *plan) {
    if (!plan) return;
    bpt_free(plan->storage);
    bpt_free(plan->storage_of_value);
    bpt_free(plan->scratch_of_node);
    bpt_free(plan->input_offset);
    bpt_free(plan->barrier_before);
    bpt_free(plan);
}

bpt_plan_summary_t bpt_plan_summary(const bpt_plan_t *plan) { return plan->summary; }

bpt_status_t bpt_plan_print(const bpt_plan_t *plan, const bpt_graph_t *g, FILE *out) {
    fprintf(out, "%14s %14s %6s %6s  %s\n", "offset", "bytes", "first", "last", "what");
    for (size_t i = 0; i < plan->n_storage; ++i) {
        const bpt_storage_t *s = &plan->storage[i];
        const bpt_op_t op = g->nodes[s->first].op;
        const char *name = present(s->value) ? value_info(g, s->value)->name : "scratch";
        fprintf(out, "%14zu %14zu %6d %6d  %s%s%s\n", s->offset, s->bytes, s->first, s->last, bpt_op_name(op), *name ? " " : "", name);
    }
    return ferror(out) ? bpt_fail(BPT_ERR_IO, "the memory plan could not be written") : BPT_OK;
}
