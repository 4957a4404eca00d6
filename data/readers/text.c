// The format `text`: lines of `label<TAB>text`, labelled trees in brackets, text alone; or of `tokens<TAB>tags` (tagged.c).
#include <string.h>

#include "bpt/alloc.h"
#include "data/readers/reader.h"

typedef struct {
    bpt_word_t label;
    size_t first;      // number of its first word
    size_t brackets;   // in it
    bpt_word_t child;  // the label of the last of them
    bool has_word;     // it is (label word
} open_t;

// A tree that is being read.
typedef struct {
    bpt_reader_t *r;
    open_t *open;  // brackets that are not closed yet
    size_t depth, capacity;
} tree_t;

// ---- label<TAB>text, or text alone

static bool begins_with_mark(const bpt_range_t *line) { return line->bytes > 9 && !memcmp(line->data, "__label__", 9); }

bpt_status_t bpt_reader_text_line(bpt_reader_t *r, const bpt_range_t *line) {
    bpt_range_t rest = *line;
    bpt_word_t label = {0};
    const char *tab = memchr(line->data, '\t', line->bytes);
    if (!r->options->labelled && begins_with_mark(line)) return bpt_reader_fasttext_line(r, line);
    if (r->options->labelled || tab) {
        if (!tab && begins_with_mark(line)) return bpt_reader_fail(line, "no tab; lines of __label__NAME and a text are --format fasttext");
        if (!tab) return bpt_reader_fail(line, "no tab; a line is label<TAB>text");
        label = (bpt_word_t){line->data, (size_t)(tab - line->data)};
        if (!bpt_reader_trim(label).bytes) return bpt_reader_fail(line, "the label is empty; a line is label<TAB>text");
        rest.data = tab + 1;
        rest.bytes = line->bytes - label.bytes - 1;
        if (memchr(rest.data, '\t', rest.bytes)) return bpt_reader_fail(line, "more than one tab; a line is label<TAB>text");
    }
    r->n_words = 0;
    BPT_TRY(bpt_reader_push_words(r, rest));
    if (r->n_words == 0) return bpt_reader_empty(r, line, "no text; every example needs at least one word");
    return bpt_reader_visit(r,
                            &(bpt_found_t){.where = line, .label = label.data ? &label : NULL, .words = r->words, .n_words = r->n_words});
}

// ---- (label word) or (label (label word) (label (label word) ..)): a bracket holds one word or any number of brackets

// Takes what stands between brackets and blanks.
static bpt_word_t take_name(const char **p, const char *end) {
    const char *start = *p;
    while (*p < end && **p != '(' && **p != ')' && !bpt_is_blank(**p)) ++*p;
    return (bpt_word_t){start, (size_t)(*p - start)};
}

static bpt_status_t open_bracket(tree_t *t, const bpt_range_t *tree, const char **p, const char *end) {
    if (t->depth && t->open[t->depth - 1].has_word)
        return bpt_reader_fail(tree, "a bracket behind a word; a bracket holds one word or brackets");
    ++*p;
    const bpt_word_t label = take_name(p, end);
    if (label.bytes == 0) return bpt_reader_fail(tree, "a bracket without a label");
    BPT_TRY(bpt_grow(&t->open, t->depth, &t->capacity, sizeof *t->open));
    t->open[t->depth++] = (open_t){.label = label, .first = t->r->n_words};
    return BPT_OK;
}

static bpt_status_t visit(tree_t *t, const bpt_range_t *tree, const open_t *node, const bpt_word_t *label) {
    const bpt_found_t found = {.where = tree, .label = label, .words = t->r->words + node->first, .n_words = t->r->n_words - node->first};
    return bpt_reader_visit(t->r, &found);
}

static bpt_status_t close_bracket(tree_t *t, const bpt_range_t *tree, const char **p) {
    if (t->depth == 0) return bpt_reader_fail(tree, "a closing bracket too many");
    const open_t node = t->open[--t->depth];
    if (node.first == t->r->n_words) return bpt_reader_fail(tree, "a bracket without a word");
    ++*p;
    const bool top = t->depth == 0, root = top && node.brackets == 1 && bpt_reader_is_root(t->r, &node.label);
    if (!top) ++t->open[t->depth - 1].brackets, t->open[t->depth - 1].child = node.label;
    if (t->r->options->subtrees) return root ? BPT_OK : visit(t, tree, &node, &node.label);
    return top ? visit(t, tree, &node, root ? &node.child : &node.label) : BPT_OK;
}

static bpt_status_t take_word(tree_t *t, const bpt_range_t *tree, const char **p, const char *end) {
    if (t->depth == 0) return bpt_reader_fail(tree, "a word outside the brackets");
    open_t *node = &t->open[t->depth - 1];
    if (node->has_word || node->first != t->r->n_words)
        return bpt_reader_fail(tree, "two words or a word behind a bracket; a bracket holds one word or brackets");
    node->has_word = true;
    const bpt_word_t word = take_name(p, end);
    return bpt_reader_push(t->r, word.data, word.bytes);
}

static bpt_status_t parse_tree(tree_t *t, const bpt_range_t *tree) {
    const char *p = tree->data, *end = p + tree->bytes;
    bool closed = false;
    t->r->n_words = t->depth = 0;
    while (p < end) {
        if (bpt_is_blank(*p)) {
            ++p;
        } else if (closed) {
            return bpt_reader_fail(tree, "text behind the end of the tree; the next tree begins in a line of its own");
        } else if (*p == ')') {
            BPT_TRY(close_bracket(t, tree, &p));
            closed = t->depth == 0;
        } else {
            BPT_TRY(*p == '(' ? open_bracket(t, tree, &p, end) : take_word(t, tree, &p, end));
        }
    }
    return closed ? BPT_OK : bpt_reader_fail(tree, "brackets are not closed; the tree that begins here is cut off");
}

static bpt_status_t read_tree(bpt_reader_t *r, const bpt_range_t *tree) {
    tree_t t = {.r = r};
    const bpt_status_t status = parse_tree(&t, tree);
    bpt_free(t.open);
    return status;
}

static bpt_status_t read_lines(bpt_reader_t *r, const bpt_range_t *lines) {
    if (r->options->per_token) return bpt_reader_tagged_line(r, lines);
    r->brackets |= r->found == BPT_LINES_TREE;
    return r->found == BPT_LINES_TREE ? read_tree(r, lines) : bpt_reader_text_line(r, lines);
}

static bpt_status_t read_text(bpt_reader_t *r, const bpt_range_t *text) {
    r->brackets = false;
    BPT_TRY(bpt_reader_lines(r, text, read_lines));
    if (!r->options->subtrees || r->brackets) return BPT_OK;
    return bpt_reader_fail(text, "--subtrees makes examples of phrases in brackets, and no line has any; say --no-subtrees");
}

const bpt_format_t bpt_format_text = {.gives = BPT_GIVES_LABELS | BPT_GIVES_TAGS | BPT_GIVES_RUNNING | BPT_GIVES_PHRASES,
                                      .takes = BPT_TAKES_HEADER,
                                      .fixed = "its lines are label<TAB>text, of tags tokens<TAB>tags",
                                      .until = BPT_UNTIL_BRACKETS_CLOSE,
                                      .read = read_text};
