// One product of each kind that the backend has oneDNN compute, before any work depends on it: there are builds that are complete and open
// well, and fail at the first product (their runtime has no device), or compute on what is not this processor.
#include <stdlib.h>

#include "backends/cpu/onednn.h"

enum { SIZE = 32, COUNT = SIZE * SIZE };

// Whole numbers of one digit: every sum is exact in bf16 too.
static float left(int i) { return (float)(i % 3); }
static float right(int i) { return (float)(i % 2); }

static float expected(const bpt_onednn_product_t *p, int row, int column) {
    float sum = (p->accumulate ? 3 : 0) + (p->bias ? (float)(column % 5) : 0);
    for (int k = 0; k < SIZE; ++k)
        sum += left(p->transpose_a ? k * SIZE + row : row * SIZE + k) * right(p->transpose_b ? column * SIZE + k : k * SIZE + column);
    return sum;
}

static bool is_right(const bpt_onednn_product_t *p, const float *c) {
    for (int i = 0; i < COUNT; ++i)
        if (c[i] != expected(p, i / SIZE, i % SIZE)) return false;
    return true;
}

static bool multiplies_f32(const bpt_onednn_product_t *p) {
    float a[COUNT], b[COUNT], c[COUNT];
    for (int i = 0; i < COUNT; ++i) a[i] = left(i), b[i] = right(i), c[i] = 3;
    return bpt_onednn_multiply_f32(p, a, b, c) && is_right(p, c);
}

static bool multiplies_bf16(const bpt_onednn_product_t *p, void *scratch) {
    uint16_t a[COUNT], b[COUNT], narrow[COUNT];
    float c[COUNT], bias[SIZE];
    for (int i = 0; i < COUNT; ++i) a[i] = bpt_to_bf16(left(i)), b[i] = bpt_to_bf16(right(i)), c[i] = 3, narrow[i] = bpt_to_bf16(3);
    for (int i = 0; i < SIZE; ++i) bias[i] = (float)(i % 5);
    const bpt_onednn_data_t data = {.a = a, .b = b, .c = p->c_dtype == BPT_F32 ? (void *)c : narrow, .scratch = scratch, .bias = bias};
    if (!bpt_onednn_multiply(p, &data, 0)) return false;
    for (int i = 0; p->c_dtype == BPT_BF16 && i < COUNT; ++i) c[i] = bpt_from_bf16(narrow[i]);
    return is_right(p, c);
}

enum { KINDS = 32 };  // of products, by what oneDNN makes of them

static bool try_f32(void) {
    for (int i = 0; BPT_ONEDNN_MULTIPLIES_F32 && i < KINDS; ++i) {
        const bpt_onednn_product_t p = bpt_onednn_square(SIZE, i);
        if (p.bias || p.c_dtype != BPT_F32 || multiplies_f32(&p)) continue;
        bpt_onednn_refuse("a small f32 product fails, or has another result");
        return false;
    }
    return true;
}

static bool try_bf16(const bpt_onednn_product_t *p) {
    size_t bytes;
    if (bpt_onednn_prepare(p, 1, &bytes) != BPT_OK) {
        bpt_onednn_refuse("it cannot make a small bf16 product");
        bpt_error_clear();
        return false;
    }
    void *block = malloc(bytes + 64);
    const bool right = block && multiplies_bf16(p, (void *)(((uintptr_t)block + 63) / 64 * 64));
    free(block);
    if (!right) bpt_onednn_refuse("a small bf16 product fails, or has another result");
    return right;
}

void bpt_onednn_try(bool bf16) {
    if (*bpt_onednn_reason() || !try_f32() || !bf16) return;
    bool right = true;
    for (int i = 0; i < KINDS && right; ++i) {
        const bpt_onednn_product_t p = bpt_onednn_square(SIZE, i);
        right = try_bf16(&p);
    }
    bpt_onednn_clear();
}
