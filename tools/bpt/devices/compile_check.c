// See compile_check.h.
#include "tools/bpt/devices/compile_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "backends/gpu/info.h"
#include "bpt/alloc.h"
#include "bpt/json.h"
#include "tools/bpt/devices/compiled.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/devices/probe.h"
#include "tools/bpt/output.h"

typedef struct {
    const cli_options_t *o;
    cli_kernels_t *all;
    json_t *devices;     // NULL: a table is printed
    int tested, failed;  // devices; kernels that do not compile
    char problem[640];   // of the last backend that has no such device
} check_t;

// ---- What is shown
static void count_lines(const cli_kernels_t *all, int *failed, int *spilling) {
    *failed = *spilling = 0;
    for (int i = 0; i < all->count; ++i) {
        *failed += *all->kernel[i].problem != 0;
        *spilling += all->kernel[i].takes.spilled > 0;
    }
}

static void print_table(const check_t *c, const char *backend) {
    const cli_kernels_t *all = c->all;
    int failed, spilling;
    printf("%s: %s (%s)\nclass %s\nrule %s\nblueprints of the class, by kernel: the one that it takes, then what `bpt tune` measures\n",
           backend, all->device, all->driver, all->class, all->rule);
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p)
        printf("  %s (%s): %s\n", bpt_problems[p].kernels, bpt_problems[p].name, all->blueprints[p]);
    printf("%-22s", "kernel");
    for (const cli_resource_t *k = cli_resources; k->key; ++k) printf(" %8s", k->title);
    printf("  variant\n");
    for (int i = 0; i < all->count; ++i) {
        const cli_kernel_t *line = &all->kernel[i];
        printf("%-22s", line->kernel);
        for (const cli_resource_t *k = cli_resources; k->key && !*line->problem; ++k) {
            const int64_t value = *cli_resource_value(k, &line->takes);
            if (value < 0)
                printf(" %8s", "-");
            else
                printf(" %8" PRId64, value);
        }
        printf("%s%s  %s\n", *line->problem ? " FAILED: " : "", line->problem, line->variant);
    }
    count_lines(all, &failed, &spilling);
    printf("%d kernels, %d of them spill registers, %d do not compile\n\n", all->count, spilling, failed);
}

static bpt_status_t out_of_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing kernels"); }

static bpt_status_t fill_line(json_t *object, const cli_kernel_t *line) {
    char source[24];
    BPT_TRY(bpt_json_set_text(object, "kernel", line->kernel));
    BPT_TRY(bpt_json_set_text(object, "variant", line->variant));
    if (*line->problem) return bpt_json_set_text(object, "problem", line->problem);
    snprintf(source, sizeof source, "%016" PRIx64, line->source);
    BPT_TRY(bpt_json_set_text(object, "source", source));
    for (const cli_resource_t *k = cli_resources; k->key; ++k)
        if (*cli_resource_value(k, &line->takes) >= 0) BPT_TRY(bpt_json_set_int(object, k->key, *cli_resource_value(k, &line->takes)));
    return BPT_OK;
}

static bpt_status_t append_device(const check_t *c, const char *backend) {
    const cli_kernels_t *all = c->all;
    json_t *device = json_object(), *lines = json_array(), *blueprints = json_object();
    int failed, spilling;
    count_lines(all, &failed, &spilling);
    if (json_array_append_new(c->devices, device) || json_object_set_new(device, "kernels", lines) ||
        json_object_set_new(device, "blueprints", blueprints))
        return out_of_memory();
    BPT_TRY(bpt_json_set_text(device, "backend", backend));
    BPT_TRY(bpt_json_set_text(device, "device", all->device));
    BPT_TRY(bpt_json_set_text(device, "driver", all->driver));
    BPT_TRY(bpt_json_set_text(device, "compiler", all->compiler));
    BPT_TRY(bpt_json_set_text(device, "class", all->class));
    BPT_TRY(bpt_json_set_text(device, "rule", all->rule));
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p) BPT_TRY(bpt_json_set_text(blueprints, bpt_problems[p].name, all->blueprints[p]));
    BPT_TRY(bpt_json_set_int(device, "failed", failed));
    BPT_TRY(bpt_json_set_int(device, "spilling", spilling));
    for (int i = 0; i < all->count; ++i) {
        json_t *line = json_object();
        if (json_array_append_new(lines, line)) return out_of_memory();
        BPT_TRY(fill_line(line, &all->kernel[i]));
    }
    return BPT_OK;
}

// ---- Devices
// Device `index`, or the target of this name. *fits = it could be opened.
static bpt_status_t check_one(check_t *c, const bpt_backend_t *backend, const cli_probe_t *probe, int index, const char *target,
                              bool *fits) {
    const cli_compile_t wanted = {.backend = backend,
                                  .drivers = &probe->drivers,
                                  .target = target,
                                  .index = index,
                                  .processes = (int)c->o->global.threads,
                                  .precisions = cli_compile_precisions(c->o),
                                  .only = c->o->tool.kernels,
                                  .quiet = c->o->global.quiet,
                                  .verbose = c->o->global.verbose};
    int failed, spilling;
    BPT_TRY(cli_compile(&wanted, c->all));
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

static bool compiles(const bpt_device_info_t *info) { return info->usable || bpt_gpu_info(info).pretended; }

static bpt_status_t check_backend(void *user, const char *name, const bpt_backend_t *backend, const cli_probe_t *probe) {
    check_t *c = user;
    const char *wanted = c->o->global.device;
    bool fits = false, any = false;
    (void)name;
    if (!backend || !backend->gpu) return BPT_OK;
    for (int i = 0; i < probe->count; ++i) {
        if (!compiles(&probe->device[i]) || (*wanted && !cli_device_fits(&probe->device[i], i, wanted))) continue;
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
                                             "dg2-g10 name one that need not be here, if its compiler is, and Mesa pretends AMD's "
                                             "(`bpt doctor --help`)");
    if (c->devices) BPT_TRY(cli_print_json(c->devices, 1));
    if (c->failed) return bpt_fail(BPT_ERR_UNSUPPORTED, "%d kernels do not compile; the table says why", c->failed);
    return *c->problem ? bpt_fail(BPT_ERR_UNSUPPORTED, "%s", c->problem) : BPT_OK;
}

bpt_status_t cli_compile_check(const cli_options_t *o) {
    check_t c = {.o = o};
    bpt_status_t status = bpt_alloc(1, sizeof *c.all, &c.all);
    if (o->use.json && status == BPT_OK && !(c.devices = json_array())) status = out_of_memory();
    if (status == BPT_OK) status = check_all(&c);
    json_decref(c.devices);
    bpt_free(c.all);
    return status;
}
