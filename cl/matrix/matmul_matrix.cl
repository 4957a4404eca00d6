#define BM MATMUL_MATRIX_M
#define BN MATMUL_MATRIX_N
#include "cl/matmul/product.h"
#ifndef FRAGMENT_SUM  // Vulkan has the words where a shader asks for them
#include "cl/matrix/fragments.h"
#endif
// Vectors of a stored line of a tile, and from one to the next.
#define LINE_A ((TRANSPOSE_A != 0u ? BM : DEPTH) / 8u)
#define LINE_B ((TRANSPOSE_B != 0u ? DEPTH : BN) / 8u)
#define STRIDE_A (LINE_A + 1u)
#define STRIDE_B (LINE_B + 1u)
#define LINES_A (TRANSPOSE_A != 0u ? DEPTH : BM)
#define LINES_B (TRANSPOSE_B != 0u ? BN : DEPTH)
#define FRAGMENT (FRAGMENT_M * FRAGMENT_N)
#define SUBGROUPS (GROUP_ROWS * GROUP_COLUMNS)

// Declares NAME(PASS, e, line0, n_lines, along0, n_along, ld): vector e of a tile of x, by lines of LINE vectors: its stored lines from
// line0 on, their elements from along0 on, zeros outside of the operand.
#define READ_EIGHT(name, x, LINE, EIGHTS)                                                                                  \
    FUNCTION uint name##_two(CONTEXT, uint i, uint along, uint count) {                                                    \
        OPEN                                                                                                               \
        return HALVES(along < count ? LOAD_HALF(x, i) : 0.0f, along + 1u < count ? LOAD_HALF(x, i + 1u) : 0.0f);           \
    }                                                                                                                      \
    FUNCTION uint4 name(CONTEXT, uint e, uint line0, uint n_lines, uint along0, uint n_along, uint ld) {                   \
        OPEN                                                                                                               \
        const uint line = line0 + e / LINE, along = along0 + e % LINE * 8u, at = line * ld + along;                        \
        if (line >= n_lines || along >= n_along) return UINT4(0u, 0u, 0u, 0u);                                             \
        if (EIGHTS != 0u) return EIGHT(x, at);                                                                             \
        return UINT4(name##_two(PASS, at, along, n_along), name##_two(PASS, at + 2u, along + 2u, n_along),                 \
                     name##_two(PASS, at + 4u, along + 4u, n_along), name##_two(PASS, at + 6u, along + 6u, n_along));      \
    }
READ_EIGHT(eight_of_a, a, LINE_A, EIGHTS_A)
READ_EIGHT(eight_of_b, b, LINE_B, EIGHTS_B)
KERNEL_BEGIN
    const tile_place_t tile = tile_of_group(PASS);
    const uint row0 = SUBGROUP_ID / GROUP_COLUMNS * ROWS * FRAGMENT_M, column0 = SUBGROUP_ID % GROUP_COLUMNS * COLUMNS * FRAGMENT_N;
    FRAGMENT_SUM sum[ROWS * COLUMNS];
    UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i) FRAGMENT_ZERO(sum[i]);
    for (uint k0 = tile.begin; k0 < tile.end; k0 += DEPTH) {
        for (uint e = LOCAL_ID; e < LINES_A * LINE_A; e += WG)
            tile_a[e / LINE_A * STRIDE_A + e % LINE_A] =
                TRANSPOSE_A != 0u ? eight_of_a(PASS, e, k0, p.k, tile.row, p.m, p.lda) : eight_of_a(PASS, e, tile.row, p.m, k0, p.k, p.lda);
        for (uint e = LOCAL_ID; e < LINES_B * LINE_B; e += WG)
            tile_b[e / LINE_B * STRIDE_B + e % LINE_B] = TRANSPOSE_B != 0u ? eight_of_b(PASS, e, tile.column, p.n, k0, p.k, p.ldb)
                                                                           : eight_of_b(PASS, e, k0, p.k, tile.column, p.n, p.ldb);
        BARRIER;
        for (uint k = 0u; k < DEPTH; k += FRAGMENT_K) {
            FRAGMENT_RIGHT right[COLUMNS];
            UNROLL for (uint j = 0u; j < COLUMNS; ++j) {
                const uint column = column0 + j * FRAGMENT_N;
                if (TRANSPOSE_B != 0u)
                    FRAGMENT_LOAD_ACROSS(right[j], tile_b, column * STRIDE_B + k / 8u, STRIDE_B);
                else
                    FRAGMENT_LOAD(right[j], tile_b, k * STRIDE_B + column / 8u, STRIDE_B);
            }
            UNROLL for (uint i = 0u; i < ROWS; ++i) {
                const uint row = row0 + i * FRAGMENT_M;
                FRAGMENT_LEFT left;
                if (TRANSPOSE_A != 0u)
                    FRAGMENT_LOAD_ACROSS(left, tile_a, k * STRIDE_A + row / 8u, STRIDE_A);
                else
                    FRAGMENT_LOAD(left, tile_a, row * STRIDE_A + k / 8u, STRIDE_A);
                UNROLL for (uint j = 0u; j < COLUMNS; ++j) FRAGMENT_MULTIPLY_ADD(sum[i * COLUMNS + j], left, right[j]);
            }
        }
        BARRIER;
    }
    // A fragment of each subgroup at a time through local memory: which item holds which element is the device's own affair.
    for (uint f = 0u; f < ROWS * COLUMNS; ++f) {
        UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i)
            if (i == f) FRAGMENT_STORE(sum[i], fragments, SUBGROUP_ID * FRAGMENT, FRAGMENT_N);
        BARRIER;
        for (uint e = LOCAL_ID; e < SUBGROUPS * FRAGMENT; e += WG) {
            const uint subgroup = e / FRAGMENT, inside = e % FRAGMENT;
            const uint row = tile.row + (subgroup / GROUP_COLUMNS * ROWS + f / COLUMNS) * FRAGMENT_M + inside / FRAGMENT_N;
            const uint column = tile.column + (subgroup % GROUP_COLUMNS * COLUMNS + f % COLUMNS) * FRAGMENT_N + inside % FRAGMENT_N;
            finish_product(PASS, tile.part, row, column, fragments[e]);
        }
        BARRIER;
    }
KERNEL_END
