#include "cl/software/fours.h"
#include "cl/software/kept.h"
KERNEL_BEGIN
    const bool is_row = GLOBAL_ID < p.rows;
    const uint row = is_row ? GLOBAL_ID : p.rows - 1u, columns4 = p.columns / 4u, base = row * columns4;
    const float mean = READ(stats, 2u * row), inverse_deviation = READ(stats, 2u * row + 1u), columns = TO_FLOAT(p.columns);
    const float4 mean4 = FLOAT4(mean, mean, mean, mean);
    float4 sum = ZERO4, product = ZERO4;
    for (uint c = 0u; c < columns4; ++c) {
        const float4 upper = FETCH(dy, base + c) * FETCH(gamma, c);
        sum += upper;
        product += upper * (FETCH(z, base + c) - mean4);
    }
    const float mean_g = sum4(sum) / columns, mean_gx = inverse_deviation * sum4(product) / columns;
    const float4 mean_g4 = FLOAT4(mean_g, mean_g, mean_g, mean_g);
    for (uint c = 0u; c < columns4; ++c) {
        const float4 normal = inverse_deviation * (FETCH(z, base + c) - mean4);
        float4 v = inverse_deviation * (FETCH(dy, base + c) * FETCH(gamma, c) - mean_g4 - mean_gx * normal);
        if (is_row) {
            PUT(dz, base + c, v);
            if (HAS_DX != 0u) {
                if (THRESHOLD != 0u) v = v * kept_of(PASS, 4u * c, AT(row_keys, 2u * row), AT(row_keys, 2u * row + 1u));
                PUT(dx, base + c, v);
            }
        }
    }
KERNEL_END
