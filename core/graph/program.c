// Programs: a planned graph recorded into a device list and replayed (bpt/program.h).
#include <string.h>

#include "bpt/clock.h"
#include "bpt/spill.h"
#include "core/graph/plan.h"

struct bpt_workspace {
    bpt_device_t *device;
    bpt_buffer_t *buffer;
    size_t bytes;
    uint64_t generation;  // counts how often the buffer moved
};

// Nodes [begin, end), recorded; or one node that the host does, which has no list.
typedef struct {
    bpt_list_t *list;
    size_t begin, end;
    double seconds;  // of the host in the last run
} segment_t;

struct bpt_program {
    bpt_graph_t *graph;
    bpt_plan_t *plan;
    bpt_workspace_t *workspace;
    bpt_buffer_t *inputs;
    bpt_buffer_t **states;
    int n_states;
    segment_t *segments;  // run one after the other; one, but where marks or nodes of the host cut the program
    size_t n_segments;
    int32_t *last_write;  // [marks]: the node behind which a mark is final, -1 = none writes it
    uint64_t generation;  // of the workspace when the segments were recorded
    bpt_timing_t timed;
    bpt_exchange_fn_t exchange;
    void *exchange_user;
    void *give, *take;  // rows of an exchange on the host; made when first needed
    bpt_spill_t *spill;
    void *piece;  // of it, on the host
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

static bpt_op_call_t call_of(const bpt_program_t *p, size_t i) {
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
    return call;
}

static bpt_status_t record_node(bpt_program_t *p, size_t i, bpt_list_t *list) {
    const bpt_backend_t *backend = p->workspace->device->backend;
    const bpt_op_call_t call = call_of(p, i);
    if (p->plan->barrier_before[i]) BPT_TRY(backend->list_barrier(list));
    return backend->op(p->workspace->device, &call, list, NULL);
}

static bool by_host(const bpt_program_t *p, size_t node) { return bpt_op_info(p->graph->nodes[node].op)->by_host; }

static void drop_lists(bpt_program_t *p) {
    bpt_device_t *device = p->workspace->device;
    for (size_t s = 0; s < p->n_segments; ++s) {
        device->backend->list_destroy(device, p->segments[s].list);
        p->segments[s].list = NULL;
    }
}

static bpt_status_t record(bpt_program_t *p) {
    bpt_device_t *device = p->workspace->device;
    const bpt_backend_t *backend = device->backend;
    drop_lists(p);
    BPT_TRY(grow(p->workspace, p->plan->summary.workspace_bytes));
    for (size_t s = 0; s < p->n_segments; ++s) {
        segment_t *segment = &p->segments[s];
        if (segment->begin < segment->end && by_host(p, segment->begin)) continue;
        BPT_TRY(backend->list_create(device, &segment->list));
        for (size_t i = segment->begin; i < segment->end; ++i) BPT_TRY(record_node(p, i, segment->list));
        BPT_TRY(backend->list_seal(segment->list));
        BPT_TRY(backend->timings_enable(segment->list, p->timed));
    }
    p->generation = p->workspace->generation;
    return BPT_OK;
}

static bool is_last_write(const bpt_program_t *p, size_t node) {
    for (size_t m = 0; m < p->graph->n_marks; ++m)
        if (p->last_write[m] == (int32_t)node) return true;
    return false;
}

// Segments end behind the last write of a mark, on both sides of a node of the host, and with the program.
static bpt_status_t cut(bpt_program_t *p) {
    const bpt_graph_t *g = p->graph;
    BPT_TRY(bpt_alloc(g->n_marks, sizeof *p->last_write, &p->last_write));
    size_t most = g->n_marks + 1;
    for (size_t i = 0; i < g->n_nodes; ++i) most += by_host(p, i) ? 2 : 0;
    BPT_TRY(bpt_alloc(most, sizeof *p->segments, &p->segments));
    for (size_t m = 0; m < g->n_marks; ++m) {
        p->last_write[m] = -1;
        for (size_t i = 0; i < g->n_nodes; ++i)
            if (bpt_node_writes(g, &g->nodes[i], g->marks[m])) p->last_write[m] = (int32_t)i;
    }
    size_t begin = 0;
    for (size_t i = 0; i < g->n_nodes; ++i) {
        if (i + 1 < g->n_nodes && !is_last_write(p, i) && !by_host(p, i) && !by_host(p, i + 1)) continue;
        p->segments[p->n_segments++] = (segment_t){.begin = begin, .end = i + 1};
        begin = i + 1;
    }
    if (!g->n_nodes) p->n_segments = 1;
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
        if (bpt_op_info(g->nodes[i].op)->by_host) continue;
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
    drop_lists(p);
    device->backend->buffer_destroy(device, p->inputs);
    bpt_plan_destroy(p->plan);
    bpt_graph_destroy(p->graph);
    bpt_free(p->segments);
    bpt_free(p->last_write);
    bpt_free_aligned(p->give);
    bpt_free_aligned(p->piece);
    bpt_free_aligned(p->take);
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

const void *bpt_program_view(const bpt_program_t *p, bpt_value_t value) {
    const bpt_backend_t *backend = p->workspace->device->backend;
    const bpt_operand_t o = present(value) ? locate(p, value) : (bpt_operand_t){0};
    return o.buffer && backend->address ? backend->address(o.buffer) + o.offset_bytes : NULL;
}

int bpt_program_segments(const bpt_program_t *p) { return (int)p->n_segments; }

void bpt_program_on_exchange(bpt_program_t *p, bpt_exchange_fn_t exchange, void *user) {
    p->exchange = exchange;
    p->exchange_user = user;
}

// Room on the host for the rows of any exchange of the program.
static bpt_status_t need_room(bpt_program_t *p) {
    const bpt_graph_t *g = p->graph;
    size_t give = 0, take = 0;
    if (p->give) return BPT_OK;
    for (size_t i = 0; i < g->n_nodes; ++i) {
        if (g->nodes[i].op != BPT_OP_EXCHANGE) continue;
        if (value_bytes(g, g->nodes[i].in[0]) > give) give = value_bytes(g, g->nodes[i].in[0]);
        if (value_bytes(g, g->nodes[i].out[0]) > take) take = value_bytes(g, g->nodes[i].out[0]);
    }
    if (!p->take) BPT_TRY(bpt_alloc_aligned(take, &p->take));
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

// Where a value waits on disk.
static size_t spilled_end(const bpt_program_t *p, const bpt_node_t *node) {
    const bpt_value_t v = node->op == BPT_OP_STASH ? node->in[0] : node->out[0];
    return (size_t)node->attrs.stash.offset + value_bytes(p->graph, v);
}

bpt_status_t bpt_program_on_offload(bpt_program_t *p, bpt_spill_t *spill) {
    size_t bytes = 0;
    for (size_t i = 0; i < p->graph->n_nodes; ++i)
        if (p->graph->nodes[i].op == BPT_OP_STASH && spilled_end(p, &p->graph->nodes[i]) > bytes)
            bytes = spilled_end(p, &p->graph->nodes[i]);
    p->spill = spill;
    return bytes ? bpt_spill_reserve(spill, bytes) : BPT_OK;
}

// Moves a value between the device and the disk, piece by piece.
static bpt_status_t move_pieces(bpt_program_t *p, const bpt_node_t *node) {
    bpt_device_t *device = p->workspace->device;
    const bool out = node->op == BPT_OP_STASH;
    const bpt_operand_t o = locate(p, out ? node->in[0] : node->out[0]);
    const size_t begin = (size_t)node->attrs.stash.offset, end = spilled_end(p, node);
    for (size_t at = begin; at < end; at += BPT_SPILL_PIECE) {
        const size_t length = end - at < BPT_SPILL_PIECE ? end - at : BPT_SPILL_PIECE, offset = o.offset_bytes + at - begin;
        if (out) BPT_TRY(device->backend->read(device, o.buffer, offset, p->piece, length));
        BPT_TRY(out ? bpt_spill_write(p->spill, at, p->piece, length) : bpt_spill_read(p->spill, at, p->piece, length));
        if (!out) BPT_TRY(device->backend->write(device, o.buffer, offset, p->piece, length));
    }
    return BPT_OK;
}

// What is fetched next after node `i` is read ahead.
static void look_ahead(const bpt_program_t *p, size_t i) {
    const bpt_graph_t *g = p->graph;
    while (++i < g->n_nodes)
        if (g->nodes[i].op == BPT_OP_STASH)
            return;  // not written yet
        else if (g->nodes[i].op == BPT_OP_FETCH) {
            const size_t begin = (size_t)g->nodes[i].attrs.stash.offset;
            bpt_spill_read_ahead(p->spill, begin, spilled_end(p, &g->nodes[i]) - begin);
            return;
        }
}

static bpt_status_t offload(bpt_program_t *p, size_t i) {
    GRAPH_EXPECT(p->spill, "the program has values that wait on disk, and nobody has said where");
    if (!p->piece) BPT_TRY(bpt_alloc_aligned(BPT_SPILL_PIECE, &p->piece));
    BPT_TRY(move_pieces(p, &p->graph->nodes[i]));
    look_ahead(p, i);
    return BPT_OK;
}

static bpt_status_t run_by_host(bpt_program_t *p, size_t i) {
    const bpt_node_t *node = &p->graph->nodes[i];
    return node->op == BPT_OP_EXCHANGE ? exchange(p, node) : offload(p, i);
}

// Submits a segment, or does what is the host's. *ticket: of what the device has been given.
static bpt_status_t run_segment(bpt_program_t *p, segment_t *s, bpt_ticket_t *ticket) {
    bpt_device_t *device = p->workspace->device;
    if (s->list) return device->backend->submit(device, s->list, ticket);
    if (s > p->segments) BPT_TRY(device->backend->wait(device, *ticket, UINT64_MAX));
    const double start = bpt_clock_seconds();
    const bpt_status_t status = run_by_host(p, s->begin);
    s->seconds = bpt_clock_seconds() - start;
    return status;
}

bpt_status_t bpt_program_run(bpt_program_t *p) {
    bpt_device_t *device = p->workspace->device;
    bpt_ticket_t ticket = 0;
    if (p->generation != p->workspace->generation) BPT_TRY(record(p));
    for (size_t s = 0; s < p->n_segments; ++s) BPT_TRY(run_segment(p, &p->segments[s], &ticket));
    return device->backend->wait(device, ticket, UINT64_MAX);
}

bpt_status_t bpt_program_run_marked(bpt_program_t *p, bpt_status_t (*final)(void *user, int mark), void *user) {
    bpt_device_t *device = p->workspace->device;
    bpt_ticket_t ticket = 0;
    if (p->generation != p->workspace->generation) BPT_TRY(record(p));
    for (size_t s = 0; s < p->n_segments; ++s) {
        segment_t *segment = &p->segments[s];
        BPT_TRY(run_segment(p, segment, &ticket));
        BPT_TRY(device->backend->wait(device, ticket, UINT64_MAX));
        for (size_t m = 0; m < p->graph->n_marks; ++m) {
            const int32_t last = p->last_write[m];
            if (last < 0 ? s == 0 : last + 1 == (int32_t)segment->end) BPT_TRY(final(user, (int)m));
        }
    }
    return BPT_OK;
}

bpt_status_t bpt_program_time(bpt_program_t *p, bpt_timing_t what) {
    p->timed = what;
    for (size_t s = 0; s < p->n_segments; ++s)
        if (p->segments[s].list) BPT_TRY(p->workspace->device->backend->timings_enable(p->segments[s].list, what));
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

static bpt_status_t read_timings(bpt_program_t *p, double *seconds, int *count) {
    *count = 0;
    for (size_t s = 0; s < p->n_segments; ++s) {
        int of_segment = 0;
        if (!p->segments[s].list) {
            seconds[(*count)++] = p->segments[s].seconds;
            continue;
        }
        BPT_TRY(
            p->workspace->device->backend->timings(p->segments[s].list, seconds + *count, (int)p->graph->n_nodes - *count, &of_segment));
        *count += of_segment;
    }
    return BPT_OK;
}

bpt_status_t bpt_program_timings(bpt_program_t *p, bpt_op_timing_t *timings, int capacity, int *count) {
    const bpt_graph_t *g = p->graph;
    double *seconds;
    BPT_TRY(bpt_alloc(g->n_nodes, sizeof *seconds, &seconds));
    const bpt_status_t status = read_timings(p, seconds, count);
    for (int i = 0; status == BPT_OK && i < *count && i < capacity; ++i) {
        const bpt_node_t *node = &g->nodes[i];
        timings[i] = (bpt_op_timing_t){.op = bpt_op_name(node->op), .seconds = seconds[i]};
        if (bpt_op_info(node->op)->flops) timings[i].flops = bpt_op_info(node->op)->flops(g, node);
        timings[i].bytes = bpt_node_bytes(g, node);
        describe(g, node, timings[i].detail, sizeof timings[i].detail);
    }
    bpt_free(seconds);
    return status;
}

static bpt_status_t segment_events(const bpt_program_t *p, const segment_t *s, bpt_list_event_t *events, int capacity, int *count) {
    if (s->list) return p->workspace->device->backend->events(s->list, events, capacity, count);
    if (capacity > 0) *events = (bpt_list_event_t){.seconds = s->seconds};
    *count = 1;
    return BPT_OK;
}

bpt_status_t bpt_program_events(bpt_program_t *p, bpt_list_event_t *events, int capacity, int *count) {
    double origin = 0;
    *count = 0;
    for (size_t s = 0; s < p->n_segments; ++s) {
        const int room = *count < capacity ? capacity - *count : 0;
        bpt_list_event_t *const first = room ? events + *count : NULL;
        double end = origin;
        int of_segment = 0;
        BPT_TRY(segment_events(p, &p->segments[s], first, room, &of_segment));
        for (int i = 0; i < of_segment && i < room; ++i) {
            first[i].op += (int)p->segments[s].begin;
            first[i].begin += origin;
            end = first[i].begin + first[i].seconds;
        }
        origin = end;
        *count += of_segment;
    }
    return BPT_OK;
}

// ---- Lines

int bpt_program_ops(const bpt_program_t *p) { return (int)p->graph->n_nodes; }

static bpt_status_t measure_table(const bpt_program_t *p, const bpt_operand_t *table, bpt_op_line_t *line) {
    const bpt_device_t *device = p->workspace->device;
    const size_t count = (size_t)bpt_shape_count(&table->shape);
    uint32_t *words;
    BPT_TRY(bpt_alloc(count, sizeof *words, &words));
    const bpt_status_t status =
        device->backend->read(p->workspace->device, table->buffer, table->offset_bytes, words, count * sizeof *words);
    if (status == BPT_OK) bpt_line_measure(line, words);
    bpt_free(words);
    return status;
}

bpt_status_t bpt_program_line(bpt_program_t *p, int op, bpt_op_line_t *line, bool *has) {
    *has = !by_host(p, (size_t)op);
    *line = (bpt_op_line_t){.call.op = p->graph->nodes[op].op};
    if (!*has) return BPT_OK;
    const bpt_op_call_t call = call_of(p, (size_t)op);
    *line = bpt_line_of(&call);
    const int table = bpt_line_table(line);
    return table >= 0 ? measure_table(p, &call.in[table], line) : BPT_OK;
}
