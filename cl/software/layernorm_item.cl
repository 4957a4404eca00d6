// z is computed anew in each pass instead of being kept, so that rows of any width need no memory.
#include "cl/software/fours.h"
#include "cl/software/kept.h"
FUNCTION float4 z_of(CONTEXT, uint i, uint c, uint key0, uint key1) {
    OPEN
    float4 v = FETCH(x, i);
    if (THRESHOLD != 0u) v = v * kept_of(PASS, 4u * c, key0, key1);
    if (HAS_RESIDUAL != 0u) v += FETCH(residual, i);
    return v;
}
KERNEL_BEGIN
    const bool is_row = GLOBAL_ID < p.rows;
    const uint row = is_row ? GLOBAL_ID : p.rows - 1u, columns4 = p.columns / 4u, base = row * columns4;
    const float columns = TO_FLOAT(p.columns);
    uint key0 = 0u, key1 = 0u;
    if (THRESHOLD != 0u) {
        key0 = AT(row_keys, 2u * row);
        key1 = AT(row_keys, 2u * row + 1u);
    }
    float4 sum = ZERO4;
    for (uint c = 0u; c < columns4; ++c) {
        const float4 v = z_of(PASS, base + c, c, key0, key1);
        sum += v;
    }
    const float mean = sum4(sum) / columns;
    const float4 mean4 = FLOAT4(mean, mean, mean, mean);
    sum = ZERO4;
    for (uint c = 0u; c < columns4; ++c) {
        const float4 v = z_of(PASS, base + c, c, key0, key1);
        const float4 d = v - mean4;
        sum += d * d;
    }
    const float inverse_deviation = 1.0f / sqrt(sum4(sum) / columns + p.eps);
    for (uint c = 0u; c < columns4; ++c) {
        const float4 v = z_of(PASS, base + c, c, key0, key1);
        if (is_row) {
            if (HAS_Z != 0u) PUT(z, base + c, v);
            PUT(y, base + c, inverse_deviation * (v - mean4) * FETCH(gamma, c) + FETCH(beta, c));
        }
    }
    if (HAS_STATS != 0u && is_row) {
        AT(stats, 2u * row) = mean;
        AT(stats, 2u * row + 1u) = inverse_deviation;
    }
KERNEL_END
