// Intel's offline compiler (libocloc.so of the package intel-opencl-icd, or what BPT_OCLOC_LIBRARY names), opened at run time: kernels for
// Intel GPUs that are not here. Knows no kernel.
#ifndef BPT_OPENCL_OCLOC_H
#define BPT_OPENCL_OCLOC_H

#include "backends/gpu/driver.h"

// The library's name, or BPT_ERR_UNAVAILABLE with what to install.
bpt_status_t bpt_ocloc_load(const char **name);
// Its version, as Intel counts the releases of its driver: "ocloc 22.43.24595".
bpt_status_t bpt_ocloc_version(char *text, size_t bytes);
// Compiles OpenCL C for a family as ocloc names it ("skl", "dg2-g10"). BPT_ERR_UNSUPPORTED with the compiler's first words about an error.
bpt_status_t bpt_ocloc_compile(const char *family, const char *text, const char *options, bpt_gpu_resources_t *out);

#endif
