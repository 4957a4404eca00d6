// The format `csv`: cells between commas and quotes (RFC 4180). The first record names the columns, or they are counted.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/readers/csv_record.h"
#include "data/readers/reader.h"
#include "data/readers/roles.h"
#include "data/readers/schemes.h"

enum { NAMES_BYTES = 200 };

// A file that is being read.
typedef struct {
    bpt_reader_t *r;
    bpt_csv_columns_t own, *columns;
    bpt_csv_cells_t cells;
    bpt_scheme_tags_t scheme;
} table_t;

// ---- Columns by the names in the first record

static bpt_status_t need(const bpt_range_t *where, int column, int count, const char *what) {
    if (column <= count) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": %d column%s, but the %s is in column %d; columns are separated by commas",
                    where->path, where->line, count, count == 1 ? "" : "s", what, column);
}

static const char *list_names(const bpt_csv_cells_t *c, char text[NAMES_BYTES]) {
    size_t used = 0;
    for (size_t i = 0; i < c->count; ++i) {
        const bpt_shown_t name = bpt_show(c->cell[i].data, c->cell[i].bytes);
        if (used + strlen(name.text) + 5 > NAMES_BYTES) break;
        used += (size_t)snprintf(text + used, NAMES_BYTES - used, "%s\"%s\"", i ? ", " : "", name.text);
    }
    return text;
}

static bpt_status_t find_name(const bpt_range_t *where, const bpt_csv_cells_t *c, const bpt_word_t *name, const bpt_role_t *role,
                              int *out) {
    for (size_t i = 0; i < c->count; ++i) {
        const bpt_word_t cell = bpt_reader_trim(c->cell[i]);
        if (!bpt_word_same(&cell, name)) continue;
        if (*out >= 0)
            return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": columns %d and %zu may both be the %s; --%s names a column", where->path,
                            where->line, *out + 1, i + 1, role->what, role->option);
        *out = (int)i;
    }
    return BPT_OK;
}

// What looks like columns between other characters than commas.
static const char *other_separator(const bpt_csv_cells_t *c) {
    if (c->count > 1) return "";
    const bool semicolons = memchr(c->cell[0].data, ';', c->cell[0].bytes), tabs = memchr(c->cell[0].data, '\t', c->cell[0].bytes);
    return tabs         ? "; columns between tabs are --format columns"
           : semicolons ? "; columns are separated by commas, not semicolons: convert the file"
                        : "";
}

static bpt_status_t find_column(const bpt_range_t *where, const bpt_csv_cells_t *c, const bpt_word_t *chosen, const bpt_role_t *role,
                                int *out) {
    char names[NAMES_BYTES];
    *out = -1;
    if (chosen->bytes) BPT_TRY(find_name(where, c, chosen, role, out));
    for (const char *const *name = role->usual; !chosen->bytes && *name; ++name)
        BPT_TRY(find_name(where, c, &(bpt_word_t){*name, strlen(*name)}, role, out));
    if (*out >= 0) return BPT_OK;
    const bpt_shown_t name = bpt_show(chosen->data, chosen->bytes);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": no column \"%s\" for the %s: the first line has %s; --%s names the column%s%s",
                    where->path, where->line, chosen->bytes ? name.text : role->usual[0], role->what, list_names(c, names), role->option,
                    role == &bpt_role_side ? "" : ", --label-column and --text-column count columns in files without such a line",
                    other_separator(c));
}

static bpt_status_t read_header(table_t *t, const bpt_range_t *record) {
    const bpt_examples_options_t *o = t->r->options;
    const bool pair = o->texts == 2;
    bpt_csv_columns_t *c = t->columns;
    const bpt_role_t *first = o->per_token ? &bpt_role_tokens : pair ? &bpt_role_first : &bpt_role_text;
    BPT_TRY(find_column(record, &t->cells, &o->text_field[0], first, &c->text[0]));
    if (pair) BPT_TRY(find_column(record, &t->cells, &o->text_field[1], &bpt_role_second, &c->text[1]));
    if (o->labelled) BPT_TRY(find_column(record, &t->cells, &o->label_field, o->per_token ? &bpt_role_tags : &bpt_role_label, &c->label));
    if (o->where_column) BPT_TRY(need(record, o->where_column, (int)t->cells.count, "value of --where"));
    c->count = (int)t->cells.count;
    c->line = record->line;
    return BPT_OK;
}

