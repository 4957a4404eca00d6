// Recorded work: dispatches as data, cut into submissions that stay within the device's time budget, replayed; what they really took
// corrects the estimates. Every submission ends by counting up the canary, so that a driver that drops work is found out.
//
// The states of a list, and the functions that lead from one to the other:
//
//     bpt_gpu_list_create
//             |
//             v       bpt_gpu_list_seal: encode           bpt_gpu_submit
//       +-----------+ --------------------> +---------+ ------------------> +-----------+ --+ bpt_gpu_submit: once more, behind
//       | RECORDING |                       | ENCODED |                     | SUBMITTED | <-+ what runs
//       +-----------+                       +---------+ <------------------ +-----------+
//        |         ^                          |     ^    bpt_gpu_wait for the
//        +---------+                          |     |    last ticket: check_canary,
//        append (_op, _barrier,               v     |    calibrate
//        _dispatch, _product)               +---------+
//                                           |  STALE  |  bpt_gpu_submit: waits until nothing runs, then encode
//                                           +---------+
//
// RECORDING  entries are appended; there are no segments. Nothing else is allowed.
// ENCODED    the entries are final, and the segments hold them, cut by the slowdown that the device had then.
// STALE      as ENCODED, but the device has another slowdown since (calibrate, of any list) or timings were switched
//            (bpt_gpu_timings_enable). No flag says so: bpt_gpu_submit compares.
// SUBMITTED  the device has all segments, in order; last_ticket is that of the newest one, of any list.
//
// What holds of the device: it is idle where last_ticket is 0; then canary_expected segments have counted up the canary, or the device was
// lost. Segments are made anew or destroyed only while it is idle. `running` is the list that was submitted last, which calibrate measures.

#include <math.h>
#include <string.h>

#include "backends/gpu/device.h"
#include "backends/gpu/list.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"

typedef enum { ENTRY_DISPATCH, ENTRY_PRODUCT, ENTRY_BARRIER, ENTRY_OP } entry_kind_t;

typedef struct {
    entry_kind_t kind;
    union {
        bpt_gpu_dispatch_t dispatch;
        bpt_gpu_product_t product;
    };
    int64_t groups;  // of a dispatch, pieces of a product
    int64_t rows;    // of a piece
    double seconds;  // estimated, of all groups
} entry_t;

// What goes on from a mark to the next one.
typedef struct {
    int op;              // -1: nothing of an op
    const char *kernel;  // NULL: not noted
} span_t;

struct bpt_list {
    bpt_gpu_device_t *device;
    entry_t *entries;
    size_t n_entries, entries_capacity;
    size_t n_ops;
    bpt_gpu_commands_t **segments;
    double *estimates;  // seconds of each segment
    size_t n_segments, segments_capacity, estimates_capacity;
    bool sealed;
    bpt_timing_t timed, encoded_timed;
    double slowdown;  // with which it was encoded
    span_t *spans;    // behind each mark of all segments
    size_t n_spans, spans_capacity;
    double *op_seconds, *marks;  // marks: of a segment, as many as there are spans
};

bpt_status_t bpt_gpu_list_create(bpt_device_t *device, bpt_list_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->device = (bpt_gpu_device_t *)device;
    return BPT_OK;
}

static void drop_segments(bpt_list_t *list) {
    bpt_gpu_api_t *api = list->device->api;
    for (size_t i = 0; i < list->n_segments; ++i) api->driver->commands_destroy(api, list->segments[i]);
    list->n_segments = list->n_spans = 0;
    bpt_free(list->marks);
    list->marks = NULL;
}

void bpt_gpu_list_destroy(bpt_device_t *device, bpt_list_t *list) {
    if (!list) return;
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    (void)bpt_gpu_wait(device, g->last_ticket, UINT64_MAX);
    drop_segments(list);
    bpt_free(list->entries);
    bpt_free(list->segments);
    bpt_free(list->estimates);
    bpt_free(list->spans);
    bpt_free(list->op_seconds);
    bpt_free(list->marks);
    bpt_free(list);
}

static bpt_status_t append(bpt_list_t *list, entry_kind_t kind, entry_t **out) {
    if (list->sealed) return bpt_fail(BPT_ERR_INTERNAL, "recording into a sealed list");
    BPT_TRY(bpt_grow(&list->entries, list->n_entries, &list->entries_capacity, sizeof *list->entries));
    *out = &list->entries[list->n_entries++];
    **out = (entry_t){.kind = kind};
    return BPT_OK;
}

