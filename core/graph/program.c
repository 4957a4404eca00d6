// Programs: a planned graph recorded into a device list and replayed (bpt/program.h).
#include <string.h>

#include "bpt/clock.h"
#include "core/graph/plan.h"

struct bpt_workspace {
    bpt_device_t *device;
    bpt_buffer_t *buffer;
    size_t bytes;
    uint64_t generation;  // counts how often the buffer moved
};

// Nodes [first, end) as a list of work; behind it the host does node `end`, where there is one.
typedef struct {
    bpt_list_t *list;  // NULL: it has no nodes
    size_t first, end;
} segment_t;

struct bpt_program {
    bpt_graph_t *graph;
    bpt_plan_t *plan;
    bpt_workspace_t *workspace;
    bpt_buffer_t *inputs;
    bpt_buffer_t **states;
    int n_states;
    segment_t *segments;
    size_t n_segments;
    uint64_t generation;  // of the workspace when the lists were recorded
    bool timed;
    bpt_exchange_fn_t exchange;
    void *exchange_user;
    void *give, *take;     // rows of an exchange on the host; made when first needed
    double *host_seconds;  // of each segment: what the host did behind it in the last run
};

bpt_status_t bpt_workspace_create(bpt_device_t *device, bpt_workspace_t **out) {
    BPT_TRY(bpt_backend_check(device->backend, BPT_BACKEND_VERSION));
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->device = device;
    return BPT_OK;
}

void bpt_workspace_destroy(bpt_workspace_t *w) {
    if (!w) return;
    w->device->backend->buffer_destroy(w->device, w->buffer);
    bpt_free(w);
}

size_t bpt_workspace_bytes(const bpt_workspace_t *w) { return w->bytes; }

static bpt_status_t grow(bpt_workspace_t *w, size_t bytes) {
    if (bytes <= w->bytes && w->buffer) return BPT_OK;
    const bpt_backend_t *backend = w->device->backend;
    backend->buffer_destroy(w->device, w->buffer);  // first: the old and the new one need not fit together
    w->buffer = NULL;
    w->bytes = 0;
    ++w->generation;
    BPT_TRY(bpt_context(backend->buffer_create(w->device, bytes, &w->buffer), "workspace of %.1f MiB", (double)bytes / 1048576));
    w->bytes = bytes;
    return BPT_OK;
}

static bpt_operand_t locate(const bpt_program_t *p, bpt_value_t v) {
    const bpt_graph_t *g = p->graph;
    if (!present(v)) return (bpt_operand_t){0};
    bpt_operand_t o = {.dtype = value_info(g, v)->dtype, .shape = *value_shape(g, v), .present = true};
    const bpt_value_t root = bpt_storage_of(g, v, &o.offset_bytes);
    const bpt_value_info_t *info = value_info(g, root);
    if (info->kind == BPT_VALUE_TEMP) {
        const int32_t s = p->plan->storage_of_value[root];
        if (s < 0) return (bpt_operand_t){0};
        o.buffer = p->workspace->buffer;
        o.offset_bytes += p->plan->storage[s].offset;
    } else if (info->kind == BPT_VALUE_INPUT) {
        o.buffer = p->inputs;
        o.offset_bytes += p->plan->input_offset[root];
    } else {
        o.buffer = p->states[info->state];
    }
    return o;
}

static bpt_status_t record_node(bpt_program_t *p, bpt_list_t *list, size_t i) {
    bpt_device_t *device = p->workspace->device;
    const bpt_node_t *node = &p->graph->nodes[i];
    bpt_op_call_t call = {.op = node->op, .attrs = node->attrs};
    for (int j = 0; j < BPT_MAX_INPUTS; ++j) call.in[j] = locate(p, node->in[j]);
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) call.out[j] = locate(p, node->out[j]);
    const int32_t s = p->plan->scratch_of_node[i];
    if (s >= 0)
        call.scratch = (bpt_operand_t){.buffer = p->workspace->buffer,
                                       .offset_bytes = p->plan->storage[s].offset,
                                       .dtype = BPT_U32,
                                       .shape = bpt_shape1((int64_t)(p->plan->storage[s].bytes / 4)),
                                       .present = true};
    if (p->plan->barrier_before[i]) BPT_TRY(device->backend->list_barrier(list));
    return device->backend->op(device, &call, list, NULL);
}

static bpt_status_t record_segment(bpt_program_t *p, segment_t *s) {
    bpt_device_t *device = p->workspace->device;
    device->backend->list_destroy(device, s->list);
    s->list = NULL;
    if (s->first == s->end) return BPT_OK;
    BPT_TRY(device->backend->list_create(device, &s->list));
    for (size_t i = s->first; i < s->end; ++i) BPT_TRY(record_node(p, s->list, i));
    BPT_TRY(device->backend->list_seal(s->list));
    return device->backend->timings_enable(s->list, p->timed);
}

