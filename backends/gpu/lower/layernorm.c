// Layer normalisation with residual and dropout, and its gradient, window by window; rmsnorm is a variant of the same kernels.
#include "backends/gpu/lower/lower.h"
#include "backends/gpu/lower/software/software.h"

enum { ROW_CHUNK = 64 };

void bpt_lower_LAYERNORM(bpt_lower_t *l) {
    const bpt_layernorm_attrs_t *t = &l->call->attrs.layernorm;
    const bool centred = bpt_norm_is_centred(l->call->op);
    const int64_t rows = bpt_rows(&l->call->in[0]), d = bpt_columns(&l->call->in[0]), window = bpt_lower_window(l, rows, (size_t)d * 4);
    const bpt_view_t x = bpt_lower_in(l, 0), residual = bpt_lower_in(l, 1), keys = bpt_lower_in(l, BPT_IN_ROW_KEYS);
    const bpt_view_t y = bpt_lower_out(l, 0), z = bpt_lower_out(l, 1), stats = bpt_lower_out(l, 2), low = bpt_lower_out(l, 3);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_layernorm);
    layernorm_params_t p = {.columns = (uint32_t)d, .eps = t->eps, .keep = 1 / (1 - t->p), .uid = t->uid};
    k.constants[layernorm_HAS_RESIDUAL] = residual.present;
    k.constants[layernorm_HAS_Z] = z.present;
    k.constants[layernorm_HAS_STATS] = stats.present;
    k.constants[layernorm_HAS_LOW] = low.present;
    k.constants[layernorm_CENTRED] = centred;
    k.constants[layernorm_THRESHOLD] = bpt_lower_threshold(t->p);
    k.bindings[layernorm_gamma] = bpt_lower_in(l, 2);
    k.bindings[layernorm_beta] = bpt_lower_in(l, 3);
    k.bindings[layernorm_rng] = bpt_lower_in(l, BPT_IN_RNG);
    for (int64_t row = 0; row < rows; row += window) {
        const int64_t n = bpt_min(window, rows - row);
        k.bindings[layernorm_x] = bpt_lower_part(&x, row * d, n * d);
        k.bindings[layernorm_residual] = bpt_lower_part(&residual, row * d, n * d);
        k.bindings[layernorm_row_keys] = bpt_lower_part(&keys, row * 2, n * 2);
        k.bindings[layernorm_y] = bpt_lower_part(&y, row * d, n * d);
        k.bindings[layernorm_z] = bpt_lower_part(&z, row * d, n * d);
        k.bindings[layernorm_stats] = bpt_lower_part(&stats, row * 2, n * 2);
        k.bindings[layernorm_low] = bpt_lower_part(&low, row * d, n * d);
        if (centred && bpt_lower_in_software(l) && bpt_software_layernorm(l, &k, &p, n)) continue;
        bpt_lower_emit(l, &k, &p, n);  // a work-group per row
    }
}

void bpt_lower_RMSNORM(bpt_lower_t *l) { bpt_lower_LAYERNORM(l); }

static void input_gradients(bpt_lower_t *l, int64_t row, int64_t n, int64_t d) {
    const bpt_layernorm_attrs_t *t = &l->call->attrs.layernorm;
    const bool centred = bpt_norm_is_centred(l->call->op);
    const bpt_view_t dy = bpt_lower_in(l, 0), z = bpt_lower_in(l, 1), stats = bpt_lower_in(l, 2), low = bpt_lower_in(l, 4);
    const bpt_view_t keys = bpt_lower_in(l, BPT_IN_ROW_KEYS), dz = bpt_lower_out(l, 0), dx = bpt_lower_out(l, 1);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_layernorm_grad);
    layernorm_grad_params_t p = {.columns = (uint32_t)d, .keep = 1 / (1 - t->p), .uid = t->uid};
    k.constants[layernorm_grad_HAS_LOW] = low.present;
    k.constants[layernorm_grad_HAS_DX] = dx.present;
    k.constants[layernorm_grad_CENTRED] = centred;
    k.constants[layernorm_grad_THRESHOLD] = bpt_lower_threshold(t->p);
    k.bindings[layernorm_grad_gamma] = bpt_lower_in(l, 3);
    k.bindings[layernorm_grad_rng] = bpt_lower_in(l, BPT_IN_RNG);
    k.bindings[layernorm_grad_dy] = bpt_lower_part(&dy, row * d, n * d);
    k.bindings[layernorm_grad_z] = bpt_lower_part(&z, row * d, n * d);
    k.bindings[layernorm_grad_stats] = bpt_lower_part(&stats, row * 2, n * 2);
    k.bindings[layernorm_grad_dlow] = bpt_lower_part(&low, row * d, n * d);
    k.bindings[layernorm_grad_row_keys] = bpt_lower_part(&keys, row * 2, n * 2);
    k.bindings[layernorm_grad_dz] = bpt_lower_part(&dz, row * d, n * d);
    k.bindings[layernorm_grad_dx] = bpt_lower_part(&dx, row * d, n * d);
    if (centred && bpt_lower_in_software(l) && bpt_software_layernorm_grad(l, &k, &p, n)) return;
    bpt_lower_emit(l, &k, &p, n);
}