bpt_status_t bpt_gpu_list_op(bpt_list_t *list) {
    entry_t *entry = NULL;
    list->n_ops++;
    return append(list, ENTRY_OP, &entry);
}

bpt_status_t bpt_gpu_list_barrier(bpt_list_t *list) {
    entry_t *entry = NULL;
    if (list->n_entries && list->entries[list->n_entries - 1].kind == ENTRY_BARRIER) return BPT_OK;
    return append(list, ENTRY_BARRIER, &entry);
}

bpt_status_t bpt_gpu_list_dispatch(bpt_list_t *list, const bpt_gpu_dispatch_t *dispatch, int64_t groups, double seconds) {
    entry_t *entry = NULL;
    if (groups > UINT32_MAX)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "a dispatch of %lld work-groups; kernels count to 2^32", (long long)groups);
    BPT_TRY(append(list, ENTRY_DISPATCH, &entry));
    entry->dispatch = *dispatch;
    entry->groups = groups;
    entry->seconds = seconds;
    return BPT_OK;
}

bpt_status_t bpt_gpu_list_product(bpt_list_t *list, const bpt_gpu_product_t *product, int64_t rows, double seconds) {
    entry_t *entry = NULL;
    BPT_TRY(append(list, ENTRY_PRODUCT, &entry));
    entry->product = *product;
    entry->groups = bpt_ceil_div(product->m, rows);
    entry->rows = rows;
    entry->seconds = seconds;
    return BPT_OK;
}

// ---- Encoding --------------------------------------------------------------------------------------------------------

typedef struct {
    bpt_list_t *list;
    bpt_gpu_commands_t *commands;
    double seconds;  // estimated, of the open segment
    span_t now;      // what the next dispatch belongs to
} encoder_t;

static bpt_status_t mark(encoder_t *e, span_t behind) {
    bpt_list_t *list = e->list;
    BPT_TRY(bpt_grow(&list->spans, list->n_spans, &list->spans_capacity, sizeof *list->spans));
    list->spans[list->n_spans++] = behind;
    return list->device->api->driver->mark(e->commands);
}

static bpt_status_t open_segment(encoder_t *e) {
    bpt_list_t *list = e->list;
    bpt_gpu_api_t *api = list->device->api;
    BPT_TRY(bpt_grow(&list->segments, list->n_segments, &list->segments_capacity, sizeof(bpt_gpu_commands_t *)));
    BPT_TRY(bpt_grow(&list->estimates, list->n_segments, &list->estimates_capacity, sizeof(double)));
    BPT_TRY(api->driver->commands_create(api, &e->commands));
    list->segments[list->n_segments++] = e->commands;
    e->seconds = 0;
    return mark(e, e->now);
}

static bpt_status_t close_segment(encoder_t *e) {
    bpt_list_t *list = e->list;
    const bpt_gpu_driver_t *driver = list->device->api->driver;
    bpt_gpu_dispatch_t canary = {.groups = {1, 1, 1}, .params_bytes = bpt_gpu_kernels[BPT_GPU_canary].params_bytes};
    const bpt_gpu_variant_t variant = {.kernel = BPT_GPU_canary, .group_size = 1};
    list->estimates[list->n_segments - 1] = e->seconds;
    BPT_TRY(mark(e, (span_t){.op = -1}));
    BPT_TRY(driver->barrier(e->commands));
    BPT_TRY(bpt_gpu_program(list->device, &variant, &canary.program));
    canary.bindings[canary_counter] = (bpt_gpu_binding_t){list->device->canary, 0, sizeof(uint32_t)};
    BPT_TRY(driver->dispatch(e->commands, &canary));
    const bpt_status_t status = driver->finish(e->commands);
    e->commands = NULL;
    return status;
}

