// See compile_check.h. Compilers crash and hang like the rest of a driver, so each part of the kernels is compiled in a child process; the
// parts work side by side. Each child records the same work and compiles every n-th kernel of it.
#include "tools/bpt/devices/compile_check.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "backends/gpu/compile.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/json.h"
#include "tools/bpt/devices/child.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/devices/probe.h"
#include "tools/bpt/devices/workloads.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/output.h"

enum { MOST_KERNELS = 2048, MOST_PARTS = 32, SECONDS = 3600 };

// A kernel as it was compiled, or why it was not.
typedef struct {
    char kernel[40], variant[480], problem[400];
    bpt_gpu_resources_t takes;
} line_t;

// What a child did: lines part, part + parts, ...
typedef struct {
    char device[128], driver[128], problem[512];
    int count;    // kernels in all
    int current;  // the one that is being compiled
    line_t line[MOST_KERNELS];
} part_t;

typedef struct {
    const bpt_backend_t *backend;
    const cli_drivers_t *drivers;
    const char *target;  // NULL: the device of this index
    int index, part, parts;
    unsigned precisions;  // a bit for each of `precisions`
    int progress;         // where to show it; -1: nowhere
} task_t;

// ---- In a child
static void compile_line(bpt_device_t *device, const bpt_gpu_variant_t *variant, line_t *line) {
    snprintf(line->kernel, sizeof line->kernel, "%s", bpt_gpu_kernels[variant->kernel].name);
    bpt_gpu_variant_text(variant, line->variant, sizeof line->variant);
    if (bpt_gpu_compile(device, variant, &line->takes) != BPT_OK) snprintf(line->problem, sizeof line->problem, "%s", bpt_error_message());
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

static bpt_status_t compile_part(const task_t *task, bpt_device_t *device, part_t *part) {
    const bpt_gpu_variant_t *noted;
    bpt_gpu_variant_t *sorted;
    size_t count;
    for (size_t p = 0; p < BPT_COUNT(precisions); ++p)
        if (task->precisions >> p & 1 && has_precision(device, precisions[p])) BPT_TRY(cli_workloads_record(device, precisions[p]));
    bpt_gpu_noted(device, &noted, &count);
    if (count > MOST_KERNELS) return bpt_fail(BPT_ERR_INTERNAL, "%zu kernels; room is for %d", count, MOST_KERNELS);
    BPT_TRY(bpt_alloc(count, sizeof *sorted, &sorted));
    memcpy(sorted, noted, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_kernel);
    part->count = (int)count;
    for (part->current = task->part; part->current < part->count; part->current += task->parts) {
        compile_line(device, &sorted[part->current], &part->line[part->current]);
        if (task->progress >= 0) dprintf(task->progress, "\r%s: %d of %d kernels ", part->device, part->current + 1, part->count);
    }
    if (task->progress >= 0) dprintf(task->progress, "\r\033[K");
    bpt_free(sorted);
    return BPT_OK;
}

static void work(const void *input, void *result) {
    const task_t *task = input;
    const bpt_device_options_t options = {.compile_only = true, .target = task->target};
    part_t *part = result;
    bpt_device_t *device = NULL;
    cli_drivers_use(task->backend, task->drivers);
    bpt_status_t status = task->backend->open(task->index, &options, &device);
    if (status == BPT_OK) {
        snprintf(part->device, sizeof part->device, "%s", device->info.name);
        snprintf(part->driver, sizeof part->driver, "%s", device->info.driver);
        status = compile_part(task, device, part);
        task->backend->close(device);
    }
    if (status != BPT_OK) snprintf(part->problem, sizeof part->problem, "%s", bpt_error_message());
}

// ---- All parts
typedef struct {
    const cli_options_t *o;
    part_t *all, *part;  // put together; one of them
    json_t *devices;     // NULL: a table is printed
    int tested, failed;  // devices; kernels that do not compile
    char problem[640];   // of the last backend that has no such device
} check_t;

// What became of a child that did not come to its end belongs to the kernel that it was at.
static void take_part(check_t *c, const task_t *task, bool done, const char *why) {
    part_t *all = c->all, *part = c->part;
    if (part->count) {
        memcpy(all->device, part->device, sizeof all->device);
        memcpy(all->driver, part->driver, sizeof all->driver);
        all->count = part->count;
    }
    if (!*all->problem && *part->problem) memcpy(all->problem, part->problem, sizeof all->problem);
    if (!done && !part->count) snprintf(all->problem, sizeof all->problem, "the compiler's process %s", why);
    for (int i = task->part; i < part->count; i += task->parts) {
        all->line[i] = part->line[i];
        if (!done && i >= part->current)
            snprintf(all->line[i].problem, sizeof all->line[i].problem,
                     i == part->current ? "its compiler %s" : "not compiled: the process %s", why);
    }
}

static bpt_status_t run_parts(check_t *c, const task_t *wanted) {
    const int parts = wanted->parts;
    task_t tasks[MOST_PARTS];
    cli_child_t children[MOST_PARTS];
    cli_running_t running[MOST_PARTS];
    int started = 0;
    bpt_status_t status = BPT_OK;
    memset(c->all, 0, sizeof *c->all);
    for (; started < parts && status == BPT_OK; ++started) {
        tasks[started] = *wanted;
        tasks[started].part = started;
        if (started) tasks[started].progress = -1;  // one speaks for all
        children[started] = (cli_child_t){.work = work,
                                          .input = &tasks[started],
                                          .result = c->part,
                                          .result_bytes = sizeof *c->part,
                                          .seconds = SECONDS,
                                          .verbose = c->o->global.verbose};
        status = cli_child_start(&children[started], &running[started]);
        if (status != BPT_OK) break;
    }
    for (int i = 0; i < started; ++i) {
        bool done;
        char why[128] = "";
        if (status == BPT_OK) {
            status = cli_child_finish(&children[i], &running[i], &done, why, sizeof why);
            if (status == BPT_OK) take_part(c, &tasks[i], done, why);
        } else {
            cli_child_end(&children[i], &running[i]);
        }
    }
    return status;
}

// ---- What is shown
static const struct {
    const char *key, *title;
    size_t field;
} columns[] = {
    {"registers", "regs", offsetof(bpt_gpu_resources_t, registers)},
    {"scalar_registers", "scalar", offsetof(bpt_gpu_resources_t, scalar_registers)},
    {"spilled", "spills", offsetof(bpt_gpu_resources_t, spilled)},
    {"spilled_scalars", "s.spills", offsetof(bpt_gpu_resources_t, spilled_scalars)},
    {"local_bytes", "local", offsetof(bpt_gpu_resources_t, local_bytes)},
    {"scratch_bytes", "scratch", offsetof(bpt_gpu_resources_t, scratch_bytes)},
    {"subgroup", "width", offsetof(bpt_gpu_resources_t, subgroup)},
    {"waves", "waves", offsetof(bpt_gpu_resources_t, waves)},
    {"instructions", "instr", offsetof(bpt_gpu_resources_t, instructions)},
    {"code_bytes", "code", offsetof(bpt_gpu_resources_t, code_bytes)},
};

static int64_t value_of(const line_t *line, size_t column) {
    return *(const int64_t *)((const char *)&line->takes + columns[column].field);
}

static void count_lines(const part_t *all, int *failed, int *spilling) {
    *failed = *spilling = 0;
    for (int i = 0; i < all->count; ++i) {
        *failed += *all->line[i].problem != 0;
        *spilling += all->line[i].takes.spilled > 0;
    }
}

static void print_table(const check_t *c, const char *backend) {
    const part_t *all = c->all;
    int failed, spilling;
    printf("%s: %s (%s)\n%-22s", backend, all->device, all->driver, "kernel");
    for (size_t k = 0; k < BPT_COUNT(columns); ++k) printf(" %8s", columns[k].title);
    printf("  variant\n");
    for (int i = 0; i < all->count; ++i) {
        const line_t *line = &all->line[i];
        printf("%-22s", line->kernel);
        for (size_t k = 0; k < BPT_COUNT(columns) && !*line->problem; ++k) {
            if (value_of(line, k) < 0)
                printf(" %8s", "-");
            else
                printf(" %8" PRId64, value_of(line, k));
        }
        printf("%s%s  %s\n", *line->problem ? " FAILED: " : "", line->problem, line->variant);
    }
    count_lines(all, &failed, &spilling);
    printf("%d kernels, %d of them spill registers, %d do not compile\n\n", all->count, spilling, failed);
}

static bpt_status_t out_of_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing kernels"); }

static bpt_status_t fill_line(json_t *object, const line_t *line) {
    BPT_TRY(bpt_json_set_text(object, "kernel", line->kernel));
    BPT_TRY(bpt_json_set_text(object, "variant", line->variant));
    if (*line->problem) return bpt_json_set_text(object, "problem", line->problem);
    for (size_t k = 0; k < BPT_COUNT(columns); ++k)
        if (value_of(line, k) >= 0) BPT_TRY(bpt_json_set_int(object, columns[k].key, value_of(line, k)));
    return BPT_OK;
}

static bpt_status_t append_device(const check_t *c, const char *backend) {
    const part_t *all = c->all;
    json_t *device = json_object(), *lines = json_array();
    int failed, spilling;
    count_lines(all, &failed, &spilling);
    if (json_array_append_new(c->devices, device) || json_object_set_new(device, "kernels", lines)) return out_of_memory();
    BPT_TRY(bpt_json_set_text(device, "backend", backend));
    BPT_TRY(bpt_json_set_text(device, "device", all->device));
    BPT_TRY(bpt_json_set_text(device, "driver", all->driver));
    BPT_TRY(bpt_json_set_int(device, "failed", failed));
    BPT_TRY(bpt_json_set_int(device, "spilling", spilling));
    for (int i = 0; i < all->count; ++i) {
        json_t *line = json_object();
        if (json_array_append_new(lines, line)) return out_of_memory();
        BPT_TRY(fill_line(line, &all->line[i]));
    }
    return BPT_OK;
}

// ---- Devices
// All, or what --precision names.
static unsigned precisions_of(const cli_options_t *o) {
    unsigned bits = 0;
    for (unsigned p = 0; p < BPT_COUNT(precisions); ++p)
        if (cli_option_source(o, "precision") != CLI_FROM_FLAG || o->train.precision == precisions[p]) bits |= 1u << p;
    return bits;
}

static int parts_of(const cli_options_t *o) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN), parts = o->global.threads ? (long)o->global.threads : cores;
    return parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : (int)parts;
}

