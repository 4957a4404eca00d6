#include "cl/rows/adam.h"
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && is_finite(squares)) {
        const float scale = gradient_scale(PASS, squares);
        const adam_t next = adam_step(PASS, AT(value, i), AT(gradient, i), AT(first, i), AT(second, i), scale);
        AT(value, i) = next.value;
        AT(first, i) = next.first;
        AT(second, i) = next.second;
    }
KERNEL_END
