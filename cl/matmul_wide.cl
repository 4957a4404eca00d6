#define LOCALS(L)
KERNEL_BEGIN
    // Groups side by side take other rows and the same columns, whose panel stays in the caches.
    const uint panels = (p.m + ROWS - 1u) / ROWS, panel_b = GROUP_ID / panels, panel_a = GROUP_ID - panel_b * panels;
    uint at_a = panel_a * p.k4 * ROWS, at_b = panel_b * p.k4 * (4u * WG * COLUMNS) + LOCAL_ID;
    float4 sum[ROWS * COLUMNS];
    UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i) sum[i] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint k = 0u; k < p.k4; ++k) {
        float4 right[4 * COLUMNS];
        UNROLL for (uint j = 0u; j < 4u * COLUMNS; ++j) right[j] = AT(b, at_b + j * WG);
        UNROLL for (uint i = 0u; i < ROWS; ++i) {
            const float4 left = AT(a, at_a + i);
            UNROLL for (uint j = 0u; j < COLUMNS; ++j) {
                sum[i * COLUMNS + j] += left.x * right[j];
                sum[i * COLUMNS + j] += left.y * right[COLUMNS + j];
                sum[i * COLUMNS + j] += left.z * right[2u * COLUMNS + j];
                sum[i * COLUMNS + j] += left.w * right[3u * COLUMNS + j];
            }
        }
        at_a += ROWS;
        at_b += 4u * WG * COLUMNS;
    }
    const uint row0 = panel_a * ROWS, column4 = panel_b * WG * COLUMNS + LOCAL_ID;
    UNROLL for (uint i = 0u; i < ROWS; ++i)
        UNROLL for (uint j = 0u; j < COLUMNS; ++j)
            if (row0 + i < p.m && column4 + j * WG < p.n4) {
                const uint place = (row0 + i) * p.ldc4 + column4 + j * WG;
                float4 v = sum[i * COLUMNS + j];
                if (HAS_ADDEND != 0u) v += AT(addend, place);
                if (HAS_BIAS != 0u) v += AT(bias, column4 + j * WG);
                AT(c, place) = v;
            }
KERNEL_END
