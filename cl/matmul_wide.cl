#define LOCALS(L)
KERNEL_BEGIN
    const uint span = WG * COLUMNS, tiles = (p.n4 + span - 1u) / span, tile_row = GROUP_ID / tiles;
    const uint row0 = tile_row * ROWS, column4 = (GROUP_ID - tile_row * tiles) * span + LOCAL_ID;
    // Items beyond the edges work on the last row or column and store nothing.
    uint at_b[COLUMNS], at_a[ROWS];
    UNROLL for (uint j = 0u; j < COLUMNS; ++j) at_b[j] = min(column4 + j * WG, p.n4 - 1u);
    UNROLL for (uint i = 0u; i < ROWS; ++i)
        at_a[i] = TRANSPOSE_A != 0u ? min(row0 / 4u + i, p.m / 4u - 1u) : min(row0 + i, p.m - 1u) * p.lda4;
    float4 sum[ROWS * COLUMNS];
    UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i) sum[i] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint k = 0u; k < p.k4; ++k) {
        float4 right[4 * COLUMNS];
        UNROLL for (uint q = 0u; q < 4u; ++q)
            UNROLL for (uint j = 0u; j < COLUMNS; ++j) right[q * COLUMNS + j] = AT(b, (4u * k + q) * p.ldb4 + at_b[j]);
        if (TRANSPOSE_A != 0u) {
            UNROLL for (uint q = 0u; q < 4u; ++q)
                UNROLL for (uint i = 0u; i < ROWS / 4u; ++i) {
                    const float4 left = AT(a, (4u * k + q) * p.lda4 + at_a[i]);
                    UNROLL for (uint j = 0u; j < COLUMNS; ++j) {
                        sum[(4u * i) * COLUMNS + j] += left.x * right[q * COLUMNS + j];
                        sum[(4u * i + 1u) * COLUMNS + j] += left.y * right[q * COLUMNS + j];
                        sum[(4u * i + 2u) * COLUMNS + j] += left.z * right[q * COLUMNS + j];
                        sum[(4u * i + 3u) * COLUMNS + j] += left.w * right[q * COLUMNS + j];
                    }
                }
        } else {
            UNROLL for (uint i = 0u; i < ROWS; ++i) {
                const float4 left = AT(a, at_a[i] + k);
                UNROLL for (uint j = 0u; j < COLUMNS; ++j) {
                    sum[i * COLUMNS + j] += left.x * right[j];
                    sum[i * COLUMNS + j] += left.y * right[COLUMNS + j];
                    sum[i * COLUMNS + j] += left.z * right[2u * COLUMNS + j];
                    sum[i * COLUMNS + j] += left.w * right[3u * COLUMNS + j];
                }
            }
        }
    }
    UNROLL for (uint i = 0u; i < ROWS; ++i)
        UNROLL for (uint j = 0u; j < COLUMNS; ++j)
            if (row0 + i < p.m && column4 + j * WG < p.n4) {
                const uint place = (row0 + i) * p.ldc4 + at_b[j];
                float4 v = sum[i * COLUMNS + j];
                if (HAS_ADDEND != 0u) v += AT(addend, place);
                if (HAS_BIAS != 0u) v += AT(bias, at_b[j]);
                AT(c, place) = v;
            }
KERNEL_END
