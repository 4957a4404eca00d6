// Sums over columns and of squares: parts by chunks, then the sum of the parts, always cut in the same way.
#include "backends/gpu/lower/lower.h"

enum { ROW_CHUNK = 128, ITEM_CHUNK = 4096 };

// Parts of `chunk` rows each; rows 0: one part without rows, whose sum is zero.
static void sum_parts(bpt_lower_t *l, const bpt_view_t *x, int64_t rows, int64_t columns, int64_t chunk, const bpt_view_t *result,
                      bool add) {
    const int64_t count = (rows ? bpt_ceil_div(rows, chunk) : 1) * columns;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_sum_rows);
    sum_rows_params_t p = {.rows = (uint32_t)rows, .columns = (uint32_t)columns, .chunk = (uint32_t)chunk, .count = (uint32_t)count};
    k.constants[sum_rows_ADD] = add;
    if (rows) k.bindings[sum_rows_x] = *x;
    k.bindings[sum_rows_result] = *result;
    bpt_lower_emit_items(l, &k, &p, count);
}

static void sum_window(bpt_lower_t *l, const bpt_view_t *x, int64_t rows, int64_t columns, const bpt_view_t *result, bool add) {
    const int64_t parts = bpt_ceil_div(rows, ROW_CHUNK);
    if (parts <= 1) {
        sum_parts(l, x, rows, columns, ROW_CHUNK, result, add);
        return;
    }
    const bpt_view_t partial = bpt_lower_scratch(l, BPT_F32, parts * columns);
    sum_parts(l, x, rows, columns, ROW_CHUNK, &partial, false);
    bpt_lower_barrier(l);
    sum_window(l, &partial, parts, columns, result, add);
}

void bpt_lower_sum_rows(bpt_lower_t *l, const bpt_view_t *x, int64_t rows, int64_t columns, const bpt_view_t *result, bool add) {
    const int64_t window = bpt_lower_window(l, rows, (size_t)columns * bpt_dtype_size(x->dtype));
    int64_t row = 0;
    do {
        const int64_t n = bpt_min(window, rows - row);
        const bpt_view_t part = bpt_lower_part(x, row * columns, n * columns);
        if (row) bpt_lower_barrier(l);
        sum_window(l, &part, n, columns, result, add || row);
        row += window;
    } while (row < rows);
}

void bpt_lower_sum_all(bpt_lower_t *l, const bpt_view_t *x, int64_t count, bool square, const bpt_view_t *result) {
    const int64_t groups = bpt_ceil_div(count, ITEM_CHUNK), window = bpt_lower_window(l, count, 4) / ITEM_CHUNK * ITEM_CHUNK;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_sum_all);
    k.constants[sum_all_SQUARE] = square;
    if (groups <= 1) {
        sum_all_params_t p = {.count = (uint32_t)count, .chunk = ITEM_CHUNK};
        if (count) k.bindings[sum_all_x] = *x;
        k.bindings[sum_all_result] = *result;
        bpt_lower_emit(l, &k, &p, 1);
        return;
    }
    const bpt_view_t partial = bpt_lower_scratch(l, BPT_F32, groups);
    for (int64_t i = 0; i < count; i += window) {
        const int64_t n = bpt_min(window, count - i), parts = bpt_ceil_div(n, ITEM_CHUNK);
        sum_all_params_t p = {.count = (uint32_t)n, .chunk = ITEM_CHUNK};
        k.bindings[sum_all_x] = bpt_lower_part(x, i, n);
        k.bindings[sum_all_result] = bpt_lower_part(&partial, i / ITEM_CHUNK, parts);
        bpt_lower_emit(l, &k, &p, parts);
    }
    bpt_lower_barrier(l);
    bpt_lower_sum_all(l, &partial, groups, false, result);
}

void bpt_lower_COLUMN_SUM(bpt_lower_t *l) {
    const bpt_view_t x = bpt_lower_in(l, 0), y = bpt_lower_out(l, 0);
    bpt_lower_sum_rows(l, &x, bpt_rows(&l->call->in[0]), bpt_columns(&l->call->in[0]), &y, false);
}

void bpt_lower_SQUARE_SUM(bpt_lower_t *l) {
    const bpt_view_t x = bpt_lower_in(l, 0), y = bpt_lower_out(l, 0);
    bpt_lower_sum_all(l, &x, bpt_count(&l->call->in[0]), true, &y);
}
