// Attributes as text, by the tables of the ops (see attributes.h).
#include "core/lines/attributes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Fields: numbers of all kinds as a double, which holds every size that a line may have

static double get(const bpt_attribute_t *a, const void *fields) {
    const char *field = (const char *)fields + a->offset;
    int32_t narrow;
    int64_t wide;
    float real;
    bool flag;
    switch (a->kind) {
    case BPT_ATTRIBUTE_FLAG: return memcpy(&flag, field, sizeof flag), flag;
    case BPT_ATTRIBUTE_INT64: return memcpy(&wide, field, sizeof wide), (double)wide;
    case BPT_ATTRIBUTE_FLOAT: return memcpy(&real, field, sizeof real), (double)real;
    case BPT_ATTRIBUTE_INT32:
    case BPT_ATTRIBUTE_CHOICE: return memcpy(&narrow, field, sizeof narrow), narrow;
    case BPT_ATTRIBUTE_STEPS: break;
    }
    return 0;
}

static void set(const bpt_attribute_t *a, void *fields, double value) {
    char *field = (char *)fields + a->offset;
    switch (a->kind) {
    case BPT_ATTRIBUTE_FLAG: memcpy(field, &(bool){value != 0}, sizeof(bool)); break;
    case BPT_ATTRIBUTE_INT64: memcpy(field, &(int64_t){(int64_t)value}, sizeof(int64_t)); break;
    case BPT_ATTRIBUTE_FLOAT: memcpy(field, &(float){(float)value}, sizeof(float)); break;
    case BPT_ATTRIBUTE_INT32:
    case BPT_ATTRIBUTE_CHOICE: memcpy(field, &(int32_t){(int32_t)value}, sizeof(int32_t)); break;
    case BPT_ATTRIBUTE_STEPS: memset(field, 0, sizeof(bpt_pointwise_attrs_t)); break;
    }
}

static double standard_of(const bpt_attribute_t *a, const void *fields) { return a->standard_of ? a->standard_of(fields) : a->standard; }

void bpt_attribute_set_standard(const bpt_attribute_t *a, void *fields) { set(a, fields, standard_of(a, fields)); }

// ---- Printing

// As few digits as give the same float again.
static bpt_status_t print_float(float value, bpt_strbuf_t *out) {
    char text[32];
    for (int digits = 6; digits <= 9; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    return bpt_strbuf_printf(out, "%s", text);
}

// relu,dropout:0.1,add@5
static bpt_status_t print_steps(const char *key, const bpt_pointwise_attrs_t *steps, bpt_strbuf_t *out) {
    for (int i = 0; i < steps->n_steps; ++i) {
        const bpt_pointwise_step_t *step = &steps->step[i];
        const bpt_pointwise_form_t *form = bpt_pointwise_form(step->code);
        BPT_TRY(i ? bpt_strbuf_printf(out, ",%s", form->name) : bpt_strbuf_printf(out, " %s=%s", key, form->name));
        if (form->constant != BPT_CONSTANT_NONE) {
            BPT_TRY(bpt_strbuf_printf(out, ":"));
            BPT_TRY(print_float(step->c, out));
        }
        if (form->operand != BPT_OPERAND_NONE) BPT_TRY(bpt_strbuf_printf(out, "@%d", (int)step->arg));
    }
    return BPT_OK;
}

bpt_status_t bpt_attribute_print(const bpt_attribute_t *a, const void *fields, bpt_strbuf_t *out) {
    if (a->when && !a->when(fields)) return BPT_OK;
    if (a->kind == BPT_ATTRIBUTE_STEPS) {
        bpt_pointwise_attrs_t steps;
        memcpy(&steps, (const char *)fields + a->offset, sizeof steps);
        return print_steps(a->key, &steps, out);
    }
    const double value = get(a, fields);
    const double usual = standard_of(a, fields);
    if (!a->required && (a->kind == BPT_ATTRIBUTE_FLOAT ? (float)value == (float)usual : value == usual)) return BPT_OK;
    if (a->kind == BPT_ATTRIBUTE_FLAG) return bpt_strbuf_printf(out, " %s", a->key);
    BPT_TRY(bpt_strbuf_printf(out, " %s=", a->key));
    if (a->kind == BPT_ATTRIBUTE_CHOICE) return bpt_strbuf_printf(out, "%s", a->choices[(int)value]);
    return a->kind == BPT_ATTRIBUTE_FLOAT ? print_float((float)value, out) : bpt_strbuf_printf(out, "%.0f", value);
}

// ---- Parsing

void bpt_attribute_describe(const bpt_attribute_t *a, char *text, size_t bytes) {
    size_t used;
    switch (a->kind) {
    case BPT_ATTRIBUTE_FLAG: snprintf(text, bytes, "a word without a value"); break;
    case BPT_ATTRIBUTE_INT32:
    case BPT_ATTRIBUTE_INT64: snprintf(text, bytes, "a whole number from %.0f to %.0f", a->least, a->most); break;
    case BPT_ATTRIBUTE_FLOAT:
        if (isfinite(a->most))
            snprintf(text, bytes, "a number from %g to %s%g", a->least, a->below_most ? "below " : "", a->most);
        else
            snprintf(text, bytes, isfinite(a->least) ? "a number of at least %g" : "a number", a->least);
        break;
    case BPT_ATTRIBUTE_CHOICE:
        used = (size_t)snprintf(text, bytes, "one of");
        for (int i = 0; a->choices[i] && used < bytes; ++i)
            used += (size_t)snprintf(text + used, bytes - used, "%s %s", i ? "," : "", a->choices[i]);
        break;
    case BPT_ATTRIBUTE_STEPS:
        used =
            (size_t)snprintf(text, bytes, "at most %d steps with commas between them, such as relu,dropout:0.1,add@5, of", BPT_MAX_STEPS);
        for (int i = 0; bpt_pointwise_form((bpt_pointwise_code_t)i) && used < bytes; ++i)
            used += (size_t)snprintf(text + used, bytes - used, "%s %s", i ? "," : "", bpt_pointwise_form((bpt_pointwise_code_t)i)->name);
    }
}

static bpt_status_t refuse(const bpt_attribute_t *a, const char *value, const char *where) {
    char text[512];
    bpt_attribute_describe(a, text, sizeof text);
    if (!value) return bpt_fail(BPT_ERR_USAGE, "%s: %s has no value; it is %s", where, a->key, text);
    return bpt_fail(BPT_ERR_USAGE, "%s: %s=%s is not possible; it is %s", where, a->key, value, text);
}

static bool read_number(const char *text, double *out) {
    char *end;
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text)) return false;  // no blanks, no hexadecimal numbers, no infinity
    errno = 0;
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

