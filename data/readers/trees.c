// Trees in brackets as in the Penn Treebank, one behind the other: (label child ..), where a child is a word or a tree.
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/readers/reader.h"

enum { DEEPEST = 10000 };

typedef struct {
    bpt_word_t label;
    size_t first_word, first_node;
    size_t children;  // that are left: words, and brackets with words
    bool silent;      // its words are left out
    bool dropped;     // a bracket in it was left out
    uint64_t line;
    const char *at;
} open_t;

typedef struct {
    bpt_reader_t *r;
    bpt_range_t rest;                 // what is not read yet; its line is the current one
    const char *line_start;           // where that line begins
    open_t *open;                     // brackets that are not closed yet
    bpt_found_node_t *nodes, *found;  // of the tree, and of an example in it
    bpt_word_t *word_labels;
    bpt_word_t child;  // the label of the last bracket that was closed in the outermost one
    size_t depth, open_capacity, n_nodes, node_capacity, found_capacity, label_capacity;
} trees_t;

// ---- Errors

static bpt_status_t fail_at(const trees_t *t, uint64_t line, const char *line_start, const char *at, const char *what) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu, column %llu: %s", t->rest.path, (unsigned long long)line,
                    (unsigned long long)(at - line_start) + 1, what);
}
static bpt_status_t fail(const trees_t *t, const char *what) { return fail_at(t, t->rest.line, t->line_start, t->rest.data, what); }

// The line in which `at` stands, for brackets of earlier lines.
static bpt_status_t fail_open(const trees_t *t, const char *text, const open_t *o, const char *what) {
    const char *start = o->at;
    while (start > text && start[-1] != '\n') --start;
    return fail_at(t, o->line, start, o->at, what);
}

// ---- Names

static bool in_name(char c) { return c != '(' && c != ')' && !bpt_is_blank(c); }

static void step(trees_t *t) { ++t->rest.data, --t->rest.bytes, ++t->rest.offset; }

static bpt_word_t take_name(trees_t *t) {
    const char *start = t->rest.data;
    while (t->rest.bytes && in_name(*t->rest.data)) step(t);
    return (bpt_word_t){start, (size_t)(t->rest.data - start)};
}

// NP-SBJ=2 is NP; what begins with - is a sign of its own.
static bpt_word_t without_functions(bpt_word_t label) {
    for (size_t i = 1; i < label.bytes && label.data[0] != '-'; ++i)
        if (label.data[i] == '-' || label.data[i] == '=') label.bytes = i;
    return label;
}

static bool is_none(const bpt_word_t *label) { return label->bytes == 6 && !memcmp(label->data, "-NONE-", 6); }

// ---- Brackets

static bpt_status_t open_bracket(trees_t *t) {
    const open_t o = {.first_word = t->r->n_words,
                      .first_node = t->n_nodes,
                      .silent = t->depth && t->open[t->depth - 1].silent,
                      .line = t->rest.line,
                      .at = t->rest.data};
    if (t->depth == DEEPEST) return fail(t, "brackets are more than 10,000 deep; is this a file of trees?");
    BPT_TRY(bpt_grow(&t->open, t->depth, &t->open_capacity, sizeof *t->open));
    t->open[t->depth++] = o;
    step(t);
    open_t *top = &t->open[t->depth - 1];
    top->label = take_name(t);
    top->silent |= is_none(&top->label);
    if (t->r->options->cut_functions) top->label = without_functions(top->label);
    return BPT_OK;
}

static bpt_status_t take_word(trees_t *t) {
    if (t->depth == 0) return fail(t, "a word outside of brackets; a tree is (label child ..), where a child is a word or a tree");
    const bpt_word_t word = take_name(t);
    open_t *top = &t->open[t->depth - 1];
    top->dropped |= top->silent;
    if (top->silent) return BPT_OK;
    ++top->children;
    BPT_TRY(bpt_grow(&t->word_labels, t->r->n_words, &t->label_capacity, sizeof *t->word_labels));
    t->word_labels[t->r->n_words] = (bpt_word_t){0};
    return bpt_reader_push(t->r, word.data, word.bytes);
}

static bpt_status_t add_found(trees_t *t, size_t n, size_t first, size_t end, bpt_word_t label) {
    BPT_TRY(bpt_grow(&t->found, n, &t->found_capacity, sizeof *t->found));
    t->found[n] = (bpt_found_node_t){first, end, label};
    return BPT_OK;
}

// An example: the tree of a bracket.
static bpt_status_t visit(trees_t *t, const open_t *o) {
    const bpt_range_t where = {.path = t->rest.path, .data = o->at, .bytes = (uint64_t)(t->rest.data - o->at), .line = o->line};
    const size_t n_words = t->r->n_words - o->first_word;
    size_t n = 0;
    for (size_t i = o->first_node; i < t->n_nodes; ++i, ++n)
        BPT_TRY(add_found(t, n, t->nodes[i].first - o->first_word, t->nodes[i].end - o->first_word, t->nodes[i].label));
    if (n == 0) BPT_TRY(add_found(t, n++, 0, n_words, o->label));
    return bpt_reader_visit(t->r, &(bpt_found_t){.where = &where,
                                                 .label = o->label.bytes ? &o->label : NULL,
                                                 .words = t->r->words + o->first_word,
                                                 .n_words = n_words,
                                                 .nodes = t->found,
                                                 .n_nodes = n,
                                                 .word_labels = t->word_labels + o->first_word});
}

