// Values of options: reading them from text, storing them, writing them back (see options.h). Knows no command.
#include "tools/bpt/options/options.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpt/alloc.h"

static void *field(cli_options_t *o, const cli_option_t *option) { return (char *)o + option->offset; }
static const void *const_field(const cli_options_t *o, const cli_option_t *option) { return (const char *)o + option->offset; }
static int index_of(const cli_option_t *option) { return (int)(option - cli_option_table); }

static const cli_option_t *first_of(const char *name) {
    for (int i = 0; i < cli_option_count; ++i)
        if (!strcmp(cli_option_table[i].name, name)) return &cli_option_table[i];
    return NULL;
}

static const cli_variant_t *variant_of(const cli_option_t *option, unsigned command) {
    for (const cli_variant_t *v = cli_option_variants; v->name; ++v)
        if ((v->commands & command) && !strcmp(v->name, option->name) && first_of(v->name) == option) return v;
    return NULL;
}

bool cli_option_taken(const cli_option_t *option, unsigned command) {
    return (option->commands & command) || variant_of(option, command) != NULL;
}

cli_option_t cli_option_for(const cli_option_t *option, unsigned command) {
    const cli_variant_t *v = variant_of(option, command);
    cli_option_t result = *option;
    if (!v) return result;
    if (v->fallback || v->shown) result.shown = v->shown;
    if (v->fallback) result.fallback = v->fallback;
    if (v->help) result.help = v->help;
    return result;
}

void cli_option_help(const cli_option_t *option, char *text, size_t bytes) {
    const size_t used = (size_t)snprintf(text, bytes, "%s", option->help);
    if (option->list && used < bytes) (void)option->list(text + used, bytes - used);
}

const cli_option_t *cli_option_find(unsigned command, const char *name) {
    for (int i = 0; i < cli_option_count; ++i)
        if (!strcmp(cli_option_table[i].name, name) && cli_option_taken(&cli_option_table[i], command)) return &cli_option_table[i];
    return NULL;
}

cli_source_t cli_option_source(const cli_options_t *o, const char *name) {
    const cli_option_t *option = cli_option_find(o->command, name);
    return option ? (cli_source_t)o->source[index_of(option)] : CLI_FROM_DEFAULT;
}

// ---- Reading a value ----------------------------------------------------------------------------------------------------
typedef union {
    bool flag;
    int64_t whole;
    double real;
    const char *text;
} value_t;

static bool number_begins(const char *text) {  // strtod also takes blanks, "inf", "nan" and hexadecimal
    const char *p = text + (*text == '-');
    return (isdigit((unsigned char)p[0]) || (p[0] == '.' && isdigit((unsigned char)p[1]))) &&
           !(p[0] == '0' && (p[1] == 'x' || p[1] == 'X'));
}

// A range as a person would say it; `high`: a number was too large, so that even a distant end of the range is worth a word.
static double least(const cli_option_t *option) { return option->open ? 0 : option->min; }
static const char *range_text(const cli_option_t *option, bool high, char *buffer, size_t bytes) {
    const double open_top = high ? INFINITY : option->type == CLI_INT ? 9007199254740992.0 : 1e6;
    const char *above = option->open_min ? "greater than " : "at least ", *below = option->open_max ? "less than " : "at most ";
    if (option->max >= open_top)
        snprintf(buffer, bytes, "%s%.16g", above, least(option));
    else
        snprintf(buffer, bytes, "%s%.16g and %s%.16g", above, least(option), below, option->max);
    return buffer;
}

static bpt_status_t check_range(const cli_option_t *option, double value, const char *text, const char *where) {
    const bool low = option->open_min ? value <= option->min : value < option->min;
    const bool high = option->open_max ? value >= option->max : value > option->max;
    char range[96];
    if (option->open && value == 0) return BPT_OK;
    if (low || high) return bpt_fail(BPT_ERR_USAGE, "%s must be %s, not %s", where, range_text(option, high, range, sizeof range), text);
    return BPT_OK;
}

static bpt_status_t read_whole(const cli_option_t *option, const char *text, const char *where, int64_t *out) {
    char range[96];
    char *end = NULL;
    errno = 0;
    const long long value = number_begins(text) ? strtoll(text, &end, 10) : 0;
    if (!end || *end || end == text) return bpt_fail(BPT_ERR_USAGE, "%s needs a whole number, not '%s'", where, text);
    if (errno == ERANGE)
        return bpt_fail(BPT_ERR_USAGE, "%s must be %s, not %s", where, range_text(option, *text != '-', range, sizeof range), text);
    BPT_TRY(check_range(option, (double)value, text, where));
    *out = value;
    return BPT_OK;
}

