// Calls against the contract of bpt/ops.h (see contract.h). Knows nothing of how an op is computed.
#include "core/ops/contract.h"

#include <stdio.h>

#include "core/graph/internal.h"

static void describe_shape(const bpt_shape_t *shape, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "[");
    for (int i = 0; i < shape->rank && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, i ? ",%lld" : "%lld", (long long)shape->dim[i]);
    if (used < bytes) snprintf(text + used, bytes - used, "]");
}

bool bpt_dtype_fits(bpt_dtype_t dtype, bpt_dtype_class_t class) {
    if (class == ANY_TYPE) return true;
    if (class == ONLY_F32) return dtype == BPT_F32;
    return class == ONLY_U32 ? dtype == BPT_U32 : dtype != BPT_U32;
}

const char *bpt_dtype_class_name(bpt_dtype_class_t class) {
    static const char *const names[] = {
        [ANY_FLOAT] = "f32, bf16 or f16", [ONLY_F32] = "f32", [ONLY_U32] = "u32", [ANY_TYPE] = "f32, bf16, f16 or u32"};
    return names[class];
}

// The operand seen as [rows, columns]; a vector or scalar is given as rows = 1, and any rank with that many elements fits.
static bool shape_fits(const bpt_shape_t *shape, int64_t rows, int64_t columns) {
    if (shape->rank < 0 || shape->rank > BPT_MAX_RANK) return false;
    for (int i = 0; i < shape->rank; ++i)
        if (shape->dim[i] < 0) return false;
    if (rows == 1 && columns != ANY_COLUMNS) return bpt_shape_count(shape) == columns;
    return (rows == ANY_ROWS || bpt_shape_rows(shape) == rows) && (columns == ANY_COLUMNS || bpt_shape_columns(shape) == columns);
}

static void describe_size(int64_t size, char text[24]) {
    if (size < 0)
        snprintf(text, 24, "any");
    else
        snprintf(text, 24, "%lld", (long long)size);
}

static bpt_status_t check_operand(const bpt_checker_t *c, const bpt_operand_form_t *form) {
    if (c->visit) return c->visit(c->user, form);
    const bpt_op_call_t *call = c->call;
    const bpt_operand_t *operand = form->output ? &call->out[form->slot] : &call->in[form->slot];
    const char *kind = form->output ? "output" : "input", *op = bpt_op_name(call->op);
    if (!operand->present) {
        if (form->presence == OPTIONAL) return BPT_OK;
        return bpt_fail(BPT_ERR_INTERNAL, "%s needs %s %d (%s)", op, kind, form->slot, form->name);
    }
    if (!bpt_dtype_fits(operand->dtype, form->class))
        return bpt_fail(BPT_ERR_INTERNAL, "%s %s %d (%s) has type %s; it must be %s", op, kind, form->slot, form->name,
                        bpt_dtype_name(operand->dtype), bpt_dtype_class_name(form->class));
    if (shape_fits(&operand->shape, form->rows, form->columns)) return BPT_OK;
    char text[128], rows[24], columns[24];
    describe_shape(&operand->shape, text, sizeof text);
    describe_size(form->rows, rows);
    describe_size(form->columns, columns);
    return bpt_fail(BPT_ERR_INTERNAL, "%s %s %d (%s) has shape %s; it must be [%s,%s]", op, kind, form->slot, form->name, text, rows,
                    columns);
}

bpt_status_t bpt_expect_input(bpt_checker_t *c, int slot, const char *name, bpt_dtype_class_t class, bpt_presence_t presence, int64_t rows,
                              int64_t columns) {
    c->seen_in |= 1u << slot;
    return check_operand(c, &(bpt_operand_form_t){false, slot, name, class, presence, rows, columns});
}

bpt_status_t bpt_expect_output(bpt_checker_t *c, int slot, const char *name, bpt_dtype_class_t class, bpt_presence_t presence, int64_t rows,
                               int64_t columns) {
    c->seen_out |= 1u << slot;
    return check_operand(c, &(bpt_operand_form_t){true, slot, name, class, presence, rows, columns});
}

bpt_status_t bpt_expect(const bpt_checker_t *c, bool fits, const char *sentence) {
    if (fits || c->visit) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "%s: %s", bpt_op_name(c->call->op), sentence);
}

bpt_status_t bpt_expect_random(bpt_checker_t *c, int keys_slot, int rng_slot, float p, int64_t rows) {
    BPT_TRY(bpt_expect(c, p >= 0 && p < 1, "the dropout rate must be in [0, 1)"));
    c->seen_in |= 1u << keys_slot | 1u << rng_slot;
    if (p <= 0) return BPT_OK;
    BPT_TRY(bpt_expect_input(c, keys_slot, "row_keys", ONLY_U32, REQUIRED, rows, 2));
    return bpt_expect_input(c, rng_slot, "rng", ONLY_U32, REQUIRED, 1, 2);
}

// Steps of a pointwise chain whose extras may be in the slots first_extra..5.
bpt_status_t bpt_expect_steps(bpt_checker_t *c, const bpt_pointwise_attrs_t *steps, int first_extra, int64_t rows, int64_t columns) {
    BPT_TRY(bpt_expect(c, steps->n_steps >= 0 && steps->n_steps <= BPT_MAX_STEPS, "too many steps in the chain"));
    static const char *const names[] = {"x0", "x1", "x2", "x3", "x4", "x5"};  // of extras, by slot
    float p = 0;
    for (int i = 0; i < steps->n_steps; ++i) {
        const bpt_pointwise_step_t *step = &steps->step[i];
        const bpt_pointwise_form_t *form = bpt_pointwise_form(step->code);
        if (!form) return bpt_expect(c, false, "unknown step in the chain");
        if (form->constant == BPT_CONSTANT_RATE) {
            BPT_TRY(bpt_expect(c, step->c >= 0 && step->c < 1, "the dropout rate must be in [0, 1)"));
            if (step->c > p) p = step->c;
        }
        if (form->operand == BPT_OPERAND_NONE) continue;
        BPT_TRY(bpt_expect(c, step->arg >= first_extra && step->arg < BPT_IN_ROW_KEYS, "a step reads a slot that holds no extra operand"));
        const bool elements = form->operand == BPT_OPERAND_ELEMENTS;
        BPT_TRY(bpt_expect_input(c, step->arg, names[step->arg], ANY_FLOAT, REQUIRED, elements ? rows : 1,
                                 form->operand == BPT_OPERAND_SCALAR ? 1 : columns));
    }
    return bpt_expect_random(c, BPT_IN_ROW_KEYS, BPT_IN_RNG, p, rows);
}

bpt_status_t bpt_call_check(const bpt_op_call_t *call) {
    bpt_checker_t c = {.call = call};
    if ((unsigned)call->op >= BPT_OP_COUNT) return bpt_fail(BPT_ERR_INTERNAL, "call of op number %d, which does not exist", (int)call->op);
    if (bpt_op_info(call->op)->check) BPT_TRY(bpt_op_info(call->op)->check(&c));
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (call->in[i].present && !(c.seen_in >> i & 1)) return bpt_fail(BPT_ERR_INTERNAL, "%s has no input %d", bpt_op_name(call->op), i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (call->out[i].present && !(c.seen_out >> i & 1))
            return bpt_fail(BPT_ERR_INTERNAL, "%s has no output %d", bpt_op_name(call->op), i);
    return BPT_OK;
}
