// Choice of backend and device (see device.h).
#include "tools/bpt/devices/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/nodes.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/log.h"
#include "tools/bpt/devices/first_use.h"

// ---- What --device says ----------------------------------------------------------------------------------------------

static bool contains(const char *text, const char *part) {  // whatever the case
    const size_t length = strlen(part);
    for (; *text; ++text) {
        size_t i = 0;
        while (i < length && text[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) ++i;
        if (i == length) return true;
    }
    return false;
}

static bool is_number(const char *text) { return *text && strspn(text, "0123456789") == strlen(text); }

// "0000:03:00.0" or "03:00.0", written as drivers' places are.
static bool is_place(const char *text, char place[16]) {
    unsigned domain = 0, bus, device, function;
    int used = 0;
    if (sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 || text[used]) {
        domain = used = 0;
        if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &used) != 3 || text[used]) return false;
    }
    snprintf(place, 16, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, device & 0xff, function & 0xf);
    return true;
}

bool cli_device_fits(const bpt_device_info_t *info, int index, const char *wanted) {
    char place[16];
    if (is_number(wanted)) return strtol(wanted, NULL, 10) == index;
    if (is_place(wanted, place)) return !strcmp(info->pci, place);
    return contains(info->name, wanted);
}

// The device among those of one backend that --device means; *index < 0: none. A name of one device may be a part of another's.
static bpt_status_t find_device(const cli_probe_t *devices, const char *wanted, int *index) {
    *index = -1;
    for (int i = 0; i < devices->count; ++i)
        if (!is_number(wanted) && !strcmp(devices->device[i].name, wanted) && *index < 0) *index = i;
    if (*index >= 0) return BPT_OK;
    for (int i = 0; i < devices->count; ++i) {
        if (!cli_device_fits(&devices->device[i], i, wanted)) continue;
        if (*index >= 0)
            return bpt_fail(BPT_ERR_USAGE, "--device %s fits '%s' and '%s'; give its number or its place on the PCI bus", wanted,
                            devices->device[*index].name, devices->device[i].name);
        *index = i;
    }
    return BPT_OK;
}

// ---- A named backend -------------------------------------------------------------------------------------------------

static bpt_status_t enumerate_in(const bpt_backend_t *backend, cli_probe_t *devices) {
    BPT_TRY(bpt_context(backend->enumerate(devices->device, CLI_MAX_DEVICES, &devices->count), "backend %s", backend->name));
    if (devices->count > CLI_MAX_DEVICES) devices->count = CLI_MAX_DEVICES;
    return BPT_OK;
}

// Number `turn` (from the start again behind the last) of the usable devices of the same type as the one at `first`: processes that train
// together take one each.
static int take_turn(const cli_probe_t *devices, int first, int turn) {
    int alike = 0;
    const char *type = devices->device[first].type;
    for (int i = first; i < devices->count; ++i) alike += devices->device[i].usable && !strcmp(devices->device[i].type, type);
    turn %= alike;
    int index = first;
    for (int i = first; i < devices->count && turn >= 0; ++i)
        if (devices->device[i].usable && !strcmp(devices->device[i].type, type)) index = i, --turn;
    return index;
}

static bpt_status_t choose_in(const bpt_backend_t *backend, const char *wanted, int turn, const cli_probe_t *devices, int *index) {
    if (!devices->count)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has no device here; `bpt doctor` says what is missing", backend->name);
    *index = -1;
    if (*wanted) BPT_TRY(find_device(devices, wanted, index));
    if (*wanted && *index < 0)
        return bpt_fail(BPT_ERR_UNAVAILABLE,
                        "--device %s: backend %s has no such device; `bpt devices` lists them by number, name and place on the PCI bus",
                        wanted, backend->name);
    for (int i = 0; i < devices->count && *index < 0; ++i)
        if (devices->device[i].usable) *index = take_turn(devices, i, turn);
    if (*index < 0) *index = 0;
    const bpt_device_info_t *info = &devices->device[*index];
    if (info->usable) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s, device %d (%s) cannot be used: %s", backend->name, *index, info->name, info->reason);
}

// ---- auto ------------------------------------------------------------------------------------------------------------

// Without a device file there is no GPU, and no driver needs to be asked, which takes time. BPT_PROBE=1 asks all the same.
static bool machine_has_gpu(void) {
    const char *asked = getenv("BPT_PROBE");
    return (asked && !strcmp(asked, "1")) || bpt_gpu_may_be_there();
}

