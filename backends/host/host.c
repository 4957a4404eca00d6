// Buffers, lists and replay in host memory (see host.h).
#include "backends/host/host.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"

struct bpt_buffer {
    size_t bytes;
    char *data;
};

struct bpt_list {
    bpt_host_device_t *device;
    bpt_op_call_t *calls;
    bpt_host_run_t *runs;
    double *begin, *seconds;  // of each call in the last run, `begin` from where the run began
    size_t count, capacity;
    bool sealed, timed;
};

// By all threads: most of the time is the system's, which finds a page at its first touch.
static const size_t CLEARED = (size_t)16 << 20;  // bytes at a time

static void clear_piece(const void *context, int64_t i, int thread) {
    (void)thread;
    const bpt_buffer_t *buffer = context;
    const size_t first = (size_t)i * CLEARED, left = buffer->bytes - first;
    memset(buffer->data + first, 0, left < CLEARED ? left : CLEARED);
}

bpt_status_t bpt_host_open(const bpt_backend_t *backend, const bpt_host_op_t *const *ops, int threads, bpt_device_t **out) {
    bpt_host_device_t *host;
    BPT_TRY(bpt_alloc(1, sizeof *host, &host));
    const bpt_status_t status = bpt_team_create(threads, &host->team);
    if (status != BPT_OK) {
        bpt_free(host);
        return status;
    }
    host->base.backend = backend;
    host->ops = ops;
    *out = &host->base;
    return BPT_OK;
}

void bpt_host_close(bpt_device_t *device) {
    if (!device) return;
    bpt_team_destroy(((bpt_host_device_t *)device)->team);
    bpt_free(device);
}

bpt_status_t bpt_host_buffer_create(bpt_device_t *device, size_t bytes, bpt_buffer_t **out) {
    bpt_host_device_t *host = (bpt_host_device_t *)device;
    bpt_buffer_t *buffer;
    BPT_TRY(bpt_alloc(1, sizeof *buffer, &buffer));
    const bpt_status_t status = bpt_alloc_aligned(bytes, &buffer->data);
    if (status != BPT_OK) {
        bpt_free(buffer);
        return status;
    }
    buffer->bytes = bytes;
    bpt_team_for(host->team, (int64_t)((bytes + CLEARED - 1) / CLEARED), clear_piece, buffer);
    host->live_bytes += bytes;
    if (host->live_bytes > host->peak_bytes) host->peak_bytes = host->live_bytes;
    *out = buffer;
    return BPT_OK;
}

void bpt_host_buffer_destroy(bpt_device_t *device, bpt_buffer_t *buffer) {
    if (!buffer) return;
    ((bpt_host_device_t *)device)->live_bytes -= buffer->bytes;
    bpt_free_aligned(buffer->data);
    bpt_free(buffer);
}

static bpt_status_t check_range(const bpt_buffer_t *buffer, size_t offset, size_t bytes) {
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return bpt_fail(BPT_ERR_INTERNAL, "access to bytes %zu..%zu of a buffer of %zu bytes", offset, offset + bytes, buffer->bytes);
    return BPT_OK;
}

bpt_status_t bpt_host_write(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, const void *source, size_t bytes) {
    (void)device;
    BPT_TRY(check_range(buffer, offset, bytes));
    if (bytes) memcpy(buffer->data + offset, source, bytes);
    return BPT_OK;
}

bpt_status_t bpt_host_read(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *target, size_t bytes) {
    (void)device;
    BPT_TRY(check_range(buffer, offset, bytes));
    if (bytes) memcpy(target, buffer->data + offset, bytes);
    return BPT_OK;
}

bpt_status_t bpt_host_list_create(bpt_device_t *device, bpt_list_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->device = (bpt_host_device_t *)device;
    return BPT_OK;
}

void bpt_host_list_destroy(bpt_device_t *device, bpt_list_t *list) {
    (void)device;
    if (!list) return;
    bpt_free(list->calls);
    bpt_free(list->runs);
    bpt_free(list->begin);
    bpt_free(list->seconds);
    bpt_free(list);
}

bpt_status_t bpt_host_op(bpt_device_t *device, const bpt_op_call_t *call, bpt_list_t *list, size_t *scratch_bytes) {
    bpt_host_device_t *host = (bpt_host_device_t *)device;
    BPT_TRY(bpt_call_check(call));
    const bpt_host_op_t *op = host->ops[call->op];
    size_t scratch = 0;
    if (op->plan) BPT_TRY(op->plan(call, bpt_team_threads(host->team), &scratch));
    if (scratch_bytes) *scratch_bytes = scratch;
    if (!list) return BPT_OK;
    if (list->sealed) return bpt_fail(BPT_ERR_INTERNAL, "recording into a sealed list");
    BPT_TRY(bpt_grow(&list->calls, list->count, &list->capacity, sizeof *list->calls));
    list->calls[list->count++] = *call;
    return BPT_OK;
}

