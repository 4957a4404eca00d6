// A step as trace events (see bench_trace.h). The format: "Trace Event Format", the JSON of Chromium's tracing, complete events ("X") with
// times in microseconds.
#include "tools/bpt/bench/bench_trace.h"

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "bpt/log.h"
#include "tools/bpt/bench/bench_ops.h"

enum { PROCESS = 1 };
typedef enum { OPS = 1, KERNELS } thread_t;

typedef struct {
    const bpt_op_timing_t *timings;
    int n_timings;
    bpt_list_event_t *events;
    char **lines;  // of each op
    int n_events, n_lines;
} step_t;

static void release(step_t *s) {
    for (int i = 0; i < s->n_lines; ++i) bpt_free(s->lines[i]);
    bpt_free(s->lines);
    bpt_free(s->events);
}

static bpt_status_t take_line(bpt_program_t *program, int op, char **out) {
    bpt_op_line_t line;
    bpt_strbuf_t text = {.data = NULL};
    bool has;
    BPT_TRY(bpt_program_line(program, op, &line, &has));
    if (!has) return bpt_strdup("", out);
    bpt_status_t status = bpt_line_print(&line, &text);
    if (status == BPT_OK) status = bpt_strdup(text.data, out);
    bpt_strbuf_free(&text);
    return status;
}

static bpt_status_t look(void *user, bpt_program_t *program) {
    step_t *s = user;
    const int ops = bpt_program_ops(program);
    BPT_TRY(bpt_program_events(program, NULL, 0, &s->n_events));
    BPT_TRY(bpt_alloc((size_t)s->n_events, sizeof *s->events, &s->events));
    BPT_TRY(bpt_program_events(program, s->events, s->n_events, &s->n_events));
    BPT_TRY(bpt_alloc((size_t)ops, sizeof *s->lines, &s->lines));
    for (; s->n_lines < ops; ++s->n_lines) BPT_TRY(take_line(program, s->n_lines, &s->lines[s->n_lines]));
    return BPT_OK;
}

// ---- JSON

// Takes `event`, NULL: there was no memory for it.
static bpt_status_t append(json_t *events, json_t *event) {
    if (event && !json_array_append_new(events, event)) return BPT_OK;
    return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a trace");
}

static json_t *name_of(const char *what, int thread, const char *name) {
    return json_pack("{ss ss si si s{ss}}", "ph", "M", "name", what, "pid", PROCESS, "tid", thread, "args", "name", name);
}

static bpt_status_t append_span(json_t *events, thread_t thread, const char *name, double begin, double seconds, json_t *args) {
    if (!args) return append(events, NULL);
    return append(events, json_pack("{ss ss ss sf sf si si so}", "ph", "X", "name", name, "cat", thread == OPS ? "op" : "kernel", "ts",
                                    1e6 * begin, "dur", 1e6 * seconds, "pid", PROCESS, "tid", (int)thread, "args", args));
}

static json_t *describe_op(const step_t *s, int op, double seconds) {
    json_t *args = json_pack("{si}", "number", op);
    bool good = args && (!s->lines[op][0] || !json_object_set_new(args, "line", json_string(s->lines[op])));
    if (op < s->n_timings && s->timings[op].flops > 0 && seconds > 0)
        good = good && !json_object_set_new(args, "GFLOP/s", json_real(s->timings[op].flops / seconds * 1e-9));
    if (good) return args;
    json_decref(args);
    return NULL;
}

// An op lasts from its first event to the end of its last one.
static bpt_status_t append_op(json_t *events, const step_t *s, int first, int end) {
    const bpt_list_event_t *from = &s->events[first], *to = &s->events[end - 1];
    const double seconds = to->begin + to->seconds - from->begin;
    const char *name = s->timings[from->op].op;
    BPT_TRY(append_span(events, OPS, name, from->begin, seconds, describe_op(s, from->op, seconds)));
    for (int i = first; i < end; ++i) {
        const bpt_list_event_t *event = &s->events[i];
        if (event->kernel)
            BPT_TRY(append_span(events, KERNELS, event->kernel, event->begin, event->seconds,
                                json_pack("{ss si}", "op", name, "number", event->op)));
    }
    return BPT_OK;
}

static bpt_status_t fill(json_t *events, const cli_bench_t *b, const step_t *s) {
    char process[192];
    bool kernels = false;
    snprintf(process, sizeof process, "%s: %s", b->device->backend->name, b->device->info.name);
    BPT_TRY(append(events, name_of("process_name", 0, process)));
    BPT_TRY(append(events, name_of("thread_name", OPS, "ops")));
    for (int i = 0; i < s->n_events; ++i) kernels = kernels || s->events[i].kernel;
    if (kernels) BPT_TRY(append(events, name_of("thread_name", KERNELS, "kernels")));
    for (int first = 0, end; first < s->n_events; first = end) {
        for (end = first + 1; end < s->n_events && s->events[end].op == s->events[first].op;) ++end;
        BPT_TRY(append_op(events, s, first, end));
    }
    return BPT_OK;
}

static bpt_status_t write(const cli_bench_t *b, const step_t *s, const char *path) {
    const cli_bench_place_t place = cli_bench_place(b);
    json_t *events = json_array();
    json_t *trace = json_pack("{ss s{ss sI sI ss} so*}", "displayTimeUnit", "ms", "otherData", "model", place.model, "n", (json_int_t)b->n,
                              "tokens", (json_int_t)b->o->tool.n, "precision", bpt_dtype_name(place.precision), "traceEvents", events);
    bpt_status_t status = trace && events ? fill(events, b, s) : append(events, NULL);
    if (status == BPT_OK) status = bpt_json_write(path, trace);
    json_decref(trace);
    return status;
}

bpt_status_t cli_bench_trace(const cli_bench_t *b, const char *path) {
    cli_bench_t once = *b;
    cli_options_t o = *b->o;  // a shallow copy
    bpt_op_timing_t *timings;
    step_t s = {.n_events = 0};
    o.tool.repeat = 1;
    once.o = &o;
    BPT_TRY(bpt_alloc(CLI_BENCH_MAX_OPS, sizeof *timings, &timings));
    s.timings = timings;
    bpt_status_t status = cli_bench_time_ops(&once, BPT_TIMING_KERNELS, timings, &s.n_timings, look, &s);
    if (status == BPT_OK && !bpt_ranks_rank(b->ranks)) status = write(b, &s, path);
    if (status == BPT_OK && !bpt_ranks_rank(b->ranks))
        bpt_info("trace of a step in %s, for https://ui.perfetto.dev or chrome://tracing", path);
    release(&s);
    bpt_free(timings);
    return bpt_context(status, "trace");
}
