#include "cl/rows/clip.h"
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && is_finite(squares)) {
        const float g = AT(gradient, i) * gradient_scale(PASS, squares), rest = 1.0f - p.momentum;
        const float mean = p.momentum * AT(first, i) + rest * g;
        AT(first, i) = mean;
        AT(gradient, i) = NESTEROV != 0u ? p.momentum * mean + rest * g : mean;
    }
KERNEL_END
