// Stable topological order of the nodes, and removal of nodes that nobody needs.
#include <string.h>

#include "core/graph/internal.h"

// Edges "a before b" of the order, grown on demand.
typedef struct {
    int32_t (*pair)[2];
    size_t count, capacity;
} edges_t;

static bpt_status_t add_edge(edges_t *edges, int32_t before, int32_t after) {
    if (before < 0 || before == after) return BPT_OK;
    BPT_TRY(bpt_grow(&edges->pair, edges->count, &edges->capacity, sizeof *edges->pair));
    edges->pair[edges->count][0] = before;
    edges->pair[edges->count++][1] = after;
    return BPT_OK;
}

// An access of a state, or a write into a temporary that already exists.
typedef struct {
    int32_t node;
    bpt_value_t root;
    size_t begin, end;
    bool write;
} access_t;

static bool same_storage(const bpt_graph_t *g, bpt_value_t a, bpt_value_t b) {
    if (a == b) return true;  // two values may name the same buffer: states are told apart by their number
    return value_info(g, a)->kind == BPT_VALUE_STATE && value_info(g, b)->kind == BPT_VALUE_STATE &&
           value_info(g, a)->state == value_info(g, b)->state;
}

// Two accesses of one state, or of a tensor made in parts, at overlapping bytes, one of them a write, stay in program order.
static bpt_status_t state_edges(const bpt_graph_t *g, edges_t *edges) {
    access_t *list = NULL;
    size_t count = 0, capacity = 0;
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < g->n_nodes; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        for (int j = 0; j < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++j) {
            const bool output = j >= BPT_MAX_INPUTS;
            const bpt_value_t v = output ? node->out[j - BPT_MAX_INPUTS] : node->in[j];
            if (!present(v)) continue;
            access_t a = {.node = (int32_t)i, .write = output || bpt_op_info(node->op)->mutates >> j & 1};
            a.root = bpt_storage_of(g, v, &a.begin);
            if (value_info(g, a.root)->kind != BPT_VALUE_STATE && !g->values[a.root].parts) continue;  // ordinary data flow
            a.end = a.begin + value_bytes(g, v);
            for (size_t k = 0; k < count; ++k) {
                const access_t *b = &list[k];
                if ((a.write || b->write) && a.begin < b->end && b->begin < a.end && same_storage(g, a.root, b->root))
                    BPT_TRY_GOTO(add_edge(edges, b->node, a.node), done);
            }
            BPT_TRY_GOTO(bpt_grow(&list, count, &capacity, sizeof *list), done);
            list[count++] = a;
        }
    }
done:
    bpt_free(list);
    return status;
}

bool bpt_node_writes(const bpt_graph_t *g, const bpt_node_t *node, bpt_value_t value) {
    size_t begin, at;
    const bpt_value_t root = bpt_storage_of(g, value, &begin);
    const size_t end = begin + value_bytes(g, value);
    for (int j = 0; j < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++j) {
        const bool output = j >= BPT_MAX_INPUTS;
        const bpt_value_t v = output ? node->out[j - BPT_MAX_INPUTS] : node->in[j];
        if (!present(v) || !(output || bpt_op_info(node->op)->mutates >> j & 1)) continue;
        if (same_storage(g, bpt_storage_of(g, v, &at), root) && at < end && begin < at + value_bytes(g, v)) return true;
    }
    return false;
}

static bool writes_mark(const bpt_graph_t *g, const bpt_node_t *node) {
    for (size_t m = 0; m < g->n_marks; ++m)
        if (bpt_node_writes(g, node, g->marks[m])) return true;
    return false;
}

static int32_t producer_of(const bpt_graph_t *g, bpt_value_t v) {
    while (value_info(g, v)->kind == BPT_VALUE_VIEW) v = value_info(g, v)->base;
    return value_info(g, v)->node;
}

void bpt_set_producers(bpt_graph_t *g) {
    for (size_t v = 0; v < g->n_values; ++v) g->values[v].info.node = -1;
    for (size_t i = 0; i < g->n_nodes; ++i)
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j)
            if (present(g->nodes[i].out[j])) g->values[g->nodes[i].out[j]].info.node = (int32_t)i;
}