// ---- Columns by number

// Without labels a file may have the texts alone.
static bpt_status_t count_columns(table_t *t, const bpt_range_t *record) {
    const bpt_examples_options_t *o = t->r->options;
    const int count = (int)t->cells.count, texts = o->texts == 2 ? 2 : 1;
    const bool alone = !o->labelled && count == texts;
    for (int i = 0; i < texts; ++i) {
        t->columns->text[i] = alone ? i : o->text_column[i] - 1;
        BPT_TRY(need(record, t->columns->text[i] + 1, count, "text"));
    }
    t->columns->label = o->labelled ? o->label_column - 1 : -1;
    if (o->labelled) BPT_TRY(need(record, o->label_column, count, "label"));
    if (o->where_column) BPT_TRY(need(record, o->where_column, count, "value of --where"));
    t->columns->count = count;
    t->columns->line = record->line;
    return BPT_OK;
}

// ---- Records

static bpt_range_t range_of(const bpt_range_t *record, const bpt_word_t *cell) {
    return bpt_range_of(record->path, cell->data, cell->bytes);
}

static bool is_blank(const bpt_range_t *record) {
    bpt_range_t rest = *record;
    size_t bytes;
    return !bpt_next_token(&rest, &bytes);
}

static bpt_status_t check_count(const bpt_range_t *record, const bpt_csv_cells_t *cells, const bpt_csv_columns_t *c) {
    if ((int)cells->count == c->count) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %" PRIu64 ": %zu column%s, and line %" PRIu64 " has %d; a text with commas in it stands between quotes",
                    record->path, record->line, cells->count, cells->count == 1 ? "" : "s", c->line, c->count);
}

static bool is_wanted(const table_t *t) {
    const bpt_examples_options_t *o = t->r->options;
    if (!o->where_column) return true;
    const bpt_word_t *cell = &t->cells.cell[o->where_column - 1], trimmed = bpt_reader_trim(*cell);
    return bpt_word_is(cell, o->where) || bpt_word_is(&trimmed, o->where);
}

static bpt_status_t take_tags(table_t *t, const bpt_range_t *record) {
    bpt_reader_t *r = t->r;
    bpt_range_t tags = range_of(record, &t->cells.cell[t->columns->label]);
    size_t n = 0, bytes;
    for (const char *tag; (tag = bpt_next_token(&tags, &bytes)); ++n) BPT_TRY(bpt_reader_push_tag(r, n, tag, bytes));
    if (n == r->n_words) return bpt_scheme_convert(&t->scheme, r, record);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": %zu tokens and %zu tags; every token needs one tag, with blanks between them",
                    record->path, record->line, r->n_words, n);
}

static bpt_status_t visit_record(table_t *t, const bpt_range_t *record) {
    bpt_reader_t *r = t->r;
    const bpt_examples_options_t *o = r->options;
    bpt_found_t found = {.where = record};
    bpt_word_t label = {0};
    r->n_words = 0;
    if (o->labelled && !o->per_token) {
        label = bpt_reader_trim(t->cells.cell[t->columns->label]);
        if (!label.bytes) return bpt_reader_fail(record, "the label is empty");
        found.label = &label;
    }
    for (int i = 0; i < (o->texts == 2 ? 2 : 1); ++i) {
        const size_t before = r->n_words;
        BPT_TRY(bpt_reader_push_words(r, range_of(record, &t->cells.cell[t->columns->text[i]])));
        if (r->n_words == before) return bpt_reader_empty(r, record, "an empty text; every text needs at least one word");
        if (i == 0) found.second = r->n_words;
    }
    if (o->labelled && o->per_token) BPT_TRY(take_tags(t, record));
    found.tags = o->labelled && o->per_token ? r->tags : NULL;
    found.words = r->words;
    found.n_words = r->n_words;
    return bpt_reader_visit(r, &found);
}

