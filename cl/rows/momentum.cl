#include "cl/rows/clip.h"
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && is_finite(squares)) {
        const float g = AT(gradient, i) * gradient_scale(PASS, squares), before = AT(first, i);
        const float mean = before + (1.0f - p.momentum) * (g - before);
        AT(first, i) = mean;
        AT(gradient, i) = NESTEROV != 0u ? g + p.momentum * (mean - g) : mean;
    }
KERNEL_END
