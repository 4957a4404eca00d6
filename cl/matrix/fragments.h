// Fragments of matrices that a warp holds together, by the instruction mma (cl/README.md has the words): 16 x 16 times 16 x 8, f16 with sums
// in f32. Which item holds which element is known here alone.
#include "cl/dialect/warp.h"
#define SUBGROUP_ID (LOCAL_ID / WARP)
static_assert(FRAGMENT_M == 16u && FRAGMENT_N == 8u && FRAGMENT_K == 16u, "mma multiplies 16 x 16 by 16 x 8");

struct fragment_left_t {
    uint4 v;
};
struct fragment_right_t {
    uint2 v;
};
struct fragment_sum_t {
    float4 v;  // two neighbours of a row, and of the eighth row below
};
#define FRAGMENT_LEFT fragment_left_t
#define FRAGMENT_RIGHT fragment_right_t
#define FRAGMENT_SUM fragment_sum_t

// `first` and `stride` count vectors of eight halves: where the fragment begins, and from one of its stored lines to the next.
FUNCTION void fragment_load(fragment_left_t &x, const uint4 *array, uint first, uint stride) {
    x.v = load_matrix_x4(&array[first + LANE % 16u * stride + LANE / 16u]);
}
FUNCTION void fragment_load_across(fragment_left_t &x, const uint4 *array, uint first, uint stride) {
    x.v = load_matrix_x4_transposed(&array[first + (LANE % 8u + LANE / 16u * 8u) * stride + LANE / 8u % 2u]);
}
FUNCTION void fragment_load(fragment_right_t &x, const uint4 *array, uint first, uint stride) {
    x.v = load_matrix_x2_transposed(&array[first + LANE % 16u * stride]);
}
FUNCTION void fragment_load_across(fragment_right_t &x, const uint4 *array, uint first, uint stride) {
    x.v = load_matrix_x2(&array[first + LANE % 8u * stride + LANE / 8u % 2u]);
}
FUNCTION void fragment_store(const fragment_sum_t &sum, float *array, uint first, uint stride) {
    float *at = array + first + LANE / 4u * stride + LANE % 4u * 2u;
    at[0] = sum.v.x;
    at[1] = sum.v.y;
    at[8u * stride] = sum.v.z;
    at[8u * stride + 1u] = sum.v.w;
}
FUNCTION void fragment_store_halves(const fragment_sum_t &sum, uint4 *array, uint first, uint stride) {
    uint *at = (uint *)(array + first + LANE / 4u * stride) + LANE % 4u;
    at[0] = HALVES(sum.v.x, sum.v.y);
    at[8u * stride * 4u] = HALVES(sum.v.z, sum.v.w);
}
#define FRAGMENT_ZERO(sum) (sum).v = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f)
#define FRAGMENT_LOAD(x, array, first, stride) fragment_load(x, array, first, stride)
#define FRAGMENT_LOAD_ACROSS(x, array, first, stride) fragment_load_across(x, array, first, stride)
#define FRAGMENT_MULTIPLY_ADD(sum, left, right) warp_mma_f16((sum).v, (left).v, (right).v)
#define FRAGMENT_SCALE(sum, factor) (sum).v = (factor) * (sum).v
#define FRAGMENT_STORE(sum, array, first, stride) fragment_store(sum, array, first, stride)
#define FRAGMENT_STORE_HALVES(sum, array, first, stride) fragment_store_halves(sum, array, first, stride)