// dgamma and dbeta side by side in each row of `partial`, a row per chunk; then their sums.
static void partial_sums(bpt_lower_t *l, int64_t row, int64_t n, int64_t d, const bpt_view_t *partial) {
    const bpt_view_t dy = bpt_lower_in(l, 0), z = bpt_lower_in(l, 1), stats = bpt_lower_in(l, 2), low = bpt_lower_in(l, 4);
    const int64_t chunks = bpt_ceil_div(n, ROW_CHUNK);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_layernorm_sums);
    layernorm_sums_params_t p = {.rows = (uint32_t)n, .columns = (uint32_t)d, .chunk = ROW_CHUNK, .count = (uint32_t)(chunks * d)};
    k.constants[layernorm_sums_HAS_LOW] = low.present;
    k.bindings[layernorm_sums_dy] = bpt_lower_part(&dy, row * d, n * d);
    k.bindings[layernorm_sums_z] = bpt_lower_part(&z, row * d, n * d);
    k.bindings[layernorm_sums_stats] = bpt_lower_part(&stats, row * 2, n * 2);
    k.bindings[layernorm_sums_dlow] = bpt_lower_part(&low, row * d, n * d);
    k.bindings[layernorm_sums_result] = *partial;
    bpt_lower_emit_items(l, &k, &p, chunks * d);
}

static void split_sums(bpt_lower_t *l, const bpt_view_t *sums, int64_t d) {
    for (int slot = 2; slot <= (bpt_norm_is_centred(l->call->op) ? 3 : 2); ++slot) {
        bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_copy);
        copy_params_t p = {.count = (uint32_t)d};
        k.bindings[copy_x] = bpt_lower_part(sums, (slot - 2) * d, d);
        k.bindings[copy_y] = bpt_lower_out(l, slot);
        bpt_lower_emit_items(l, &k, &p, d);
    }
}

void bpt_lower_LAYERNORM_GRAD(bpt_lower_t *l) {
    const int64_t rows = bpt_rows(&l->call->in[0]), d = bpt_columns(&l->call->in[0]);
    const int64_t fit = bpt_lower_window(l, rows, (size_t)d * 4),
                  window = fit < rows && fit > ROW_CHUNK ? fit / ROW_CHUNK * ROW_CHUNK : fit;
    int64_t chunks = 0;
    for (int64_t row = 0; row < rows; row += window) chunks += bpt_ceil_div(bpt_min(window, rows - row), ROW_CHUNK);
    const bpt_view_t partial = bpt_lower_scratch(l, BPT_F32, (chunks ? chunks : 1) * 2 * d), sums = bpt_lower_scratch(l, BPT_F32, 2 * d);
    int64_t chunk = 0;
    for (int64_t row = 0; row < rows; row += window) {
        const int64_t n = bpt_min(window, rows - row), parts = bpt_ceil_div(n, ROW_CHUNK);
        const bpt_view_t part = bpt_lower_part(&partial, chunk * 2 * d, parts * 2 * d);
        partial_sums(l, row, n, d, &part);
        chunk += parts;
    }
    bpt_lower_barrier(l);  // dz may lie where dy is
    for (int64_t row = 0; row < rows; row += window) input_gradients(l, row, bpt_min(window, rows - row), d);
    bpt_lower_sum_rows(l, &partial, chunks, 2 * d, &sums, false);
    bpt_lower_barrier(l);
    split_sums(l, &sums, d);
}

void bpt_lower_RMSNORM_GRAD(bpt_lower_t *l) { bpt_lower_LAYERNORM_GRAD(l); }
