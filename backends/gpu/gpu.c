// Devices, buffers and programs on top of a driver: the op-level boundary (core/include/bpt/backend.h) but for lists and ops.
#include "backends/gpu/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/gpu/compile.h"
#include "backends/gpu/library.h"
#include "backends/gpu/limits.h"
#include "backends/gpu/pretended.h"
#include "bpt/alloc.h"
#include "bpt/log.h"

// ---- Devices ---------------------------------------------------------------------------------------------------------

// Assumed until submissions have been timed. The budget keeps a submission far below the 2 s after which drivers kill it, also on a
// machine that has throttled itself; nothing kills work on a software device.
static void assume_rates(bpt_gpu_device_t *g, const bpt_device_options_t *options) {
    const char *type = g->base.info.type;
    const bool software = !strcmp(type, "software") || !strcmp(type, "cpu"), discrete = !strcmp(type, "discrete");
    g->flops = software ? 1e10 : discrete ? 1e12 : 1e11;
    g->bytes_s = software ? 5e9 : discrete ? 1e11 : 1e10;
    g->budget_s = software ? (double)INFINITY : 0.1;
    if (options && options->submit_ms > 0) g->budget_s = options->submit_ms * 1e-3;
    g->slowdown = 1;
    g->wait_s = software ? 3600 : 60;
}

static void describe_rule(const bpt_gpu_rule_t *rule, bpt_device_info_t *info) {
    bpt_gpu_info_t gpu = bpt_gpu_info(info);
    bpt_gpu_tuning_text(&rule->tuning, gpu.rule);
    snprintf(gpu.rule_origin, sizeof gpu.rule_origin, "%s", rule->origin);
    snprintf(gpu.rule_note, sizeof gpu.rule_note, "%s", rule->note);
    bpt_gpu_info_set(info, &gpu);
}

// No rule can be had, and why not.
static void describe_no_rule(const char *why, bpt_device_info_t *info) {
    bpt_gpu_info_t gpu = bpt_gpu_info(info);
    snprintf(gpu.rule_note, sizeof gpu.rule_note, "%s", why);
    bpt_gpu_info_set(info, &gpu);
}

bpt_status_t bpt_gpu_enumerate(const bpt_backend_t *backend, const bpt_gpu_driver_t *driver, bpt_device_info_t *infos, int capacity,
                               int *count) {
    BPT_TRY(bpt_gpu_environment());
    BPT_TRY(driver->enumerate(infos, capacity, count));
    for (int i = 0; i < *count && i < capacity; ++i) {
        bpt_gpu_rule_t rule;
        if (!infos[i].usable) continue;
        bpt_gpu_quirks_describe(backend->name, &infos[i]);
        if (bpt_gpu_rule(backend->name, &infos[i], NULL, &rule) == BPT_OK)
            describe_rule(&rule, &infos[i]);
        else
            describe_no_rule(bpt_error_message(), &infos[i]);
        bpt_error_clear();
        bpt_gpu_pretended_mark(&infos[i]);
    }
    return BPT_OK;
}

static bpt_status_t choose_products(bpt_gpu_device_t *g, const bpt_device_options_t *options) {
    bpt_device_info_t *info = &g->base.info;
    bpt_gpu_info_t gpu = bpt_gpu_info(info);
    bpt_gpu_rule_t rule;
    gpu.max_group_size = g->api->limits.max_group_size;
    gpu.max_local_bytes = g->api->limits.local_bytes;
    gpu.fragments = g->api->limits.fragments;
    gpu.mma = g->api->limits.mma;
    gpu.as_gpu = !g->api->limits.software;
    bpt_gpu_info_set(info, &gpu);
    BPT_TRY(bpt_gpu_rule(g->base.backend->name, info, options ? options->products : NULL, &rule));
    g->tuning = rule.tuning;
    bpt_gpu_tuning_complete(info, &g->tuning);  // the check multiplies by our own kernels too
    BPT_TRY(bpt_gpu_library_check(g, &rule));
    if (*rule.note) bpt_warn("%s", rule.note);
    g->tuning = rule.tuning;
    bpt_gpu_tuning_complete(info, &g->tuning);
    describe_rule(&rule, info);
    return BPT_OK;
}

