// `label<TAB>text`, labelled trees in brackets, text alone.
#include <string.h>

#include "bpt/alloc.h"
#include "data/readers/reader.h"

typedef struct {
    bpt_word_t label;
    size_t first;   // number of its first word
    bool has_word;  // it is (label word
} open_t;

// A tree that is being read.
typedef struct {
    bpt_reader_t *r;
    open_t *open;  // brackets that are not closed yet
    size_t depth, capacity;
    bool silent;  // only to see whether it is a tree
} tree_t;

// ---- label<TAB>text, or text alone

bpt_status_t bpt_reader_text_line(bpt_reader_t *r, const bpt_range_t *line) {
    bpt_range_t rest = *line;
    bpt_word_t label = {0};
    const char *tab = memchr(line->data, '\t', line->bytes);
    if (r->options->labelled || tab) {
        if (!tab) return bpt_reader_fail(line, "no tab; a line is label<TAB>text");
        label = (bpt_word_t){line->data, (size_t)(tab - line->data)};
        if (label.bytes == 0) return bpt_reader_fail(line, "the label is empty; a line is label<TAB>text");
        rest.data = tab + 1;
        rest.bytes = line->bytes - label.bytes - 1;
        if (memchr(rest.data, '\t', rest.bytes)) return bpt_reader_fail(line, "more than one tab; a line is label<TAB>text");
    }
    r->n_words = 0;
    BPT_TRY(bpt_reader_push_words(r, rest));
    if (r->n_words == 0) return bpt_reader_fail(line, "no text; every example needs at least one word");
    return r->visit(r->user, &(bpt_found_t){.where = line, .label = label.data ? &label : NULL, .words = r->words, .n_words = r->n_words});
}

// ---- (label word) or (label (label word) (label (label word) ..)): a bracket holds one word or any number of brackets

static bool in_name(char c) { return c != '(' && c != ')' && !bpt_is_blank(c); }

// Takes what stands between brackets and blanks.
static bpt_word_t take_name(const char **p, const char *end) {
    const char *start = *p;
    while (*p < end && in_name(**p)) ++*p;
    return (bpt_word_t){start, (size_t)(*p - start)};
}

static bpt_status_t open_bracket(tree_t *t, const bpt_range_t *line, const char **p, const char *end) {
    if (t->depth && t->open[t->depth - 1].has_word)
        return bpt_reader_fail(line, "a bracket behind a word; a bracket holds one word or brackets");
    ++*p;
    const bpt_word_t label = take_name(p, end);
    if (label.bytes == 0) return bpt_reader_fail(line, "a bracket without a label");
    BPT_TRY(bpt_grow(&t->open, t->depth, &t->capacity, sizeof *t->open));
    t->open[t->depth++] = (open_t){label, t->r->n_words, false};
    return BPT_OK;
}

static bpt_status_t close_bracket(tree_t *t, const bpt_range_t *line, const char **p) {
    if (t->depth == 0) return bpt_reader_fail(line, "a closing bracket too many");
    const open_t *node = &t->open[--t->depth];
    if (node->first == t->r->n_words) return bpt_reader_fail(line, "a bracket without a word");
    ++*p;
    if (t->depth && !t->r->options->subtrees) return BPT_OK;
    if (t->silent) return BPT_OK;
    const bpt_found_t found = {
        .where = line, .label = &node->label, .words = t->r->words + node->first, .n_words = t->r->n_words - node->first};
    return t->r->visit(t->r->user, &found);
}

static bpt_status_t take_word(tree_t *t, const bpt_range_t *line, const char **p, const char *end) {
    if (t->depth == 0) return bpt_reader_fail(line, "a word outside the brackets");
    open_t *node = &t->open[t->depth - 1];
    if (node->has_word || node->first != t->r->n_words)
        return bpt_reader_fail(line, "two words or a word behind a bracket; a bracket holds one word or brackets");
    node->has_word = true;
    const bpt_word_t word = take_name(p, end);
    return bpt_reader_push(t->r, word.data, word.bytes);
}

static bpt_status_t parse_tree(tree_t *t, const bpt_range_t *line) {
    const char *p = line->data, *end = p + line->bytes;
    bool closed = false;
    t->r->n_words = t->depth = 0;
    while (p < end) {
        if (bpt_is_blank(*p)) {
            ++p;
        } else if (closed) {
            return bpt_reader_fail(line, "text behind the end of the tree; one tree a line");
        } else if (*p == ')') {
            BPT_TRY(close_bracket(t, line, &p));
            closed = t->depth == 0;
        } else {
            BPT_TRY(*p == '(' ? open_bracket(t, line, &p, end) : take_word(t, line, &p, end));
        }
    }
    return closed ? BPT_OK : bpt_reader_fail(line, "brackets are not closed; the line is cut off");
}

static bpt_status_t read_tree(bpt_reader_t *r, const bpt_range_t *line, bool silent) {
    tree_t t = {.r = r, .silent = silent};
    const bpt_status_t status = parse_tree(&t, line);
    bpt_free(t.open);
    return status;
}

// A labelled line that begins with a bracket must be a tree. One without labels may also be a text about (for example) this.
static bpt_status_t is_tree(bpt_reader_t *r, const bpt_range_t *line, bool *tree) {
    *tree = line->bytes && line->data[0] == '(' && !memchr(line->data, '\t', line->bytes);
    if (!*tree || r->options->labelled) return BPT_OK;
    const bpt_status_t status = read_tree(r, line, true);
    *tree = status == BPT_OK;
    if (status != BPT_ERR_INPUT) return status;
    bpt_error_clear();
    return BPT_OK;
}

static bpt_status_t read_line(bpt_reader_t *r, const bpt_range_t *line) {
    bool tree = false;
    BPT_TRY(is_tree(r, line, &tree));
    return tree ? read_tree(r, line, false) : bpt_reader_text_line(r, line);
}

bpt_status_t bpt_read_texts(bpt_reader_t *r, const bpt_range_t *text) { return bpt_reader_lines(r, text, read_line); }