// Without --device auto takes discrete GPUs and the CPU alone: integrated GPUs are often slower than the CPU beside them, software devices
// always.
static bpt_status_t choose_among(const bpt_backend_t *backend, const char *wanted, int turn, const cli_probe_t *devices, int *index) {
    *index = -1;
    if (*wanted) {
        BPT_TRY(find_device(devices, wanted, index));
        if (*index >= 0 && !devices->device[*index].usable) {
            bpt_info("%s: %s is passed over: %s", backend->name, devices->device[*index].name, devices->device[*index].reason);
            *index = -1;
        }
        return BPT_OK;
    }
    for (int i = 0; i < devices->count && *index < 0; ++i) {
        const bpt_device_info_t *d = &devices->device[i];
        if (d->usable && (!backend->gpu || !strcmp(d->type, "discrete")))
            *index = take_turn(devices, i, turn);
        else
            bpt_debug("auto passes over %s %d, %s (%s)%s%s", backend->name, i, d->name, d->type, d->usable ? "" : ": ", d->reason);
    }
    return BPT_OK;
}

static bpt_status_t choose_any(const cli_global_options_t *o, cli_probe_t *devices, const bpt_backend_t **backend, int *index) {
    const char *wanted = o->device;
    const bool ask = *wanted || machine_has_gpu();
    for (int b = 0; bpt_backends[b]; ++b) {
        *backend = bpt_backends[b];
        if ((*backend)->gpu && !ask) continue;
        BPT_TRY(cli_probe(*backend, CLI_PROBE_RECALLS, o->verbose, devices));
        if (*devices->reason) bpt_debug("auto passes over %s: %s", (*backend)->name, devices->reason);
        BPT_TRY(choose_among(*backend, wanted, o->device_turn, devices, index));
        if (*index >= 0) return BPT_OK;
        if (!*wanted && !(*backend)->gpu)
            return choose_in(*backend, "", o->device_turn, devices, index);  // what comes after the CPU must be named
    }
    if (*wanted)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "--device %s: no backend has such a device that can be used; `bpt devices` lists them",
                        wanted);
    return bpt_fail(BPT_ERR_UNAVAILABLE, "no usable device; `bpt devices` says why");
}

static const char *why(const cli_options_t *o, const bpt_backend_t *backend) {
    if (strcmp(o->global.backend, "auto")) return "";
    if (*o->global.device) return " (auto: the first backend that has it)";
    if (backend->gpu) return " (auto: the first usable discrete GPU)";
    return machine_has_gpu() ? " (auto: no usable discrete GPU; others must be named, see `bpt devices`)"
                             : " (auto: this machine has no GPU)";
}

// ---- Choosing --------------------------------------------------------------------------------------------------------

// A word in a variable that means nothing is an error of its own, before `auto` passes over the backend that would stumble on it.
static bpt_status_t check_environment(const char *wanted) {
    BPT_TRY(bpt_env_check());
    for (int b = 0; bpt_backends[b]; ++b) {
        const bool asked = !strcmp(wanted, "auto") || !strcmp(wanted, bpt_backends[b]->name);
        if (asked && bpt_backends[b]->environment) BPT_TRY(bpt_backends[b]->environment());
    }
    return BPT_OK;
}

static bool is_any(const cli_options_t *o) { return !strcmp(o->global.backend, "auto"); }

static bpt_status_t find_backend(const cli_options_t *o, const bpt_backend_t **backend) {
    *backend = bpt_backend_find(o->global.backend);
    if (*backend) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s is not built into this program; `bpt devices` lists those that are",
                    o->global.backend);
}

static bpt_status_t choose_auto(const cli_options_t *o, const bpt_backend_t **backend, int *index, cli_probe_t *devices) {
    if (is_number(o->global.device))
        return bpt_fail(BPT_ERR_USAGE, "--device %s needs --backend: devices are numbered within a backend", o->global.device);
    return choose_any(&o->global, devices, backend, index);
}

bpt_status_t cli_device_find(const cli_options_t *o, const bpt_backend_t **backend, int *index, cli_probe_t *devices) {
    BPT_TRY(check_environment(o->global.backend));
    if (is_any(o)) return choose_auto(o, backend, index, devices);
    BPT_TRY(find_backend(o, backend));
    BPT_TRY(cli_probe(*backend, CLI_PROBE_RECALLS, o->global.verbose, devices));
    if (*devices->reason) return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s: %s", (*backend)->name, devices->reason);
    return choose_in(*backend, o->global.device, o->global.device_turn, devices, index);
}

