// Lines of columns between tabs: a label or a number in one, one text or two in others. Lines without labels have the texts alone.
#include <string.h>

#include "data/readers/reader.h"

enum { MOST_COLUMNS = 64 };

typedef struct {
    bpt_range_t column[MOST_COLUMNS];
    int count;
} columns_t;

static bpt_status_t split(const bpt_range_t *line, columns_t *c) {
    bpt_range_t rest = *line;
    c->count = 0;
    for (;;) {
        const char *tab = rest.bytes ? memchr(rest.data, '\t', rest.bytes) : NULL;
        if (c->count == MOST_COLUMNS) return bpt_reader_fail(line, "more than 64 columns; is this a table of labels and texts?");
        bpt_range_t *column = &c->column[c->count++];
        *column = rest;
        if (!tab) return BPT_OK;
        column->bytes = (uint64_t)(tab - rest.data);
        rest.data = tab + 1;
        rest.bytes -= column->bytes + 1;
    }
}

static bpt_status_t need(const bpt_range_t *line, const columns_t *c, int column, const char *what) {
    if (column <= c->count) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %d column%s, but the %s is in column %d; columns are separated by tabs", line->path,
                    (unsigned long long)line->line, c->count, c->count == 1 ? "" : "s", what, column);
}

// Whether the line is one of those that --where asks for.
static bool is_wanted(const bpt_examples_options_t *o, const columns_t *c) {
    if (!o->where_column) return true;
    const bpt_range_t *column = &c->column[o->where_column - 1];
    const bpt_word_t cell = {column->data, (size_t)column->bytes}, trimmed = bpt_reader_trim(cell);
    return bpt_word_is(&cell, o->where) || bpt_word_is(&trimmed, o->where);
}

static bpt_status_t visit_texts(bpt_reader_t *r, const columns_t *c, const int *text_column, bpt_found_t *found) {
    const int texts = r->options->texts == 2 ? 2 : 1;
    r->n_words = 0;
    for (int i = 0; i < texts; ++i) {
        const size_t before = r->n_words;
        BPT_TRY(need(found->where, c, text_column[i], "text"));
        BPT_TRY(bpt_reader_push_words(r, c->column[text_column[i] - 1]));
        if (r->n_words == before) return bpt_reader_empty(r, found->where, "an empty text; every text needs at least one word");
        if (i == 0) found->second = r->n_words;
    }
    found->words = r->words;
    found->n_words = r->n_words;
    return bpt_reader_visit(r, found);
}

static bpt_status_t read_line(bpt_reader_t *r, const bpt_range_t *line) {
    static const int alone[] = {1, 2};
    const bpt_examples_options_t *o = r->options;
    columns_t c;
    bpt_found_t found = {.where = line};
    bpt_word_t label;
    BPT_TRY(split(line, &c));
    if (!o->labelled && c.count == (o->texts == 2 ? 2 : 1)) return visit_texts(r, &c, alone, &found);
    if (o->where_column) BPT_TRY(need(line, &c, o->where_column, "value of --where"));
    if (!is_wanted(o, &c)) return BPT_OK;
    BPT_TRY(need(line, &c, o->label_column, "label"));
    label = (bpt_word_t){c.column[o->label_column - 1].data, c.column[o->label_column - 1].bytes};
    if (!bpt_reader_trim(label).bytes) return bpt_reader_fail(line, "the label is empty");
    found.label = &label;
    return visit_texts(r, &c, o->text_column, &found);
}

static bpt_status_t read_columns(bpt_reader_t *r, const bpt_range_t *text) { return bpt_reader_lines(r, text, read_line); }

const bpt_format_t bpt_format_columns = {
    .gives = BPT_GIVES_LABELS | BPT_GIVES_NUMBERS | BPT_GIVES_PAIRS,
    .takes = BPT_TAKES_HEADER | BPT_TAKES_LABEL_COLUMN | BPT_TAKES_TEXT_COLUMN | BPT_TAKES_WHERE,
    .until = BPT_UNTIL_LINE_ENDS,
    .read = read_columns,
};