static bpt_status_t read_record(table_t *t, const bpt_range_t *record) {
    BPT_TRY(bpt_examples_check_lines(record));
    if (is_blank(record)) return BPT_OK;
    BPT_TRY(bpt_csv_split(record, &t->cells));
    if (!t->columns->line) {
        if (t->r->options->by_name) return read_header(t, record);
        BPT_TRY(count_columns(t, record));
    }
    BPT_TRY(check_count(record, &t->cells, t->columns));
    return is_wanted(t) ? visit_record(t, record) : BPT_OK;
}

static bpt_status_t read_csv(bpt_reader_t *r, const bpt_range_t *text) {
    table_t t = {.r = r, .scheme = BPT_SCHEME_TAGS};
    bpt_range_t rest = *text, record;
    bpt_status_t status = BPT_OK;
    bool open;
    t.columns = r->options->cells ? r->options->cells : &t.own;
    while (status == BPT_OK && bpt_csv_next(&rest, &record, &open)) {
        status = read_record(&t, &record);
        bpt_reader_end_item(r);
    }
    bpt_scheme_tags_free(&t.scheme);
    bpt_csv_cells_free(&t.cells);
    return status;
}

// ---- Running text

// A field that is a number is a column of a file whose first line names none.
static int column_number(const char *field) {
    int number = 0;
    for (const char *p = field; *p; ++p) {
        if (*p < '0' || *p > '9' || number > 9999) return 0;
        number = 10 * number + *p - '0';
    }
    return number;
}

static bpt_status_t write_cell(const bpt_word_t *cell, bool by_lines, bpt_store_t *out) {
    const char *text = cell->data, *const end = text + cell->bytes;
    while (by_lines && text < end) {  // a line break is a blank
        const char *stop = text;
        while (stop < end && *stop != '\n' && *stop != '\r') ++stop;
        if (stop > text) BPT_TRY(bpt_store_append(out, text, (size_t)(stop - text)));
        if (stop < end) BPT_TRY(bpt_store_append(out, " ", 1));
        text = stop + 1;
    }
    if (text < end) BPT_TRY(bpt_store_append(out, text, (size_t)(end - text)));
    return bpt_store_append(out, "\n", 1);
}

static bpt_status_t write_record(const bpt_range_t *record, const bpt_running_t *how, bpt_csv_columns_t *columns, bpt_csv_cells_t *cells,
                                 bpt_store_t *out) {
    const char *name = how->field ? how->field : "";
    const int number = column_number(name);
    BPT_TRY(bpt_examples_check_lines(record));
    if (is_blank(record)) return BPT_OK;
    BPT_TRY(bpt_csv_split(record, cells));
    if (!columns->line) {
        *columns = (bpt_csv_columns_t){.line = record->line, .count = (int)cells->count, .text[0] = number - 1};
        if (!number)
            return find_column(record, cells, &(bpt_word_t){name, strlen(name)}, how->by_lines ? &bpt_role_side : &bpt_role_text,
                               &columns->text[0]);
        BPT_TRY(need(record, number, columns->count, "text"));
    }
    BPT_TRY(check_count(record, cells, columns));
    return write_cell(&cells->cell[columns->text[0]], how->by_lines, out);
}

static bpt_status_t write_running(const bpt_range_t *text, const bpt_running_t *how, bpt_store_t *out) {
    bpt_range_t rest = *text, record;
    bpt_csv_columns_t columns = {0};
    bpt_csv_cells_t cells = {0};
    bpt_status_t status = bpt_range_check_utf8(text);
    bool open;
    while (status == BPT_OK && bpt_csv_next(&rest, &record, &open)) status = write_record(&record, how, &columns, &cells, out);
    bpt_csv_cells_free(&cells);
    return status;
}

static const char *const suffixes[] = {".csv", NULL};

const bpt_format_t bpt_format_csv = {
    .suffixes = suffixes,
    .gives = BPT_GIVES_LABELS | BPT_GIVES_NUMBERS | BPT_GIVES_PAIRS | BPT_GIVES_TAGS | BPT_GIVES_RUNNING,
    .takes = BPT_TAKES_HEADER | BPT_TAKES_LABEL_COLUMN | BPT_TAKES_TEXT_COLUMN | BPT_TAKES_WHERE | BPT_TAKES_FIELDS,
    .until = BPT_UNTIL_QUOTES_CLOSE,
    .read = read_csv,
    .write_running = write_running,
    .running_whole = true,
};
