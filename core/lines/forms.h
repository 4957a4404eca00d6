// The operands that a call may have, as its op's check tells them: what printing, parsing and filling a line have in common.
#ifndef BPT_LINES_FORMS_H
#define BPT_LINES_FORMS_H

#include "bpt/line.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

typedef struct {
    bpt_operand_form_t form[BPT_MAX_INPUTS + BPT_MAX_OUTPUTS];
    int count;
} bpt_line_forms_t;

bpt_status_t bpt_line_forms(const bpt_op_call_t *call, bpt_line_forms_t *out) BPT_MUST_USE;
static inline const bpt_operand_t *bpt_form_operand(const bpt_op_call_t *call, const bpt_operand_form_t *form) {
    return form->output ? &call->out[form->slot] : &call->in[form->slot];
}
// It may have several types.
static inline bool bpt_form_is_typed(const bpt_operand_form_t *form) { return form->class == ANY_FLOAT || form->class == ANY_TYPE; }
// The operand says its own shape; else the shape follows.
static inline bool bpt_form_is_free(const bpt_operand_form_t *form) { return form->rows == ANY_ROWS || form->columns == ANY_COLUMNS; }
// The first operand that is there and may have several types: those that do not say a type have its.
const bpt_operand_form_t *bpt_line_typed_form(const bpt_op_call_t *call, const bpt_line_forms_t *forms);
// What an op's table says that an operand of this name holds; NULL: numbers.
const bpt_content_t *bpt_line_content(bpt_op_t op, const char *name);

extern const bpt_attribute_t bpt_line_rules[];  // of the fields of bpt_op_line_t: what makes the values

#endif