// A bracket of one word is the label of the word, one of one bracket is that bracket, one of several children is a node.
static bpt_status_t add_node(trees_t *t, const open_t *o) {
    const size_t n = t->r->n_words;
    if (o->children > 1) {
        BPT_TRY(bpt_grow(&t->nodes, t->n_nodes, &t->node_capacity, sizeof *t->nodes));
        t->nodes[t->n_nodes++] = (bpt_found_node_t){o->first_word, n, o->label};
    } else if (n == o->first_word + 1 && !t->word_labels[o->first_word].data) {
        t->word_labels[o->first_word] = o->label;
    }
    return BPT_OK;
}

// (ROOT (S ..)): what is around the tree.
static bool is_root(const trees_t *t, const open_t *o) { return o->children == 1 && t->child.bytes && bpt_reader_is_root(t->r, &o->label); }

static bpt_status_t close_bracket(trees_t *t, const char *text) {
    if (t->depth == 0) return fail(t, "a closing bracket too many");
    open_t o = t->open[t->depth - 1];
    const bool top = t->depth == 1, empty = o.first_word == t->r->n_words;
    step(t);
    --t->depth;
    // With -NONE- below it an empty bracket is left out; without, it is a fault.
    if (empty && !o.dropped) return fail_open(t, text, &o, "a bracket without a word");
    if (empty && !top) t->open[t->depth - 1].dropped = true;
    if (empty) return top ? fail_open(t, text, &o, "a tree without a word") : BPT_OK;
    BPT_TRY(add_node(t, &o));
    if (!top) ++t->open[t->depth - 1].children;
    // ( (S ..)): the label of the whole is that of its only child.
    if (!top && t->depth == 1 && t->open[0].label.bytes == 0) t->open[0].label = o.label;
    if (!top && t->depth == 1) t->child = o.label;
    if (!top && !(t->r->options->subtrees && o.label.bytes)) return BPT_OK;
    if (top && is_root(t, &o) && t->r->options->subtrees) return BPT_OK;  // its child is an example
    if (top && is_root(t, &o)) o.label = t->child;
    if (t->r->options->labelled && o.label.bytes == 0) return fail_open(t, text, &o, "a tree without a label");
    return visit(t, &o);
}

static bpt_status_t read_tree(trees_t *t, const char *text) {
    t->r->n_words = t->n_nodes = t->depth = 0;
    t->child = (bpt_word_t){0};
    do {
        const char c = *t->rest.data;
        if (c == '\n') {
            step(t);
            ++t->rest.line;
            t->line_start = t->rest.data;
        } else if (bpt_is_blank(c)) {
            step(t);
        } else if (c == ')') {
            BPT_TRY(close_bracket(t, text));
        } else {
            BPT_TRY(c == '(' ? open_bracket(t) : take_word(t));
        }
    } while (t->depth && t->rest.bytes);
    return t->depth ? fail_open(t, text, &t->open[0], "the brackets of this tree are not closed") : BPT_OK;
}

// ---- The file

// A line of text, for which a tree is made.
static bool begins_text(const trees_t *t, bpt_range_t *after, bpt_range_t *line) {
    bpt_open_tree_t open = {0};
    if (t->r->options->made == BPT_TREES_FILE) return false;
    *after = t->rest;
    return bpt_examples_next(t->r->options, after, false, &open, line) == BPT_LINES_TEXT;
}

static bpt_status_t read_next(trees_t *t, const char *text) {
    bpt_range_t after, line;
    if (!begins_text(t, &after, &line)) {
        if (*t->rest.data == '(' || *t->rest.data == ')') return read_tree(t, text);
        return fail(t, "no tree; a tree is (label child ..), and --trees balanced, right or flat makes trees of texts");
    }
    BPT_TRY(bpt_range_check_line(&line));
    t->rest = after;
    t->line_start = after.data;
    return bpt_reader_text_line(t->r, &line);
}

static bpt_status_t read_all(trees_t *t, const char *text) {
    while (t->rest.bytes) {
        if (*t->rest.data == '\n') {
            step(t);
            ++t->rest.line;
            t->line_start = t->rest.data;
        } else if (bpt_is_blank(*t->rest.data)) {
            step(t);
        } else if (bpt_byte_order_mark(t->rest.data, t->rest.bytes)) {
            bpt_line_skip_mark(&t->rest);
        } else {
            BPT_TRY(read_next(t, text));
            bpt_reader_end_item(t->r);
        }
    }
    return BPT_OK;
}

static bpt_status_t read_trees(bpt_reader_t *r, const bpt_range_t *text) {
    trees_t t = {.r = r, .rest = *text};
    bpt_range_skip_mark(&t.rest);
    t.line_start = t.rest.data;
    const bpt_status_t status = read_all(&t, t.line_start);
    bpt_free(t.open);
    bpt_free(t.nodes);
    bpt_free(t.found);
    bpt_free(t.word_labels);
    return status;
}

const bpt_format_t bpt_format_trees = {.gives = BPT_GIVES_LABELS | BPT_GIVES_TREES | BPT_GIVES_PHRASES,
                                       .takes = BPT_TAKES_HEADER,
                                       .until = BPT_UNTIL_BRACKETS_CLOSE,
                                       .read = read_trees};
