// `bpt tune`: measures the ways in which a GPU backend can multiply matrices and records the fastest as the rule of this device and driver.
// Every candidate runs in a process of its own with what is left of the time, so that a driver that hangs or crashes ends nothing else.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/file.h"
#include "tools/bpt/bench/rates.h"
#include "tools/bpt/devices/child.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"

enum { D_MODEL = 512, D_FF = 2048, LEAST_ROWS = 256, MOST_ROWS = 16384, MOST_CANDIDATES = 16 };
static const cli_timing_t TIMING = {.repeat = 3, .quantile = 0};
static const double BUSY = 1.2;            // so far apart are two measurements of the same on a machine that does something else too
static const double CLEARLY = 1.05;        // a candidate replaces the shipped rule only when it is that much faster
static const double LONG_ENOUGH_S = 0.04;  // a product that the clock and the start of a submission do not blur

typedef struct {
    const bpt_backend_t *backend;
    int index;
    bpt_device_options_t options;
    int64_t rows;  // 0: as many as make a product long enough
    bpt_dtype_t dtype;
} task_t;

typedef struct {
    int64_t rows;
    double gflops[BPT_PRODUCT_FORMS];
    char problem[256];
} rates_t;

typedef struct {
    char text[BPT_TUNING_TEXT];
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
    bpt_dtype_t dtype;  // of the operands that are measured now
    candidate_t candidate[MOST_CANDIDATES];
    int count;
} tune_t;

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

static bpt_status_t measure_on(bpt_device_t *device, const task_t *task, rates_t *rates) {
    rates->rows = task->rows;
    if (!task->rows) BPT_TRY(choose_rows(device, task->dtype, &rates->rows));
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f)
        BPT_TRY(measure_form(device, (bpt_product_form_t)f, task->dtype, rates->rows, &rates->gflops[f]));
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

static void add_candidate(tune_t *t, const char *text) {
    for (int i = 0; i < t->count; ++i)
        if (!strcmp(t->candidate[i].text, text)) return;
    if (!strcmp(text, "library") && !t->devices.has_library) return;
    if (t->count < MOST_CANDIDATES) snprintf(t->candidate[t->count++].text, BPT_TUNING_TEXT, "%.*s", BPT_TUNING_TEXT - 1, text);
}

// The shipped rule first: all others are held against it. What it says of products of two f16 matrices stands after its +, and is of no
// matter for the others.
static void list_candidates(tune_t *t) {
    const bool half = t->dtype == BPT_F16;
    const char *const *others = half ? bpt_gpu_tuning_half_candidates(t->info) : bpt_gpu_tuning_candidates(t->info);
    bpt_gpu_tuning_t shipped;
    char text[BPT_TUNING_TEXT], joined[2 * BPT_TUNING_TEXT];
    t->count = 0;
    memset(t->candidate, 0, sizeof t->candidate);
    bpt_gpu_tuning_shipped(t->info, &shipped);
    bpt_gpu_tuning_text(&shipped, text);
    if (half) add_candidate(t, text);
    text[strcspn(text, "+")] = '\0';
    if (!half) add_candidate(t, text);
    for (; *others; ++others) {
        snprintf(joined, sizeof joined, "%s+%s", text, *others);
        add_candidate(t, half ? joined : *others);
    }
}

static bpt_status_t try_candidate(tune_t *t, candidate_t *c, double seconds_left) {
    if (seconds_left < 1) {
        snprintf(c->why, sizeof c->why, "no time left");
        return BPT_OK;
    }
    task_t task = {.backend = t->backend,
                   .index = t->index,
                   .options = cli_device_options(t->o),
                   .rows = t->candidate[0].rates.rows,
                   .dtype = t->dtype};
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

static void print_candidate(const candidate_t *c, const char *remark) {
    char label[BPT_TUNING_TEXT + 16];
    snprintf(label, sizeof label, *remark ? "%s (%s)" : "%s", c->text, remark);
    printf("%-32s", label);
    if (c->measured)
        for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) printf(" %10.1f", c->rates.gflops[f]);
    else
        printf(" not measured: %s", c->why);
    printf("\n");
}

static void print_heading(const tune_t *t) {
    printf("%-32s", t->dtype == BPT_F16 ? "GFLOP/s of products of f16" : "GFLOP/s of the products");
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) printf(" %10s", cli_product_forms[f]);
    printf("\n");
}

// The shipped rule once more: the better one counts, and how far they are apart tells what the measurements are worth.
static bpt_status_t measure_again(tune_t *t, double seconds_left) {
    candidate_t *first = &t->candidate[0], again = *first;
    double apart = 1;
    BPT_TRY(try_candidate(t, &again, seconds_left));
    print_candidate(&again, "again");
    if (!again.measured) return BPT_OK;
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) {
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
        print_candidate(&t->candidate[i], i ? "" : "shipped");
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

// Form by form the fastest, where it is clearly faster than the shipped rule. What is found for f32 holds for f16 too until that is
// measured.
static void choose_winner(const tune_t *t, bpt_gpu_tuning_t *winner, double gflops[BPT_PRODUCT_FORMS]) {
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) {
        const candidate_t *best = &t->candidate[0];
        bpt_gpu_tuning_t tuning;
        for (int i = 1; i < t->count; ++i) {
            const candidate_t *c = &t->candidate[i];
            const double least = best == &t->candidate[0] ? CLEARLY * best->rates.gflops[f] : best->rates.gflops[f];
            if (c->measured && c->rates.gflops[f] > least) best = c;
        }
        gflops[f] = best->rates.gflops[f];
        if (!bpt_gpu_tuning_parse(best->text, &tuning)) continue;
        winner->half[f] = tuning.half[f];
        if (t->dtype == BPT_F32) winner->form[f] = tuning.form[f];
    }
}

// Products of f32, and where the device has units for them those of f16.
static bpt_status_t find_winner(tune_t *t, bpt_gpu_tuning_t *winner, double gflops[BPT_PRODUCT_FORMS]) {
    const bool units = bpt_gpu_info(t->info).fragments.rows > 0;
    const double seconds = (double)t->o->tool.seconds / (units ? 2 : 1);
    double half_gflops[BPT_PRODUCT_FORMS];
    t->dtype = BPT_F32;
    list_candidates(t);
    BPT_TRY(measure_all(t, seconds));
    choose_winner(t, winner, gflops);
    if (!units) return BPT_OK;
    t->dtype = BPT_F16;
    list_candidates(t);
    BPT_TRY(measure_all(t, seconds));
    choose_winner(t, winner, half_gflops);
    return BPT_OK;
}

static bpt_status_t tune(tune_t *t) {
    bpt_gpu_tuning_t winner = {0};
    double gflops[BPT_PRODUCT_FORMS];
    char text[BPT_TUNING_TEXT], *path;
    if (!t->o->run.dry_run) BPT_TRY(bpt_gpu_tuning_prepare(t->backend->name, t->info));
    printf("%s: %s\n", t->backend->name, t->info->name);
    if (*t->devices.library) printf("library: %s\n", t->devices.library);
    BPT_TRY(find_winner(t, &winner, gflops));
    bpt_gpu_tuning_text(&winner, text);
    printf("fastest: %s (products of %lld rows)\n", text, (long long)t->candidate[0].rates.rows);
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
    .purpose = "measure which way of multiplying matrices is fastest on a GPU, and record it",
    .description = "Measures all ways to multiply matrices that the device supports. It uses the f32 products of a training step of "
                   "the default model of `bpt bench train`: forward, backward, and gradients of weights. Where the device has "
                   "matrix units, it also uses the products of --precision f16. The fastest ways become the rule for this device "
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