static bpt_status_t read_real(const cli_option_t *option, const char *text, const char *where, double *out) {
    char *end = NULL;
    errno = 0;
    const double value = number_begins(text) ? strtod(text, &end) : 0;
    if (!end || *end || end == text) return bpt_fail(BPT_ERR_USAGE, "%s needs a finite number, not '%s'", where, text);
    if (!isfinite(value) || (option->size == sizeof(float) && fabs(value) > FLT_MAX))
        return bpt_fail(BPT_ERR_USAGE, "%s is too large: %s", where, text);
    BPT_TRY(check_range(option, value, text, where));
    *out = value;
    return BPT_OK;
}

static bpt_status_t fail_choice(const cli_option_t *option, const char *text, const char *where) {
    char list[256] = "";
    cli_suggestion_t nearest = {.word = text};
    for (int i = 0; option->choices[i]; ++i) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", !i ? "" : option->choices[i + 1] ? ", " : " or ", option->choices[i]);
        cli_suggest(&nearest, option->choices[i]);
    }
    char hint[128];
    return bpt_fail(BPT_ERR_USAGE, "%s must be %s, not '%s'%s", where, list, text, cli_suggest_text(&nearest, "", hint, sizeof hint));
}

static bpt_status_t read_choice(const cli_option_t *option, const char *text, const char *where, int64_t *out) {
    for (int i = 0; option->choices[i]; ++i)
        if (!strcmp(option->choices[i], text)) {
            *out = i;
            return BPT_OK;
        }
    return fail_choice(option, text, where);
}

static bpt_status_t read_value(const cli_option_t *option, const char *text, const char *where, value_t *out) {
    int64_t ignored;
    switch (option->type) {
    case CLI_BOOL:
        out->flag = !strcmp(text, "yes") || !strcmp(text, "true");
        if (!out->flag && strcmp(text, "no") && strcmp(text, "false"))
            return bpt_fail(BPT_ERR_USAGE, "%s must be yes or no, not '%s'", where, text);
        return BPT_OK;
    case CLI_INT: return read_whole(option, text, where, &out->whole);
    case CLI_REAL: return read_real(option, text, where, &out->real);
    case CLI_CHOICE: return read_choice(option, text, where, &out->whole);
    case CLI_TEXTS:
    case CLI_TEXT: out->text = text; return option->choices ? read_choice(option, text, where, &ignored) : BPT_OK;
    }
    return bpt_fail(BPT_ERR_INTERNAL, "option %s has no type", option->name);
}

// ---- Storing ------------------------------------------------------------------------------------------------------------
static bpt_status_t add_text(cli_texts_t *texts, const char *text) {
    BPT_TRY(bpt_grow(&texts->item, texts->count, &texts->capacity, sizeof *texts->item));
    BPT_TRY(bpt_strdup(text, &texts->item[texts->count]));
    ++texts->count;
    return BPT_OK;
}

static void free_texts(cli_texts_t *texts) {
    for (size_t i = 0; i < texts->count; ++i) bpt_free(texts->item[i]);
    bpt_free(texts->item);
    *texts = (cli_texts_t){0};
}

static bpt_status_t store(cli_options_t *o, const cli_option_t *option, value_t value) {
    void *target = field(o, option);
    switch (option->type) {
    case CLI_BOOL: *(bool *)target = value.flag; break;
    case CLI_REAL:
        if (option->size == sizeof(float))
            *(float *)target = (float)value.real;
        else
            *(double *)target = value.real;
        break;
    case CLI_TEXT: {
        char *copy;
        BPT_TRY(bpt_strdup(value.text, &copy));
        bpt_free(*(char **)target);
        *(char **)target = copy;
        break;
    }
    case CLI_TEXTS: return *value.text ? add_text(target, value.text) : BPT_OK;
    case CLI_INT:
    case CLI_CHOICE:
        if (option->size == sizeof(int64_t))
            *(int64_t *)target = value.whole;
        else if (option->size == sizeof(int32_t))
            *(int32_t *)target = (int32_t)value.whole;
        else
            *(bool *)target = value.whole != 0;  // a choice of two kept as a bool
        break;
    }
    return BPT_OK;
}

