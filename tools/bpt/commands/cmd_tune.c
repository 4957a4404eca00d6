// `bpt tune`: measures the blueprints that a device may have for products of matrices and for attention (backends/gpu/selector.def), and
// records the fastest as the rule of this device and driver.
// Every candidate runs in a process of its own with what is left of the time, so that a driver that hangs or crashes ends nothing else.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "tools/bpt/bench/bench_op.h"
#include "tools/bpt/bench/rates.h"
#include "tools/bpt/devices/child.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"

enum { D_MODEL = 512, D_FF = 2048, LEAST_ROWS = 256, MOST_ROWS = 16384 };
static const cli_timing_t TIMING = {.repeat = 3, .quantile = 0};
static const double BUSY = 1.2;            // so far apart are two measurements of the same on a machine that does something else too
static const double CLEARLY = 1.05;        // a candidate replaces the shipped rule only when it is that much faster
static const double LONG_ENOUGH_S = 0.04;  // a product that the clock and the start of a submission do not blur

typedef struct {
    const bpt_backend_t *backend;
    int index;
    bpt_device_options_t options;
    int64_t rows;  // 0: as many as make a product long enough
    bpt_problem_t problem;
} task_t;

// Of products form by form, else of all lines of the problem together.
typedef struct {
    int64_t rows;
    double gflops[BPT_PRODUCT_FORMS];
    char problem[256];
} rates_t;

typedef struct {
    char text[BPT_TUNING_TEXT];
    bool library;
    bool measured;
    rates_t rates;
    char why[256];  // not measured
} candidate_t;

typedef struct {
    const cli_options_t *o;
    const bpt_backend_t *backend;
    int index;
    cli_probe_t devices;
    const bpt_device_info_t *info;
    bpt_problem_t problem;  // that is measured now
    candidate_t candidate[BPT_MOST_CANDIDATES];
    int count;
} tune_t;

static bool is_of_products(bpt_problem_t problem) { return problem == BPT_PROBLEM_PRODUCT || problem == BPT_PROBLEM_PRODUCT_OF_HALVES; }
static int columns_of(bpt_problem_t problem) { return is_of_products(problem) ? BPT_PRODUCT_FORMS : 1; }

// ---- One candidate, in the child --------------------------------------------------------------------------------------

static bpt_status_t choose_rows(bpt_device_t *device, bpt_dtype_t dtype, int64_t *rows) {
    double seconds = 0;
    for (*rows = LEAST_ROWS;; *rows *= 2) {
        const cli_product_t product = {BPT_PRODUCT_FORWARD, *rows, D_FF, D_MODEL};
        BPT_TRY(cli_time_product(device, &product, dtype, (cli_timing_t){1, 0}, &seconds));
        if (seconds >= LONG_ENOUGH_S || *rows >= MOST_ROWS) return BPT_OK;
    }
}

static bpt_status_t measure_form(bpt_device_t *device, bpt_product_form_t form, bpt_dtype_t dtype, int64_t rows, double *gflops) {
    cli_product_t products[CLI_LAYER_PRODUCTS];
    double seconds = 0, flops = 0;
    cli_layer_products(form, rows, D_MODEL, D_FF, products);
    for (int i = 0; i < CLI_LAYER_PRODUCTS; ++i) {
        double one = 0;
        BPT_TRY(cli_time_product(device, &products[i], dtype, TIMING, &one));
        seconds += one;
        flops += cli_product_flops(&products[i]);
    }
    *gflops = flops / seconds * 1e-9;
    return BPT_OK;
}

static bpt_status_t measure_lines(bpt_device_t *device, const char *lines, double *gflops) {
    double seconds = 0, flops = 0;
    while (*lines) {
        char text[BPT_LINE_MOST_BYTES];
        bpt_op_line_t line;
        cli_op_result_t one;
        const size_t length = strcspn(lines, "\n");
        snprintf(text, sizeof text, "%.*s", (int)length, lines);
        lines += length + (lines[length] == '\n');
        BPT_TRY(bpt_line_parse(text, &line));
        BPT_TRY(cli_bench_time_line(device, &line, TIMING, &one));
        seconds += one.seconds;
        flops += one.flops;
    }
    *gflops = flops / seconds * 1e-9;
    return BPT_OK;
}

