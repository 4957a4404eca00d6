// The order of the sum is that of dy . v in the other kernels, so that the two cancel exactly where one key has all the weight.
#include "cl/attention/attention.h"
#define LOCALS(L)
#define TERM(c) READ(y, i * p.head_dim + c) * READ(dy, i * p.head_dim + c)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        float sum = 0.0f;
        ADD_TERMS(sum, p.head_dim, TERM)
        AT(dots, i) = sum;
    }
KERNEL_END
