// See compiled.h. Compilers crash and hang like the rest of a driver, so each part of the kernels is compiled in a child process; the parts
// work side by side. Each child records the same work and compiles every n-th kernel of it.
#include "tools/bpt/devices/compiled.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/machine.h"
#include "tools/bpt/devices/child.h"
#include "tools/bpt/devices/workloads.h"
#include "tools/bpt/signals.h"

enum { MOST_PARTS = 32, SECONDS = 3600 };
static const double KEEP_SECONDS = 0.5;  // between two looks at what was compiled

const cli_resource_t cli_resources[] = {
    {"registers", "regs", offsetof(bpt_gpu_resources_t, registers), true},
    {"scalar_registers", "scalar", offsetof(bpt_gpu_resources_t, scalar_registers), false},
    {"spilled", "spills", offsetof(bpt_gpu_resources_t, spilled), true},
    {"spilled_scalars", "s.spills", offsetof(bpt_gpu_resources_t, spilled_scalars), true},
    {"local_bytes", "local", offsetof(bpt_gpu_resources_t, local_bytes), true},
    {"scratch_bytes", "scratch", offsetof(bpt_gpu_resources_t, scratch_bytes), true},
    {"subgroup", "width", offsetof(bpt_gpu_resources_t, subgroup), true},
    {"waves", "waves", offsetof(bpt_gpu_resources_t, waves), true},
    {"instructions", "instr", offsetof(bpt_gpu_resources_t, instructions), false},
    {"code_bytes", "code", offsetof(bpt_gpu_resources_t, code_bytes), false},
    {0},
};

int64_t *cli_resource_value(const cli_resource_t *column, const bpt_gpu_resources_t *takes) {
    return (int64_t *)((char *)takes + column->field);
}

typedef struct {
    const cli_compile_t *wanted;
    int part, parts;
    int progress;  // where to show it; -1: nowhere
} task_t;

// ---- In a child
static void compile_kernel(const cli_compile_t *c, bpt_device_t *device, const bpt_gpu_variant_t *variant, const char *compiler,
                           cli_kernel_t *out) {
    snprintf(out->kernel, sizeof out->kernel, "%s", bpt_gpu_kernels[variant->kernel].name);
    bpt_gpu_variant_text(variant, out->variant, sizeof out->variant);
    bpt_status_t status = bpt_gpu_source_hash(device, variant, &out->source);
    out->takes = BPT_GPU_NOTHING_SAID;
    if (status == BPT_OK && c->known && c->known(c->user, compiler, out)) {
        out->compiled = out->known = true;
    } else if (status == BPT_OK && *compiler && !c->sources_only) {
        status = bpt_gpu_compile(device, variant, &out->takes);
        out->compiled = status == BPT_OK;
    }
    if (status != BPT_OK) snprintf(out->problem, sizeof out->problem, "%s", bpt_error_message());
}

// Kernels in the order of their names, so that variants of one stand side by side.
static int by_kernel(const void *a, const void *b) {
    const bpt_gpu_variant_t *x = a, *y = b;
    const int order = strcmp(bpt_gpu_kernels[x->kernel].name, bpt_gpu_kernels[y->kernel].name);
    return order ? order : memcmp(x, y, sizeof *x);
}

static const bpt_dtype_t precisions[] = {BPT_F32, BPT_BF16, BPT_F16};

static bool has_precision(const bpt_device_t *device, bpt_dtype_t precision) {
    return precision == BPT_F32 || (precision == BPT_BF16 ? device->info.bf16 : device->info.f16);
}

// Without the compiler only what it would be given is asked for, unless figures are wanted by all means.
static bpt_status_t know_compiler(const cli_compile_t *c, bpt_device_t *device, cli_kernels_t *part) {
    const bpt_status_t status = bpt_gpu_compiler_name(device, part->compiler, sizeof part->compiler);
    if (status == BPT_OK || !(c->sources_only || c->known)) return status;
    snprintf(part->problem, sizeof part->problem, "%s", bpt_error_message());
    bpt_error_clear();
    *part->compiler = '\0';
    return BPT_OK;
}