static bpt_status_t measure_on(bpt_device_t *device, const task_t *task, rates_t *rates) {
    const bpt_dtype_t dtype = task->problem == BPT_PROBLEM_PRODUCT_OF_HALVES ? BPT_F16 : BPT_F32;
    rates->rows = task->rows;
    if (!is_of_products(task->problem)) return measure_lines(device, bpt_problems[task->problem].lines, rates->gflops);
    if (!task->rows) BPT_TRY(choose_rows(device, dtype, &rates->rows));
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) BPT_TRY(measure_form(device, (bpt_product_form_t)f, dtype, rates->rows, &rates->gflops[f]));
    return BPT_OK;
}

static void measure(const void *input, void *result) {
    const task_t *task = input;
    rates_t *rates = result;
    bpt_device_t *device = NULL;
    bpt_status_t status = task->backend->open(task->index, &task->options, &device);
    if (status == BPT_OK) status = measure_on(device, task, rates);
    if (status != BPT_OK) snprintf(rates->problem, sizeof rates->problem, "%s", bpt_error_message());
    cli_device_close(device);
}

// ---- All of them -----------------------------------------------------------------------------------------------------

// A rule that differs from the shipped one in this problem alone. What f32 has, f16 has too until that is measured.
static bpt_gpu_tuning_t rule_with(const tune_t *t, const bpt_blueprint_t *b) {
    bpt_gpu_tuning_t rule = {0};
    if (is_of_products(t->problem)) bpt_gpu_tuning_shipped(t->info, &rule);
    for (int f = 0; f < BPT_PRODUCT_FORMS && is_of_products(t->problem); ++f) {
        rule.half[f] = *b;
        if (t->problem == BPT_PROBLEM_PRODUCT) rule.form[f] = *b;
    }
    if (!is_of_products(t->problem)) rule.other[t->problem] = *b;
    return rule;
}

// What is shipped first: all others are held against it.
static void list_candidates(tune_t *t) {
    bpt_blueprint_t blueprints[BPT_MOST_CANDIDATES];
    const int count = bpt_select_candidates(t->info, t->problem, blueprints);
    t->count = 0;
    memset(t->candidate, 0, sizeof t->candidate);
    for (int i = 0; i < count; ++i) {
        if (blueprints[i].kind == BPT_BLUEPRINT_LIBRARY && !t->devices.has_library) continue;
        const bpt_gpu_tuning_t rule = rule_with(t, &blueprints[i]);
        t->candidate[t->count].library = blueprints[i].kind == BPT_BLUEPRINT_LIBRARY;
        bpt_gpu_tuning_text(&rule, t->candidate[t->count++].text);
    }
}

static bpt_status_t try_candidate(tune_t *t, candidate_t *c, double seconds_left) {
    if (seconds_left < 1) {
        snprintf(c->why, sizeof c->why, "no time left");
        return BPT_OK;
    }
    if (c->library && bpt_gpu_is_processor(t->info))
        bpt_info("the library may compile its kernels first, which takes half a minute or more on a processor (up to %.0f s are left)",
                 seconds_left);
    task_t task = {.backend = t->backend,
                   .index = t->index,
                   .options = cli_device_options(t->o),
                   .rows = t->candidate[0].rates.rows,
                   .problem = t->problem};
    task.options.products = c->text;
    const cli_child_t child = {.work = measure,
                               .input = &task,
                               .result = &c->rates,
                               .result_bytes = sizeof c->rates,
                               .seconds = (int)ceil(seconds_left),
                               .verbose = t->o->global.verbose};
    bool done;
    const double end = bpt_clock_seconds() + seconds_left;
    BPT_TRY(cli_child_run(&child, &done, c->why, sizeof c->why));
    if (!done && bpt_clock_seconds() >= end) snprintf(c->why, sizeof c->why, "no time left");
    if (done && *c->rates.problem) memcpy(c->why, c->rates.problem, sizeof c->why);
    c->measured = done && !*c->rates.problem;
    return BPT_OK;
}

static void print_candidate(bpt_problem_t problem, const candidate_t *c, const char *remark) {
    char label[BPT_TUNING_TEXT + 16];
    snprintf(label, sizeof label, *remark ? "%s (%s)" : "%s", c->text, remark);
    printf("%-32s", label);
    if (c->measured)
        for (int f = 0; f < columns_of(problem); ++f) printf(" %10.1f", c->rates.gflops[f]);
    else
        printf(" not measured: %s", c->why);
    printf("\n");
}

static void print_heading(const tune_t *t) {
    printf("GFLOP/s of %s\n", bpt_problems[t->problem].name);
    if (!is_of_products(t->problem)) return;
    printf("%-32s", "");
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) printf(" %10s", cli_product_forms[f]);
    printf("\n");
}

