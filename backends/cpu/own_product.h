// f32 products by the kernels of this project, for where there is no OpenBLAS: those of a few rows, which take any number of them.
#ifndef BPT_CPU_OWN_PRODUCT_H
#define BPT_CPU_OWN_PRODUCT_H

#include "backends/cpu/onednn.h"

// c [m,n] (+)= a b, all f32, by the calling thread; k > 0.
void bpt_own_product(const bpt_onednn_product_t *p, const float *a, const float *b, float *c);

#endif
