// Chains of elementwise steps.
#include <string.h>

#include "backends/gpu/lower/lower.h"

int64_t bpt_lower_window(const bpt_lower_t *l, int64_t rows, size_t row_bytes) {
    const uint64_t slack = 2 * (uint64_t)l->device->api->limits.offset_alignment, most = l->device->api->limits.max_binding_bytes;
    const uint64_t fit = row_bytes ? (most > slack ? most - slack : 0) / row_bytes : (uint64_t)rows;
    return fit < 1 ? 1 : bpt_min(rows < 1 ? 1 : rows, (int64_t)fit);  // a row that does not fit is refused when it is emitted
}

void bpt_lower_steps(const bpt_pointwise_attrs_t *steps, uint32_t *constants, float *c, uint32_t *uid) {
    constants[0] = (uint32_t)steps->n_steps;
    for (int s = 0; s < steps->n_steps; ++s) {
        const bpt_pointwise_step_t *step = &steps->step[s];
        const bool dropout = bpt_pointwise_form(step->code)->constant == BPT_CONSTANT_RATE;
        constants[1 + s] = (uint32_t)step->code | (uint32_t)step->arg << 8 | (dropout ? bpt_lower_threshold(step->c) << 16 : 0);
        c[s] = dropout ? 1 / (1 - step->c) : step->c;
        uid[s] = step->uid;
    }
}

bpt_pointwise_operand_t bpt_lower_operand(const bpt_pointwise_attrs_t *steps, int slot) {
    for (int s = 0; s < steps->n_steps; ++s) {
        const bpt_pointwise_operand_t operand = bpt_pointwise_form(steps->step[s].code)->operand;
        if (operand != BPT_OPERAND_NONE && steps->step[s].arg == slot) return operand;
    }
    return BPT_OPERAND_NONE;
}

void bpt_lower_POINTWISE(bpt_lower_t *l) {
    const bpt_pointwise_attrs_t *t = &l->call->attrs.pointwise;
    const int64_t rows = bpt_rows(&l->call->in[0]), columns = bpt_columns(&l->call->in[0]);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_pointwise);
    pointwise_params_t p = {.columns = (uint32_t)columns};
    bpt_lower_steps(t, &k.constants[pointwise_N_STEPS], &p.c0, &p.uid0);
    const int64_t window = bpt_lower_window(l, rows, (size_t)columns * 4);
    for (int64_t row = 0; row < rows && columns; row += window) {
        const int64_t n = bpt_min(window, rows - row), count = n * columns;
        for (int slot = 0; slot < BPT_IN_ROW_KEYS; ++slot) {
            const bpt_view_t view = bpt_lower_in(l, slot);
            const bpt_pointwise_operand_t operand = bpt_lower_operand(t, slot);
            const bool whole = operand == BPT_OPERAND_ROW || operand == BPT_OPERAND_SCALAR;
            k.bindings[pointwise_x + slot] = whole ? view : bpt_lower_part(&view, row * columns, count);
        }
        const bpt_view_t keys = bpt_lower_in(l, BPT_IN_ROW_KEYS), y = bpt_lower_out(l, 0);
        k.bindings[pointwise_row_keys] = bpt_lower_part(&keys, 2 * row, 2 * n);
        k.bindings[pointwise_rng] = bpt_lower_in(l, BPT_IN_RNG);
        k.bindings[pointwise_y] = bpt_lower_part(&y, row * columns, count);
        p.count = (uint32_t)count;
        bpt_lower_emit_items(l, &k, &p, count);
    }
}
