// CoNLL: a token a line, in columns between blanks or tabs, and a blank line between sentences (Tjong Kim Sang and De Meulder 2003).
// CoNLL-U: ten columns between tabs, comments, ranges of words (1-2) and empty nodes (1.1), which are left out
// (universaldependencies.org/format.html).
#include <string.h>

#include "data/readers/reader.h"
#include "data/readers/schemes.h"

enum { MOST_COLUMNS = 64, U_COLUMNS = 10, U_FORM = 2 };

typedef struct {
    bpt_word_t column[MOST_COLUMNS];
    int count;  // empty ones at the end not counted
    int cells;  // all of them
} columns_t;

// The sentence that is being read.
typedef struct {
    bpt_reader_t *r;
    bpt_token_columns_t own, *columns;  // of the file
    bpt_range_t first;                  // the sentence's first line
    bpt_scheme_tags_t scheme;           // its tags in another scheme
} sentence_t;

// ---- Columns

static void add(columns_t *c, bpt_word_t cell) {
    if (c->cells < MOST_COLUMNS) c->column[c->cells] = cell;
    ++c->cells;
    if (cell.bytes) c->count = c->cells;
}

static void split_at_blanks(bpt_range_t line, columns_t *c) {
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&line, &bytes));) add(c, (bpt_word_t){word, bytes});
}

static void split_at_tabs(const bpt_range_t *line, columns_t *c) {
    const char *p = line->data, *end = p + line->bytes;
    for (;;) {
        const char *tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
        add(c, bpt_reader_trim((bpt_word_t){p, (size_t)((tab ? tab : end) - p)}));
        if (!tab) return;
        p = tab + 1;
    }
}

static columns_t split(const bpt_range_t *line, bool tabs) {
    columns_t c = {.count = 0};
    if (tabs)
        split_at_tabs(line, &c);
    else
        split_at_blanks(*line, &c);
    return c;
}

// ---- Lines

static bool next_line(bpt_range_t *rest, bpt_range_t *line) {
    const bool any = bpt_range_next_line(rest, line);
    if (any) bpt_line_skip_mark(line);
    return any;
}

// ---- Lines that hold no token

static bool is_blank_line(bpt_range_t line) {
    size_t bytes;
    return !bpt_next_token(&line, &bytes);
}

static bool is_mark(const bpt_word_t *word) {
    static const char mark[] = "-DOCSTART-";
    return word->bytes == sizeof mark - 1 && !memcmp(word->data, mark, sizeof mark - 1);
}

// The mark of a new document, as the line's first word or in the place of the token.
static bool is_document_mark(bpt_range_t line, const columns_t *c, int token) {
    bpt_word_t first;
    first.data = bpt_next_token(&line, &first.bytes);
    return (first.data && is_mark(&first)) || (token <= c->count && token <= MOST_COLUMNS && is_mark(&c->column[token - 1]));
}

static bool is_conllu(const bpt_examples_options_t *o) { return o->format == BPT_FORMAT_CONLLU; }
static int token_column(const bpt_examples_options_t *o) { return is_conllu(o) ? U_FORM : o->text_column[0] ? o->text_column[0] : 1; }

// Whether the first word is one that comments begin with: "# text = ..", "#begin document .." (CoNLL-2012).
static bool begins_as_comment(bpt_range_t line) {
    static const char *const signs[] = {"#", "#begin", "#end"};
    size_t bytes;
    const char *first = bpt_next_token(&line, &bytes);
    for (size_t i = 0; i < BPT_COUNT(signs); ++i)
        if (first && bytes == strlen(signs[i]) && !memcmp(first, signs[i], bytes)) return true;
    return false;
}

// "# key = value", or key=value at the end.
static bool names_a_value(const columns_t *c) {
    if (c->count < 3 || c->count > MOST_COLUMNS) return false;
    const bpt_word_t *third = &c->column[2], *last = &c->column[c->count - 1];
    return (third->bytes == 1 && *third->data == '=') || (last->bytes > 1 && memchr(last->data, '=', last->bytes));
}

