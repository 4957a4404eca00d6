// Devices that only compile: opened with bpt_device_options_t.compile_only, they lower ops as always and note the kernels that are asked
// for, but nothing runs and buffers hold nothing. Then each kernel can be compiled, and its compiler says what the kernel takes.
#ifndef BPT_GPU_COMPILE_H
#define BPT_GPU_COMPILE_H

#include "backends/gpu/driver.h"

// The API of such a device on the driver's compiler. BPT_ERR_UNSUPPORTED: the driver has none.
bpt_status_t bpt_gpu_compile_only(const bpt_gpu_driver_t *driver, int index, const char *target, bpt_gpu_api_t **out);

// The kernels that were asked of a device opened with compile_only, each once, in the order of asking. Borrowed, until the next op.
void bpt_gpu_noted(bpt_device_t *device, const bpt_gpu_variant_t **variants, size_t *count);
// The compiler of such a device and its version. BPT_ERR_UNAVAILABLE with what to install: the kernels are known, but cannot be compiled.
bpt_status_t bpt_gpu_compiler_name(bpt_device_t *device, char *text, size_t bytes);
// A number for what the compiler is given for one of them. Comments, layout and the way that macros are written do not change it.
bpt_status_t bpt_gpu_source_hash(bpt_device_t *device, const bpt_gpu_variant_t *variant, uint64_t *out);
// Compiles one of them, or of another device of the same class.
bpt_status_t bpt_gpu_compile(bpt_device_t *device, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out);
// A variant in words: "group 64, BM 64, BN 64, a f16". Constants that are 0 are left out.
void bpt_gpu_variant_text(const bpt_gpu_variant_t *variant, char *text, size_t bytes);

#endif
