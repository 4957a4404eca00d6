// Products of 16-bit rows that a warp reads from memory straight into the fragments of mma.m16n8k16 (PTX manual), 16 bytes at a time, in CUDA
// alone. An item's place in a fragment is GROUP = lane / 4 and PAIR = lane % 4 * 2: it holds rows GROUP and GROUP + 8 of a left operand or a
// result, column GROUP of a right operand, and columns PAIR and PAIR + 1 of a result.
//
// The order of the depth is free as long as both operands agree, so an item takes eight neighbouring columns of a row at a time: columns
// 32 j + 4 PAIR .. + 7 are its share of two products of depth 16 (`depth`). In the same way column 8 GROUP + i of a right operand [key][column]
// is column GROUP of the i-th block of eight (`columns`), so results lie in runs of eight columns too.
#include "cl/dialect/warp.h"
#define GROUP (LANE / 4u)
#define PAIR (LANE % 4u * 2u)
#define ALL_WARPS (WG / WARP)
#define OWN_WARP (LOCAL_ID / WARP)
#define MATRIX_TYPE DT_q

// Two numbers rounded to the tensors' type, x in the lower half.
FUNCTION uint pair_of(float x, float y) { return MATRIX_TYPE == 2u ? warp_pair_f16(x, y) : warp_pair_bf16(x, y); }
FUNCTION void multiply_add(float4 &sum, uint4 left, uint right0, uint right1) {
    if (MATRIX_TYPE == 2u)
        warp_mma_f16(sum, left, make_uint2(right0, right1));
    else
        warp_mma_bf16(sum, left, make_uint2(right0, right1));
}
FUNCTION uint4 eight_of(const void *x, uint place, bool exists) {
    return exists ? *(const uint4 *)((const ushort *)x + place) : make_uint4(0u, 0u, 0u, 0u);
}
// sum [16 rows][8 keys] += 32 columns of both: left, far: the item's columns of rows GROUP and GROUP + 8; right: those of key GROUP.
FUNCTION void multiply_depth(float4 &sum, uint4 left, uint4 far, uint4 right) {
    multiply_add(sum, make_uint4(left.x, far.x, left.y, far.y), right.x, right.y);
    multiply_add(sum, make_uint4(left.z, far.z, left.w, far.w), right.z, right.w);
}
// sum[i] [16 rows][column 8 GROUP + i] += weights [16 rows][16 keys] times the item's eight columns of keys PAIR, PAIR + 1, PAIR + 8, PAIR + 9.
#define MULTIPLY_COLUMNS_OF(sum, i, left, x, member)                                                                   \
    multiply_add(sum[i], left, (x[0].member & 0xFFFFu) | x[1].member << 16, (x[2].member & 0xFFFFu) | x[3].member << 16); \
    multiply_add(sum[i + 1], left, x[0].member >> 16 | (x[1].member & 0xFFFF0000u), x[2].member >> 16 | (x[3].member & 0xFFFF0000u));
FUNCTION void multiply_columns(float4 *sum, uint4 left, const uint4 *x) {
    MULTIPLY_COLUMNS_OF(sum, 0, left, x, x)
    MULTIPLY_COLUMNS_OF(sum, 2, left, x, y)
    MULTIPLY_COLUMNS_OF(sum, 4, left, x, z)
    MULTIPLY_COLUMNS_OF(sum, 6, left, x, w)
}
// The weights of two blocks of eight keys as a left operand; four numbers of an item in each: two keys of row GROUP, two of GROUP + 8.
FUNCTION uint4 pairs_of(const float *near, const float *next) {
    return make_uint4(pair_of(near[0], near[1]), pair_of(near[2], near[3]), pair_of(next[0], next[1]), pair_of(next[2], next[3]));
}
// A left operand, 16 x 16, transposed: by eights its quarters x y z w are (top left, bottom left, top right, bottom right).
FUNCTION uint4 transposed(uint4 left) {
    return make_uint4(warp_transposed(left.x), warp_transposed(left.z), warp_transposed(left.y), warp_transposed(left.w));
}
// Eight neighbouring numbers to a tensor of any type, in 16 bits to a place that is a multiple of eight.
FUNCTION void store_eight(uint dtype, void *x, uint place, const float *v) {
    if (dtype == 0u) {
        UNROLL for (uint i = 0u; i < 8u; ++i) ((float *)x)[place + i] = v[i];
    } else if (dtype == 2u) {
        *(uint4 *)((ushort *)x + place) =
            make_uint4(warp_pair_f16(v[0], v[1]), warp_pair_f16(v[2], v[3]), warp_pair_f16(v[4], v[5]), warp_pair_f16(v[6], v[7]));
    } else {
        *(uint4 *)((ushort *)x + place) =
            make_uint4(warp_pair_bf16(v[0], v[1]), warp_pair_bf16(v[2], v[3]), warp_pair_bf16(v[4], v[5]), warp_pair_bf16(v[6], v[7]));
    }
}
// The same number of all four items that share a row.
FUNCTION float largest_of_row(float x) {
    x = max(x, warp_shuffle_xor(x, 1u));
    return max(x, warp_shuffle_xor(x, 2u));
}
FUNCTION float sum_of_row(float x) {
    x += warp_shuffle_xor(x, 1u);
    return x + warp_shuffle_xor(x, 2u);
}