bpt_status_t bpt_host_list_barrier(bpt_list_t *list) {
    (void)list;  // ops of one list run one after the other
    return BPT_OK;
}

static bpt_status_t resolve(const bpt_operand_t *operand, void **out) {
    *out = NULL;
    if (!operand->buffer) return BPT_OK;
    const size_t bytes = (size_t)bpt_shape_count(&operand->shape) * bpt_dtype_size(operand->dtype);
    BPT_TRY(check_range(operand->buffer, operand->offset_bytes, bytes));
    *out = operand->buffer->data + operand->offset_bytes;
    return BPT_OK;
}

// Where the scratch of an op that needs none points: kernels may compute addresses in it.
static _Alignas(64) char no_scratch[64];

bpt_status_t bpt_host_list_seal(bpt_list_t *list) {
    if (list->sealed) return BPT_OK;
    BPT_TRY(bpt_alloc(list->count, sizeof *list->runs, &list->runs));
    BPT_TRY(bpt_alloc(list->count, sizeof *list->begin, &list->begin));
    BPT_TRY(bpt_alloc(list->count, sizeof *list->seconds, &list->seconds));
    for (size_t i = 0; i < list->count; ++i) {
        const bpt_op_call_t *call = &list->calls[i];
        bpt_host_run_t *run = &list->runs[i];
        run->call = call;
        run->attrs = &call->attrs;
        run->team = list->device->team;
        for (int j = 0; j < BPT_MAX_INPUTS; ++j)
            BPT_TRY(bpt_context(resolve(&call->in[j], &run->in[j]), "%s input %d", bpt_op_name(call->op), j));
        for (int j = 0; j < BPT_MAX_OUTPUTS; ++j)
            BPT_TRY(bpt_context(resolve(&call->out[j], &run->out[j]), "%s output %d", bpt_op_name(call->op), j));
        BPT_TRY(bpt_context(resolve(&call->scratch, &run->scratch), "%s scratch", bpt_op_name(call->op)));
        if (!run->scratch) run->scratch = no_scratch;
    }
    list->sealed = true;
    return BPT_OK;
}

bpt_status_t bpt_host_submit(bpt_device_t *device, bpt_list_t *list, bpt_ticket_t *ticket) {
    if (!list->sealed) return bpt_fail(BPT_ERR_INTERNAL, "submitting a list that is not sealed");
    const bpt_host_op_t *const *ops = ((bpt_host_device_t *)device)->ops;
    const double first = list->timed ? bpt_clock_seconds() : 0;
    for (size_t i = 0; i < list->count; ++i) {
        const double start = list->timed ? bpt_clock_seconds() : 0;
        ops[list->calls[i].op]->run(&list->runs[i]);
        if (!list->timed) continue;
        list->begin[i] = start - first;
        list->seconds[i] = bpt_clock_seconds() - start;
    }
    if (ticket) *ticket = 1;
    return BPT_OK;
}

bpt_status_t bpt_host_wait(bpt_device_t *device, bpt_ticket_t ticket, uint64_t timeout_ns) {
    (void)device, (void)ticket, (void)timeout_ns;  // submit runs to the end
    return BPT_OK;
}

bpt_status_t bpt_host_timings_enable(bpt_list_t *list, bpt_timing_t what) {
    list->timed = what != BPT_TIMING_NONE;
    return BPT_OK;
}

bpt_status_t bpt_host_timings(bpt_list_t *list, double *seconds, int capacity, int *count) {
    *count = (int)list->count;
    for (int i = 0; i < *count && i < capacity; ++i) seconds[i] = list->seconds[i];
    return BPT_OK;
}

bpt_status_t bpt_host_events(bpt_list_t *list, bpt_list_event_t *events, int capacity, int *count) {
    *count = (int)list->count;
    for (int i = 0; i < *count && i < capacity; ++i)
        events[i] = (bpt_list_event_t){.op = i, .begin = list->begin[i], .seconds = list->seconds[i]};
    return BPT_OK;
}

const char *bpt_host_address(const bpt_buffer_t *buffer) { return buffer->data; }

typedef struct {
    void (*work)(void *user, int i);
    void *user;
} beside_t;

static void run_beside(const void *context, int thread) {
    const beside_t *b = context;
    b->work(b->user, thread);
}

void bpt_host_side_by_side(bpt_device_t *device, int n, void (*work)(void *user, int i), void *user) {
    bpt_team_run(((bpt_host_device_t *)device)->team, n, run_beside, &(beside_t){work, user});
}
