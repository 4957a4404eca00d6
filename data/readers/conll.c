// CoNLL: a token a line, in columns between blanks, and a blank line between sentences (Tjong Kim Sang and De Meulder 2003). CoNLL-U: ten
// columns between tabs, comments, ranges of words (1-2) and empty nodes (1.1), which are left out (universaldependencies.org/format.html).
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/strbuf.h"
#include "data/readers/reader.h"

enum { MOST_COLUMNS = 64, U_COLUMNS = 10, U_FORM = 2 };

typedef struct {
    bpt_word_t column[MOST_COLUMNS];
    int count;
} columns_t;

// The sentence that is being read.
typedef struct {
    bpt_reader_t *r;
    bpt_range_t first;      // its first line
    bpt_span_tag_t *spans;  // its tags, where they are those of spans
    char *prefix;           // and what they are converted to
    size_t capacity, room;
    bpt_strbuf_t names;  // the text of converted tags
} sentence_t;

static void add(columns_t *c, const char *data, size_t bytes) {
    if (c->count < MOST_COLUMNS) c->column[c->count++] = (bpt_word_t){data, bytes};
}

static void split_at_blanks(bpt_range_t line, columns_t *c) {
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&line, &bytes));) add(c, word, bytes);
}

static void split_at_tabs(const bpt_range_t *line, columns_t *c) {
    const char *p = line->data, *end = p + line->bytes;
    for (;;) {
        const char *tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
        add(c, p, (size_t)((tab ? tab : end) - p));
        if (!tab) return;
        p = tab + 1;
    }
}

// ---- Tags of spans in another scheme

static bpt_status_t reserve(sentence_t *s, size_t n) {
    if (n <= s->room) return BPT_OK;
    BPT_TRY(bpt_realloc(&s->spans, n, sizeof *s->spans));
    BPT_TRY(bpt_realloc(&s->prefix, n, sizeof *s->prefix));
    s->room = n;
    return BPT_OK;
}

static bpt_status_t convert(sentence_t *s) {
    bpt_reader_t *r = s->r;
    const size_t n = r->n_words;
    if (r->options->scheme == BPT_SCHEME_KEEP) return BPT_OK;
    BPT_TRY(reserve(s, n));
    for (size_t i = 0; i < n; ++i)
        if (!bpt_span_tag_parse(r->tags[i].data, r->tags[i].bytes, &s->spans[i]))
            return bpt_fail(BPT_ERR_INPUT,
                            "%s: line %llu: tag '%s' is not O or B-, I-, E-, S- and a type, which --tag-scheme needs; leave the option out",
                            s->first.path, (unsigned long long)(s->first.line + i), bpt_show(r->tags[i].data, r->tags[i].bytes).text);
    bpt_spans_convert(s->spans, (int64_t)n, r->options->scheme, s->prefix);
    bpt_strbuf_clear(&s->names);
    for (size_t i = 0; i < n; ++i) {  // as long as before: only the first letter differs
        BPT_TRY(bpt_strbuf_append(&s->names, &s->prefix[i], 1));
        BPT_TRY(bpt_strbuf_append(&s->names, r->tags[i].data + 1, r->tags[i].bytes - 1));
    }
    const char *name = s->names.data;
    for (size_t i = 0; i < n; ++i) {
        r->tags[i].data = name;
        name += r->tags[i].bytes;
    }
    return BPT_OK;
}

static bool is_document_mark(const bpt_reader_t *r) {
    static const char mark[] = "-DOCSTART-";
    return r->words[0].bytes == sizeof mark - 1 && !memcmp(r->words[0].data, mark, sizeof mark - 1);
}

static bpt_status_t finish(sentence_t *s) {
    bpt_reader_t *r = s->r;
    bpt_status_t status = BPT_OK;
    if (r->n_words && !is_document_mark(r)) {
        status = convert(s);
        const bpt_found_t found = {.where = &s->first, .words = r->words, .n_words = r->n_words, .tags = r->tags};
        if (status == BPT_OK) status = r->visit(r->user, &found);
    }
    r->n_words = 0;
    return status;
}

// ---- Tokens

static bpt_status_t push_token(sentence_t *s, const bpt_range_t *line, const bpt_word_t *word, const bpt_word_t *tag) {
    if (s->r->n_words == 0) s->first = *line;
    if (word->bytes == 0) return bpt_reader_fail(line, "the token is empty");
    if (tag->bytes == 0) return bpt_reader_fail(line, "the tag is empty");
    BPT_TRY(bpt_reader_push_tag(s->r, s->r->n_words, tag->data, tag->bytes));
    return bpt_reader_push(s->r, word->data, word->bytes);
}

static bpt_status_t take_conll(sentence_t *s, const bpt_range_t *line) {
    const bpt_examples_options_t *o = s->r->options;
    columns_t c = {.count = 0};
    split_at_blanks(*line, &c);
    if (c.count == 0) return finish(s);
    const int word = o->text_column[0] ? o->text_column[0] : 1, tag = o->label_column ? o->label_column : c.count;
    if (c.count < 2 || word > c.count || tag > c.count)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %d column%s; the token is in column %d and the tag in column %d", line->path,
                        (unsigned long long)line->line, c.count, c.count == 1 ? "" : "s", word, tag < 2 && word == 1 ? 2 : tag);
    return push_token(s, line, &c.column[word - 1], &c.column[tag - 1]);
}

static bpt_status_t take_conllu(sentence_t *s, const bpt_range_t *line) {
    columns_t c = {.count = 0};
    if (line->bytes == 0) return finish(s);
    if (line->data[0] == '#') return BPT_OK;
    split_at_tabs(line, &c);
    if (c.count != U_COLUMNS)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %d columns between tabs; CoNLL-U has 10", line->path, (unsigned long long)line->line,
                        c.count);
    if (memchr(c.column[0].data, '-', c.column[0].bytes) || memchr(c.column[0].data, '.', c.column[0].bytes)) return BPT_OK;
    return push_token(s, line, &c.column[U_FORM - 1], &c.column[s->r->options->label_column - 1]);
}

bpt_status_t bpt_read_conll(bpt_reader_t *r, const bpt_range_t *text) {
    sentence_t s = {.r = r};
    bpt_range_t rest = *text, line;
    bpt_status_t status = BPT_OK;
    r->n_words = 0;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        status = bpt_range_check_line(&line);
        if (status == BPT_OK) status = r->options->conllu ? take_conllu(&s, &line) : take_conll(&s, &line);
    }
    if (status == BPT_OK) status = finish(&s);
    bpt_free(s.spans);
    bpt_free(s.prefix);
    bpt_strbuf_free(&s.names);
    return status;
}
