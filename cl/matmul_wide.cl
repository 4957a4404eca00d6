#define LOCALS(L)
KERNEL_BEGIN
    // Groups side by side take other rows and the same columns, whose panel stays in the caches.
    const uint panels = (p.m + ROWS - 1u) / ROWS, panel_b = GROUP_ID / panels, panel_a = GROUP_ID - panel_b * panels;
    uint at_a = panel_a * p.k4 * ROWS, at_b = panel_b * p.k4 * (4u * WG * COLUMNS) + LOCAL_ID;
    VECTOR sum[ROWS * COLUMNS];
    UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i) sum[i] = VECTOR_ZERO;
    for (uint k = 0u; k < p.k4; ++k) {
        VECTOR right[4 * COLUMNS];
        UNROLL for (uint j = 0u; j < 4u * COLUMNS; ++j) right[j] = VECTOR_FETCH(b, at_b + j * WG);
#ifdef SUBGROUP_SHUFFLE
        float4 rows;  // a row an item, of as many rows as there are items
#endif
        UNROLL for (uint i = 0u; i < ROWS; ++i) {
#ifdef SUBGROUP_SHUFFLE
            if (i % WG == 0u) rows = FETCH(a, at_a + min(i + LOCAL_ID, ROWS - 1u));
            const float4 left = SUBGROUP_SHUFFLE(rows, i % WG);
#else
            const float4 left = FETCH(a, at_a + i);
#endif
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
    const uint row0 = panel_a * ROWS, vector0 = panel_b * WG * COLUMNS + LOCAL_ID;
    UNROLL for (uint i = 0u; i < ROWS; ++i)
        UNROLL for (uint j = 0u; j < COLUMNS; ++j)
            UNROLL for (uint part = 0u; part < VECTOR_FOURS; ++part) {
                const uint row = row0 + i, column4 = (vector0 + j * WG) * VECTOR_FOURS + part;
                if (row < p.m && column4 < p.n4) {
                    float4 v = VECTOR_PART(sum[i * COLUMNS + j], part);
                    if (HAS_ADDEND != 0u) v += FETCH(addend, row * p.ldc4 + column4);
                    if (HAS_BIAS != 0u) v += FETCH(bias, column4);
                    AT(c, row * p.ldc4 + column4) = v;
                }
            }
KERNEL_END
