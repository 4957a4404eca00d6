// Choice of backend and device (see device.h).
#include "tools/bpt/device.h"

#include <ctype.h>
#include <stdlib.h>

#include "bpt/log.h"

enum { MAX_DEVICES = 32 };

typedef struct {
    bpt_device_info_t info[MAX_DEVICES];
    int count;
} devices_t;

static bpt_status_t enumerate(const bpt_backend_t *backend, devices_t *devices) {
    devices->count = 0;
    BPT_TRY(bpt_context(backend->enumerate(devices->info, MAX_DEVICES, &devices->count), "backend %s", backend->name));
    if (devices->count > MAX_DEVICES) devices->count = MAX_DEVICES;
    return BPT_OK;
}

static bool contains(const char *text, const char *part) {  // whatever the case
    const size_t length = strlen(part);
    for (; *text; ++text) {
        size_t i = 0;
        while (i < length && text[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) ++i;
        if (i == length) return true;
    }
    return false;
}

// --device N or NAME among the devices of one backend.
static bpt_status_t find_device(const bpt_backend_t *backend, const devices_t *devices, const char *wanted, int *index) {
    char *end;
    const long number = strtol(wanted, &end, 10);
    if (!*end && isdigit((unsigned char)*wanted)) {
        if (number >= devices->count)
            return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has %d device%s, numbered from 0; --device %s is not among them",
                            backend->name, devices->count, devices->count == 1 ? "" : "s", wanted);
        *index = (int)number;
        return BPT_OK;
    }
    *index = -1;
    for (int i = 0; i < devices->count; ++i) {
        if (!contains(devices->info[i].name, wanted)) continue;
        if (*index >= 0)
            return bpt_fail(BPT_ERR_USAGE, "--device %s fits '%s' and '%s'; give its number", wanted, devices->info[*index].name,
                            devices->info[i].name);
        *index = i;
    }
    if (*index < 0)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has no device called '%s'; `bpt devices` lists them", backend->name, wanted);
    return BPT_OK;
}

static bpt_status_t choose_in(const bpt_backend_t *backend, const char *wanted, int *index) {
    devices_t devices;
    BPT_TRY(enumerate(backend, &devices));
    *index = -1;
    if (*wanted) BPT_TRY(find_device(backend, &devices, wanted, index));
    for (int i = 0; i < devices.count && *index < 0; ++i)
        if (devices.info[i].usable) *index = i;
    if (!devices.count)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has no device here; `bpt doctor` says what is missing", backend->name);
    if (*index < 0) *index = 0;
    const bpt_device_info_t *info = &devices.info[*index];
    if (!info->usable)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s, device %d (%s) cannot be used: %s", backend->name, *index, info->name,
                        info->reason);
    return BPT_OK;
}

// The first backend, in the registry's order of preference, with a usable device that is no software imitation of one.
static bpt_status_t choose_any(const char *wanted, const bpt_backend_t **backend, int *index) {
    devices_t devices;
    for (int b = 0; bpt_backends[b]; ++b) {
        if (enumerate(bpt_backends[b], &devices) != BPT_OK) {
            bpt_debug("%s", bpt_error_message());
            continue;
        }
        for (int i = 0; i < devices.count; ++i) {
            const bpt_device_info_t *info = &devices.info[i];
            if (!info->usable || !strcmp(info->type, "software") || (*wanted && !contains(info->name, wanted))) continue;
            *backend = bpt_backends[b];
            *index = i;
            return BPT_OK;
        }
    }
    if (*wanted) return bpt_fail(BPT_ERR_UNAVAILABLE, "no backend has a device called '%s'; `bpt devices` lists them", wanted);
    return bpt_fail(BPT_ERR_UNAVAILABLE, "no usable device; `bpt devices` says why");
}

static bpt_status_t check_precision(const bpt_device_t *device, bpt_dtype_t precision) {
    const bool has = precision == BPT_F32 || (precision == BPT_BF16 ? device->info.bf16 : device->info.f16);
    if (has) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "--precision %s is not possible on backend %s, device %s (features: %s)",
                    bpt_dtype_name(precision), device->backend->name, device->info.name,
                    *device->info.features ? device->info.features : "none");
}

bpt_status_t cli_device_open(const cli_options_t *o, bpt_device_t **out) {
    const bool any = !strcmp(o->global.backend, "auto");
    const bool by_number = isdigit((unsigned char)*o->global.device);
    if (any && by_number)
        return bpt_fail(BPT_ERR_USAGE, "--device %s needs --backend: devices are numbered within a backend", o->global.device);
    const bpt_backend_t *backend = any ? NULL : bpt_backend_find(o->global.backend);
    int index = 0;
    if (!any && !backend)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s is not built into this program; `bpt devices` lists those that are",
                        o->global.backend);
    BPT_TRY(any ? choose_any(o->global.device, &backend, &index) : choose_in(backend, o->global.device, &index));
    const bpt_device_options_t options = {.threads = (int32_t)o->global.threads, .submit_ms = o->global.submit_ms};
    bpt_device_t *device;
    BPT_TRY(backend->open(index, &options, &device));
    const bpt_status_t status = check_precision(device, o->train.precision);
    if (status != BPT_OK) {
        cli_device_close(device);
        return status;
    }
    char units[32] = "";
    if (device->info.units) snprintf(units, sizeof units, ", %d unit%s", device->info.units, device->info.units == 1 ? "" : "s");
    bpt_info("backend %s%s: %s%s", backend->name, any ? " (chosen by auto: the first usable one)" : "", device->info.name, units);
    *out = device;
    return BPT_OK;
}

void cli_device_close(bpt_device_t *device) {
    if (device) device->backend->close(device);
}
