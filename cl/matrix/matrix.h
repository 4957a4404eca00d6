// The products of tiles.h on matrix units, for kernels that define TILES_BY_MATRIX, where their constant MATRIX is 1: 16 x 8 results, 16 deep, from 16-bit operands, added up in
// f32. Tensors are bf16 or f16, all of one type, and hold heads of a multiple of 16 columns at even places; tiles are of 16 lanes. What is
// computed (weights, gradients of scores, scaled queries) is an f32 number split into two 16-bit ones, so that nothing is lost against the
// products without matrix units. Languages without them have MATRIX 0 and nothing of this.
#if defined(MMA) && defined(TILES_BY_MATRIX)
#define BY_MATRIX (MATRIX != 0u)
#include "cl/dialect/warp.h"
#define ALL_WARPS (WG / WARP)
#define OWN_WARP (LOCAL_ID / WARP)
#define OWN_ROW (LANE / 4u)              // of a fragment: rows OWN_ROW and OWN_ROW + 8, or a column of the right operand
#define OWN_PAIR (LANE % 4u * 2u)        // and the first of two neighbouring columns, or of two of the depth
#define NUMBERS(tile) ((float *)(tile))  // [column or node][16 lanes]
#define ONE_NUMBER(tile, i) NUMBERS(tile)[i]
#define MATRIX_TYPE DT_q
#define BITS(x, i) ((uint)((const ushort *)x)[i])
#define TWO_ELEMENTS(x, i) (*(const uint *)((const ushort *)x + (i)))  // elements i and i + 1; i is even

FUNCTION uint element_bits(float v) {
    ushort bits;
    store_element(MATRIX_TYPE, &bits, 0u, v);
    return bits;
}
FUNCTION float element_value(uint bits) {
    const ushort element = (ushort)bits;
    return load_element(MATRIX_TYPE, &element, 0u);
}
// Two numbers as a pair of elements, and what is left of them as another.
struct split_t {
    uint high, low;
};
FUNCTION split_t split(float x, float y) {
    const uint x0 = element_bits(x), y0 = element_bits(y);
    return {x0 | y0 << 16, element_bits(x - element_value(x0)) | element_bits(y - element_value(y0)) << 16};
}
// d += a b, fragments of 16 x 8, 16 x 16 and 16 x 8.
FUNCTION void multiply(float *d, const uint *a, uint b0, uint b1) {
    float4 sum = make_float4(d[0], d[1], d[2], d[3]);
    if (MATRIX_TYPE == 2u)
        warp_mma_f16(sum, make_uint4(a[0], a[1], a[2], a[3]), make_uint2(b0, b1));
    else
        warp_mma_bf16(sum, make_uint4(a[0], a[1], a[2], a[3]), make_uint2(b0, b1));
    d[0] = sum.x;
    d[1] = sum.y;
    d[2] = sum.z;
    d[3] = sum.w;
}

// target[t][lane] = sum over the columns of element(t, c) tile[c][lane], t < count. The tile's numbers have 16 bits. PLACE(t) is where row t
// begins in the tensor, NO_ROW: it is zero. A warp takes two blocks of 16 rows at a time, which share the tile's fragments.
#define MATRIX_DOTS(target, count, tile, tensor, PLACE)                                                         \
    for (uint t0 = OWN_WARP * 32u; t0 < (count); t0 += ALL_WARPS * 32u) {                                                 \
        uint from[4];                                                                                                     \
        float sum[2][2][4];                                                                                               \
        UNROLL for (uint i = 0u; i < 4u; ++i) {                                                                           \
            const uint t = t0 + 8u * i + OWN_ROW;                                                                         \
            from[i] = t < (count) ? PLACE(t) : NO_ROW;                                                                    \
            UNROLL for (uint j = 0u; j < 4u; ++j)                                                                         \
                sum[i / 2u][j / 2u][i % 2u * 2u + j % 2u] = 0.0f;                                                         \
        }                                                                                                                 \
        for (uint c = OWN_PAIR; c < HEAD_DIM; c += 16u) {                                                                 \
            uint a[2][4];                                                                                                 \
            UNROLL for (uint i = 0u; i < 4u; ++i) {                                                                       \
                a[i / 2u][i % 2u] = from[i] == NO_ROW ? 0u : TWO_ELEMENTS(tensor, from[i] + c);                                   \
                a[i / 2u][i % 2u + 2u] = from[i] == NO_ROW ? 0u : TWO_ELEMENTS(tensor, from[i] + c + 8u);                         \
            }                                                                                                             \
            UNROLL for (uint n = 0u; n < 2u; ++n) {                                                                       \
                const float *x = NUMBERS(tile) + c * 16u + 8u * n + OWN_ROW;                                              \
                const split_t near = split(x[0], x[16]), far = split(x[128], x[144]);                                     \
                UNROLL for (uint i = 0u; i < 2u; ++i) multiply(sum[i][n], a[i], near.high, far.high);                     \
            }                                                                                                             \
        }                                                                                                                 \
        UNROLL for (uint i = 0u; i < 4u; ++i) {                                                                           \
            const uint t = t0 + 8u * i + OWN_ROW;                                                                         \
            UNROLL for (uint j = 0u; j < 4u; ++j)                                                                         \
                if (t < (count))                                                                                          \
                    NUMBERS(target)[t * 16u + j / 2u * 8u + OWN_PAIR + j % 2u] = sum[i / 2u][j / 2u][i % 2u * 2u + j % 2u];\
        }                                                                                                                 \
    }