bpt_status_t bpt_gpu_targets(const bpt_gpu_driver_t *driver, bpt_device_info_t *infos, int capacity, int *count) {
    *count = 0;
    return driver->compiler && driver->compiler->targets ? driver->compiler->targets(infos, capacity, count) : BPT_OK;
}

// The place of a target's name among `infos`.
static bpt_status_t find_target(const bpt_backend_t *backend, const char *target, const bpt_device_info_t *infos, int count, int *index) {
    char names[400] = "";
    for (*index = 0; *index < count; ++*index) {
        const size_t used = strlen(names);
        if (!strcmp(infos[*index].name, target)) return BPT_OK;
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", infos[*index].name);
    }
    return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has no device '%s'%s%s", backend->name, target,
                    count ? "; without one it compiles for " : "", names);
}

// The devices, or the targets where options->target names one, and the place of the one that is meant.
static bpt_status_t list_candidates(const bpt_backend_t *backend, const bpt_gpu_driver_t *driver, const bpt_device_options_t *options,
                                    bpt_device_info_t *infos, int capacity, int *count, int *index) {
    if (!options || !options->compile_only || !options->target) return driver->enumerate(infos, capacity, count);
    BPT_TRY(bpt_gpu_targets(driver, infos, capacity, count));
    return find_target(backend, options->target, infos, *count < capacity ? *count : capacity, index);
}

// Opened for work, or for compiling alone.
static bpt_status_t open_api(const bpt_gpu_driver_t *driver, int index, const bpt_device_options_t *options, bpt_gpu_api_t **out) {
    return options && options->compile_only ? bpt_gpu_compile_only(driver, index, options->target, out) : driver->open(index, out);
}

bpt_status_t bpt_gpu_open(const bpt_backend_t *backend, const bpt_gpu_driver_t *driver, int index, const bpt_device_options_t *options,
                          bpt_device_t **out) {
    enum { MOST = 32 };
    bpt_device_info_t *infos = NULL;
    bpt_gpu_device_t *g = NULL;
    bpt_status_t status;
    int count = 0;
    BPT_TRY(bpt_gpu_environment());
    BPT_TRY_GOTO(bpt_alloc(MOST, sizeof *infos, &infos), failed);
    BPT_TRY_GOTO(list_candidates(backend, driver, options, infos, MOST, &count, &index), failed);
    if (index < 0 || index >= count || index >= MOST) {
        status = bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has %d device%s; device %d was asked for", backend->name, count,
                          count == 1 ? "" : "s", index);
        goto failed;
    }
    if (!(options && options->compile_only)) bpt_gpu_pretended_mark(&infos[index]);
    if (!infos[index].usable) {
        status =
            bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s, device %d (%s): %s", backend->name, index, infos[index].name, infos[index].reason);
        goto failed;
    }
    BPT_TRY_GOTO(bpt_alloc(1, sizeof *g, &g), failed);
    g->base.backend = backend;
    g->base.info = infos[index];
    BPT_TRY_GOTO(open_api(driver, index, options, &g->api), failed);
    BPT_TRY_GOTO(bpt_gpu_quirks_apply(backend->name, &g->base.info, &g->api->limits), failed);
    g->api->limits.software = !strcmp(g->base.info.type, "software");
    BPT_TRY_GOTO(bpt_gpu_limits_fake(&g->api->limits), failed);
    g->base.info.f16 = g->api->limits.f16;
    assume_rates(g, options);
    g->memory_bytes = g->api->limits.memory_bytes;
    if (options && options->memory_bytes && options->memory_bytes < g->memory_bytes) g->memory_bytes = options->memory_bytes;
    BPT_TRY_GOTO(g->api->driver->memory_create(g->api, 256, &g->canary), failed);
    BPT_TRY_GOTO(choose_products(g, options), failed);
    bpt_free(infos);
    *out = &g->base;
    return BPT_OK;
