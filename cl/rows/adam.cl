#include "cl/rows/adam.h"
#define LOCALS(L)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && IS_FINITE(squares)) {
        ADAM_BEGIN
        float v = AT(value, i), m1 = AT(first, i), m2 = AT(second, i);
        ADAM(v, AT(gradient, i), m1, m2)
        AT(value, i) = v;
        AT(first, i) = m1;
        AT(second, i) = m2;
    }
KERNEL_END
