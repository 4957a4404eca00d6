// Operands of a call (see forms.h), and the keys that every line may have.
#include "core/lines/forms.h"

#include <string.h>

#include "core/graph/internal.h"

static bpt_status_t collect(void *user, const bpt_operand_form_t *form) {
    bpt_line_forms_t *forms = user;
    for (int i = 0; i < forms->count; ++i)
        if (forms->form[i].output == form->output && forms->form[i].slot == form->slot) return BPT_OK;  // of two steps
    forms->form[forms->count++] = *form;
    return BPT_OK;
}

bpt_status_t bpt_line_forms(const bpt_op_call_t *call, bpt_line_forms_t *out) {
    bpt_checker_t c = {.call = call, .visit = collect, .user = out};
    out->count = 0;
    return bpt_op_info(call->op)->check(&c);
}

const bpt_operand_form_t *bpt_line_typed_form(const bpt_op_call_t *call, const bpt_line_forms_t *forms) {
    for (int i = 0; i < forms->count; ++i)
        if (bpt_form_is_typed(&forms->form[i]) && bpt_form_operand(call, &forms->form[i])->present) return &forms->form[i];
    return NULL;
}

const bpt_content_t *bpt_line_content(bpt_op_t op, const char *name) {
    for (const bpt_content_t *c = bpt_op_info(op)->contents; c && c->name; ++c)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

// ---- What makes the values

static bool holds(const bpt_op_line_t *line, bpt_holds_t what) {
    for (const bpt_content_t *c = bpt_op_info(line->call.op)->contents; c && c->name; ++c)
        if (c->holds == what) return true;
    return false;
}

static bool has_indices(const void *line) { return holds(line, BPT_HOLDS_IDS); }
static bool reads_a_table(const void *line) {
    return holds(line, BPT_HOLDS_TABLE) && bpt_intervals_is_table(&((const bpt_op_line_t *)line)->call.attrs.attention.graph);
}

static const char *const indices_names[] = {"spread", "ordered", "zipf", "one", NULL};

const bpt_attribute_t bpt_line_rules[] = {{BPT_CHOICE("indices", bpt_op_line_t, indices, indices_names), .when = has_indices},
                                          {BPT_INT64("edges", bpt_op_line_t, edges, 0, BPT_LINE_MOST_ROWS), .when = reads_a_table},
                                          {BPT_INT64("seed", bpt_op_line_t, seed, 0, 4294967295.0), .standard = 1},
                                          {.key = NULL}};