// CoNLL files have no rule for comments and have them all the same, in front of sentences; a token # has the columns of a token.
static bool is_comment(const sentence_t *s, const bpt_range_t *line, const columns_t *c) {
    return begins_as_comment(*line) && !s->r->n_words && (c->count != s->columns->count || names_a_value(c));
}

// The columns of the first line with a token; of one that could be a comment only where there is no other.
static void find_columns(sentence_t *s, const bpt_range_t *text) {
    bpt_range_t rest = *text, line;
    const int token = token_column(s->r->options);
    for (bool fixed = false; !fixed && next_line(&rest, &line);) {
        const bool tabs = line.bytes && memchr(line.data, '\t', line.bytes) && !is_blank_line(line);
        const columns_t c = split(&line, tabs);
        if (is_blank_line(line) || is_document_mark(line, &c, token)) continue;
        fixed = !begins_as_comment(line);
        if (fixed || !s->own.line) s->own = (bpt_token_columns_t){tabs, c.count, c.cells, line.line};
        if (fixed && s->columns != &s->own) *s->columns = s->own;
    }
}

// ---- Sentences

static bpt_status_t finish(sentence_t *s) {
    bpt_reader_t *r = s->r;
    bpt_status_t status = BPT_OK;
    if (r->n_words) {
        status = bpt_scheme_convert(&s->scheme, r, &s->first);
        const bpt_found_t found = {
            .where = &s->first, .words = r->words, .n_words = r->n_words, .tags = r->options->labelled ? r->tags : NULL, .lines = r->lines};
        if (status == BPT_OK) status = bpt_reader_visit(r, &found);
    }
    bpt_reader_end_item(r);
    r->n_words = 0;
    return status;
}

// ---- Tokens

static bpt_status_t push_token(sentence_t *s, const bpt_range_t *line, const bpt_word_t *word) {
    if (s->r->n_words == 0) s->first = *line;
    if (word->bytes == 0) return bpt_reader_fail(line, "the token is empty");
    BPT_TRY(bpt_reader_push_line(s->r, s->r->n_words, line->line));
    return bpt_reader_push(s->r, word->data, word->bytes);
}

// Before its token. A blank in a tag means that blanks separate columns, and a tab only some of them.
static bpt_status_t push_tag(sentence_t *s, const bpt_range_t *line, const bpt_word_t *tag) {
    if (tag->bytes == 0) return bpt_reader_fail(line, "the tag is empty");
    for (size_t i = 0; i < tag->bytes; ++i)
        if (bpt_is_blank(tag->data[i]))
            return bpt_fail(
                BPT_ERR_INPUT,
                "%s: line %llu: a blank in the tag '%s'; where there are tabs, tabs alone separate the columns: put one between "
                "all of them, and no blank into a tag",
                line->path, (unsigned long long)line->line, bpt_show(tag->data, tag->bytes).text);
    return bpt_reader_push_tag(s->r, s->r->n_words, tag->data, tag->bytes);
}

// Empty cells at the end are columns unless the tag is in the last one, whichever that is.
static bpt_status_t check_count(const sentence_t *s, const bpt_range_t *line, const columns_t *c) {
    const bool is_fixed = !s->r->options->labelled || s->r->options->label_column;
    const bpt_token_columns_t *file = s->columns;
    if (c->count == file->count || (is_fixed && c->cells == file->cells)) return BPT_OK;
    return bpt_fail(
        BPT_ERR_INPUT,
        "%s: line %llu: %d column%s between %s, and line %llu has %d; every token of a file needs as many columns, between tabs "
        "where its first line has a tab, else between blanks",
        line->path, (unsigned long long)line->line, c->count, c->count == 1 ? "" : "s", file->tabs ? "tabs" : "blanks",
        (unsigned long long)file->line, file->count);
}