// ---- Opening ---------------------------------------------------------------------------------------------------------

static bpt_status_t check_precision(const bpt_device_t *device, bpt_dtype_t precision) {
    const bool has = precision == BPT_F32 || (precision == BPT_BF16 ? device->info.bf16 : device->info.f16);
    if (has) return BPT_OK;
    const bool told = precision == BPT_BF16 && *device->info.bf16_reason;
    return bpt_fail(
        BPT_ERR_UNSUPPORTED, "--precision %s is not possible on backend %s, device %s: %s; take one that `bpt devices` shows for it",
        bpt_dtype_name(precision), device->backend->name, device->info.name, told ? device->info.bf16_reason : "it has no such numbers");
}

bpt_device_options_t cli_device_options(const cli_options_t *o) {
    return (bpt_device_options_t){.threads = (int32_t)o->global.threads,
                                  .submit_ms = o->global.submit_ms,
                                  .memory_bytes = (uint64_t)(o->global.max_mem_mib * 1048576)};
}

// A named backend's devices are listed in this process, which is about to use them, once its drivers have answered elsewhere.
static bpt_status_t choose_here(const cli_options_t *o, const bpt_backend_t *backend, int *index, cli_probe_t *devices) {
    if (is_any(o)) return BPT_OK;
    BPT_TRY(enumerate_in(backend, devices));
    return choose_in(backend, o->global.device, o->global.device_turn, devices, index);
}

// What has to be done before this process loads a driver.
static bpt_status_t make_ready(const cli_options_t *o, const bpt_backend_t **backend, int *index, cli_probe_t *devices) {
    BPT_TRY(check_environment(o->global.backend));
    if (!is_any(o)) {
        BPT_TRY(find_backend(o, backend));
        return cli_probe_drivers(*backend, o->global.verbose);
    }
    BPT_TRY(choose_auto(o, backend, index, devices));
    cli_probe_warn(*backend, &devices->drivers);
    cli_drivers_use(*backend, &devices->drivers);
    return BPT_OK;
}

static bpt_status_t open_tested(const cli_options_t *o, const char *products, bool test, const bpt_backend_t **backend,
                                cli_probe_t *devices, bpt_device_t **out) {
    int index = 0;
    cli_first_use_t first = {.needed = false};
    bpt_device_options_t options = cli_device_options(o);
    options.products = products;
    BPT_TRY(make_ready(o, backend, &index, devices));
    if (test) BPT_TRY(cli_first_use_prepare(&first, o, *backend));
    bpt_status_t status = choose_here(o, *backend, &index, devices);
    if (status == BPT_OK) status = cli_first_use_check(&first, o, *backend, index, &devices->device[index]);
    cli_first_use_end(&first);
    return status == BPT_OK ? (*backend)->open(index, &options, out) : status;
}

static bpt_status_t open_chosen(const cli_options_t *o, const char *products, bool test, const bpt_backend_t **backend,
                                bpt_device_t **out) {
    cli_probe_t *devices;  // too large for the stack of every machine
    BPT_TRY(bpt_alloc(1, sizeof *devices, &devices));
    const bpt_status_t status = open_tested(o, products, test, backend, devices, out);
    bpt_free(devices);
    return status;
}

bpt_status_t cli_device_open_with(const cli_options_t *o, const char *products, bpt_device_t **out) {
    const bpt_backend_t *backend = NULL;
    return open_chosen(o, products, false, &backend, out);
}

bpt_status_t cli_device_open(const cli_options_t *o, bpt_device_t **out) {
    const bpt_backend_t *backend = NULL;
    bpt_device_t *device;
    BPT_TRY(open_chosen(o, NULL, true, &backend, &device));
    const bpt_status_t status = check_precision(device, o->train.precision);
    if (status != BPT_OK) {
        cli_device_close(device);
        return status;
    }
    char units[32] = "";
    if (device->info.units) snprintf(units, sizeof units, ", %d unit%s", device->info.units, device->info.units == 1 ? "" : "s");
    bpt_info("backend %s: %s%s%s", backend->name, device->info.name, units, why(o, backend));
    *out = device;
    return BPT_OK;
}

void cli_device_close(bpt_device_t *device) {
    if (device) device->backend->close(device);
}
