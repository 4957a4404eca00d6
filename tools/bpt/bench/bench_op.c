// Timing one op call (see bench_op.h).
#include "tools/bpt/bench/bench_op.h"

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "tools/bpt/report/sort.h"

typedef struct {
    bpt_device_t *device;
    const bpt_op_line_t *line;
    bpt_op_call_t call;  // with the buffers
    bpt_buffer_t *buffers[BPT_MAX_INPUTS + BPT_MAX_OUTPUTS + 1];
    int n_buffers;
    bpt_list_t *list;
    uint32_t changed;              // bit per input that a run changes
    void *values[BPT_MAX_INPUTS];  // of these, to begin each run with the same
} work_t;

static size_t bytes_of(const bpt_operand_t *operand) {
    return operand->present ? (size_t)bpt_shape_count(&operand->shape) * bpt_dtype_size(operand->dtype) : 0;
}

static void release(work_t *w) {
    const bpt_backend_t *backend = w->device->backend;
    if (w->list) backend->list_destroy(w->device, w->list);
    for (int i = 0; i < w->n_buffers; ++i) backend->buffer_destroy(w->device, w->buffers[i]);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) bpt_free_aligned(w->values[i]);
}

static bpt_status_t check_room(const work_t *w, size_t scratch, cli_op_result_t *out) {
    uint64_t bytes = scratch;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (bpt_line_same_tensor(w->line, i) == i) bytes += bytes_of(&w->call.in[i]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) bytes += i == 0 && w->line->in_place >= 0 ? 0 : bytes_of(&w->call.out[i]);
    out->device_bytes = bytes;
    const uint64_t room = w->device->info.memory_bytes;
    if (!room || bytes <= room) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "the line needs %.1f GiB of memory, and %s has %.1f GiB; use smaller sizes", (double)bytes / 1073741824,
                    w->device->info.name, (double)room / 1073741824);
}

static bpt_status_t place(work_t *w, bpt_operand_t *operand) {
    const size_t bytes = bytes_of(operand);
    BPT_TRY(w->device->backend->buffer_create(w->device, bytes ? bytes : sizeof(float), &operand->buffer));
    w->buffers[w->n_buffers++] = operand->buffer;
    return BPT_OK;
}

static bpt_status_t write_input(work_t *w, int i) {
    const bpt_operand_t *operand = &w->call.in[i];
    return bytes_of(operand) ? w->device->backend->write(w->device, operand->buffer, 0, w->values[i], bytes_of(operand)) : BPT_OK;
}

static bpt_status_t make_input(work_t *w, int i) {
    bpt_operand_t *operand = &w->call.in[i];
    const int same = bpt_line_same_tensor(w->line, i);
    if (!operand->present) return BPT_OK;
    if (same != i) {
        operand->buffer = w->call.in[same].buffer;
        return BPT_OK;
    }
    BPT_TRY(place(w, operand));
    BPT_TRY(bpt_alloc_aligned(bytes_of(operand), &w->values[i]));
    BPT_TRY(bpt_line_fill(w->line, i, w->values[i]));
    BPT_TRY(write_input(w, i));
    if (w->changed >> i & 1) return BPT_OK;
    bpt_free_aligned(w->values[i]);
    w->values[i] = NULL;
    return BPT_OK;
}

static bpt_status_t make_operands(work_t *w, size_t scratch) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) BPT_TRY(make_input(w, i));
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) {
        bpt_operand_t *operand = &w->call.out[i];
        if (!operand->present) continue;
        if (i == 0 && w->line->in_place >= 0)
            operand->buffer = w->call.in[w->line->in_place].buffer;
        else
            BPT_TRY(place(w, operand));
    }
    if (!scratch) return BPT_OK;
    w->call.scratch = (bpt_operand_t){.dtype = BPT_U32, .shape = {1, {(int64_t)((scratch + 3) / 4)}}, .present = true};
    return place(w, &w->call.scratch);
}

static bpt_status_t record(work_t *w, bool timed) {
    const bpt_backend_t *backend = w->device->backend;
    if (w->list) backend->list_destroy(w->device, w->list), w->list = NULL;
    BPT_TRY(backend->list_create(w->device, &w->list));
    BPT_TRY(backend->op(w->device, &w->call, w->list, NULL));
    BPT_TRY(backend->timings_enable(w->list, timed ? BPT_TIMING_OPS : BPT_TIMING_NONE));
    return backend->list_seal(w->list);
}

static bpt_status_t run(work_t *w, bool timed, double *seconds) {
    const bpt_backend_t *backend = w->device->backend;
    bpt_ticket_t ticket = 0;
    int count;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (w->values[i]) BPT_TRY(write_input(w, i));
    const double start = bpt_clock_seconds();
    BPT_TRY(backend->submit(w->device, w->list, &ticket));
    BPT_TRY(backend->wait(w->device, ticket, UINT64_MAX));
    *seconds = bpt_clock_seconds() - start;
    return timed ? backend->timings(w->list, seconds, 1, &count) : BPT_OK;
}

static bpt_status_t time_runs(work_t *w, cli_timing_t timing, cli_op_result_t *out) {
    double each[CLI_MAX_REPEAT], seconds;
    bpt_status_t status = record(w, true);
    if (status == BPT_OK) status = run(w, true, &seconds);  // warms up
    if (status == BPT_ERR_UNSUPPORTED) {
        out->by_host = true;
        BPT_TRY(record(w, false));
        status = run(w, false, &seconds);
    }
    for (int i = 0; i < timing.repeat && status == BPT_OK; ++i) status = run(w, !out->by_host, &each[i]);
    BPT_TRY(status);
    out->seconds = cli_quantile(each, (size_t)timing.repeat, timing.quantile);
    out->least = cli_quantile(each, (size_t)timing.repeat, 0);
    return BPT_OK;
}

static bpt_status_t time_call(work_t *w, cli_timing_t timing, cli_op_result_t *out) {
    size_t scratch = 0;
    BPT_TRY(w->device->backend->op(w->device, &w->call, NULL, &scratch));
    BPT_TRY(check_room(w, scratch, out));
    BPT_TRY(make_operands(w, scratch));
    return time_runs(w, timing, out);
}

bpt_status_t cli_bench_time_line(bpt_device_t *device, const bpt_op_line_t *line, cli_timing_t timing, cli_op_result_t *out) {
    work_t w = {.device = device, .line = line, .call = line->call, .changed = bpt_line_changes(line)};
    *out = (cli_op_result_t){0};
    if (line->in_place >= 0) w.changed |= 1u << line->in_place;
    bpt_status_t status = bpt_line_work(line, &out->flops, &out->bytes);
    if (status == BPT_OK) status = time_call(&w, timing, out);
    release(&w);
    return bpt_context(status, "%s on %s", bpt_op_name(line->call.op), device->backend->name);
}
