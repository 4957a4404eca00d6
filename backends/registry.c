// The compiled-in backends, in the order in which `auto` prefers them: vulkan, opencl, cuda, cpu; cuda comes first once it has been measured
// on a GPU. One line per backend.
#include <string.h>

#include "backends/backend.h"

extern const bpt_backend_t bpt_cpu_backend, bpt_cuda_backend, bpt_opencl_backend, bpt_ref_backend, bpt_vulkan_backend;

const bpt_backend_t *const bpt_backends[] = {
#ifdef BPT_WITH_VULKAN
    &bpt_vulkan_backend,
#endif
    &bpt_opencl_backend,
#ifdef BPT_WITH_CUDA
    &bpt_cuda_backend,
#endif
    &bpt_cpu_backend,
    &bpt_ref_backend,
    NULL,
};

const bpt_backend_t *bpt_backend_find(const char *name) {
    for (int i = 0; bpt_backends[i]; ++i)
        if (!strcmp(bpt_backends[i]->name, name)) return bpt_backends[i];
    return NULL;
}