bool cli_kernel_is_one_of(const char *kernel, const char *beginning) { return !strncmp(kernel, beginning, strlen(beginning)); }

static bpt_status_t compile_part(const task_t *task, bpt_device_t *device, cli_kernels_t *part) {
    const bpt_gpu_variant_t *noted;
    bpt_gpu_variant_t *sorted;
    size_t count;
    BPT_TRY(know_compiler(task->wanted, device, part));
    for (size_t p = 0; p < BPT_COUNT(precisions); ++p)
        if (task->wanted->precisions >> precisions[p] & 1 && has_precision(device, precisions[p]))
            BPT_TRY(cli_workloads_record(device, precisions[p]));
    bpt_gpu_noted(device, &noted, &count);
    if (count > CLI_MOST_KERNELS) return bpt_fail(BPT_ERR_INTERNAL, "%zu kernels; room is for %d", count, CLI_MOST_KERNELS);
    BPT_TRY(bpt_alloc(count, sizeof *sorted, &sorted));
    for (size_t i = 0; i < count; ++i)
        if (cli_kernel_is_one_of(bpt_gpu_kernels[noted[i].kernel].name, task->wanted->only)) sorted[part->count++] = noted[i];
    qsort(sorted, (size_t)part->count, sizeof *sorted, by_kernel);
    for (part->current = task->part; part->current < part->count; part->current += task->parts) {
        compile_kernel(task->wanted, device, &sorted[part->current], part->compiler, &part->kernel[part->current]);
        if (task->progress >= 0) dprintf(task->progress, "\r%s: %d of %d kernels ", part->device, part->current + 1, part->count);
    }
    if (task->progress >= 0) dprintf(task->progress, "\r\033[K");
    bpt_free(sorted);
    return BPT_OK;
}

static void describe(const bpt_device_info_t *info, cli_kernels_t *part) {
    snprintf(part->device, sizeof part->device, "%s", info->name);
    snprintf(part->driver, sizeof part->driver, "%s", info->driver);
    snprintf(part->rule, sizeof part->rule, "%s", bpt_gpu_info(info).rule);
    bpt_gpu_class_text(bpt_gpu_class(info), part->class, sizeof part->class);
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p) bpt_select_text(info, (bpt_problem_t)p, part->blueprints[p], sizeof part->blueprints[p]);
}

static void work(const void *input, void *result) {
    const task_t *task = input;
    const cli_compile_t *c = task->wanted;
    const bpt_device_options_t options = {.compile_only = true, .target = c->target};
    cli_kernels_t *part = result;
    bpt_device_t *device = NULL;
    cli_drivers_use(c->backend, c->drivers);
    bpt_status_t status = c->backend->open(c->index, &options, &device);
    if (status == BPT_OK) {
        describe(&device->info, part);
        status = compile_part(task, device, part);
        c->backend->close(device);
    }
    if (status != BPT_OK) snprintf(part->problem, sizeof part->problem, "%s", bpt_error_message());
}

// ---- All parts
static void take_device(cli_kernels_t *all, const cli_kernels_t *part) {
    memcpy(all->device, part->device, sizeof all->device);
    memcpy(all->driver, part->driver, sizeof all->driver);
    memcpy(all->compiler, part->compiler, sizeof all->compiler);
    memcpy(all->class, part->class, sizeof all->class);
    memcpy(all->rule, part->rule, sizeof all->rule);
    memcpy(all->blueprints, part->blueprints, sizeof all->blueprints);
    all->count = part->count;
}

// What became of a child that did not come to its end belongs to the kernel that it was at.
static void take_part(cli_kernels_t *all, const cli_kernels_t *part, const task_t *task, bool done, const char *why) {
    if (*part->device) take_device(all, part);
    if (!*all->problem && *part->problem) memcpy(all->problem, part->problem, sizeof all->problem);
    if (!done && !part->count) snprintf(all->problem, sizeof all->problem, "the compiler's process %s", why);
    for (int i = task->part; i < part->count; i += task->parts) {
        all->kernel[i] = part->kernel[i];
        if (!done && i >= part->current)
            snprintf(all->kernel[i].problem, sizeof all->kernel[i].problem,
                     i == part->current ? "its compiler %s" : "not compiled: the process %s", why);
    }
}