static bool is_whole(const bpt_attribute_t *a) { return a->kind == BPT_ATTRIBUTE_INT32 || a->kind == BPT_ATTRIBUTE_INT64; }

// One step of the text up to `end`: NAME[:CONSTANT][@INPUT].
static bool read_step(const char *text, size_t length, bpt_pointwise_step_t *step) {
    char copy[64], *constant = NULL, *slot = NULL;
    double number;
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if ((slot = strchr(copy, '@'))) *slot++ = 0;
    if ((constant = strchr(copy, ':'))) *constant++ = 0;
    int code = 0;
    while (bpt_pointwise_form((bpt_pointwise_code_t)code) && strcmp(bpt_pointwise_form((bpt_pointwise_code_t)code)->name, copy)) ++code;
    const bpt_pointwise_form_t *form = bpt_pointwise_form((bpt_pointwise_code_t)code);
    if (!form || (form->constant == BPT_CONSTANT_NONE) != !constant || (form->operand == BPT_OPERAND_NONE) != !slot) return false;
    *step = (bpt_pointwise_step_t){.code = (bpt_pointwise_code_t)code};
    if (constant) {
        if (!read_number(constant, &number) || fabs(number) > 3e38) return false;
        step->c = (float)number;
        if (form->constant == BPT_CONSTANT_RATE && !(step->c >= 0 && step->c < 1)) return false;
    }
    if (!slot) return true;
    if (slot[0] < '1' || slot[0] >= '0' + BPT_IN_ROW_KEYS || slot[1]) return false;
    step->arg = slot[0] - '0';
    return true;
}

static bool read_steps(const char *text, bpt_pointwise_attrs_t *steps) {
    *steps = (bpt_pointwise_attrs_t){0};
    while (steps->n_steps < BPT_MAX_STEPS) {
        const size_t length = strcspn(text, ",");
        if (!read_step(text, length, &steps->step[steps->n_steps++])) return false;
        if (!text[length]) return true;
        text += length + 1;
    }
    return false;
}

bpt_status_t bpt_attribute_parse(const bpt_attribute_t *a, void *fields, const char *value, const char *where) {
    double number;
    if ((a->kind == BPT_ATTRIBUTE_FLAG) != !value) return refuse(a, value, where);
    switch (a->kind) {
    case BPT_ATTRIBUTE_FLAG: set(a, fields, 1); return BPT_OK;
    case BPT_ATTRIBUTE_CHOICE:
        for (int i = 0; a->choices[i]; ++i)
            if (!strcmp(a->choices[i], value)) return set(a, fields, i), BPT_OK;
        return refuse(a, value, where);
    case BPT_ATTRIBUTE_STEPS: {
        bpt_pointwise_attrs_t steps;
        if (!read_steps(value, &steps)) return refuse(a, value, where);
        memcpy((char *)fields + a->offset, &steps, sizeof steps);
        return BPT_OK;
    }
    case BPT_ATTRIBUTE_INT32:
    case BPT_ATTRIBUTE_INT64:
    case BPT_ATTRIBUTE_FLOAT: break;
    }
    if (!read_number(value, &number) || number < a->least || number > a->most ||
        (is_whole(a) && strspn(value, "0123456789") != strlen(value)))
        return refuse(a, value, where);
    if (a->kind == BPT_ATTRIBUTE_FLOAT && (!isfinite((float)number) || (a->below_most && (float)number >= (float)a->most)))
        return refuse(a, value, where);
    set(a, fields, number);
    return BPT_OK;
}