bpt_status_t cli_option_set(cli_options_t *o, const cli_option_t *option, const char *text, cli_source_t source, const char *where) {
    value_t value;
    BPT_TRY(read_value(option, text, where, &value));
    uint8_t *set_by = &o->source[index_of(option)];
    if (*set_by > source) return BPT_OK;
    if (option->type == CLI_TEXTS && source != CLI_FROM_DEFAULT && !*text) return bpt_fail(BPT_ERR_USAGE, "%s needs a text", where);
    if (option->type == CLI_TEXTS && *set_by < source) free_texts(field(o, option));  // a list replaces that of a weaker source
    BPT_TRY(store(o, option, value));
    *set_by = (uint8_t)source;
    return BPT_OK;
}

bpt_status_t cli_options_init(cli_options_t *o, unsigned command, const char *command_name) {
    *o = (cli_options_t){.command = command, .command_name = command_name};
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (cli_option_taken(option, command))
            BPT_TRY(cli_option_set(o, option, cli_option_for(option, command).fallback, CLI_FROM_DEFAULT, option->name));
    }
    return BPT_OK;
}

void cli_options_destroy(cli_options_t *o) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (!cli_option_taken(option, o->command)) continue;
        if (option->type == CLI_TEXTS) free_texts(field(o, option));
        if (option->type != CLI_TEXT) continue;
        char **text = field(o, option);
        bpt_free(*text);
        *text = NULL;
    }
}

// ---- Writing back -------------------------------------------------------------------------------------------------------
// The shortest decimal that reads back to the same number.
static bpt_status_t write_real(double value, bool single, bpt_strbuf_t *out) {
    char text[40] = "";
    for (int digits = 1; digits <= 17; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    return bpt_strbuf_append(out, text, strlen(text));
}

static bpt_status_t join(const cli_texts_t *texts, bpt_strbuf_t *out) {
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < texts->count && status == BPT_OK; ++i) status = bpt_strbuf_printf(out, "%s%s", i ? ", " : "", texts->item[i]);
    return status;
}

bpt_status_t cli_option_text(const cli_options_t *o, const cli_option_t *option, bpt_strbuf_t *out) {
    const void *source = const_field(o, option);
    int64_t whole = 0;
    if (option->type == CLI_INT || option->type == CLI_CHOICE)
        whole = option->size == sizeof(int64_t)   ? *(const int64_t *)source
                : option->size == sizeof(int32_t) ? *(const int32_t *)source
                                                  : *(const bool *)source;
    switch (option->type) {
    case CLI_BOOL: return bpt_strbuf_printf(out, "%s", *(const bool *)source ? "yes" : "no");
    case CLI_INT: return bpt_strbuf_printf(out, "%lld", (long long)whole);
    case CLI_CHOICE: return bpt_strbuf_printf(out, "%s", option->choices[whole]);
    case CLI_REAL:
        return option->size == sizeof(float) ? write_real(*(const float *)source, true, out)
                                             : write_real(*(const double *)source, false, out);
    case CLI_TEXT: {
        const char *text = *(char *const *)source;
        return bpt_strbuf_printf(out, "%s", text ? text : "");
    }
    case CLI_TEXTS: return join(source, out);
    }
    return bpt_fail(BPT_ERR_INTERNAL, "option %s has no type", option->name);
}

// A list is compared and copied text by text: a text may hold what joins them.
static bool same_texts(const cli_texts_t *a, const cli_texts_t *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; ++i) same = !strcmp(a->item[i], b->item[i]);
    return same;
}

bpt_status_t cli_option_same(const cli_options_t *a, const cli_options_t *b, const cli_option_t *option, bool *same) {
    bpt_strbuf_t x = {0}, y = {0};
    bpt_status_t status = cli_option_text(a, option, &x);
    if (status == BPT_OK) status = cli_option_text(b, option, &y);
    *same = option->type == CLI_TEXTS ? same_texts(const_field(a, option), const_field(b, option))
                                      : !strcmp(x.data ? x.data : "", y.data ? y.data : "");
    bpt_strbuf_free(&x);
    bpt_strbuf_free(&y);
    return status;
}

bpt_status_t cli_option_copy(cli_options_t *o, const cli_options_t *from, const cli_option_t *option, cli_source_t source) {
    const cli_texts_t *texts = const_field(from, option);
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    if (option->type == CLI_TEXTS) {
        for (size_t i = 0; i < texts->count && status == BPT_OK; ++i)
            status = cli_option_set(o, option, texts->item[i], source, option->name);
        return status;
    }
    status = cli_option_text(from, option, &text);
    if (status == BPT_OK) status = cli_option_set(o, option, text.data ? text.data : "", source, option->name);
    bpt_strbuf_free(&text);
    return status;
}