// One exact box of groups. The boxes of a dispatch write other elements of one binding; a driver and its validation see the binding only,
// hence a barrier between them.
static bpt_status_t dispatch_box(encoder_t *e, bpt_gpu_dispatch_t *d, bool another, int64_t first, uint32_t x, uint32_t y, uint32_t z) {
    const uint32_t first_group = (uint32_t)first;
    if (another) BPT_TRY(e->list->device->api->driver->barrier(e->commands));
    memcpy(d->params, &first_group, sizeof first_group);
    d->groups[0] = x, d->groups[1] = y, d->groups[2] = z;
    return e->list->device->api->driver->dispatch(e->commands, d);
}

// Groups first .. first + count - 1 as boxes that hold these and no others, so that kernels need not ask.
static bpt_status_t dispatch_folded(encoder_t *e, bpt_gpu_dispatch_t *d, int64_t first, int64_t count) {
    const uint32_t *most = e->list->device->api->limits.max_groups;
    const int64_t row = most[0], plane = row * most[1], begin = first;
    while (count >= plane) {
        const int64_t z = count / plane < most[2] ? count / plane : most[2];
        BPT_TRY(dispatch_box(e, d, first > begin, first, most[0], most[1], (uint32_t)z));
        first += z * plane, count -= z * plane;
    }
    if (count >= row) {
        const int64_t y = count / row;
        BPT_TRY(dispatch_box(e, d, first > begin, first, most[0], (uint32_t)y, 1));
        first += y * row, count -= y * row;
    }
    return count ? dispatch_box(e, d, first > begin, first, (uint32_t)count, 1, 1) : BPT_OK;
}

// Pieces first .. first + count - 1 of a product. They share its scratch, hence the barriers.
static bpt_status_t multiply_pieces(encoder_t *e, const entry_t *entry, int64_t first, int64_t count) {
    const bpt_gpu_driver_t *driver = e->list->device->api->driver;
    for (int64_t i = first; i < first + count; ++i) {
        const int64_t row = i * entry->rows;
        bpt_gpu_product_t piece = entry->product;
        piece.m = (uint32_t)bpt_min(entry->rows, entry->product.m - row);
        piece.a.offset_bytes += (size_t)(piece.transpose_a ? row : row * piece.lda) * bpt_dtype_size(piece.operands);
        piece.c.offset_bytes += (size_t)(row * piece.ldc) * bpt_dtype_size(piece.result);
        piece.mask.offset_bytes += (size_t)(row * piece.ldmask) / 8;
        if (i > first) BPT_TRY(driver->barrier(e->commands));
        BPT_TRY(driver->product(e->commands, &piece));
    }
    return BPT_OK;
}

// A dispatch that does not fit into what is left of the open segment goes into new ones, piece by piece.
static bpt_status_t encode_groups(encoder_t *e, entry_t *entry) {
    const double budget = e->list->device->budget_s, each = entry->seconds * e->list->slowdown / (double)entry->groups;
    for (int64_t first = 0; first < entry->groups;) {
        int64_t count = entry->groups - first;
        const double left = budget - e->seconds;
        if ((double)count * each > left) {
            const int64_t room = left > 0 ? (int64_t)(left / each) : 0;
            const bool fresh = e->seconds <= 0;
            if (!fresh && (room < 1 || (double)count * each <= budget)) {  // nothing fits here, or all of it into the next one
                BPT_TRY(close_segment(e));
                BPT_TRY(open_segment(e));
                continue;
            }
            count = room > 1 ? room : 1;
        }
        BPT_TRY(entry->kind == ENTRY_PRODUCT ? multiply_pieces(e, entry, first, count)
                                             : dispatch_folded(e, &entry->dispatch, first, count));
        e->seconds += (double)count * each;
        first += count;
    }
    return BPT_OK;
}

static const char *kernel_of(const entry_t *entry, const bpt_gpu_device_t *device) {
    return entry->kind == ENTRY_PRODUCT ? "library product" : bpt_gpu_program_name(device, entry->dispatch.program);
}

// Marks where ops begin, and where their kernels do.
static bpt_status_t mark_entry(encoder_t *e, const entry_t *entry) {
    const bpt_list_t *list = e->list;
    const bool work = entry->kind == ENTRY_DISPATCH || entry->kind == ENTRY_PRODUCT;
    if (entry->kind == ENTRY_OP) e->now = (span_t){.op = e->now.op + 1};
    if (work && list->timed == BPT_TIMING_KERNELS) e->now.kernel = kernel_of(entry, list->device);
    return list->timed && (entry->kind == ENTRY_OP || (work && list->timed == BPT_TIMING_KERNELS)) ? mark(e, e->now) : BPT_OK;
}