// Device `index`, or the target of this name. *fits = it could be opened.
static bpt_status_t check_one(check_t *c, const bpt_backend_t *backend, const cli_probe_t *probe, int index, const char *target,
                              bool *fits) {
    const task_t task = {.backend = backend,
                         .drivers = &probe->drivers,
                         .target = target,
                         .index = index,
                         .parts = parts_of(c->o),
                         .precisions = precisions_of(c->o),
                         .progress = isatty(STDERR_FILENO) && !c->o->global.quiet ? dup(STDERR_FILENO) : -1};
    const bpt_status_t status = run_parts(c, &task);
    int failed, spilling;
    if (task.progress >= 0) close(task.progress);
    BPT_TRY(status);
    *fits = c->all->count > 0;
    if (*c->all->problem) snprintf(c->problem, sizeof c->problem, "%s", c->all->problem);
    if (!*fits) return BPT_OK;
    count_lines(c->all, &failed, &spilling);
    ++c->tested;
    c->failed += failed;
    if (c->devices) return append_device(c, backend->name);
    print_table(c, backend->name);
    return BPT_OK;
}

static bpt_status_t check_backend(void *user, const char *name, const bpt_backend_t *backend, const cli_probe_t *probe) {
    check_t *c = user;
    const char *wanted = c->o->global.device;
    bool fits = false, any = false;
    (void)name;
    if (!backend || !backend->gpu) return BPT_OK;
    for (int i = 0; i < probe->count; ++i) {
        if (!probe->device[i].usable || (*wanted && !cli_device_fits(&probe->device[i], i, wanted))) continue;
        BPT_TRY(check_one(c, backend, probe, i, NULL, &fits));
        any = true;
    }
    return any || !*wanted || !backend->targets ? BPT_OK : check_one(c, backend, probe, 0, wanted, &fits);
}

static bpt_status_t check_all(check_t *c) {
    BPT_TRY(cli_each_backend(c->o, check_backend, c));
    if (!c->tested && *c->problem) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", c->problem);
    if (!c->tested)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "there is no GPU to compile for; --backend cuda --device sm_80 or --backend opencl --device "
                                             "dg2-g10 name one that need not be here, if its compiler is");
    if (c->devices) BPT_TRY(cli_print_json(c->devices, 1));
    if (c->failed) return bpt_fail(BPT_ERR_UNSUPPORTED, "%d kernels do not compile; the table says why", c->failed);
    return *c->problem ? bpt_fail(BPT_ERR_UNSUPPORTED, "%s", c->problem) : BPT_OK;
}

bpt_status_t cli_compile_check(const cli_options_t *o) {
    check_t c = {.o = o};
    bpt_status_t status = bpt_alloc(1, sizeof *c.all, &c.all);
    if (status == BPT_OK) status = bpt_alloc(1, sizeof *c.part, &c.part);
    if (o->use.json && status == BPT_OK && !(c.devices = json_array())) status = out_of_memory();
    if (status == BPT_OK) status = check_all(&c);
    json_decref(c.devices);
    bpt_free(c.part);
    bpt_free(c.all);
    return status;
}