// The shipped rule once more: the better one counts, and how far they are apart tells what the measurements are worth.
static bpt_status_t measure_again(tune_t *t, double seconds_left) {
    candidate_t *first = &t->candidate[0], again = *first;
    double apart = 1;
    BPT_TRY(try_candidate(t, &again, seconds_left));
    print_candidate(t->problem, &again, "again");
    if (!again.measured) return BPT_OK;
    for (int f = 0; f < columns_of(t->problem); ++f) {
        const double a = first->rates.gflops[f], b = again.rates.gflops[f];
        apart = fmax(apart, fmax(a / b, b / a));
        first->rates.gflops[f] = fmax(a, b);
    }
    if (apart > BUSY) printf("the same differs by %.0f %%: the machine is busy; tune again when it is not\n", 100 * (apart - 1));
    return BPT_OK;
}

static bpt_status_t measure_all(tune_t *t, double seconds) {
    const double start = bpt_clock_seconds(), end = start + seconds;
    double reserve = 0;  // for the shipped rule at the end
    print_heading(t);
    for (int i = 0; i < t->count; ++i) {
        BPT_TRY(try_candidate(t, &t->candidate[i], end - reserve - bpt_clock_seconds()));
        print_candidate(t->problem, &t->candidate[i], i ? "" : "shipped");
        BPT_TRY(cli_flush_output());
        if (i > 0) continue;
        if (!t->candidate[0].measured)
            return bpt_fail(BPT_ERR_UNAVAILABLE,
                            "the shipped rule, against which all others are held, could not be measured (%s); nothing was changed",
                            t->candidate[0].why);
        reserve = fmin(1.5 * (bpt_clock_seconds() - start), 0.25 * seconds);
    }
    return measure_again(t, end - bpt_clock_seconds());
}

// The fastest of a column, where it is clearly faster than what is shipped.
static const candidate_t *fastest(const tune_t *t, int column) {
    const candidate_t *best = &t->candidate[0];
    for (int i = 1; i < t->count; ++i) {
        const candidate_t *c = &t->candidate[i];
        const double least = best == &t->candidate[0] ? CLEARLY * best->rates.gflops[column] : best->rates.gflops[column];
        if (c->measured && c->rates.gflops[column] > least) best = c;
    }
    return best;
}

// Products form by form. Of attention only what differs from the shipped rule is recorded.
static void choose_winner(const tune_t *t, bpt_gpu_tuning_t *winner, double gflops[BPT_PRODUCT_FORMS]) {
    for (int f = 0; f < columns_of(t->problem); ++f) {
        const candidate_t *best = fastest(t, f);
        bpt_gpu_tuning_t rule;
        gflops[f] = best->rates.gflops[f];
        if (!bpt_gpu_tuning_parse(best->text, &rule)) continue;
        if (is_of_products(t->problem)) winner->half[f] = rule.half[f];
        if (t->problem == BPT_PROBLEM_PRODUCT) winner->form[f] = rule.form[f];
        if (!is_of_products(t->problem) && best != &t->candidate[0]) winner->other[t->problem] = rule.other[t->problem];
    }
}

// The problems that have something to choose on this device; how many. Attention goes other ways too on a processor.
static int problems_of(const tune_t *t, bpt_problem_t out[BPT_PROBLEM_COUNT]) {
    bpt_blueprint_t blueprints[BPT_MOST_CANDIDATES];
    int count = 0;
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p) {
        const bool measured = is_of_products((bpt_problem_t)p) || (*bpt_problems[p].lines && !bpt_gpu_is_processor(t->info));
        if (measured && bpt_select_candidates(t->info, (bpt_problem_t)p, blueprints) > 1) out[count++] = (bpt_problem_t)p;
    }
    return count;
}

// Products first, and of these f32; `gflops` and `rows` are theirs. Of what cannot be measured, the shipped blueprint stays.
static bpt_status_t find_winner(tune_t *t, bpt_gpu_tuning_t *winner, double gflops[BPT_PRODUCT_FORMS], int64_t *rows) {
    bpt_problem_t problems[BPT_PROBLEM_COUNT];
    const int count = problems_of(t, problems);
    for (int i = 0; i < count; ++i) {
        double other[BPT_PRODUCT_FORMS];
        t->problem = problems[i];
        list_candidates(t);
        const bpt_status_t status = measure_all(t, (double)t->o->tool.seconds / count);
        if (status == BPT_ERR_UNAVAILABLE && !is_of_products(t->problem)) {
            printf("%s\n", bpt_error_message());
            bpt_error_clear();
            continue;
        }
        BPT_TRY(status);
        const bool counts = t->problem == BPT_PROBLEM_PRODUCT;
        choose_winner(t, winner, counts ? gflops : other);
        if (counts) *rows = t->candidate[0].rates.rows;
    }
    return BPT_OK;
}

