// `bpt devices`: every backend and its devices, as text or JSON.
#include <stdio.h>

#include <jansson.h>

#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/json.h"
#include "tools/bpt/devices/probe.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"

static void size_text(uint64_t bytes, char *buffer, size_t capacity) {
    if (!bytes || bytes >= (uint64_t)1 << 60)
        snprintf(buffer, capacity, "-");
    else if (bytes >= (uint64_t)1 << 30)
        snprintf(buffer, capacity, "%.1f GiB", (double)bytes / (1 << 30));
    else
        snprintf(buffer, capacity, "%.0f MiB", (double)bytes / (1 << 20));
}

static void print_limits(const bpt_device_info_t *d) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(d);
    char binding[32];
    if (!gpu.max_group_size) return;  // no GPU
    size_text(gpu.max_binding_bytes, binding, sizeof binding);
    printf("     limits: work-group %u, local memory %u KiB, binding %s aligned to %u\n", gpu.max_group_size, gpu.max_local_bytes / 1024,
           binding, gpu.binding_alignment);
}

static void print_products(const bpt_device_info_t *d) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(d);
    if (*gpu.rule) {
        char class[128];
        bpt_gpu_class_text(bpt_gpu_class(d), class, sizeof class);
        printf("     class %s\n     products %s (%s)\n", class, gpu.rule, gpu.rule_origin);
    }
    if (*gpu.rule_note) printf("     products: %s\n", gpu.rule_note);
}

static void print_backend(const char *backend, const char *description, const cli_probe_t *probe) {
    printf("%s: %s\n", backend, description);
    cli_probe_print_left_out(&probe->drivers);
    if (*probe->reason)
        printf("  not usable: %s\n", probe->reason);
    else if (!probe->count)
        printf("  no device\n");
    if (*probe->library) printf("  library of products: %s\n", probe->library);
    for (int i = 0; i < probe->count; ++i) {
        const bpt_device_info_t *d = &probe->device[i];
        char memory[32], buffer[32], units[32] = "";
        size_text(d->memory_bytes, memory, sizeof memory);
        size_text(d->max_buffer_bytes, buffer, sizeof buffer);
        printf("  %d  %s%s%s\n", i, d->name, *d->pci ? ", PCI " : "", d->pci);
        if (d->units) snprintf(units, sizeof units, " %d unit%s,", d->units, d->units == 1 ? "" : "s");  // 0: the API does not tell
        printf("     type %s,%s memory %s, largest buffer %s, precision f32%s%s\n", d->type, units, memory, buffer, d->bf16 ? " bf16" : "",
               d->f16 ? " f16" : "");
        print_limits(d);
        print_products(d);
        printf("     driver %s%s%s\n", d->driver, *d->features ? ", features " : "", d->features);
        if (!d->usable) printf("     not usable: %s\n", d->reason);
    }
}

static bpt_status_t fill_device(json_t *object, int index, const bpt_device_info_t *d) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(d);
    BPT_TRY(bpt_json_set_int(object, "index", index));
    BPT_TRY(bpt_json_set_text(object, "name", d->name));
    BPT_TRY(bpt_json_set_text(object, "type", d->type));
    BPT_TRY(bpt_json_set_text(object, "pci", d->pci));
    BPT_TRY(bpt_json_set_text(object, "driver", d->driver));
    BPT_TRY(bpt_json_set_text(object, "features", d->features));
    BPT_TRY(bpt_json_set_u64(object, "memory_bytes", d->memory_bytes));
    BPT_TRY(bpt_json_set_u64(object, "max_buffer_bytes", d->max_buffer_bytes));
    BPT_TRY(bpt_json_set_u64(object, "max_binding_bytes", gpu.max_binding_bytes));
    BPT_TRY(bpt_json_set_u64(object, "binding_alignment", gpu.binding_alignment));
    BPT_TRY(bpt_json_set_u64(object, "max_group_size", gpu.max_group_size));
    BPT_TRY(bpt_json_set_u64(object, "max_local_bytes", gpu.max_local_bytes));
    BPT_TRY(bpt_json_set_int(object, "units", d->units));
    if (gpu.max_group_size) BPT_TRY(bpt_json_set_text(object, "class", bpt_gpu_class_name(bpt_gpu_class(d))));
    BPT_TRY(bpt_json_set_text(object, "products", gpu.rule));
    BPT_TRY(bpt_json_set_text(object, "products_origin", gpu.rule_origin));
    BPT_TRY(bpt_json_set_text(object, "products_note", gpu.rule_note));
    BPT_TRY(bpt_json_set_bool(object, "bf16", d->bf16));
    BPT_TRY(bpt_json_set_bool(object, "f16", d->f16));
    BPT_TRY(bpt_json_set_bool(object, "usable", d->usable));
    return bpt_json_set_name(object, "reason", d->reason);
}

