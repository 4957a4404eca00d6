#include "cl/rows/adam.h"
#define LOCALS(L)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && IS_FINITE(squares)) {
        ADAM_BEGIN
        const float4 gradients = FETCH(gradient, i);
        float4 v = FETCH(old_value, i), m1 = FETCH(old_first, i), m2 = FETCH(old_second, i);
        ADAM(v.x, gradients.x, m1.x, m2.x)
        ADAM(v.y, gradients.y, m1.y, m2.y)
        ADAM(v.z, gradients.z, m1.z, m2.z)
        ADAM(v.w, gradients.w, m1.w, m2.w)
        PUT(value, i, v);
        PUT(first, i, m1);
        PUT(second, i, m2);
    }
KERNEL_END
