// Opening the device that --backend, --device, --precision and --threads name. A named backend is a promise: it or an error.
#include <stdlib.h>
#include <string.h>

#include "bpt/log.h"
#include "tools/bpt/device.h"

static bpt_status_t list_devices(const bpt_backend_t *backend, bpt_device_info_t *infos, int *count) {
    BPT_TRY(backend->enumerate(infos, CLI_MAX_DEVICES, count));
    if (*count > CLI_MAX_DEVICES) *count = CLI_MAX_DEVICES;
    if (*count == 0) return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s has no device; `bpt devices` says why", backend->name);
    return BPT_OK;
}

// The index that `wanted` names: a number, or a part of one device's name. "": the first usable device.
static bpt_status_t choose(const bpt_backend_t *backend, const bpt_device_info_t *infos, int count, const char *wanted, int *index) {
    char *end;
    *index = -1;
    const long number = strtol(wanted, &end, 10);
    if (*wanted && !*end) {
        if (number < 0 || number >= count)
            return bpt_fail(BPT_ERR_USAGE, "--device %s: backend %s has devices 0 to %d", wanted, backend->name, count - 1);
        *index = (int)number;
    }
    for (int i = 0; i < count && *index < 0; ++i)
        if (*wanted ? strcasestr(infos[i].name, wanted) != NULL : infos[i].usable) *index = i;
    if (*index < 0)
        return bpt_fail(*wanted ? BPT_ERR_USAGE : BPT_ERR_UNAVAILABLE, *wanted ? "--device %s: no device of backend %s has that name; `bpt devices` lists them" : "no usable device '%s' of backend %s: `bpt devices` says why",
                        wanted, backend->name);
    if (!infos[*index].usable)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "device '%s' of backend %s cannot be used: %s", infos[*index].name, backend->name, infos[*index].reason);
    return BPT_OK;
}

bpt_status_t cli_device_open(const cli_options_t *o, bpt_device_t **out) {
    static bpt_device_info_t infos[CLI_MAX_DEVICES];
    const bool automatic = !strcmp(o->global.backend, "auto");
    const char *name = automatic ? "cpu" : o->global.backend;
    const bpt_backend_t *backend = bpt_backend_find(name);
    if (!backend) return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s is not part of this build; `bpt devices` lists what there is", name);
    int count, index;
    BPT_TRY(list_devices(backend, infos, &count));
    BPT_TRY(choose(backend, infos, count, o->global.device, &index));
    const bpt_dtype_t precision = o->train.precision;
    if ((precision == BPT_BF16 && !infos[index].bf16) || (precision == BPT_F16 && !infos[index].f16))
        return bpt_fail(BPT_ERR_UNSUPPORTED, "--precision %s: device '%s' of backend %s cannot do it (its features: %s); use --precision f32",
                        bpt_dtype_name(precision), infos[index].name, backend->name, infos[index].features);
    BPT_TRY(backend->open(index, &(bpt_device_options_t){.threads = (int32_t)o->global.threads}, out));
    bpt_info("backend %s%s, device %d: %s", backend->name, automatic ? " (chosen by auto: it is always there)" : "", index, infos[index].name);
    return BPT_OK;
}

void cli_device_close(bpt_device_t *device) {
    if (device) device->backend->close(device);
}