static bpt_status_t tune(tune_t *t) {
    bpt_gpu_tuning_t winner;
    double gflops[BPT_PRODUCT_FORMS] = {0};
    int64_t rows = 0;
    char text[BPT_TUNING_TEXT], *path;
    if (!t->o->run.dry_run) BPT_TRY(bpt_gpu_tuning_prepare(t->backend->name, t->info));
    printf("%s: %s\n", t->backend->name, t->info->name);
    if (*t->devices.library) printf("library: %s\n", t->devices.library);
    bpt_gpu_tuning_shipped(t->info, &winner);
    BPT_TRY(find_winner(t, &winner, gflops, &rows));
    bpt_gpu_tuning_text(&winner, text);
    printf("fastest: %s (products of %lld rows)\n", text, (long long)rows);
    if (t->o->run.dry_run) return BPT_OK;
    BPT_TRY(bpt_gpu_tuning_write(t->backend->name, t->info, &winner, gflops));
    BPT_TRY(bpt_gpu_tuning_path(t->backend->name, t->info, &path));
    printf("recorded in %s; `bpt tune --reset` forgets it\n", path);
    bpt_free(path);
    return BPT_OK;
}

static bpt_status_t reset(const tune_t *t) {
    char *path;
    BPT_TRY(bpt_gpu_tuning_path(t->backend->name, t->info, &path));
    const bool there = path && bpt_file_exists(path);
    const bpt_status_t status = there ? bpt_path_remove(path) : BPT_OK;
    if (status == BPT_OK)
        printf("%s: %s: %s, the shipped rule applies\n", t->backend->name, t->info->name,
               there ? "the tuned rule is forgotten" : "no rule was tuned");
    bpt_free(path);
    return status;
}

static bpt_status_t run_with(tune_t *t) {
    BPT_TRY(cli_device_find(t->o, &t->backend, &t->index, &t->devices));
    t->info = &t->devices.device[t->index];
    if (!t->backend->gpu)
        return bpt_fail(BPT_ERR_USAGE,
                        "nothing to tune on backend %s; name one of the GPU backends: bpt tune --backend vulkan or opencl or cuda",
                        t->backend->name);
    return t->o->tool.reset ? reset(t) : tune(t);
}

static bpt_status_t run_tune(cli_options_t *o) {
    tune_t *t;
    if (o->tool.reset && o->run.dry_run) return bpt_fail(BPT_ERR_USAGE, "--reset and --dry-run exclude each other");
    BPT_TRY(bpt_alloc(1, sizeof *t, &t));
    t->o = o;
    const bpt_status_t status = run_with(t);
    bpt_free(t);
    return status;
}

const cli_command_t cli_command_tune = {
    .bit = CLI_TUNE,
    .name = "tune",
    .arguments = "",
    .purpose = "measure which kernels are fastest on a GPU for products of matrices and for attention, and record it",
    .description = "Measures all ways to multiply matrices that the device supports. It uses the f32 products of a training step of "
                   "the default model of `bpt bench train`: forward, backward, and gradients of weights. Where the device has "
                   "matrix units, it also uses the products of --precision f16. Then it measures attention and its gradient with each "
                   "size of tiles that the device may have. The fastest become the rule for this device "
                   "and this version of its driver. The rule is written to a file that every later start reads; without such a rule "
                   "the built-in one applies. Nothing is ever measured at the start of another command, so runs repeat bit for bit "
                   "until you tune. `bpt devices` shows the rule.\n"
                   "Kernels that were never compiled before take time to compile; what is not measured within --seconds is measured "
                   "by the next `bpt tune`. The file is in $BPT_CONFIG_DIR, else $XDG_CONFIG_HOME/bpt, else ~/.config/bpt. "
                   "BPT_TUNING overrides it.",
    .examples = "  bpt tune --backend vulkan\n  bpt tune --backend opencl --device 1 --seconds 300\n  bpt tune --backend opencl --dry-run\n"
                "  bpt tune --backend opencl --reset\n",
    .run = run_tune,
};
