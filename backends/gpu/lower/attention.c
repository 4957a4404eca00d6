// Interval attention.
#include "backends/gpu/gpu.h"

void bpt_lower_ATTENTION(bpt_lower_t *l) { bpt_lower_refuse(l, "no kernels yet"); }
void bpt_lower_ATTENTION_GRAD(bpt_lower_t *l) { bpt_lower_refuse(l, "no kernels yet"); }
