// Printing the results of `bpt bench` (see bench_report.h).
#include "tools/bpt/bench/bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/json.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/output.h"

// ---- JSON
static bpt_status_t set_number(json_t *object, const char *key, double value) {
    return isfinite(value) ? bpt_json_set_real(object, key, value) : BPT_OK;
}

static bpt_status_t set_place(json_t *object, const cli_bench_place_t *place) {
    BPT_TRY(bpt_json_set_text(object, "precision", bpt_dtype_name(place->precision)));
    BPT_TRY(bpt_json_set_text(object, "backend", place->device->backend->name));
    return bpt_json_set_text(object, "device", place->device->info.name);
}

static bpt_status_t set_cell(json_t *object, const cli_bench_place_t *place, const char *bench, int64_t n, int64_t k) {
    BPT_TRY(bpt_json_set_text(object, "bench", bench));
    BPT_TRY(bpt_json_set_text(object, "model", place->model));
    if (place->trees) BPT_TRY(bpt_json_set_text(object, "trees", place->trees));
    BPT_TRY(bpt_json_set_int(object, "n", n));
    return place->has_k ? bpt_json_set_int(object, "k", k) : BPT_OK;
}

// Prints what `fill` makes of an empty object.
static bpt_status_t print_object(bpt_status_t (*fill)(json_t *object, const cli_bench_place_t *place, const void *what),
                                 const cli_bench_place_t *place, const void *what) {
    json_t *object = json_object();
    bpt_status_t status = object ? fill(object, place, what) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

// ---- One cell
static bpt_status_t fill_translation(json_t *object, const cli_bench_result_t *r) {
    BPT_TRY(bpt_json_set_int(object, "beam", r->beam));
    BPT_TRY(bpt_json_set_int(object, "batch", r->texts));
    BPT_TRY(bpt_json_set_int(object, "target_n", r->most_tokens));
    BPT_TRY(set_number(object, "sentences_per_s", r->texts_per_s));
    BPT_TRY(set_number(object, "source_tokens_per_s", r->source_tokens_per_s));
    BPT_TRY(set_number(object, "s_per_token_first_quarter", r->first_s_per_token));
    return set_number(object, "s_per_token_last_quarter", r->last_s_per_token);
}

static bpt_status_t fill_result(json_t *object, const cli_bench_place_t *place, const void *what) {
    const cli_bench_result_t *r = what;
    BPT_TRY(set_cell(object, place, r->bench, r->n, r->k));
    BPT_TRY(set_place(object, place));
    if (r->beam) BPT_TRY(fill_translation(object, r));
    BPT_TRY(set_number(object, "s_per_step", r->s_per_step));
    BPT_TRY(set_number(object, "s_per_step_p99", r->p99));
    BPT_TRY(set_number(object, "s_per_step_slowest", r->slowest));
    BPT_TRY(set_number(object, "tokens_per_s", r->tokens_per_s));
    BPT_TRY(set_number(object, "gflops", r->gflops));
    BPT_TRY(set_number(object, "gbytes_per_s", r->gbytes_per_s));
    if (r->ranks) BPT_TRY(bpt_json_set_int(object, "ranks", r->ranks));
    if (r->ranks) BPT_TRY(set_number(object, "exchange_s_per_step", r->exchange));
    if (r->ranks > 1) BPT_TRY(set_number(object, "hidden_share", r->hidden));
    if (r->rows_given > 0) BPT_TRY(set_number(object, "rows_given_per_step", r->rows_given));
    if (r->rows_given > 0) BPT_TRY(set_number(object, "bytes_given_per_step", r->bytes_given));
    if (r->efficiency > 0) BPT_TRY(set_number(object, "efficiency", r->efficiency));
    if (r->device_bytes) BPT_TRY(bpt_json_set_u64(object, "peak_device_bytes", r->device_bytes));
    return bpt_json_set_int(object, "peak_host_bytes", bpt_peak_host_bytes());
}

static void print_translation(const cli_bench_result_t *r) {
    printf("  beam %-3" PRId64 " %8.2f sentences/s", r->beam, r->texts_per_s);
    if (!isnan(r->first_s_per_token))
        printf("  %8.3f ms a token in the first quarter, %8.3f in the last", 1e3 * r->first_s_per_token, 1e3 * r->last_s_per_token);
}

bpt_status_t cli_bench_print(const cli_bench_place_t *place, const cli_bench_result_t *r) {
    if (place->json) return print_object(fill_result, place, r);
    printf("%-10s %-11s n %-7" PRId64, r->bench, place->model, r->n);
    if (place->trees) printf(" %-8s", place->trees);
    if (place->has_k) printf(" k %-3" PRId64, r->k);
    printf(" %-4s", bpt_dtype_name(place->precision));
    if (!isnan(r->s_per_step)) printf("  %10.3f ms", 1e3 * r->s_per_step);
    if (!isnan(r->p99)) printf("  p99 %8.3f ms, slowest %8.3f ms", 1e3 * r->p99, 1e3 * r->slowest);
    if (r->beam) print_translation(r);
    if (!isnan(r->tokens_per_s)) printf("  %9.0f tokens/s", r->tokens_per_s);
    if (!isnan(r->gflops)) printf("  %8.1f GFLOP/s", r->gflops);
    if (r->ranks) printf("  %d rank%s, %.3f ms in exchanges", r->ranks, r->ranks == 1 ? "" : "s", 1e3 * r->exchange);
    if (r->ranks > 1 && !isnan(r->hidden)) printf(" (%.0f %% of it hidden)", 100 * r->hidden);
    if (r->rows_given > 0) printf(", %.0f rows given (%.2f MB)", r->rows_given, 1e-6 * r->bytes_given);
    if (r->efficiency > 0) printf(", %.1f %% of the speed of %d alone", 100 * r->efficiency, r->ranks);
    if (r->device_bytes) printf("  %8.1f MiB", (double)r->device_bytes / 1048576);
    printf("\n");
    return BPT_OK;
}

// ---- Ops
typedef struct {
    const cli_bench_ops_t *group;
    const cli_bench_limits_t *limits;
    int64_t n, k;
    double total;
} ops_line_t;

// The least time that the op's arithmetic and its traffic take at the device's limits, as a share of what it took.
static double share_of_limits(const bpt_op_timing_t *t, const cli_bench_limits_t *limits) {
    return fmax(t->flops / limits->gflops, t->bytes / limits->gbytes_per_s) * 1e-9 / t->seconds;
}

static bpt_status_t fill_ops(json_t *object, const cli_bench_place_t *place, const void *what) {
    const ops_line_t *line = what;
    const bpt_op_timing_t *t = &line->group->one;
    BPT_TRY(set_cell(object, place, "ops", line->n, line->k));
    BPT_TRY(set_place(object, place));
    BPT_TRY(bpt_json_set_text(object, "op", t->op));
    BPT_TRY(bpt_json_set_text(object, "operands", t->detail));
    BPT_TRY(bpt_json_set_int(object, "calls", line->group->count));
    BPT_TRY(set_number(object, "seconds", t->seconds));
    BPT_TRY(set_number(object, "share", t->seconds / line->total));
    BPT_TRY(set_number(object, "gflops", t->flops / t->seconds * 1e-9));
    BPT_TRY(set_number(object, "gbytes_per_s", t->bytes / t->seconds * 1e-9));
    BPT_TRY(set_number(object, "limit_gflops", line->limits->gflops));
    BPT_TRY(set_number(object, "limit_gbytes_per_s", line->limits->gbytes_per_s));
    return set_number(object, "share_of_limits", share_of_limits(t, line->limits));
}

bpt_status_t cli_bench_print_ops(const cli_bench_place_t *place, int64_t n, int64_t k, const cli_bench_limits_t *limits,
                                 const cli_bench_ops_t *groups, int count) {
    double total = 0;
    int calls = 0;
    for (int g = 0; g < count; ++g) total += groups[g].one.seconds, calls += groups[g].count;
    if (!place->json) {
        printf("limits: %.1f GFLOP/s in products, %.1f GB/s in a copy\n", limits->gflops, limits->gbytes_per_s);
        printf("%-16s %-28s %5s %10s %7s %10s %8s %9s\n", "op", "operands", "calls", "ms", "share", "GFLOP/s", "GB/s", "of limits");
    }
    for (int g = 0; g < count; ++g) {
        const bpt_op_timing_t *t = &groups[g].one;
        if (place->json)
            BPT_TRY(print_object(fill_ops, place, &(ops_line_t){&groups[g], limits, n, k, total}));
        else
            printf("%-16s %-28s %5d %10.2f %6.1f%% %10.1f %8.1f %8.0f%%\n", t->op, t->detail, groups[g].count, 1e3 * t->seconds,
                   100 * t->seconds / total, t->flops / t->seconds * 1e-9, t->bytes / t->seconds * 1e-9, 100 * share_of_limits(t, limits));
    }
    if (!place->json) printf("%-16s %-28s %5d %10.2f\n", "all", "", calls, 1e3 * total);
    return BPT_OK;
}

// ---- One op
typedef struct {
    const bpt_device_t *device;
    const char *line;
    const cli_op_result_t *result;
} op_line_t;

static double per_second(double amount, double seconds) { return amount > 0 && seconds > 0 ? amount / seconds * 1e-9 : NAN; }

static bpt_status_t fill_op(json_t *object, const cli_bench_place_t *place, const void *what) {
    const op_line_t *op = what;
    const cli_op_result_t *r = op->result;
    (void)place;
    BPT_TRY(bpt_json_set_text(object, "bench", "op"));
    BPT_TRY(bpt_json_set_text(object, "line", op->line));
    BPT_TRY(bpt_json_set_text(object, "backend", op->device->backend->name));
    BPT_TRY(bpt_json_set_text(object, "device", op->device->info.name));
    BPT_TRY(bpt_json_set_text(object, "clock", r->by_host ? "host" : "device"));
    BPT_TRY(set_number(object, "s_per_step", r->seconds));
    BPT_TRY(set_number(object, "s_per_step_fastest", r->least));
    BPT_TRY(set_number(object, "gflops", per_second(r->flops, r->seconds)));
    BPT_TRY(set_number(object, "gbytes_per_s", per_second(r->bytes, r->seconds)));
    return bpt_json_set_u64(object, "device_bytes", r->device_bytes);
}

bpt_status_t cli_bench_print_op(const bpt_device_t *device, bool json, const char *line, const cli_op_result_t *r) {
    if (json) return print_object(fill_op, NULL, &(op_line_t){device, line, r});
    printf("%s\n  %s, %s: %.3f ms (fastest %.3f ms%s)", line, device->backend->name, device->info.name, 1e3 * r->seconds, 1e3 * r->least,
           r->by_host ? ", by the host's clock" : "");
    if (!isnan(per_second(r->flops, r->seconds))) printf("  %.1f GFLOP/s", per_second(r->flops, r->seconds));
    if (!isnan(per_second(r->bytes, r->seconds))) printf("  %.1f GB/s", per_second(r->bytes, r->seconds));
    printf("  %.1f MiB\n", (double)r->device_bytes / 1048576);
    return BPT_OK;
}

// ---- The ops of a step as lines
typedef struct {
    const cli_bench_line_t *line;
    const char *preset;
    int64_t n, k;
    double total;
} step_line_t;

static bpt_status_t fill_line(json_t *object, const cli_bench_place_t *place, const void *what) {
    const step_line_t *l = what;
    if (l->preset)
        BPT_TRY(bpt_json_set_text(object, "bench", "train ops"));
    else
        BPT_TRY(set_cell(object, place, "train ops", l->n, l->k));
    if (l->preset) BPT_TRY(bpt_json_set_text(object, "preset", l->preset));
    BPT_TRY(set_place(object, place));
    BPT_TRY(bpt_json_set_text(object, "line", l->line->text));
    BPT_TRY(bpt_json_set_int(object, "calls", l->line->count));
    BPT_TRY(set_number(object, "seconds", l->line->seconds));
    BPT_TRY(set_number(object, "share", l->line->seconds / l->total));
    return set_number(object, "gflops", per_second(l->line->flops, l->line->seconds));
}

bpt_status_t cli_bench_print_lines(const cli_bench_place_t *place, const char *preset, int64_t n, int64_t k, const cli_bench_line_t *lines,
                                   int count) {
    double total = 0;
    int calls = 0;
    for (int i = 0; i < count; ++i) total += lines[i].seconds, calls += lines[i].count;
    for (int i = 0; i < count && place->json; ++i) BPT_TRY(print_object(fill_line, place, &(step_line_t){&lines[i], preset, n, k, total}));
    if (place->json) return BPT_OK;
    const bool ran = !isnan(total);
    if (ran)
        printf("%5s %10s %7s  %s\n", "calls", "ms", "share", "op");
    else
        printf("%5s  %s\n", "calls", "op");
    for (int i = 0; i < count; ++i) {
        printf("%5d", lines[i].count);
        if (ran) printf(" %10.3f %6.1f%%", 1e3 * lines[i].seconds, 100 * lines[i].seconds / total);
        printf("  %s\n", lines[i].text);
    }
    printf("%5d", calls);
    if (ran) printf(" %10.3f %7s", 1e3 * total, "");
    printf("  in all\n");
    return BPT_OK;
}

// ---- Products
typedef struct {
    const cli_bench_product_t *one;
    double best;  // GFLOP/s
} product_line_t;

static double gflops_of(const cli_bench_product_t *p) { return cli_product_flops(&p->product) / p->seconds * 1e-9; }

static bpt_status_t fill_product(json_t *object, const cli_bench_place_t *place, const void *what) {
    const product_line_t *line = what;
    const cli_product_t *p = &line->one->product;
    BPT_TRY(bpt_json_set_text(object, "bench", "gemm"));
    BPT_TRY(bpt_json_set_int(object, "m", p->m));
    BPT_TRY(bpt_json_set_int(object, "n", p->n));
    BPT_TRY(bpt_json_set_int(object, "k", p->k));
    BPT_TRY(bpt_json_set_text(object, "form", cli_product_forms[p->form]));
    BPT_TRY(bpt_json_set_text(object, "rule", line->one->rule));
    BPT_TRY(set_place(object, place));
    BPT_TRY(set_number(object, "s_per_step", line->one->seconds));
    BPT_TRY(set_number(object, "gflops", gflops_of(line->one)));
    return set_number(object, "share_of_best", gflops_of(line->one) / line->best);
}

bpt_status_t cli_bench_print_products(const cli_bench_place_t *place, const cli_bench_product_t *products, int count) {
    double best = 0;
    for (int i = 0; i < count; ++i) best = fmax(best, gflops_of(&products[i]));
    for (int i = 0; i < count; ++i) {
        const cli_product_t *p = &products[i].product;
        if (place->json) {
            BPT_TRY(print_object(fill_product, place, &(product_line_t){&products[i], best}));
            continue;
        }
        printf("gemm %-4s %-8s [%6" PRId64 ",%6" PRId64 "] x [%6" PRId64 ",%6" PRId64 "] %10.3f ms %9.1f GFLOP/s %4.0f%% of the best%s%s\n",
               bpt_dtype_name(place->precision), cli_product_forms[p->form], p->m, p->k, p->k, p->n, 1e3 * products[i].seconds,
               gflops_of(&products[i]), 100 * gflops_of(&products[i]) / best, *products[i].rule ? "  " : "", products[i].rule);
    }
    return BPT_OK;
}
