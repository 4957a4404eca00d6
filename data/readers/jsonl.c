// The format `jsonl`: JSON lines, an object a line, of which fields by name are read (jsonlines.org).
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "data/readers/reader.h"
#include "data/readers/roles.h"
#include "data/readers/schemes.h"

enum { NUMBER_BYTES = 40, KEYS_BYTES = 200 };

// A line that is being read. Words point into its strings.
typedef struct {
    bpt_reader_t *r;
    const bpt_range_t *where;
    json_t *object;
    bpt_scheme_tags_t scheme;
} line_t;

typedef struct {
    const char *name;
    json_t *value;
} field_t;

// ---- Fields

static bpt_status_t fail_at(const line_t *l, const field_t *f, const char *what) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": field \"%s\" %s", l->where->path, l->where->line,
                    bpt_show(f->name, strlen(f->name)).text, what);
}

// The names of the first fields of a line, for messages.
static const char *list_keys(const json_t *object, char text[KEYS_BYTES]) {
    const char *key;
    json_t *value;
    size_t used = (size_t)snprintf(text, KEYS_BYTES, "has no fields");
    bool first = true;
    json_object_foreach((json_t *)object, key, value) {
        const bpt_shown_t shown = bpt_show(key, strlen(key));
        if (first) used = (size_t)snprintf(text, KEYS_BYTES, "has");
        if (used + strlen(shown.text) + 8 > KEYS_BYTES) break;
        used += (size_t)snprintf(text + used, KEYS_BYTES - used, "%s \"%s\"", first ? "" : ",", shown.text);
        first = false;
    }
    return text;
}

static bpt_status_t fail_missing(const line_t *l, const bpt_role_t *role, const bpt_word_t *chosen) {
    char keys[KEYS_BYTES];
    const bpt_shown_t name = bpt_show(chosen->data, chosen->bytes);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": no field \"%s\" for the %s: the line %s; --%s names the field", l->where->path,
                    l->where->line, chosen->bytes ? name.text : role->usual[0], role->what, list_keys(l->object, keys), role->option);
}

static void find_chosen(const line_t *l, const bpt_word_t *chosen, field_t *out) {
    json_object_foreach(l->object, out->name, out->value) {
        if (bpt_word_is(chosen, out->name)) return;
    }
    out->value = NULL;
}

static bpt_status_t find(const line_t *l, const bpt_role_t *role, const bpt_word_t *chosen, field_t *out) {
    *out = (field_t){0};
    if (chosen->bytes) find_chosen(l, chosen, out);
    for (const char *const *name = role->usual; !chosen->bytes && *name; ++name) {
        json_t *value = json_object_get(l->object, *name);
        if (value && out->value)
            return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": both \"%s\" and \"%s\" may be the %s; --%s names the field",
                            l->where->path, l->where->line, out->name, *name, role->what, role->option);
        if (value) *out = (field_t){*name, value};
    }
    return out->value ? BPT_OK : fail_missing(l, role, chosen);
}

static bpt_status_t fail_no_text(const line_t *l, const field_t *f) {
    return fail_at(l, f, "is no text; put the text between quotation marks, or name another field");
}

static bpt_status_t fail_list(const line_t *l) {
    return bpt_reader_fail(l->where,
                           "a list where an object is expected; a line holds one object, such as {\"text\": ..}; for a file that is one "
                           "list: jq -c '.[]' FILE");
}

// ---- Texts

// Null is an empty text.
static bpt_status_t take_text(const line_t *l, const bpt_role_t *role, const bpt_word_t *chosen) {
    field_t f;
    BPT_TRY(find(l, role, chosen, &f));
    if (json_is_null(f.value)) return BPT_OK;
    if (!json_is_string(f.value)) return fail_no_text(l, &f);
    return bpt_reader_push_words(l->r, bpt_range_of(l->where->path, json_string_value(f.value), json_string_length(f.value)));
}

// ---- Labels

// A whole number as it is written; false: it is none.
static bool write_whole(const json_t *value, char out[NUMBER_BYTES]) {
    const double number = json_number_value(value);
    if (json_is_real(value) && (number != (double)(int64_t)number || number > 9e15 || number < -9e15)) return false;
    snprintf(out, NUMBER_BYTES, "%" PRId64, json_is_real(value) ? (int64_t)number : (int64_t)json_integer_value(value));
    return true;
}

