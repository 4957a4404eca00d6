// Whether a backend is of this version of bpt/backend.h.
#include "bpt/backend.h"

bpt_status_t bpt_backend_check(const bpt_backend_t *backend, uint32_t version) {
    const uint32_t other = version != BPT_BACKEND_VERSION ? version : backend->version;
    if (other == BPT_BACKEND_VERSION) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "%s was compiled for version %u of bpt/backend.h; this library has version %d: compile it anew",
                    version != BPT_BACKEND_VERSION ? "the program" : "a backend", other, BPT_BACKEND_VERSION);
}