static bpt_status_t fill_left_out(json_t *list, const cli_drivers_t *drivers) {
    for (int i = 0; i < drivers->count; ++i) {
        if (!*drivers->why[i]) continue;
        json_t *driver = json_object();
        if (json_array_append_new(list, driver)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
        BPT_TRY(bpt_json_set_name(driver, "file", drivers->file[i].path));
        BPT_TRY(bpt_json_set_name(driver, "library", drivers->file[i].library));
        BPT_TRY(bpt_json_set_name(driver, "reason", drivers->why[i]));
    }
    return BPT_OK;
}

static bpt_status_t fill_backend(json_t *object, const char *backend, const char *description, const cli_probe_t *probe) {
    BPT_TRY(bpt_json_set_text(object, "backend", backend));
    BPT_TRY(bpt_json_set_text(object, "description", description));
    BPT_TRY(bpt_json_set_name(object, "reason", probe->reason));
    BPT_TRY(bpt_json_set_name(object, "library", probe->library));
    json_t *devices = json_array(), *left_out = json_array();
    if (json_object_set_new(object, "drivers_left_out", left_out))
        return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    BPT_TRY(fill_left_out(left_out, &probe->drivers));
    if (json_object_set_new(object, "devices", devices)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    for (int i = 0; i < probe->count; ++i) {
        json_t *device = json_object();
        if (json_array_append_new(devices, device)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
        BPT_TRY(fill_device(device, i, &probe->device[i]));
    }
    return BPT_OK;
}

static const char *description_of(const bpt_backend_t *backend) { return backend ? backend->description : "not built in"; }

static bpt_status_t print(void *user, const char *name, const bpt_backend_t *backend, const cli_probe_t *probe) {
    (void)user;
    print_backend(name, description_of(backend), probe);
    return BPT_OK;
}

static bpt_status_t append(void *list, const char *name, const bpt_backend_t *backend, const cli_probe_t *probe) {
    json_t *object = json_object();
    if (json_array_append_new(list, object)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    return fill_backend(object, name, description_of(backend), probe);
}

static bpt_status_t run_devices(cli_options_t *o) {
    BPT_TRY(bpt_env_check());
    if (!o->use.json) return cli_each_backend(o, print, NULL);
    json_t *list = json_array();
    bpt_status_t status =
        list ? cli_each_backend(o, append, list) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    if (status == BPT_OK) status = cli_print_json(list, 2);
    json_decref(list);
    return status;
}

const cli_command_t cli_command_devices = {
    .bit = CLI_DEVICES,
    .name = "devices",
    .arguments = "",
    .purpose = "list backends and devices, and why one cannot be used",
    .description = "Each backend and each driver is queried in a process of its own. One that crashes or never answers is named by "
                   "its file and left out; the others are used. --backend NAME queries only that backend; --verbose shows what "
                   "drivers print.",
    .examples = "  bpt devices\n  bpt devices --json\n",
    .run = run_devices,
};