// The label in a value; a number is written to `number`.
static bpt_status_t label_of(const line_t *l, const field_t *f, char number[NUMBER_BYTES], bpt_word_t *out) {
    const json_t *v = f->value;
    const bool is_bool = json_is_boolean(v) && !l->r->options->numbers;
    if (json_is_string(v)) {
        *out = bpt_reader_trim((bpt_word_t){json_string_value(v), json_string_length(v)});
        return out->bytes ? BPT_OK : fail_at(l, f, "is empty; an example needs its label");
    }
    if (!is_bool && !json_is_number(v)) return fail_at(l, f, "is no label; a label is a text or a number");
    if (is_bool)
        snprintf(number, NUMBER_BYTES, "%s", json_is_true(v) ? "true" : "false");
    else if (l->r->options->numbers)
        snprintf(number, NUMBER_BYTES, "%.17g", json_number_value(v));
    else if (!write_whole(v, number))
        return fail_at(l, f, "is a fraction; a class is a text or a whole number (--task regress learns numbers)");
    *out = (bpt_word_t){number, strlen(number)};
    return BPT_OK;
}

static bpt_status_t read_texts(const line_t *l) {
    const bpt_examples_options_t *o = l->r->options;
    const bool pair = o->texts == 2;
    char number[NUMBER_BYTES];
    float value;
    field_t f;
    bpt_word_t label;
    bpt_found_t found = {.where = l->where};
    if (o->labelled) {
        BPT_TRY(find(l, &bpt_role_label, &o->label_field, &f));
        BPT_TRY(label_of(l, &f, number, &label));
        if (o->numbers && !bpt_reader_number(&label, &value)) return fail_at(l, &f, "is not a finite number");
        found.label = &label;
    }
    for (int i = 0; i < (pair ? 2 : 1); ++i) {
        const size_t before = l->r->n_words;
        BPT_TRY(take_text(l, !pair ? &bpt_role_text : i ? &bpt_role_second : &bpt_role_first, &o->text_field[i]));
        if (l->r->n_words == before) return bpt_reader_empty(l->r, l->where, "an empty text; every text needs at least one word");
        if (i == 0) found.second = l->r->n_words;
    }
    found.words = l->r->words;
    found.n_words = l->r->n_words;
    return bpt_reader_visit(l->r, &found);
}

// ---- Tokens and tags

static bpt_status_t find_list(const line_t *l, const bpt_role_t *role, const bpt_word_t *chosen, field_t *f) {
    BPT_TRY(find(l, role, chosen, f));
    return json_is_array(f->value) ? BPT_OK : fail_at(l, f, "is no list; tokens and their tags are lists, such as [\"a\", \"b\"]");
}

// Element i of a list as a word without blanks around it. A whole number becomes the text of it in the list.
static bpt_status_t element_of(const line_t *l, const field_t *f, size_t i, bpt_word_t *out) {
    json_t *v = json_array_get(f->value, i);
    char number[NUMBER_BYTES];
    if (json_is_integer(v)) {
        (void)write_whole(v, number);
        v = json_string(number);
        if (json_array_set_new(f->value, i, v)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while reading JSON");
    }
    if (!json_is_string(v)) return fail_at(l, f, "has an element that is neither a text nor a whole number");
    *out = bpt_reader_trim((bpt_word_t){json_string_value(v), json_string_length(v)});
    if (!out->bytes) return fail_at(l, f, "has an empty element");
    for (size_t c = 0; c < out->bytes; ++c)
        if ((unsigned char)out->data[c] < 0x20) return fail_at(l, f, "has an element with a line break or another control character in it");
    return BPT_OK;
}

static bpt_status_t take_tags(const line_t *l, size_t n) {
    field_t f;
    BPT_TRY(find_list(l, &bpt_role_tags, &l->r->options->label_field, &f));
    if (json_array_size(f.value) != n)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": %zu tokens and %zu tags; every token needs one tag", l->where->path,
                        l->where->line, n, json_array_size(f.value));
    for (size_t i = 0; i < n; ++i) {
        bpt_word_t tag;
        BPT_TRY(element_of(l, &f, i, &tag));
        BPT_TRY(bpt_reader_push_tag(l->r, i, tag.data, tag.bytes));
    }
    return BPT_OK;
}

static bpt_status_t read_tokens(line_t *l) {
    bpt_reader_t *r = l->r;
    field_t f;
    BPT_TRY(find_list(l, &bpt_role_tokens, &r->options->text_field[0], &f));
    const size_t n = json_array_size(f.value);
    if (n == 0) return bpt_reader_empty(r, l->where, "no tokens; every text needs at least one");
    for (size_t i = 0; i < n; ++i) {
        bpt_word_t token;
        BPT_TRY(element_of(l, &f, i, &token));
        BPT_TRY(bpt_reader_push(r, token.data, token.bytes));
    }
    if (r->options->labelled) BPT_TRY(take_tags(l, n));
    if (r->options->labelled) BPT_TRY(bpt_scheme_convert(&l->scheme, r, l->where));
    return bpt_reader_visit(
        r, &(bpt_found_t){.where = l->where, .words = r->words, .n_words = n, .tags = r->options->labelled ? r->tags : NULL});
}

