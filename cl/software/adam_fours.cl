#include "cl/rows/adam.h"
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && is_finite(squares)) {
        const float scale = gradient_scale(PASS, squares);
        const float4 g = FETCH(gradient, i), v = FETCH(old_value, i), m1 = FETCH(old_first, i), m2 = FETCH(old_second, i);
        const adam_t x = adam_step(PASS, v.x, g.x, m1.x, m2.x, scale), y = adam_step(PASS, v.y, g.y, m1.y, m2.y, scale);
        const adam_t z = adam_step(PASS, v.z, g.z, m1.z, m2.z, scale), w = adam_step(PASS, v.w, g.w, m1.w, m2.w, scale);
        PUT(value, i, FLOAT4(x.value, y.value, z.value, w.value));
        PUT(first, i, FLOAT4(x.first, y.first, z.first, w.first));
        PUT(second, i, FLOAT4(x.second, y.second, z.second, w.second));
    }
KERNEL_END