failed:
    bpt_free(infos);
    if (g) bpt_gpu_close(&g->base);
    return status;
}

void bpt_gpu_close(bpt_device_t *device) {
    if (!device) return;
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    if (g->api) {
        const bpt_gpu_driver_t *driver = g->api->driver;
        for (size_t i = 0; i < g->n_programs; ++i) driver->program_destroy(g->api, g->programs[i].program);
        driver->memory_destroy(g->api, g->canary);
        driver->close(g->api);
    }
    bpt_free(g->programs);
    bpt_free(g);
}

bpt_status_t bpt_gpu_program(bpt_gpu_device_t *g, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    for (size_t i = 0; i < g->n_programs; ++i)
        if (!memcmp(&g->programs[i].variant, variant, sizeof *variant)) {
            *out = g->programs[i].program;
            return BPT_OK;
        }
    BPT_TRY(bpt_grow(&g->programs, g->n_programs, &g->programs_capacity, sizeof *g->programs));
    bpt_gpu_cached_program_t *slot = &g->programs[g->n_programs];
    slot->variant = *variant;
    BPT_TRY(
        bpt_context(g->api->driver->program_create(g->api, variant, &slot->program), "kernel %s", bpt_gpu_kernels[variant->kernel].name));
    g->n_programs++;
    *out = slot->program;
    return BPT_OK;
}

const char *bpt_gpu_program_name(const bpt_gpu_device_t *g, const bpt_gpu_program_t *program) {
    for (size_t i = 0; i < g->n_programs; ++i)
        if (g->programs[i].program == program) return bpt_gpu_kernels[g->programs[i].variant.kernel].name;
    return "kernel";
}

// ---- Buffers ---------------------------------------------------------------------------------------------------------

bpt_status_t bpt_gpu_buffer_create(bpt_device_t *device, size_t bytes, bpt_buffer_t **out) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    BPT_TRY(bpt_gpu_room(g, bytes));
    bpt_buffer_t *buffer;
    BPT_TRY(bpt_alloc(1, sizeof *buffer, &buffer));
    // Kernels may read whole vectors at the end, and no API likes an empty block.
    const bpt_status_t status = g->api->driver->memory_create(g->api, (bytes + 255 + 256) / 256 * 256, &buffer->memory);
    if (status != BPT_OK) {
        bpt_free(buffer);
        return status == BPT_ERR_NO_MEMORY ? bpt_gpu_no_room(g, bytes, bpt_error_message()) : status;
    }
    buffer->bytes = bytes;
    g->used_bytes += bytes;
    *out = buffer;
    return BPT_OK;
}

// Everything submitted has finished.
static bpt_status_t settle(bpt_gpu_device_t *g) { return bpt_gpu_wait(&g->base, g->last_ticket, UINT64_MAX); }

void bpt_gpu_buffer_destroy(bpt_device_t *device, bpt_buffer_t *buffer) {
    if (!buffer) return;
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    (void)settle(g);  // after a device loss there is nothing left to wait for
    g->api->driver->memory_destroy(g->api, buffer->memory);
    g->used_bytes -= buffer->bytes;
    bpt_free(buffer);
}

bpt_status_t bpt_gpu_buffer_check(const bpt_buffer_t *buffer, size_t offset, size_t bytes) {
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return bpt_fail(BPT_ERR_INTERNAL, "access to bytes %zu..%zu of a buffer of %zu bytes", offset, offset + bytes, buffer->bytes);
    return BPT_OK;
}

bpt_status_t bpt_gpu_write(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, const void *source, size_t bytes) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    BPT_TRY(bpt_gpu_buffer_check(buffer, offset, bytes));
    BPT_TRY(settle(g));
    return bytes ? g->api->driver->write(g->api, buffer->memory, offset, source, bytes) : BPT_OK;
}

bpt_status_t bpt_gpu_read(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *target, size_t bytes) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    BPT_TRY(bpt_gpu_buffer_check(buffer, offset, bytes));
    BPT_TRY(settle(g));
    return bytes ? g->api->driver->read(g->api, buffer->memory, offset, target, bytes) : BPT_OK;
}
