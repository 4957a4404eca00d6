// A line as the call that it says (bpt/line.h). Attributes come first, then the operands that the line names; those that it leaves out
// follow from the forms that the op's check tells.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/internal.h"
#include "core/lines/attributes.h"
#include "core/lines/forms.h"
#include "core/lines/reads.h"

enum { MOST_WORDS = 64, MOST_ELEMENTS_LOG2 = 40 };
static const int64_t most_elements = (int64_t)1 << MOST_ELEMENTS_LOG2;

typedef struct {
    char *key, *value;  // value: behind "=", NULL where there is none
    bool used, has_type, has_shape;
} word_t;

typedef struct {
    char text[BPT_LINE_MOST_BYTES];
    word_t words[MOST_WORDS];
    int count;
    const char *op;
    bpt_dtype_t type;
    bool has_type;  // type=..
    bpt_op_line_t *line;
} parser_t;

static word_t *find(parser_t *p, const char *key) {
    for (int i = 0; i < p->count; ++i)
        if (!strcmp(p->words[i].key, key)) return &p->words[i];
    return NULL;
}

// ---- Words

static bpt_status_t fail_op(const char *name) {
    char names[512];
    size_t used = 0;
    for (int op = 0; op < BPT_OP_COUNT && used < sizeof names; ++op)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", op ? ", " : "", bpt_op_name((bpt_op_t)op));
    return bpt_fail(BPT_ERR_USAGE, "'%s' is not an op; a line begins with one of %s", name, names);
}

static int op_of(const char *name, size_t length) {
    for (int op = 0; op < BPT_OP_COUNT; ++op)
        if (strlen(bpt_op_name((bpt_op_t)op)) == length && !strncmp(bpt_op_name((bpt_op_t)op), name, length)) return op;
    return -1;
}

static const char blanks[] = " \t\r\n";

bool bpt_line_is_meant(const char *text) {
    text += strspn(text, blanks);
    const size_t length = strcspn(text, blanks);
    return text[length] && op_of(text, length) >= 0;
}

static bpt_status_t split(parser_t *p, const char *text) {
    char *rest = NULL;
    if (strlen(text) >= sizeof p->text)
        return bpt_fail(BPT_ERR_USAGE, "a line of %zu bytes; lines have fewer than %d", strlen(text), BPT_LINE_MOST_BYTES);
    memcpy(p->text, text, strlen(text) + 1);
    p->op = strtok_r(p->text, blanks, &rest);
    if (!p->op) return bpt_fail(BPT_ERR_USAGE, "the line is empty; it begins with the name of an op, such as matmul");
    for (char *word = strtok_r(NULL, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest)) {
        if (p->count == MOST_WORDS) return bpt_fail(BPT_ERR_USAGE, "%s: a line has at most %d words", p->op, MOST_WORDS);
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        if (!*word) return bpt_fail(BPT_ERR_USAGE, "%s: '=%s' has no key before it", p->op, value);
        if (find(p, word)) return bpt_fail(BPT_ERR_USAGE, "%s: %s is there twice", p->op, word);
        p->words[p->count++] = (word_t){.key = word, .value = value};
    }
    return BPT_OK;
}

// ---- Attributes

static bpt_status_t set_attributes(parser_t *p, const bpt_attribute_t *table, void *fields) {
    for (const bpt_attribute_t *a = table; a && a->key; ++a) {
        word_t *word = find(p, a->key);
        if (!word) {
            bpt_attribute_set_standard(a, fields);
            continue;
        }
        word->used = true;
        BPT_TRY(bpt_attribute_parse(a, fields, word->value, p->op));
    }
    for (const bpt_attribute_t *a = table; a && a->key; ++a) {
        const bool has_meaning = !a->when || a->when(fields), there = find(p, a->key) != NULL;
        char text[512];
        bpt_attribute_describe(a, text, sizeof text);
        if (there && !has_meaning)
            return bpt_fail(BPT_ERR_USAGE, "%s: %s has no meaning beside the other words of this line; leave it out", p->op, a->key);
        if (!there && has_meaning && a->required) return bpt_fail(BPT_ERR_USAGE, "%s needs %s=.., %s", p->op, a->key, text);
    }
    return BPT_OK;
}

// ---- Operands

static const char *example_type(const bpt_operand_form_t *form) {
    return bpt_form_is_typed(form) ? "bf16" : form->class == ONLY_U32 ? "u32" : "f32";
}

static bpt_status_t refuse_operand(const parser_t *p, const word_t *word, const bpt_operand_form_t *form) {
    return bpt_fail(BPT_ERR_USAGE,
                    "%s: %s=%s is not possible; it is a type (%s), a shape of at most %d sizes and 2^%d elements, or both: %s[8192,512]",
                    p->op, word->key, word->value, bpt_dtype_class_name(form->class), BPT_MAX_RANK, MOST_ELEMENTS_LOG2, example_type(form));
}