// Takes the kernels that a child at work has compiled since the last look. *news = there are some whose figures were not known.
static void look_at_part(cli_kernels_t *all, const cli_kernels_t *part, const task_t *task, int *looked, bool *news) {
    const int current = atomic_load(&part->current);  // written after all before it
    if (*looked < task->part) *looked = task->part;
    if (*looked < current) take_device(all, part);
    for (; *looked < current && *looked < part->count; *looked += task->parts) {
        const cli_kernel_t *kernel = &part->kernel[*looked];
        all->kernel[*looked] = *kernel;
        *news = *news || (kernel->compiled && !kernel->known);
    }
}

// Hands over what the children compile, until all of them have ended or their time is up.
static bpt_status_t watch(const task_t *tasks, const cli_running_t *running, int parts, cli_kernels_t *all) {
    const cli_compile_t *wanted = tasks->wanted;
    int looked[MOST_PARTS] = {0}, ended = 0;
    for (const double end = bpt_clock_seconds() + SECONDS; ended < parts && bpt_clock_seconds() < end && !cli_interrupted;) {
        bool news = false;
        if (cli_child_wait(&running[ended], KEEP_SECONDS)) ++ended;
        for (int i = 0; i < parts; ++i) look_at_part(all, cli_child_result(&running[i]), &tasks[i], &looked[i], &news);
        if (news) BPT_TRY(wanted->keep(wanted->user, all));
    }
    return BPT_OK;
}

static bpt_status_t run_parts(const task_t *wanted, cli_kernels_t *part, cli_kernels_t *all) {
    const int parts = wanted->parts;
    task_t tasks[MOST_PARTS];
    cli_child_t children[MOST_PARTS];
    cli_running_t running[MOST_PARTS];
    int started = 0;
    bpt_status_t status = BPT_OK;
    memset(all, 0, sizeof *all);
    for (; started < parts && status == BPT_OK; ++started) {
        tasks[started] = *wanted;
        tasks[started].part = started;
        if (started) tasks[started].progress = -1;  // one speaks for all
        children[started] = (cli_child_t){.work = work,
                                          .input = &tasks[started],
                                          .result = part,
                                          .result_bytes = sizeof *part,
                                          .seconds = SECONDS,
                                          .verbose = wanted->wanted->verbose};
        status = cli_child_start(&children[started], &running[started]);
        if (status != BPT_OK) break;
    }
    if (status == BPT_OK && wanted->wanted->keep) status = watch(tasks, running, started, all);
    for (int i = 0; i < started; ++i) {
        bool done;
        char why[128] = "";
        if (status == BPT_OK) {
            status = cli_child_finish(&children[i], &running[i], &done, why, sizeof why);
            if (status == BPT_OK) take_part(all, part, &tasks[i], done, why);
        } else {
            cli_child_end(&children[i], &running[i]);
        }
    }
    return status;
}

static int parts_of(const cli_compile_t *wanted) {
    const long cores = bpt_machine_processors(), parts = wanted->processes ? (long)wanted->processes : cores;
    return parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : (int)parts;
}

bpt_status_t cli_compile(const cli_compile_t *wanted, cli_kernels_t *out) {
    const task_t task = {
        .wanted = wanted, .parts = parts_of(wanted), .progress = isatty(STDERR_FILENO) && !wanted->quiet ? dup(STDERR_FILENO) : -1};
    cli_kernels_t *part;
    bpt_status_t status = bpt_alloc(1, sizeof *part, &part);
    if (status == BPT_OK) status = run_parts(&task, part, out);
    if (task.progress >= 0) close(task.progress);
    bpt_free(part);
    return status;
}

unsigned cli_compile_precisions(const cli_options_t *o) {
    unsigned bits = 0;
    for (size_t p = 0; p < BPT_COUNT(precisions); ++p)
        if (cli_option_source(o, "precision") != CLI_FROM_FLAG || o->train.precision == precisions[p]) bits |= 1u << precisions[p];
    return bits;
}