bpt_status_t bpt_graph_sort(bpt_graph_t *g) {
    const size_t n = g->n_nodes;
    edges_t edges = {0};
    int32_t *waiting = NULL, *head = NULL, *next = NULL;
    bool *emitted = NULL, *urgent = NULL;
    bpt_node_t *sorted = NULL;
    bpt_status_t status;
    bpt_set_producers(g);
    BPT_TRY_GOTO(state_edges(g, &edges), done);
    for (size_t i = 0; i < n; ++i)
        for (int j = 0; j < BPT_MAX_INPUTS; ++j)
            if (present(g->nodes[i].in[j])) BPT_TRY_GOTO(add_edge(&edges, producer_of(g, g->nodes[i].in[j]), (int32_t)i), done);
    BPT_TRY_GOTO(bpt_alloc(n, sizeof *waiting, &waiting), done);
    BPT_TRY_GOTO(bpt_alloc(n, sizeof *head, &head), done);
    BPT_TRY_GOTO(bpt_alloc(edges.count, sizeof *next, &next), done);
    BPT_TRY_GOTO(bpt_alloc(n, 1, &emitted), done);
    BPT_TRY_GOTO(bpt_alloc(n, 1, &urgent), done);
    BPT_TRY_GOTO(bpt_alloc(n, sizeof *sorted, &sorted), done);
    for (size_t i = 0; i < n; ++i) head[i] = -1;
    for (size_t e = 0; e < edges.count; ++e) {
        ++waiting[edges.pair[e][1]];
        next[e] = head[edges.pair[e][0]];
        head[edges.pair[e][0]] = (int32_t)e;
    }
    // Always the earliest ready node, those that write marked values before all others: what is in order stays in order.
    size_t first = 0;
    for (size_t i = 0; i < n; ++i) urgent[i] = writes_mark(g, &g->nodes[i]);
    for (size_t k = 0; k < n; ++k) {
        while (emitted[first]) ++first;
        size_t i = g->n_marks ? first : n;
        while (i < n && (emitted[i] || waiting[i] || !urgent[i])) ++i;
        if (i == n) i = first;
        while (i < n && (emitted[i] || waiting[i])) ++i;
        if (i == n) {
            status = bpt_fail(BPT_ERR_INTERNAL, "the graph has a cycle");
            goto done;
        }
        emitted[i] = true;
        for (int32_t e = head[i]; e >= 0; e = next[e]) --waiting[edges.pair[e][1]];
        sorted[k] = g->nodes[i];
    }
    if (n) memcpy(g->nodes, sorted, n * sizeof *sorted);
    bpt_set_producers(g);
done:
    bpt_free(edges.pair);
    bpt_free(waiting);
    bpt_free(head);
    bpt_free(next);
    bpt_free(emitted);
    bpt_free(urgent);
    bpt_free(sorted);
    return bpt_graph_fail(g, status);
}

static void mark(const bpt_graph_t *g, bpt_value_t v, bool *needed) {
    for (; present(v); v = value_info(g, v)->base) needed[v] = true;
}

// What lies in a state is needed; a part of a tensor is when the tensor is.
static bool is_placed(const bpt_graph_t *g, bpt_value_t v, const bool *needed) {
    if (!present(v) || !present(g->values[v].place)) return false;
    const bpt_value_t root = bpt_storage_of(g, v, NULL);
    return !g->values[root].parts || needed[root];
}

bpt_status_t bpt_graph_remove_dead(bpt_graph_t *g, bool drop_outputs) {
    if (g->status != BPT_OK) return bpt_graph_status(g);
    bool *needed;
    BPT_TRY(bpt_alloc(g->n_values, 1, &needed));
    for (size_t v = 0; v < g->n_values; ++v)
        if (g->values[v].kept || is_placed(g, (bpt_value_t)v, needed)) mark(g, (bpt_value_t)v, needed);
    for (size_t i = g->n_nodes; i-- > 0;) {
        bpt_node_t *node = &g->nodes[i];
        const bpt_op_info_t *info = bpt_op_info(node->op);
        bool wanted = info->mutates != 0;
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) {
            if (is_placed(g, node->out[j], needed)) mark(g, node->out[j], needed);
            if (present(node->out[j]) && needed[node->out[j]]) wanted = true;
        }
        if (!wanted) {
            node->op = BPT_OP_COUNT;  // marked for removal
            continue;
        }
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j)
            if (drop_outputs && present(node->out[j]) && !needed[node->out[j]] && info->optional_outputs >> j & 1)
                node->out[j] = BPT_NO_VALUE;
        for (int j = 0; j < BPT_MAX_INPUTS; ++j) mark(g, node->in[j], needed);
    }
    size_t k = 0;
    for (size_t i = 0; i < g->n_nodes; ++i)
        if (g->nodes[i].op != BPT_OP_COUNT) g->nodes[k++] = g->nodes[i];
    g->n_nodes = k;
    bpt_set_producers(g);
    bpt_free(needed);
    return BPT_OK;
}

bpt_status_t bpt_graph_eliminate(bpt_graph_t *g) { return bpt_graph_remove_dead(g, true); }