static bool read_type(const char *text, size_t length, bpt_dtype_t *out) {
    static const bpt_dtype_t types[] = {BPT_F32, BPT_BF16, BPT_F16, BPT_U32};
    for (size_t i = 0; i < BPT_COUNT(types); ++i)
        if (strlen(bpt_dtype_name(types[i])) == length && !strncmp(bpt_dtype_name(types[i]), text, length)) return *out = types[i], true;
    return false;
}

// [8192,512]
static bool read_shape(const char *text, bpt_shape_t *out) {
    int64_t count = 1;
    *out = (bpt_shape_t){0};
    do {
        char *end;
        ++text;
        if (out->rank == BPT_MAX_RANK || *text < '0' || *text > '9' || strspn(text, "0123456789") > 13) return false;
        const int64_t size = strtoll(text, &end, 10);
        if (size > most_elements / (count ? count : 1)) return false;
        out->dim[out->rank++] = size;
        count *= size;
        text = end;
    } while (*text == ',');
    return text[0] == ']' && !text[1];
}

static bpt_status_t name_operand(parser_t *p, word_t *word, const bpt_operand_form_t *form, bpt_operand_t *operand) {
    word->used = true;
    *operand = (bpt_operand_t){.present = true};
    if (!word->value) return BPT_OK;
    const size_t length = strcspn(word->value, "[");
    word->has_type = length > 0;
    word->has_shape = word->value[length] != 0;
    if ((!word->has_type && !word->has_shape) || (word->has_type && !read_type(word->value, length, &operand->dtype)) ||
        (word->has_type && !bpt_dtype_fits(operand->dtype, form->class)) ||
        (word->has_shape && !read_shape(word->value + length, &operand->shape)))
        return refuse_operand(p, word, form);
    return BPT_OK;
}

// Which operands a call may have depends on those that it has: until no further ones are named.
static bpt_status_t name_operands(parser_t *p, bpt_line_forms_t *forms) {
    bpt_op_call_t *call = &p->line->call;
    for (bool changed = true; changed;) {
        changed = false;
        BPT_TRY(bpt_line_forms(call, forms));
        for (int i = 0; i < forms->count; ++i) {
            const bpt_operand_form_t *form = &forms->form[i];
            bpt_operand_t *operand = form->output ? &call->out[form->slot] : &call->in[form->slot];
            word_t *word = find(p, form->name);
            if (!word || operand->present) continue;
            BPT_TRY(name_operand(p, word, form, operand));
            changed = true;
        }
    }
    return BPT_OK;
}

static bpt_status_t refuse_unknown(const parser_t *p, const word_t *word, const bpt_line_forms_t *forms) {
    char keys[768];
    size_t used = 0;
    const bpt_attribute_t *const tables[] = {bpt_op_info(p->line->call.op)->attributes, bpt_line_rules};
    for (size_t t = 0; t < BPT_COUNT(tables); ++t)
        for (const bpt_attribute_t *a = tables[t]; a && a->key && used < sizeof keys; ++a)
            if (!a->when || a->when(t ? (const void *)p->line : &p->line->call.attrs))
                used += (size_t)snprintf(keys + used, sizeof keys - used, "%s, ", a->key);
    for (int i = 0; i < forms->count && used < sizeof keys; ++i)
        if (!i || strcmp(forms->form[i].name, forms->form[i - 1].name))
            used += (size_t)snprintf(keys + used, sizeof keys - used, "%s, ", forms->form[i].name);
    return bpt_fail(BPT_ERR_USAGE, "%s has no '%s' here; it may have %stype or in_place", p->op, word->key, keys);
}

static bpt_status_t need_shape(const parser_t *p, const bpt_operand_form_t *form) {
    return bpt_fail(BPT_ERR_USAGE, "%s needs the shape of %s, such as %s=%s[8192,512]", p->op, form->name, form->name, example_type(form));
}

// The type, where the line does not say it: `typed` is the first operand that may have several.
static bpt_status_t complete_type(parser_t *p, const bpt_operand_form_t *form, const bpt_operand_t *typed, bpt_operand_t *operand) {
    const word_t *word = find(p, form->name);
    if (word && word->has_type) return BPT_OK;
    if (!bpt_form_is_typed(form)) {
        operand->dtype = form->class == ONLY_U32 ? BPT_U32 : BPT_F32;
    } else if (p->has_type) {
        operand->dtype = p->type;
    } else if (operand != typed) {
        operand->dtype = typed->dtype;
    } else {
        return bpt_fail(BPT_ERR_USAGE, "%s needs the type of %s, such as %s=bf16 or type=bf16; it is %s", p->op, form->name, form->name,
                        bpt_dtype_class_name(form->class));
    }
    return BPT_OK;
}

