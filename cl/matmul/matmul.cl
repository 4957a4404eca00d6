#include "cl/matmul/product.h"
#define ITEMS_N (BN / TN)
#define ITEMS_M (BM / TM)
KERNEL_BEGIN
    const tile_place_t tile = tile_of_group(PASS);
    const uint item_m = LOCAL_ID / ITEMS_N, item_n = LOCAL_ID - item_m * ITEMS_N;
    float sum[TM * TN];
    UNROLL for (uint i = 0u; i < TM * TN; ++i) sum[i] = 0.0f;
    for (uint k0 = tile.begin; k0 < tile.end; k0 += BK) {
        for (uint e = LOCAL_ID; e < BK * BM; e += WG) {
            const uint depth = TRANSPOSE_A != 0u ? e / BM : e % BK, row = TRANSPOSE_A != 0u ? e % BM : e / BK;
            const uint gk = k0 + depth, gm = tile.row + row;
            tile_a[depth * BM + row] = gk < p.k && gm < p.m ? LOAD(a, TRANSPOSE_A != 0u ? gk * p.lda + gm : gm * p.lda + gk) : 0.0f;
        }
        for (uint e = LOCAL_ID; e < BK * BN; e += WG) {
            const uint depth = TRANSPOSE_B != 0u ? e % BK : e / BN, column = TRANSPOSE_B != 0u ? e / BK : e % BN;
            const uint gk = k0 + depth, gn = tile.column + column;
            tile_b[depth * BN + column] = gk < p.k && gn < p.n ? LOAD(b, TRANSPOSE_B != 0u ? gn * p.ldb + gk : gk * p.ldb + gn) : 0.0f;
        }
        BARRIER;
        for (uint depth = 0u; depth < BK; ++depth) {
            float right[TN];
            UNROLL for (uint j = 0u; j < TN; ++j) right[j] = tile_b[depth * BN + item_n + j * ITEMS_N];
            UNROLL for (uint i = 0u; i < TM; ++i) {
                const float left = tile_a[depth * BM + item_m + i * ITEMS_M];
                UNROLL for (uint j = 0u; j < TN; ++j) sum[i * TN + j] += left * right[j];
            }
        }
        BARRIER;
    }
    // Row by row of the items through local memory: short code, and neighbours write neighbouring elements.
    UNROLL for (uint i = 0u; i < TM; ++i) {
        UNROLL for (uint j = 0u; j < TN; ++j) tile_a[item_m * BN + item_n + j * ITEMS_N] = sum[i * TN + j];
        BARRIER;
        for (uint e = LOCAL_ID; e < ITEMS_M * BN; e += WG) {
            const uint row = tile.row + i * ITEMS_M + e / BN, column = tile.column + e % BN;
            finish_product(PASS, tile.part, row, column, tile_a[e]);
        }
        BARRIER;
    }
KERNEL_END