static bpt_status_t encode(bpt_list_t *list) {
    encoder_t e = {.list = list, .now = {.op = -1}};
    drop_segments(list);
    list->slowdown = list->device->slowdown;
    list->encoded_timed = list->timed;
    BPT_TRY(open_segment(&e));
    for (size_t i = 0; i < list->n_entries; ++i) {
        entry_t *entry = &list->entries[i];
        BPT_TRY(mark_entry(&e, entry));
        if (entry->kind == ENTRY_DISPATCH || entry->kind == ENTRY_PRODUCT) BPT_TRY(encode_groups(&e, entry));
        if (entry->kind == ENTRY_BARRIER) BPT_TRY(list->device->api->driver->barrier(e.commands));
    }
    return close_segment(&e);
}

bpt_status_t bpt_gpu_list_seal(bpt_list_t *list) {
    if (list->sealed) return BPT_OK;
    list->sealed = true;
    return encode(list);
}

// ---- Submission ------------------------------------------------------------------------------------------------------

bpt_status_t bpt_gpu_submit(bpt_device_t *device, bpt_list_t *list, bpt_ticket_t *ticket) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    if (!list->sealed) return bpt_fail(BPT_ERR_INTERNAL, "submitting a list that is not sealed");
    if (list->timed != list->encoded_timed || g->slowdown != list->slowdown) {
        BPT_TRY(bpt_gpu_wait(device, g->last_ticket, UINT64_MAX));
        BPT_TRY(encode(list));
    }
    for (size_t i = 0; i < list->n_segments; ++i) {
        BPT_TRY(g->api->driver->submit(g->api, list->segments[i], &g->last_ticket));
        g->canary_expected++;
    }
    g->running = list;
    if (ticket) *ticket = g->last_ticket;
    return BPT_OK;
}

// Holds the estimates against what the submissions took: too long ones are cut finer from now on, needlessly short ones coarser.
static bpt_status_t calibrate(bpt_gpu_device_t *g, bpt_list_t *list) {
    const int most = (int)list->n_spans;
    double longest = 0, ratio = 0;
    if (!list->marks) BPT_TRY(bpt_alloc(list->n_spans, sizeof *list->marks, &list->marks));
    for (size_t s = 0; s < list->n_segments; ++s) {
        int count = 0;
        BPT_TRY(g->api->driver->marks(list->segments[s], list->marks, most, &count));
        const double took = list->marks[count - 1] - list->marks[0];
        longest = fmax(longest, took);
        if (list->estimates[s] > 0) ratio = fmax(ratio, took / list->estimates[s]);
    }
    const bool long_ones = longest > 1.5 * g->budget_s, short_ones = list->n_segments > 1 && longest < 0.25 * g->budget_s;
    if ((long_ones || short_ones) && ratio > 0) g->slowdown = fmin(fmax(g->slowdown * ratio, 1e-4), 1e4);
    return BPT_OK;
}

static bpt_status_t check_canary(bpt_gpu_device_t *g) {
    uint32_t seen = 0;
    BPT_TRY(g->api->driver->read(g->api, g->canary, 0, &seen, sizeof seen));
    if (seen == g->canary_expected) {
        g->ran = true;
        return BPT_OK;
    }
    if (!g->ran && (!seen || seen > g->canary_expected))
        return bpt_fail(
            BPT_ERR_UNAVAILABLE,
            "device '%s' runs nothing: its driver reported success, but none of its submissions (%u so far) left a trace. Is it a "
            "device without hardware, which only compiles (`bpt doctor --compile`)?",
            g->base.info.name, g->canary_expected);
    if (seen > g->canary_expected)
        return bpt_fail(BPT_ERR_DEVICE_LOST,
                        "device '%s' has other memory than was written: %u submissions were counted as %u (the driver was probably reset)",
                        g->base.info.name, g->canary_expected, seen);
    return bpt_fail(BPT_ERR_DEVICE_LOST,
                    "device '%s' reported success, but %u of %u submissions did not run to their end (the driver was probably reset)",
                    g->base.info.name, g->canary_expected - seen, g->canary_expected);
}

