#include "cl/matmul/product.h"
#define BM (GROUP_ROWS * ROWS * FRAGMENT_M)
#define BN (GROUP_COLUMNS * COLUMNS * FRAGMENT_N)
// Vectors of a stored line of a tile, and from one to the next: another one between them spreads a column over the banks of local memory.
#define LINE_A ((TRANSPOSE_A != 0u ? BM : DEPTH) / 8u)
#define LINE_B ((TRANSPOSE_B != 0u ? DEPTH : BN) / 8u)
#define STRIDE_A (LINE_A + 1u)
#define STRIDE_B (LINE_B + 1u)
#define LINES_A (TRANSPOSE_A != 0u ? DEPTH : BM)
#define LINES_B (TRANSPOSE_B != 0u ? BN : DEPTH)
#define FRAGMENT (FRAGMENT_M * FRAGMENT_N)
#define SUBGROUPS (GROUP_ROWS * GROUP_COLUMNS)
#define LOCALS(L) L(uint4, tile_a, LINES_A *STRIDE_A) L(uint4, tile_b, LINES_B *STRIDE_B) L(float, fragments, SUBGROUPS *FRAGMENT)

// Two elements of a line as stored, 0 beyond its end.
#define PAIR(x, i, along, count) HALVES((along) < (count) ? LOAD_HALF(x, i) : 0.0f, (along) + 1u < (count) ? LOAD_HALF(x, (i) + 1u) : 0.0f)
// A tile of x: its stored lines from `line0` on, their elements from `along0` on; zeros outside of the operand.
#define READ_TILE(tile, x, LINES, LINE, EIGHTS, line0, n_lines, along0, n_along, ld)                                       \
    for (uint e = LOCAL_ID; e < LINES * LINE; e += WG) {                                                                   \
        const uint line = (line0) + e / LINE, along = (along0) + e % LINE * 8u, at = line * (ld) + along;                  \
        uint4 eight = UINT4(0u, 0u, 0u, 0u);                                                                               \
        if (line < (n_lines) && along < (n_along)) {                                                                       \
            if (EIGHTS != 0u)                                                                                              \
                eight = EIGHT(x, at);                                                                                      \
            else                                                                                                           \
                eight = UINT4(PAIR(x, at, along, n_along), PAIR(x, at + 2u, along + 2u, n_along),                          \
                              PAIR(x, at + 4u, along + 4u, n_along), PAIR(x, at + 6u, along + 6u, n_along));               \
        }                                                                                                                  \
        tile[e / LINE * (LINE + 1u) + e % LINE] = eight;                                                                   \
    }
KERNEL_BEGIN
    PLACE_GROUP
    const uint row0 = SUBGROUP_ID / GROUP_COLUMNS * ROWS * FRAGMENT_M, column0 = SUBGROUP_ID % GROUP_COLUMNS * COLUMNS * FRAGMENT_N;
    MATRIX_SUM(FRAGMENT_M, FRAGMENT_N) sum[ROWS * COLUMNS];
    UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i) MATRIX_ZERO(sum[i], FRAGMENT_M, FRAGMENT_N);
    for (uint k0 = part_begin; k0 < part_end; k0 += DEPTH) {
        READ_TILE(tile_a, a, LINES_A, LINE_A, EIGHTS_A, TRANSPOSE_A != 0u ? k0 : row_tile, TRANSPOSE_A != 0u ? p.k : p.m,
                  TRANSPOSE_A != 0u ? row_tile : k0, TRANSPOSE_A != 0u ? p.m : p.k, p.lda)
        READ_TILE(tile_b, b, LINES_B, LINE_B, EIGHTS_B, TRANSPOSE_B != 0u ? column_tile : k0, TRANSPOSE_B != 0u ? p.n : p.k,
                  TRANSPOSE_B != 0u ? k0 : column_tile, TRANSPOSE_B != 0u ? p.k : p.n, p.ldb)
        BARRIER;
        for (uint k = 0u; k < DEPTH; k += FRAGMENT_K) {
            MATRIX_RIGHT(FRAGMENT_K, FRAGMENT_N) right[COLUMNS];
            UNROLL for (uint j = 0u; j < COLUMNS; ++j) {
                const uint column = column0 + j * FRAGMENT_N;
                if (TRANSPOSE_B != 0u)
                    MATRIX_LOAD_ACROSS(right[j], tile_b, column * STRIDE_B + k / 8u, STRIDE_B);
                else
                    MATRIX_LOAD(right[j], tile_b, k * STRIDE_B + column / 8u, STRIDE_B);
            }
            UNROLL for (uint i = 0u; i < ROWS; ++i) {
                const uint row = row0 + i * FRAGMENT_M;
                MATRIX_LEFT(FRAGMENT_M, FRAGMENT_K) left;
                if (TRANSPOSE_A != 0u)
                    MATRIX_LOAD_ACROSS(left, tile_a, k * STRIDE_A + row / 8u, STRIDE_A);
                else
                    MATRIX_LOAD(left, tile_a, row * STRIDE_A + k / 8u, STRIDE_A);
                UNROLL for (uint j = 0u; j < COLUMNS; ++j) MATRIX_ADD_PRODUCT(sum[i * COLUMNS + j], left, right[j]);
            }
        }
        BARRIER;
    }
    // A fragment of each subgroup at a time through local memory: which item holds which element is the device's own affair.
    for (uint f = 0u; f < ROWS * COLUMNS; ++f) {
        UNROLL for (uint i = 0u; i < ROWS * COLUMNS; ++i)
            if (i == f) MATRIX_STORE(sum[i], fragments, SUBGROUP_ID * FRAGMENT, FRAGMENT_N);
        BARRIER;
        for (uint e = LOCAL_ID; e < SUBGROUPS * FRAGMENT; e += WG) {
            const uint subgroup = e / FRAGMENT, inside = e % FRAGMENT;
            const uint row = row_tile + (subgroup / GROUP_COLUMNS * ROWS + f / COLUMNS) * FRAGMENT_M + inside / FRAGMENT_N;
            const uint column = column_tile + (subgroup % GROUP_COLUMNS * COLUMNS + f % COLUMNS) * FRAGMENT_N + inside % FRAGMENT_N;
            FINISH_PRODUCT(part, row, column, fragments[e])
        }
        BARRIER;
    }
KERNEL_END
