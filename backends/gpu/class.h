// Classes of devices (classes.def): which one a device belongs to, and what it is like.
#ifndef BPT_GPU_CLASS_H
#define BPT_GPU_CLASS_H

#include "backends/gpu/info.h"

typedef struct bpt_gpu_class bpt_gpu_class_t;

const bpt_gpu_class_t *bpt_gpu_class(const bpt_device_info_t *info);
const char *bpt_gpu_class_name(const bpt_gpu_class_t *class);
const bpt_gpu_class_t *bpt_gpu_class_like(const bpt_gpu_class_t *class);  // the next simpler one, NULL: there is none
// "rdna3: rdna2/rdna/gcn/wave64/gpu/any"
void bpt_gpu_class_text(const bpt_gpu_class_t *class, char *text, size_t bytes);

// Does the driver run kernels on the processor, and is it worked on as such?
bool bpt_gpu_is_processor(const bpt_device_info_t *info);
// Of such drivers, Mesa's rasterizer runs 4, 8 or 16 items side by side and pays for every load of each: it wants large tiles in registers.
bool bpt_gpu_is_rasterizer(const bpt_device_info_t *info);

#endif