// Submission by submission: patience is for one of them, as the list of a slow device may take minutes.
static bpt_status_t wait_in_turn(bpt_gpu_device_t *g, uint64_t ticket, uint64_t timeout_ns) {
    const uint64_t most = (uint64_t)(g->wait_s * 1e9);
    const double start = bpt_clock_seconds();
    while (g->waited_ticket < ticket) {
        const double passed = (bpt_clock_seconds() - start) * 1e9, left = fmax((double)timeout_ns - passed, 0);
        BPT_TRY(g->api->driver->wait(g->api, g->waited_ticket + 1, left < (double)most ? (uint64_t)left : most));
        g->waited_ticket++;
    }
    return BPT_OK;
}

bpt_status_t bpt_gpu_wait(bpt_device_t *device, bpt_ticket_t ticket, uint64_t timeout_ns) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    if (!ticket) return BPT_OK;
    BPT_TRY(bpt_context(wait_in_turn(g, ticket, timeout_ns), "device '%s'", device->info.name));
    if (ticket != g->last_ticket) return BPT_OK;
    g->last_ticket = 0;  // idle
    BPT_TRY(check_canary(g));
    bpt_list_t *list = g->running;
    g->running = NULL;
    return list && isfinite(g->budget_s) ? calibrate(g, list) : BPT_OK;
}

// ---- Timings ---------------------------------------------------------------------------------------------------------

bpt_status_t bpt_gpu_timings_enable(bpt_list_t *list, bpt_timing_t what) {
    list->timed = what;
    return BPT_OK;
}

// Calls `see` with each span between two marks, of a list whose segments follow each other without a gap. An op, or a kernel, may run on
// into the next segments, whose first span is its own again.
static bpt_status_t each_span(bpt_list_t *list, void (*see)(void *user, const span_t *span, double begin, double end), void *user) {
    const bpt_gpu_driver_t *driver = list->device->api->driver;
    const span_t *span = list->spans;
    double origin = 0;
    if (!list->encoded_timed) return bpt_fail(BPT_ERR_INTERNAL, "timings of a list that was not timed");
    if (!list->marks) BPT_TRY(bpt_alloc(list->n_spans, sizeof *list->marks, &list->marks));
    for (size_t s = 0; s < list->n_segments; ++s) {
        int count = 0;
        BPT_TRY(driver->marks(list->segments[s], list->marks, (int)list->n_spans, &count));
        for (int i = 0; i + 1 < count; ++i)
            see(user, &span[i], origin + list->marks[i] - list->marks[0], origin + list->marks[i + 1] - list->marks[0]);
        origin += list->marks[count - 1] - list->marks[0];
        span += count;
    }
    return BPT_OK;
}

static void add_seconds(void *user, const span_t *span, double begin, double end) {
    if (span->op >= 0) ((double *)user)[span->op] += end - begin;
}

bpt_status_t bpt_gpu_timings(bpt_list_t *list, double *seconds, int capacity, int *count) {
    if (!list->op_seconds) BPT_TRY(bpt_alloc(list->n_ops, sizeof *list->op_seconds, &list->op_seconds));
    memset(list->op_seconds, 0, list->n_ops * sizeof *list->op_seconds);
    BPT_TRY(each_span(list, add_seconds, list->op_seconds));
    *count = (int)list->n_ops;
    for (int i = 0; i < *count && i < capacity; ++i) seconds[i] = list->op_seconds[i];
    return BPT_OK;
}

typedef struct {
    bpt_list_event_t *events;
    int capacity, count;
    bool kernels;
} events_t;

// Between the mark of an op and that of its first kernel nothing runs.
static void add_event(void *user, const span_t *span, double begin, double end) {
    events_t *e = user;
    if (span->op < 0 || (e->kernels && !span->kernel)) return;
    if (e->count < e->capacity)
        e->events[e->count] = (bpt_list_event_t){.op = span->op, .kernel = span->kernel, .begin = begin, .seconds = end - begin};
    e->count++;
}

bpt_status_t bpt_gpu_events(bpt_list_t *list, bpt_list_event_t *events, int capacity, int *count) {
    events_t e = {.events = events, .capacity = capacity, .kernels = list->encoded_timed == BPT_TIMING_KERNELS};
    BPT_TRY(each_span(list, add_event, &e));
    *count = e.count;
    return BPT_OK;
}