static bpt_status_t complete_shape(parser_t *p, const bpt_operand_form_t *form, bpt_operand_t *operand) {
    const word_t *word = find(p, form->name);
    if (word && word->has_shape) return BPT_OK;
    if (bpt_form_is_free(form)) return need_shape(p, form);
    if (form->rows < 0 || form->columns < 0 || (form->columns && form->rows > most_elements / form->columns))
        return bpt_fail(BPT_ERR_USAGE, "%s: %s would have more than 2^%d elements; use smaller sizes", p->op, form->name,
                        MOST_ELEMENTS_LOG2);
    operand->shape.rank = form->rows == 1 ? 1 : 2;
    operand->shape.dim[0] = form->rows == 1 ? form->columns : form->rows;
    operand->shape.dim[1] = form->rows == 1 ? 0 : form->columns;
    return BPT_OK;
}

static bpt_status_t complete_operands(parser_t *p, bpt_line_forms_t *forms) {
    bpt_op_call_t *call = &p->line->call;
    for (int i = 0; i < forms->count; ++i)
        if (forms->form[i].presence == REQUIRED && bpt_form_is_free(&forms->form[i]) && !bpt_form_operand(call, &forms->form[i])->present)
            return need_shape(p, &forms->form[i]);
    for (int i = 0; i < forms->count; ++i)
        if (forms->form[i].presence == REQUIRED)
            (forms->form[i].output ? &call->out[forms->form[i].slot] : &call->in[forms->form[i].slot])->present = true;
    const bpt_operand_form_t *first = bpt_line_typed_form(call, forms);
    const bpt_operand_t *typed = first ? bpt_form_operand(call, first) : NULL;
    for (int i = 0; i < forms->count; ++i) {
        BPT_TRY(bpt_line_forms(call, forms));  // shapes follow from those of operands before it
        const bpt_operand_form_t *form = &forms->form[i];
        bpt_operand_t *operand = form->output ? &call->out[form->slot] : &call->in[form->slot];
        if (!operand->present) continue;
        BPT_TRY(complete_type(p, form, typed, operand));
        BPT_TRY(complete_shape(p, form, operand));
    }
    return BPT_OK;
}

static bpt_status_t set_type(parser_t *p) {
    word_t *word = find(p, "type");
    if (!word) return BPT_OK;
    word->used = p->has_type = true;
    if (word->value && read_type(word->value, strlen(word->value), &p->type) && p->type != BPT_U32) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s: type=%s is not possible; it is f32, bf16 or f16", p->op, word->value ? word->value : "");
}

static bpt_status_t set_in_place(parser_t *p, const word_t *word, const bpt_line_forms_t *forms) {
    const bpt_op_call_t *call = &p->line->call;
    const bpt_operand_t *out = &call->out[0];
    for (int i = 0; word && i < forms->count && bpt_op_info(call->op)->share; ++i) {
        const bpt_operand_form_t *form = &forms->form[i];
        const bpt_operand_t *in = bpt_form_operand(call, form);
        if (form->output || !word->value || strcmp(form->name, word->value) || !in->present || !out->present) continue;
        if (in->dtype != out->dtype || bpt_shape_count(&in->shape) != bpt_shape_count(&out->shape)) continue;
        p->line->in_place = form->slot;
        return BPT_OK;
    }
    if (!word) return BPT_OK;
    return bpt_fail(
        BPT_ERR_USAGE,
        "%s: in_place=%s is not possible; it names an input of the type and size of the result, in whose place the op can store it", p->op,
        word->value ? word->value : "");
}

static bpt_status_t parse(parser_t *p) {
    bpt_line_forms_t forms;
    bpt_op_call_t *call = &p->line->call;
    BPT_TRY(set_attributes(p, bpt_op_info(call->op)->attributes, &call->attrs));
    BPT_TRY(set_attributes(p, bpt_line_rules, p->line));
    BPT_TRY(set_type(p));
    word_t *in_place = find(p, "in_place");
    if (in_place) in_place->used = true;
    BPT_TRY(name_operands(p, &forms));
    for (int i = 0; i < p->count; ++i)
        if (!p->words[i].used) return refuse_unknown(p, &p->words[i], &forms);
    BPT_TRY(complete_operands(p, &forms));
    BPT_TRY(set_in_place(p, in_place, &forms));
    BPT_TRY(bpt_call_check(call));
    return bpt_line_reads_check(p->line);
}

bpt_status_t bpt_line_parse(const char *text, bpt_op_line_t *out) {
    parser_t p = {.line = out};
    *out = (bpt_op_line_t){.in_place = -1};
    BPT_TRY(split(&p, text));
    const int op = op_of(p.op, strlen(p.op));
    if (op < 0) return fail_op(p.op);
    out->call.op = (bpt_op_t)op;
    return parse(&p) == BPT_OK ? BPT_OK : BPT_ERR_USAGE;  // in a line a call that the contract forbids is the user's
}
