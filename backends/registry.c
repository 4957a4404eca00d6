// The compiled-in backends (backends.def).
#include <string.h>

#include "bpt/backend.h"

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