static bpt_status_t record(bpt_program_t *p) {
    BPT_TRY(grow(p->workspace, p->plan->summary.workspace_bytes));
    for (size_t i = 0; i < p->n_segments; ++i) BPT_TRY(record_segment(p, &p->segments[i]));
    p->generation = p->workspace->generation;
    return BPT_OK;
}

static bool by_host(const bpt_node_t *node) { return bpt_op_info(node->op)->by_host; }

static bpt_status_t cut(bpt_program_t *p) {
    const bpt_graph_t *g = p->graph;
    size_t count = 1;
    for (size_t i = 0; i < g->n_nodes; ++i) count += by_host(&g->nodes[i]);
    BPT_TRY(bpt_alloc(count, sizeof *p->segments, &p->segments));
    BPT_TRY(bpt_alloc(count, sizeof *p->host_seconds, &p->host_seconds));
    p->n_segments = count;
    for (size_t i = 0, node = 0; i < count; ++i, ++node) {
        p->segments[i].first = node;
        while (node < g->n_nodes && !by_host(&g->nodes[node])) ++node;
        p->segments[i].end = node;
    }
    return BPT_OK;
}

// One error that names every op that the device cannot do, instead of the first.
static bpt_status_t check_support(bpt_device_t *device, const bpt_graph_t *g) {
    bool missing[BPT_OP_COUNT] = {0};
    char names[256] = "", reason[512] = "";
    bpt_status_t worst = BPT_OK;
    for (size_t i = 0; i < g->n_nodes; ++i) {
        bpt_op_call_t call;
        size_t scratch;
        if (by_host(&g->nodes[i])) continue;
        bpt_node_call(g, &g->nodes[i], &call);
        const bpt_status_t status = device->backend->op(device, &call, NULL, &scratch);
        if (status == BPT_OK) continue;
        if (status != BPT_ERR_UNSUPPORTED) return status;
        if (!*reason) snprintf(reason, sizeof reason, "%s", bpt_error_message());
        worst = status;
        if (missing[call.op]) continue;
        missing[call.op] = true;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", bpt_op_name(call.op));
    }
    if (worst == BPT_OK) return BPT_OK;
    return bpt_fail(worst, "device '%s' of backend %s cannot run: %s (%s)", device->info.name, device->backend->name, names, reason);
}

bpt_status_t bpt_program_compile(bpt_graph_t *graph, bpt_workspace_t *workspace, bpt_buffer_t *const *states, int n_states,
                                 bpt_program_t **out) {
    bpt_device_t *device = workspace->device;
    bpt_program_t *p = NULL;
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_graph_eliminate(graph), failed);
    BPT_TRY_GOTO(bpt_graph_place_joins(graph), failed);
    BPT_TRY_GOTO(bpt_alloc(1, sizeof *p, &p), failed);
    p->graph = graph;
    p->workspace = workspace;
    p->n_states = n_states;
    BPT_TRY_GOTO(bpt_alloc((size_t)n_states, sizeof *p->states, &p->states), failed);
    if (n_states) memcpy(p->states, states, (size_t)n_states * sizeof *states);
    BPT_TRY_GOTO(check_support(device, graph), failed);
    BPT_TRY_GOTO(bpt_plan_create(device, graph, &p->plan), failed);
    BPT_TRY_GOTO(device->backend->buffer_create(device, p->plan->summary.input_bytes, &p->inputs), failed);
    BPT_TRY_GOTO(cut(p), failed);
    BPT_TRY_GOTO(record(p), failed);
    *out = p;
    return BPT_OK;
failed:
    if (p)
        p->graph = graph, bpt_program_destroy(p);
    else
        bpt_graph_destroy(graph);
    return status;
}

void bpt_program_destroy(bpt_program_t *p) {
    if (!p) return;
    bpt_device_t *device = p->workspace->device;
    for (size_t i = 0; i < p->n_segments; ++i) device->backend->list_destroy(device, p->segments[i].list);
    bpt_free(p->segments);
    bpt_free(p->host_seconds);
    bpt_free_aligned(p->give);
    bpt_free_aligned(p->take);
    device->backend->buffer_destroy(device, p->inputs);
    bpt_plan_destroy(p->plan);
    bpt_graph_destroy(p->graph);
    bpt_free(p->states);
    bpt_free(p);
}

bpt_plan_summary_t bpt_program_summary(const bpt_program_t *p) { return p->plan->summary; }

bpt_status_t bpt_program_write(bpt_program_t *p, bpt_value_t value, const void *data) {
    if (!present(value)) return BPT_OK;
    const bpt_operand_t o = locate(p, value);
    bpt_device_t *device = p->workspace->device;
    return device->backend->write(device, o.buffer, o.offset_bytes, data, value_bytes(p->graph, value));
}

bpt_status_t bpt_program_read(bpt_program_t *p, bpt_value_t value, void *data) {
    if (!present(value)) return BPT_OK;
    const bpt_operand_t o = locate(p, value);
    if (!o.buffer) return bpt_fail(BPT_ERR_INTERNAL, "value '%s' was removed from the program: keep it", value_info(p->graph, value)->name);
    bpt_device_t *device = p->workspace->device;
    return device->backend->read(device, o.buffer, o.offset_bytes, data, value_bytes(p->graph, value));
}

