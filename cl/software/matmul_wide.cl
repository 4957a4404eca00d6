FUNCTION float with_extra(CONTEXT, float v, float e) {
    OPEN
    return p.masked == 0u ? v + e : e != 0.0f ? v * p.scale : 0.0f;
}
FUNCTION float at_least(float low, float v) { return v < low ? low : v; }
KERNEL_BEGIN
    // Groups side by side take other rows and the same columns, whose panel stays in the caches.
    const uint panels = (p.m + ROWS - 1u) / ROWS, panel_b = GROUP_ID / panels, panel_a = GROUP_ID - panel_b * panels;
    const uint step = 4u * WG * COLUMNS, row_apart = PACKED != 0u ? 1u : p.a_row, four_apart = PACKED != 0u ? ROWS : p.a_four;
    const uint last_row = PACKED != 0u ? ROWS - 1u : p.a_rows - 1u - panel_a * ROWS;
    uint at_a = panel_a * p.a_panel, at_b = panel_b * p.k4 * step + LOCAL_ID;
    VECTOR sum[ROWS * COLUMNS];
    UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i) sum[i] = VECTOR_ZERO;
    for (uint k = 0u; k < p.k4; k += FOURS) {
        VECTOR right[FOURS * 4u * COLUMNS];
        float4 left[FOURS];
#ifdef SUBGROUP_SHUFFLE
        float4 rows[FOURS];  // a row an item, of as many rows as there are items
#endif
        UNROLL for (uint j = 0u; j < FOURS * 4u * COLUMNS; ++j) right[j] = VECTOR_FETCH(b, at_b + j * WG);
        UNROLL for (uint i = 0u; i < ROWS; ++i) {
#ifdef SUBGROUP_SHUFFLE
            if (i % WG == 0u) {
                const uint row = at_a + min(i + LOCAL_ID, last_row) * row_apart;
                UNROLL for (uint f = 0u; f < FOURS; ++f) rows[f] = FETCH(a, row + f * four_apart);
            }
            UNROLL for (uint f = 0u; f < FOURS; ++f) left[f] = SUBGROUP_SHUFFLE(rows[f], i % WG);
#else
            UNROLL for (uint f = 0u; f < FOURS; ++f) left[f] = FETCH(a, at_a + min(i, last_row) * row_apart + f * four_apart);
#endif
            UNROLL for (uint j = 0u; j < COLUMNS; ++j)
                UNROLL for (uint f = 0u; f < FOURS; ++f) {
                    sum[i * COLUMNS + j] += left[f].x * right[4u * f * COLUMNS + j];
                    sum[i * COLUMNS + j] += left[f].y * right[(4u * f + 1u) * COLUMNS + j];
                    sum[i * COLUMNS + j] += left[f].z * right[(4u * f + 2u) * COLUMNS + j];
                    sum[i * COLUMNS + j] += left[f].w * right[(4u * f + 3u) * COLUMNS + j];
                }
        }
        at_a += FOURS * four_apart;
        at_b += FOURS * step;
    }
    const uint row0 = panel_a * ROWS, vector0 = panel_b * WG * COLUMNS + LOCAL_ID;
    UNROLL for (uint i = 0u; i < ROWS; ++i)
        UNROLL for (uint j = 0u; j < COLUMNS; ++j)
            UNROLL for (uint part = 0u; part < VECTOR_FOURS; ++part) {
                const uint row = row0 + i, column4 = (vector0 + j * WG) * VECTOR_FOURS + part;
                if (row < p.m && column4 < p.n4) {
                    float4 v = VECTOR_PART(sum[i * COLUMNS + j], part);
                    if (HAS_EXTRA != 0u) {
                        const float4 e = FETCH(extra, row * p.ldc4 + column4);
                        v = FLOAT4(with_extra(PASS, v.x, e.x), with_extra(PASS, v.y, e.y), with_extra(PASS, v.z, e.z), with_extra(PASS, v.w, e.w));
                    }
                    if (HAS_BIAS != 0u) v += FETCH(bias, column4);
                    PUT(c, row * p.ldc4 + column4, FLOAT4(at_least(p.low, v.x), at_least(p.low, v.y), at_least(p.low, v.z), at_least(p.low, v.w)));
                }
            }
KERNEL_END
