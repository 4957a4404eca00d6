// The recorded ops of one training step (see bench_ops.h).
#include "tools/bpt/bench/bench_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/bench/bench_step.h"
#include "tools/bpt/bench/rates.h"
#include "tools/bpt/report/sort.h"

static int slower_first(const void *a, const void *b) {
    const double x = ((const cli_bench_ops_t *)a)->one.seconds, y = ((const cli_bench_ops_t *)b)->one.seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

bpt_status_t cli_bench_time_ops(const cli_bench_t *b, bpt_timing_t what, bpt_op_timing_t *timings, int *count,
                                bpt_status_t (*look)(void *user, bpt_program_t *program), void *user) {
    const int repeat = (int)b->o->tool.repeat;
    bpt_runner_t *runner = NULL;
    bpt_program_t *program;
    double *seconds = NULL;  // [ops][repeat]
    cli_bench_tokens_t t = {0};
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc((size_t)repeat * CLI_BENCH_MAX_OPS, sizeof *seconds, &seconds), done);
    BPT_TRY_GOTO(cli_bench_open_runner(b, &runner), done);
    BPT_TRY_GOTO(cli_bench_make_tokens(b, &t), done);
    const bpt_step_key_t key = cli_bench_step_key(runner, &t, true);
    BPT_TRY_GOTO(bpt_runner_prepare(runner, &t.batch.shape, 0, true), done);
    BPT_TRY_GOTO(bpt_runner_program(runner, &key, &program), done);
    BPT_TRY_GOTO(bpt_program_time(program, what), done);
    BPT_TRY_GOTO(cli_bench_step(runner, &t, true, NULL), done);
    for (int i = 0; i < repeat; ++i) {
        BPT_TRY_GOTO(cli_bench_step(runner, &t, true, NULL), done);
        BPT_TRY_GOTO(bpt_program_timings(program, timings, CLI_BENCH_MAX_OPS, count), done);
        if (*count > CLI_BENCH_MAX_OPS)
            BPT_TRY_GOTO(bpt_fail(BPT_ERR_UNSUPPORTED, "the step has %d ops; at most %d are shown", *count, CLI_BENCH_MAX_OPS), done);
        for (int op = 0; op < *count; ++op) seconds[op * repeat + i] = timings[op].seconds;
    }
    for (int op = 0; op < *count; ++op) timings[op].seconds = cli_quantile(seconds + op * repeat, (size_t)repeat, 0.5);
    if (look) status = look(user, program);
done:
    bpt_free(seconds);
    cli_bench_free_tokens(&t);
    bpt_runner_destroy(runner);
    return status;
}

static int group_ops(const bpt_op_timing_t *timings, int count, cli_bench_ops_t *groups) {
    int n = 0;
    for (int i = 0; i < count; ++i) {
        int g = 0;
        while (g < n && (strcmp(groups[g].one.op, timings[i].op) || strcmp(groups[g].one.detail, timings[i].detail))) ++g;
        if (g == n)
            groups[n++] = (cli_bench_ops_t){.one = {.op = timings[i].op}},
            memcpy(groups[g].one.detail, timings[i].detail, sizeof timings[i].detail);
        groups[g].one.seconds += timings[i].seconds;
        groups[g].one.flops += timings[i].flops;
        groups[g].one.bytes += timings[i].bytes;
        ++groups[g].count;
    }
    qsort(groups, (size_t)n, sizeof *groups, slower_first);
    return n;
}

// The device's own limits: the best of the products of a large layer, and a copy of 64 MiB.
static bpt_status_t measure_limits(const cli_bench_t *b, cli_bench_limits_t *limits) {
    const int64_t rows = b->o->tool.n < 4096 ? b->o->tool.n : 4096, copied = (int64_t)16 << 20;
    double seconds = 0;
    for (int form = 0; form < BPT_PRODUCT_FORMS; ++form) {
        cli_product_t products[CLI_LAYER_PRODUCTS];
        cli_layer_products((bpt_product_form_t)form, rows, b->o->model.d_model, b->o->model.d_ff, products);
        for (int i = 0; i < CLI_LAYER_PRODUCTS; ++i) {
            BPT_TRY(cli_time_product(b->device, &products[i], b->o->train.precision, cli_bench_timing(b), &seconds));
            limits->gflops = fmax(limits->gflops, cli_product_flops(&products[i]) / seconds * 1e-9);
        }
    }
    BPT_TRY(cli_time_copy(b->device, copied, cli_bench_timing(b), &seconds));
    limits->gbytes_per_s = 2 * sizeof(float) * (double)copied / seconds * 1e-9;
    return BPT_OK;
}

bpt_status_t cli_bench_ops(const cli_bench_t *b) {
    bpt_op_timing_t *timings = NULL;
    cli_bench_ops_t *groups = NULL;
    cli_bench_limits_t limits = {0};
    int count = 0;
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc(CLI_BENCH_MAX_OPS, sizeof *timings, &timings), done);
    BPT_TRY_GOTO(bpt_alloc(CLI_BENCH_MAX_OPS, sizeof *groups, &groups), done);
    BPT_TRY_GOTO(cli_bench_time_ops(b, BPT_TIMING_OPS, timings, &count, NULL, NULL), done);
    BPT_TRY_GOTO(measure_limits(b, &limits), done);
    const int n = group_ops(timings, count, groups);
    const cli_bench_place_t place = cli_bench_place(b);
    status = cli_bench_print_ops(&place, b->n, b->k, &limits, groups, n);
done:
    bpt_free(groups);
    bpt_free(timings);
    return status;
}

bpt_status_t cli_bench_attention(const cli_bench_t *b) {
    bpt_op_timing_t *timings;
    int count = 0;
    cli_bench_t small = *b;
    cli_options_t o = *b->o;  // a shallow copy with a model whose other ops are cheap
    o.model.layers = 3;
    o.model.d_ff = 64;
    small.o = &o;
    BPT_TRY(bpt_alloc(CLI_BENCH_MAX_OPS, sizeof *timings, &timings));
    bpt_status_t status = cli_bench_time_ops(&small, BPT_TIMING_OPS, timings, &count, NULL, NULL);
    double seconds = 0, flops = 0;
    const char *const ops[] = {"attention", "attention_grad"};
    for (size_t k = 0; k < BPT_COUNT(ops); ++k) {
        const bpt_op_timing_t *best = NULL;
        for (int i = 0; i < count; ++i)
            if (!strcmp(timings[i].op, ops[k]) &&
                (!best || timings[i].flops > best->flops || (timings[i].flops == best->flops && timings[i].bytes > best->bytes)))
                best = &timings[i];
        if (best) seconds += best->seconds, flops += best->flops;
    }
    if (status == BPT_OK) {
        cli_bench_result_t r = cli_bench_empty(b, "attention");
        r.s_per_step = seconds;
        r.tokens_per_s = (double)(b->o->tool.n / b->n > 0 ? b->o->tool.n / b->n * b->n : b->n) / seconds;
        r.gflops = flops / seconds * 1e-9;
        status = cli_bench_say(b, &r);
    }
    bpt_free(timings);
    return status;
}