void bpt_program_on_exchange(bpt_program_t *p, bpt_exchange_fn_t exchange, void *user) {
    p->exchange = exchange;
    p->exchange_user = user;
}

// Room on the host for the rows of any exchange of the program.
static bpt_status_t need_room(bpt_program_t *p) {
    const bpt_graph_t *g = p->graph;
    size_t give = 0, take = 0;
    if (p->give) return BPT_OK;
    for (size_t i = 0; i + 1 < p->n_segments; ++i) {
        const bpt_node_t *node = &g->nodes[p->segments[i].end];
        if (value_bytes(g, node->in[0]) > give) give = value_bytes(g, node->in[0]);
        if (value_bytes(g, node->out[0]) > take) take = value_bytes(g, node->out[0]);
    }
    BPT_TRY(bpt_alloc_aligned(take, &p->take));
    return bpt_alloc_aligned(give, &p->give);
}

static bpt_status_t exchange(bpt_program_t *p, const bpt_node_t *node) {
    const bpt_graph_t *g = p->graph;
    const size_t row_bytes = (size_t)value_columns(g, node->in[0]) * bpt_dtype_size(value_info(g, node->in[0])->dtype);
    GRAPH_EXPECT(p->exchange, "the program exchanges rows, and nobody has said how");
    BPT_TRY(need_room(p));
    BPT_TRY(bpt_program_read(p, node->in[0], p->give));
    BPT_TRY(p->exchange(p->exchange_user, node->attrs.exchange.back, row_bytes, p->give, p->take));
    return bpt_program_write(p, node->out[0], p->take);
}

bpt_status_t bpt_program_run(bpt_program_t *p) {
    bpt_device_t *device = p->workspace->device;
    if (p->generation != p->workspace->generation) BPT_TRY(record(p));
    for (size_t i = 0; i < p->n_segments; ++i) {
        const segment_t *s = &p->segments[i];
        bpt_ticket_t ticket;
        if (s->list) {
            BPT_TRY(device->backend->submit(device, s->list, &ticket));
            BPT_TRY(device->backend->wait(device, ticket, UINT64_MAX));
        }
        if (s->end == p->graph->n_nodes) break;
        const double start = bpt_clock_seconds();
        BPT_TRY(exchange(p, &p->graph->nodes[s->end]));
        p->host_seconds[i] = bpt_clock_seconds() - start;
    }
    return BPT_OK;
}

bpt_status_t bpt_program_time(bpt_program_t *p, bool on) {
    p->timed = on;
    for (size_t i = 0; i < p->n_segments; ++i)
        if (p->segments[i].list) BPT_TRY(p->workspace->device->backend->timings_enable(p->segments[i].list, on));
    return BPT_OK;
}

// Seconds of all nodes; *count stays behind the last one of which they are known.
static bpt_status_t read_seconds(const bpt_program_t *p, double *seconds, int *count) {
    for (size_t i = 0; i < p->n_segments; ++i) {
        const segment_t *s = &p->segments[i];
        int known = 0;
        if (s->list) BPT_TRY(p->workspace->device->backend->timings(s->list, seconds + s->first, (int)(s->end - s->first), &known));
        *count = (int)s->first + known;
        if (*count < (int)s->end) return BPT_OK;
        if (s->end < p->graph->n_nodes) seconds[(*count)++] = p->host_seconds[i];
    }
    return BPT_OK;
}

static void describe(const bpt_graph_t *g, const bpt_node_t *node, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int j = 0; j < 2 && used < size; ++j)
        if (present(node->in[j]))
            used += (size_t)snprintf(text + used, size - used, "%s[%lld,%lld]", used ? " " : "", (long long)value_rows(g, node->in[j]),
                                     (long long)value_columns(g, node->in[j]));
}

bpt_status_t bpt_program_timings(bpt_program_t *p, bpt_op_timing_t *timings, int capacity, int *count) {
    const bpt_graph_t *g = p->graph;
    double *seconds;
    BPT_TRY(bpt_alloc(g->n_nodes, sizeof *seconds, &seconds));
    const bpt_status_t status = read_seconds(p, seconds, count);
    for (int i = 0; status == BPT_OK && i < *count && i < capacity; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        timings[i] = (bpt_op_timing_t){.op = bpt_op_name(node->op), .seconds = seconds[i]};
        if (bpt_op_info(node->op)->flops) timings[i].flops = bpt_op_info(node->op)->flops(g, node);
        for (int j = 0; j < BPT_MAX_INPUTS; ++j) timings[i].bytes += present(node->in[j]) ? (double)value_bytes(g, node->in[j]) : 0;
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) timings[i].bytes += present(node->out[j]) ? (double)value_bytes(g, node->out[j]) : 0;
        describe(g, node, timings[i].detail, sizeof timings[i].detail);
    }
    bpt_free(seconds);
    return status;
}
