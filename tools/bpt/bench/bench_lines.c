// The ops of a step as lines (see bench_lines.h).
#include "tools/bpt/bench/bench_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/bench/bench_ops.h"
#include "tools/bpt/devices/workloads.h"

typedef struct {
    cli_bench_line_t lines[CLI_BENCH_MAX_OPS];
    int line_of[CLI_BENCH_MAX_OPS];  // of each op
    int n_lines, n_ops;
} collected_t;

static void release(collected_t *c) {
    for (int i = 0; c && i < c->n_lines; ++i) bpt_free(c->lines[i].text);
    bpt_free(c);
}

// The line of an op; one that the host does is its name alone.
static bpt_status_t text_of(bpt_program_t *program, int op, bpt_strbuf_t *out) {
    bpt_op_line_t line;
    bool has;
    bpt_strbuf_clear(out);
    BPT_TRY(bpt_program_line(program, op, &line, &has));
    return has ? bpt_line_print(&line, out) : bpt_strbuf_printf(out, "%s", bpt_op_name(line.call.op));
}

static bpt_status_t count_line(collected_t *c, const char *text) {
    int i = 0;
    while (i < c->n_lines && strcmp(c->lines[i].text, text)) ++i;
    if (i == c->n_lines) {
        BPT_TRY(bpt_strdup(text, &c->lines[i].text));
        c->n_lines++;
    }
    c->lines[i].count++;
    c->line_of[c->n_ops++] = i;
    return BPT_OK;
}

static bpt_status_t collect(void *user, bpt_program_t *program) {
    collected_t *c = user;
    bpt_strbuf_t text = {.data = NULL};
    bpt_status_t status = BPT_OK;
    const int ops = bpt_program_ops(program);
    if (ops > CLI_BENCH_MAX_OPS) return bpt_fail(BPT_ERR_UNSUPPORTED, "the step has %d ops; at most %d are shown", ops, CLI_BENCH_MAX_OPS);
    for (int op = 0; op < ops && status == BPT_OK; ++op) {
        status = text_of(program, op, &text);
        if (status == BPT_OK) status = count_line(c, text.data);
    }
    bpt_strbuf_free(&text);
    return status;
}

static int slower_first(const void *a, const void *b) {
    const double x = ((const cli_bench_line_t *)a)->seconds, y = ((const cli_bench_line_t *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

bpt_status_t cli_bench_lines(const cli_bench_t *b) {
    bpt_op_timing_t *timings = NULL;
    collected_t *c = NULL;
    int count = 0;
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc(CLI_BENCH_MAX_OPS, sizeof *timings, &timings), done);
    BPT_TRY_GOTO(bpt_alloc(1, sizeof *c, &c), done);
    BPT_TRY_GOTO(cli_bench_time_ops(b, BPT_TIMING_OPS, timings, &count, collect, c), done);
    for (int op = 0; op < count; ++op) {
        c->lines[c->line_of[op]].seconds += timings[op].seconds;
        c->lines[c->line_of[op]].flops += timings[op].flops;
    }
    qsort(c->lines, (size_t)c->n_lines, sizeof *c->lines, slower_first);
    const cli_bench_place_t place = cli_bench_place(b);
    if (!bpt_ranks_rank(b->ranks)) status = cli_bench_print_lines(&place, NULL, b->n, b->k, c->lines, c->n_lines);
done:
    release(c);
    bpt_free(timings);
    return status;
}

bpt_status_t cli_bench_preset_lines(cli_options_t *o, bpt_device_t *device) {
    const cli_bench_place_t place = {.device = device, .precision = o->train.precision, .json = o->use.json};
    collected_t *c;
    BPT_TRY(bpt_alloc(1, sizeof *c, &c));
    bpt_status_t status = cli_workload_step(o->run.preset, device, o->train.precision, o->tool.n, collect, c);
    for (int i = 0; i < c->n_lines; ++i) c->lines[i].seconds = NAN;
    if (status == BPT_OK) status = cli_bench_print_lines(&place, o->run.preset, 0, 0, c->lines, c->n_lines);
    release(c);
    return status;
}
