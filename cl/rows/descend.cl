#include "cl/rows/clip.h"
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count && is_finite(AT(square_sum, 0u))) {
        const float lr = AT(hyper, 0u), v = AT(value, i);
        AT(value, i) = v - lr * p.weight_decay * v - lr * p.lr_scale * LOAD(direction, i);
    }
KERNEL_END
