// See own_product.h.
#include "backends/cpu/own_product.h"

#include "backends/cpu/kernels/isa.h"

enum { TURNED_ROWS = 128, TURNED_DEPTH = 128 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static bpt_cpu_few_rows_t call_of(const bpt_onednn_product_t *p, const float *b, float *c) {
    return (bpt_cpu_few_rows_t){.b = b,
                                .c = c,
                                .m = p->m,
                                .n = p->n,
                                .k = p->k,
                                .ldb = p->ldb,
                                .ldc = p->ldc,
                                .x_dtype = BPT_F32,
                                .dtype = BPT_F32,
                                .transposed = p->transpose_b,
                                .accumulate = p->accumulate,
                                .panels = p->m >= BPT_CPU_FEWEST_PANEL_ROWS};
}

static void multiply(bpt_cpu_few_rows_t call, const float *a, int64_t lda) {
    call.x = a;
    call.ldx = lda;
    bpt_cpu_kernels()->few_rows(&call);
}

// a is [k,m]: a part of it at a time is turned, rows [row, row + rows) of the product by all inner indices.
static void multiply_turned(const bpt_onednn_product_t *p, const float *a, const float *b, float *c, int64_t row, int64_t rows) {
    float turned[TURNED_ROWS * TURNED_DEPTH];
    for (int64_t first = 0; first < p->k; first += TURNED_DEPTH) {
        bpt_cpu_few_rows_t call = call_of(p, b + first * (p->transpose_b ? 1 : p->ldb), c + row * p->ldc);
        call.m = rows;
        call.k = min64(p->k - first, TURNED_DEPTH);
        call.accumulate |= first > 0;
        for (int64_t i = 0; i < call.k; ++i)
            for (int64_t r = 0; r < rows; ++r) turned[r * TURNED_DEPTH + i] = a[(first + i) * p->lda + row + r];
        multiply(call, turned, TURNED_DEPTH);
    }
}

void bpt_own_product(const bpt_onednn_product_t *p, const float *a, const float *b, float *c) {
    if (!p->transpose_a) {
        multiply(call_of(p, b, c), a, p->lda);
        return;
    }
    for (int64_t row = 0; row < p->m; row += TURNED_ROWS) multiply_turned(p, a, b, c, row, min64(p->m - row, TURNED_ROWS));
}
