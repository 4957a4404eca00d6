// What readers share (reader.h), and running one of them.
#include "data/readers/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

bpt_status_t bpt_reader_fail(const bpt_range_t *where, const char *what) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %s", where->path, (unsigned long long)where->line, what);
}

bpt_status_t bpt_reader_push(bpt_reader_t *r, const char *data, size_t bytes) {
    BPT_TRY(bpt_grow(&r->words, r->n_words, &r->word_capacity, sizeof *r->words));
    r->words[r->n_words++] = (bpt_word_t){data, bytes};
    return BPT_OK;
}

bpt_status_t bpt_reader_push_tag(bpt_reader_t *r, size_t word, const char *data, size_t bytes) {
    BPT_TRY(bpt_grow(&r->tags, word, &r->tag_capacity, sizeof *r->tags));
    r->tags[word] = (bpt_word_t){data, bytes};
    return BPT_OK;
}

bpt_status_t bpt_reader_push_line(bpt_reader_t *r, size_t word, uint64_t line) {
    BPT_TRY(bpt_grow(&r->lines, word, &r->line_capacity, sizeof *r->lines));
    r->lines[word] = line;
    return BPT_OK;
}

bpt_status_t bpt_reader_push_words(bpt_reader_t *r, bpt_range_t text) {
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&text, &bytes));) BPT_TRY(bpt_reader_push(r, word, bytes));
    return BPT_OK;
}

// ---- Cells of a table

bpt_word_t bpt_reader_trim(bpt_word_t cell) {
    while (cell.bytes && bpt_is_blank(*cell.data)) ++cell.data, --cell.bytes;
    while (cell.bytes && bpt_is_blank(cell.data[cell.bytes - 1])) --cell.bytes;
    return cell;
}

bool bpt_reader_number(const bpt_word_t *cell, float *out) {
    const bpt_word_t number = bpt_reader_trim(*cell);
    char text[64], *end;
    if (number.bytes == 0 || number.bytes >= sizeof text) return false;
    memcpy(text, number.data, number.bytes);
    text[number.bytes] = 0;
    if (strspn(text, "+-.0123456789eE") != number.bytes) return false;  // strtof also takes hexadecimal numbers
    *out = strtof(text, &end);
    return end == text + number.bytes && isfinite(*out);
}

bpt_status_t bpt_reader_empty(bpt_reader_t *r, const bpt_range_t *where, const char *what) {
    if (r->options->skip_empty) {
        if (!r->n_empty++) r->empty_line = where->line;
        return BPT_OK;
    }
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %s%s", where->path, (unsigned long long)where->line, what,
                    r->options->labelled ? "; --skip-empty leaves out such lines" : "");
}

// ---- Examples

bpt_range_t bpt_reader_place(const bpt_found_t *f, size_t i) {
    bpt_range_t place = *f->where;
    if (f->lines) place.line = f->lines[i];
    return place;
}

bpt_status_t bpt_reader_visit(bpt_reader_t *r, const bpt_found_t *found) {
    const bpt_cut_t *cut = r->options->cut;
    r->visited = true;
    return !cut || cut->part[r->item] == r->options->part ? r->visit(r->user, found) : BPT_OK;
}

void bpt_reader_end_item(bpt_reader_t *r) {
    r->item += r->visited;
    r->visited = false;
}

// Without a tab: columns may be empty.
static bool is_blank(const bpt_range_t *line) {
    for (uint64_t i = 0; i < line->bytes; ++i)
        if (!bpt_is_blank(line->data[i]) || line->data[i] == '\t') return false;
    return true;
}

bpt_status_t bpt_reader_lines(bpt_reader_t *r, const bpt_range_t *text, bpt_status_t (*read)(bpt_reader_t *r, const bpt_range_t *line)) {
    bpt_range_t rest = *text, line;
    bpt_open_tree_t open = {0};
    while ((r->found = bpt_examples_next(r->options, &rest, false, &open, &line)) != BPT_LINES_NONE) {
        if (is_blank(&line)) continue;
        BPT_TRY(bpt_examples_check_lines(&line));
        BPT_TRY(read(r, &line));
        bpt_reader_end_item(r);
    }
    return BPT_OK;
}

// Where all lines are one, as carriage returns alone do not end a line.
static bpt_status_t check_line_ends(const bpt_reader_t *r, const bpt_range_t *text) {
    const char *end = text->bytes ? memchr(text->data, '\r', text->bytes) : NULL;
    if (!r->options->labelled || !end || end == text->data + text->bytes - 1 || memchr(text->data, '\n', text->bytes)) return BPT_OK;
    return bpt_reader_fail(text, "the lines end in carriage returns alone; convert the file, for example with tr '\\r' '\\n'");
}

static void skip_header(const bpt_reader_t *r, bpt_range_t *rest) {
    bpt_range_t header;
    bool open;
    if (bpt_format_of(r->options->format)->until == BPT_UNTIL_QUOTES_CLOSE)
        (void)bpt_csv_next(rest, &header, &open);
    else
        (void)bpt_range_next_line(rest, &header);
}

static bpt_status_t read_file(bpt_reader_t *r, const bpt_range_t *text) {
    bpt_range_t rest = *text;
    BPT_TRY(bpt_range_check_utf8(text));
    BPT_TRY(check_line_ends(r, text));
    if (r->options->header && text->line == 1) skip_header(r, &rest);
    return bpt_format_of(r->options->format)->read(r, &rest);
}

// Of several files each for itself: it may have a header, and what is open at its end is not closed in another one.
bpt_status_t bpt_reader_run(bpt_reader_t *r, const bpt_range_t *text) {
    bpt_range_t rest = *text, file;
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && bpt_range_next_file(&rest, &file)) status = read_file(r, &file);
    bpt_free(r->words);
    bpt_free(r->tags);
    bpt_free(r->lines);
    return status;
}
