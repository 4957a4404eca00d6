// The compiled-in backends (backends.def).
#include <string.h>

#include "backends/backend.h"

#define BPT_BACKEND(name) extern const bpt_backend_t bpt_##name##_backend;
#include "backends/backends.def"

const bpt_backend_t *const bpt_backends[] = {
#define BPT_BACKEND(name) &bpt_##name##_backend,
#include "backends/backends.def"
    NULL,
};

const bpt_backend_t *bpt_backend_find(const char *name) {
    for (int i = 0; bpt_backends[i]; ++i)
        if (!strcmp(bpt_backends[i]->name, name)) return bpt_backends[i];
    return NULL;
}

bpt_status_t bpt_backend_check(const bpt_backend_t *backend, uint32_t version) {
    const uint32_t other = version != BPT_BACKEND_VERSION ? version : backend->version;
    if (other == BPT_BACKEND_VERSION) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "%s was compiled for version %u of bpt/backend.h; this library has version %d: compile it anew",
                    version != BPT_BACKEND_VERSION ? "the program" : "a backend", other, BPT_BACKEND_VERSION);
}