static bpt_status_t check_places(const sentence_t *s, const bpt_range_t *line, const columns_t *c, int word, int tag) {
    const bool labelled = s->r->options->labelled, chosen = s->r->options->label_column != 0;
    if (c->cells > MOST_COLUMNS) return bpt_reader_fail(line, "more than 64 columns; is this a file of a token a line?");
    if (!labelled && word <= c->cells) return BPT_OK;
    if (!labelled)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %d column%s; the token is in column %d (--text-column)", line->path,
                        (unsigned long long)line->line, c->count, c->count == 1 ? "" : "s", word);
    if (c->cells >= 2 && (c->count >= 2 || chosen) && word <= c->cells && tag <= c->cells) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %d column%s; the token is in column %d and the tag in column %d", line->path,
                    (unsigned long long)line->line, c->count, c->count == 1 ? "" : "s", word, tag < 2 && word == 1 ? 2 : tag);
}

static bpt_status_t take_conll(sentence_t *s, const bpt_range_t *line) {
    const bpt_examples_options_t *o = s->r->options;
    const columns_t c = split(line, s->columns->tabs);
    const int word = token_column(o), tag = o->label_column ? o->label_column : s->columns->count;
    if (is_document_mark(*line, &c, word)) return finish(s);
    if (is_comment(s, line, &c)) return BPT_OK;
    BPT_TRY(check_count(s, line, &c));
    BPT_TRY(check_places(s, line, &c, word, tag));
    if (o->labelled) BPT_TRY(push_tag(s, line, &c.column[tag - 1]));
    return push_token(s, line, &c.column[word - 1]);
}

static bpt_status_t take_conllu(sentence_t *s, const bpt_range_t *line) {
    if (line->data[0] == '#') return BPT_OK;
    const columns_t c = split(line, true);
    if (is_document_mark(*line, &c, U_FORM)) return finish(s);
    if (c.cells != U_COLUMNS)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %d columns between tabs; CoNLL-U has 10", line->path, (unsigned long long)line->line,
                        c.cells);
    if (memchr(c.column[0].data, '-', c.column[0].bytes) || memchr(c.column[0].data, '.', c.column[0].bytes)) return BPT_OK;
    if (s->r->options->labelled) BPT_TRY(push_tag(s, line, &c.column[s->r->options->label_column - 1]));
    return push_token(s, line, &c.column[U_FORM - 1]);
}

static bpt_status_t take(sentence_t *s, const bpt_range_t *line) {
    BPT_TRY(bpt_range_check_line(line));
    if (is_blank_line(*line)) return finish(s);
    return is_conllu(s->r->options) ? take_conllu(s, line) : take_conll(s, line);
}

static bpt_status_t read_tokens(bpt_reader_t *r, const bpt_range_t *text) {
    sentence_t s = {.r = r, .scheme = BPT_SCHEME_TAGS};
    bpt_range_t rest = *text, line;
    bpt_status_t status = BPT_OK;
    s.columns = r->options->columns ? r->options->columns : &s.own;
    if (!s.columns->line) find_columns(&s, text);
    if (!s.columns->line) s.columns = &s.own;
    r->n_words = 0;
    while (status == BPT_OK && next_line(&rest, &line)) status = take(&s, &line);
    if (status == BPT_OK) status = finish(&s);
    bpt_scheme_tags_free(&s.scheme);
    return status;
}

const bpt_format_t bpt_format_conll = {
    .gives = BPT_GIVES_TAGS,
    .takes = BPT_TAKES_HEADER | BPT_TAKES_LABEL_COLUMN | BPT_TAKES_TEXT_COLUMN,
    .until = BPT_UNTIL_BLANK_LINE,
    .read = read_tokens,
};
const bpt_format_t bpt_format_conllu = {
    .gives = BPT_GIVES_TAGS,
    .takes = BPT_TAKES_HEADER | BPT_TAKES_LABEL_COLUMN,
    .fixed = "the words of CoNLL-U files are in column 2",
    .until = BPT_UNTIL_BLANK_LINE,
    .read = read_tokens,
};
