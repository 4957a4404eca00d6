// Whether a backend is of this version of bpt/backend.h, is there, and has a type of numbers.
#include "bpt/backend.h"

bpt_status_t bpt_backend_check(const bpt_backend_t *backend, uint32_t version) {
    const uint32_t other = version != BPT_BACKEND_VERSION ? version : backend->version;
    if (other == BPT_BACKEND_VERSION) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "%s was compiled for version %u of bpt/backend.h; this library has version %d: compile it anew",
                    version != BPT_BACKEND_VERSION ? "the program" : "a backend", other, BPT_BACKEND_VERSION);
}

bpt_status_t bpt_backend_named(const char *name, const bpt_backend_t **out) {
    const bpt_backend_t *backend = bpt_backend_find(name);
    if (!backend)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "backend %.40s is not built into this library; `bpt devices` lists those that are", name);
    if (backend->environment) BPT_TRY(backend->environment());
    *out = backend;
    return BPT_OK;
}

bpt_status_t bpt_device_check_precision(const bpt_device_t *device, bpt_dtype_t precision) {
    const bool has = precision == BPT_F32 || (precision == BPT_BF16 && device->info.bf16) || (precision == BPT_F16 && device->info.f16);
    if (has) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "backend %s, device %s has no precision %s%s%s; take one that `bpt devices` shows for it",
                    device->backend->name, device->info.name, bpt_dtype_name(precision), *device->info.bf16_reason ? ": " : "",
                    device->info.bf16_reason);
}