// total[c][lane] += sum over i < count of weight[i][lane] element(i, c). A warp takes 32 columns at a time.
#define MATRIX_ADD_PRODUCTS(total, count, weight, ROW_EXISTS, tensor, PLACE)                                               \
    for (uint c0 = OWN_WARP * 32u; c0 < HEAD_DIM; c0 += ALL_WARPS * 32u) {                                                \
        float sum[4][4];                                                                                                  \
        UNROLL for (uint n = 0u; n < 4u; ++n)                                                                             \
            UNROLL for (uint j = 0u; j < 4u; ++j) {                                                                       \
                const uint c = c0 + 8u * n + OWN_PAIR + j % 2u, lane = OWN_ROW + j / 2u * 8u;                             \
                sum[n][j] = c < HEAD_DIM ? NUMBERS(total)[c * 16u + lane] : 0.0f;                           \
            }                                                                                                             \
        for (uint i0 = OWN_PAIR; i0 < (count) + OWN_PAIR; i0 += 16u) {                                                    \
            bool exists[4];                                                                                               \
            split_t a[4];                                                                                                 \
            uint high_pairs[4], low_pairs[4];                                                                             \
            UNROLL for (uint j = 0u; j < 4u; ++j) {                                                                       \
                const uint i = i0 + j / 2u * 8u + j % 2u;                                                                 \
                exists[j] = i < (count) && ROW_EXISTS(i);                                                                 \
            }                                                                                                             \
            UNROLL for (uint j = 0u; j < 4u; ++j) {                                                                       \
                const uint at = (i0 + j / 2u * 8u) * 16u + OWN_ROW + j % 2u * 8u;                                         \
                a[j] = split(exists[j / 2u * 2u] ? NUMBERS(weight)[at] : 0.0f,                                            \
                             exists[j / 2u * 2u + 1u] ? NUMBERS(weight)[at + 16u] : 0.0f);                                \
                high_pairs[j] = a[j].high;                                                                                \
                low_pairs[j] = a[j].low;                                                                                  \
            }                                                                                                             \
            UNROLL for (uint n = 0u; n < 4u; ++n) {                                                                       \
                const uint c = c0 + 8u * n + OWN_ROW;                                                                     \
                uint b[4];                                                                                                \
                UNROLL for (uint j = 0u; j < 4u; ++j)                                                                     \
                    b[j] = exists[j] && c < HEAD_DIM ? BITS(tensor, PLACE(i0 + j / 2u * 8u + j % 2u, c)) : 0u;            \
                multiply(sum[n], low_pairs, b[0] | b[1] << 16, b[2] | b[3] << 16);                                        \
                multiply(sum[n], high_pairs, b[0] | b[1] << 16, b[2] | b[3] << 16);                                       \
            }                                                                                                             \
        }                                                                                                                 \
        UNROLL for (uint n = 0u; n < 4u; ++n)                                                                             \
            UNROLL for (uint j = 0u; j < 4u; ++j) {                                                                       \
                const uint c = c0 + 8u * n + OWN_PAIR + j % 2u, lane = OWN_ROW + j / 2u * 8u;                             \
                if (c < HEAD_DIM) NUMBERS(total)[c * 16u + lane] = sum[n][j];                                             \
            }                                                                                                             \
    }

// Rows of the table against the queries of a batch, for keys as lanes: target[t][i] = element(row0 + i, c) of the table times that of the
// query, i < 16; a warp takes 32 queries at a time. Rows from `rows` on are zero.
#define MATRIX_TABLE_ROWS(target, row0, rows, count, PLACE)                                                               \
    for (uint t0 = OWN_WARP * 32u; t0 < (count); t0 += ALL_WARPS * 32u) {                                                 \
        uint from[4];                                                                                                     \
        float sum[4][4];                                                                                                  \
        const uint near = (row0) + OWN_ROW, far = near + 8u;                                                              \
        UNROLL for (uint n = 0u; n < 4u; ++n) {                                                                           \
            const uint t = t0 + 8u * n + OWN_ROW;                                                                         \
            from[n] = t < (count) ? PLACE(t) : NO_ROW;                                                                    \
            UNROLL for (uint j = 0u; j < 4u; ++j) sum[n][j] = 0.0f;                                                       \
        }                                                                                                                 \
        for (uint c = OWN_PAIR; c < HEAD_DIM; c += 16u) {                                                                 \
            uint a[4];                                                                                                    \
            a[0] = near < (rows) ? TWO_ELEMENTS(rel, near * HEAD_DIM + c) : 0u;                                                   \
            a[1] = far < (rows) ? TWO_ELEMENTS(rel, far * HEAD_DIM + c) : 0u;                                                     \
            a[2] = near < (rows) ? TWO_ELEMENTS(rel, near * HEAD_DIM + c + 8u) : 0u;                                              \
            a[3] = far < (rows) ? TWO_ELEMENTS(rel, far * HEAD_DIM + c + 8u) : 0u;                                                \
            UNROLL for (uint n = 0u; n < 4u; ++n)                                                                         \
                multiply(sum[n], a, from[n] == NO_ROW ? 0u : TWO_ELEMENTS(q, from[n] + c),                                        \
                         from[n] == NO_ROW ? 0u : TWO_ELEMENTS(q, from[n] + c + 8u));                                             \
        }                                                                                                                 \
        UNROLL for (uint n = 0u; n < 4u; ++n)                                                                             \
            UNROLL for (uint j = 0u; j < 4u; ++j)                                                                         \
                NUMBERS(target)[(t0 + 8u * n + OWN_PAIR + j % 2u) * 16u + OWN_ROW + j / 2u * 8u] = sum[n][j];             \
    }
#else
#define BY_MATRIX false
#define ONE_NUMBER(tile, i) 0.0f
#define MATRIX_DOTS(target, count, tile, tensor, PLACE)
#define MATRIX_ADD_PRODUCTS(total, count, weight, ROW_EXISTS, tensor, PLACE)
#define MATRIX_TABLE_ROWS(target, row0, rows, count, PLACE)
#endif
