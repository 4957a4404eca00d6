// A call as its line (bpt/line.h).
#include <string.h>

#include "core/graph/internal.h"
#include "core/lines/attributes.h"
#include "core/lines/forms.h"
#include "core/lines/reads.h"

static bool is_same_place(const bpt_operand_t *a, const bpt_operand_t *b) {
    return a->present && b->present && a->buffer && a->buffer == b->buffer && a->offset_bytes == b->offset_bytes;
}

static void forget_place(bpt_operand_t *operand) {
    if (!operand->present) *operand = (bpt_operand_t){0};
    operand->buffer = NULL, operand->offset_bytes = 0;
}

bpt_op_line_t bpt_line_of(const bpt_op_call_t *call) {
    bpt_op_line_t line = {.call = *call, .in_place = -1, .seed = 1};
    for (int i = 0; i < BPT_MAX_INPUTS && line.in_place < 0; ++i)
        if (is_same_place(&call->in[i], &call->out[0])) line.in_place = i;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) forget_place(&line.call.in[i]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) forget_place(&line.call.out[i]);
    line.call.scratch = (bpt_operand_t){0};
    bpt_line_reads_fit(&line);
    return line;
}

static bpt_status_t print_attributes(const bpt_attribute_t *a, const void *fields, bpt_strbuf_t *out) {
    for (; a && a->key; ++a) BPT_TRY(bpt_attribute_print(a, fields, out));
    return BPT_OK;
}

static bpt_status_t print_shape(const bpt_shape_t *shape, bpt_strbuf_t *out) {
    if (!shape->rank) return bpt_strbuf_printf(out, "[1]");
    for (int i = 0; i < shape->rank; ++i) BPT_TRY(bpt_strbuf_printf(out, "%c%lld", i ? ',' : '[', (long long)shape->dim[i]));
    return bpt_strbuf_printf(out, "]");
}

static bpt_status_t print_operand(const bpt_operand_form_t *form, const bpt_operand_t *operand, bool gives_type, bpt_dtype_t usual,
                                  bpt_strbuf_t *out) {
    const bool says_type = gives_type || bpt_form_is_free(form) || (bpt_form_is_typed(form) && operand->dtype != usual);
    if (!says_type && form->presence == REQUIRED) return BPT_OK;
    BPT_TRY(bpt_strbuf_printf(out, " %s", form->name));
    if (says_type) BPT_TRY(bpt_strbuf_printf(out, "=%s", bpt_dtype_name(operand->dtype)));
    return bpt_form_is_free(form) ? print_shape(&operand->shape, out) : BPT_OK;
}

static bpt_status_t print_operands(const bpt_op_line_t *line, bpt_strbuf_t *out) {
    bpt_line_forms_t forms;
    BPT_TRY(bpt_line_forms(&line->call, &forms));
    const bpt_operand_form_t *typed = bpt_line_typed_form(&line->call, &forms);
    const bpt_dtype_t usual = typed ? bpt_form_operand(&line->call, typed)->dtype : BPT_F32;
    for (int i = 0; i < forms.count; ++i) {
        const bpt_operand_form_t *form = &forms.form[i];
        const bpt_operand_t *operand = bpt_form_operand(&line->call, form);
        const bool again = !form->output && bpt_line_same_tensor(line, form->slot) != form->slot;
        if (operand->present && !again) BPT_TRY(print_operand(form, operand, form == typed, usual, out));
    }
    for (int i = 0; i < forms.count && line->in_place >= 0; ++i)
        if (!forms.form[i].output && forms.form[i].slot == line->in_place)
            return bpt_strbuf_printf(out, " in_place=%s", forms.form[i].name);
    return BPT_OK;
}

bpt_status_t bpt_line_print(const bpt_op_line_t *line, bpt_strbuf_t *out) {
    BPT_TRY(bpt_call_check(&line->call));
    BPT_TRY(bpt_strbuf_printf(out, "%s", bpt_op_name(line->call.op)));
    BPT_TRY(print_attributes(bpt_op_info(line->call.op)->attributes, &line->call.attrs, out));
    BPT_TRY(print_operands(line, out));
    return print_attributes(bpt_line_rules, line, out);
}
