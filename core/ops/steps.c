// The forms of the pointwise steps, from the one list in bpt/steps.def.
#include "bpt/ops.h"

const bpt_pointwise_form_t *bpt_pointwise_form(bpt_pointwise_code_t code) {
    enum { EXACT = true, ROUNDS = false };
    static const bpt_pointwise_form_t forms[] = {
#define BPT_POINTWISE_STEP(number, id, step_name, operand, constant, rounding) \
    [number] = {#step_name, BPT_OPERAND_##operand, BPT_CONSTANT_##constant, rounding},
#include "bpt/steps.def"
#undef BPT_POINTWISE_STEP
    };
    return (unsigned)code < sizeof forms / sizeof forms[0] ? &forms[code] : NULL;
}

bool bpt_pointwise_commutes_with_rounding(const bpt_pointwise_attrs_t *steps) {
    for (int i = 0; i < steps->n_steps; ++i) {
        const bpt_pointwise_form_t *form = bpt_pointwise_form(steps->step[i].code);
        if (!form->exact || (form->constant == BPT_CONSTANT_FACTOR && steps->step[i].c != 1)) return false;
    }
    return true;
}