// ---- Lines

static bool is_blank(bpt_range_t line) {
    size_t bytes;
    return !bpt_next_token(&line, &bytes);
}

static bpt_status_t read_object(line_t *l) {
    if (!json_is_object(l->object)) return fail_list(l);
    l->r->n_words = 0;
    return l->r->options->per_token ? read_tokens(l) : read_texts(l);
}

static bpt_status_t parse(line_t *l, const bpt_range_t *where) {
    l->where = where;
    const bpt_status_t status = bpt_json_parse_line(where->data, (size_t)where->bytes, where->path, where->line, &l->object);
    return status == BPT_ERR_INPUT
               ? bpt_fail(status, "%s; a line holds one whole object, or --format names how the file is written", bpt_error_message())
               : status;
}

static bpt_status_t read_line(line_t *l, const bpt_range_t *where) {
    if (is_blank(*where)) return BPT_OK;
    BPT_TRY(parse(l, where));
    const bpt_status_t status = read_object(l);
    json_decref(l->object);
    return status;
}

static bpt_status_t read_jsonl(bpt_reader_t *r, const bpt_range_t *text) {
    line_t l = {.r = r, .scheme = BPT_SCHEME_TAGS};
    bpt_range_t rest = *text, line;
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        bpt_line_skip_mark(&line);
        status = bpt_range_check_line(&line);
        if (status == BPT_OK) status = read_line(&l, &line);
        bpt_reader_end_item(r);
    }
    bpt_scheme_tags_free(&l.scheme);
    return status;
}

// ---- Running text

// Texts and their translations may be fields of the line, or of an object in it.
static void open_translation(line_t *l, const char *field) {
    json_t *inner = json_object_get(l->object, "translation");
    if (json_object_get(l->object, field) || !json_is_object(inner)) return;
    json_incref(inner);
    json_decref(l->object);
    l->object = inner;
}

static bpt_status_t write_text(line_t *l, const bpt_running_t *how, bpt_store_t *out) {
    const char *name = how->field ? how->field : "";
    field_t f;
    if (!json_is_object(l->object)) return fail_list(l);
    if (*name) open_translation(l, name);
    BPT_TRY(find(l, how->by_lines ? &bpt_role_side : &bpt_role_text, &(bpt_word_t){name, strlen(name)}, &f));
    if (json_is_null(f.value)) return BPT_OK;
    if (!json_is_string(f.value)) return fail_no_text(l, &f);
    const char *text = json_string_value(f.value), *end = text + json_string_length(f.value);
    while (how->by_lines && text < end) {  // a line break is a blank
        const size_t n = strcspn(text, "\r\n");
        BPT_TRY(bpt_store_append(out, text, n));
        if ((text += n) < end) BPT_TRY(bpt_store_append(out, " ", 1));
        ++text;
    }
    return text < end ? bpt_store_append(out, text, (size_t)(end - text)) : BPT_OK;
}

static bpt_status_t write_line(const bpt_range_t *where, const bpt_running_t *how, bpt_store_t *out) {
    line_t l;
    if (!is_blank(*where)) {
        BPT_TRY(parse(&l, where));
        const bpt_status_t status = write_text(&l, how, out);
        json_decref(l.object);
        BPT_TRY(status);
    } else if (!how->by_lines) {
        return BPT_OK;
    }
    return bpt_store_append(out, "\n", 1);
}

static bpt_status_t write_running(const bpt_range_t *lines, const bpt_running_t *how, bpt_store_t *out) {
    bpt_range_t rest = *lines, line;
    BPT_TRY(bpt_range_check_utf8(lines));
    while (bpt_range_next_line(&rest, &line)) {
        bpt_line_skip_mark(&line);
        BPT_TRY(bpt_range_check_line(&line));
        BPT_TRY(write_line(&line, how, out));
    }
    return BPT_OK;
}

static const char *const suffixes[] = {".jsonl", ".ndjson", NULL};

const bpt_format_t bpt_format_jsonl = {
    .suffixes = suffixes,
    .gives = BPT_GIVES_LABELS | BPT_GIVES_NUMBERS | BPT_GIVES_PAIRS | BPT_GIVES_TAGS | BPT_GIVES_RUNNING,
    .takes = BPT_TAKES_FIELDS,
    .fixed = "its fields have names (--text-field, --label-field)",
    .until = BPT_UNTIL_LINE_ENDS,
    .read = read_jsonl,
    .write_running = write_running,
};
