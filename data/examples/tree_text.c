// A text with a tree over its words (see tree_text.h).
#include "data/examples/tree_text.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/trees.h"
#include "data/readers/reader.h"

// ---- Trees of a file

static bool is_empty(bpt_range_t line) {
    size_t bytes;
    return !bpt_next_token(&line, &bytes);
}

static bool take_lines(bpt_range_t *trees, bpt_range_t *tree) {
    static const bpt_examples_options_t options = {.format = BPT_FORMAT_TREES, .trees = true};
    bpt_open_tree_t open = {0};
    return bpt_examples_next(&options, trees, false, &open, tree) != BPT_LINES_NONE;
}

static bool in_name(char c) { return c != '(' && c != ')' && !bpt_is_blank(c); }

// Whether all that stands in the brackets is labels: (), (()) and (ROOT), as parsers write them for a line without words.
static bool is_wordless(const bpt_range_t *tree) {
    for (uint64_t i = 0; i < tree->bytes; ++i) {
        const char before = i ? tree->data[i - 1] : ' ';
        if (in_name(tree->data[i]) && !in_name(before) && before != '(') return false;
    }
    return true;
}

bpt_status_t bpt_tree_text_next(bpt_range_t *trees, const bpt_range_t *text, bool empty, bpt_range_t *tree) {
    bpt_range_t rest = *trees, passed = {0};
    bool there;
    while ((there = take_lines(&rest, tree)) && is_empty(*tree))
        if (!passed.data) passed = *tree;
    if (there && !empty) BPT_TRY(bpt_examples_check_lines(tree));
    if (there && (!empty || is_wordless(tree))) *trees = rest;
    if (empty) *tree = (bpt_range_t){0};
    if (there || empty) return BPT_OK;
    if (passed.data) return bpt_reader_fail(&passed, "no tree; tree N of the file is over text N, empty lines aside");
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has no counterpart: %s ends before its tree; tree N is over text N", text->path,
                    (unsigned long long)text->line, trees->path);
}

bpt_status_t bpt_tree_text_end(bpt_range_t *trees, uint64_t lines) {
    bpt_range_t tree;
    while (take_lines(trees, &tree))
        if (!is_empty(tree))
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has no counterpart: the text has %llu lines; tree N is over text N", tree.path,
                            (unsigned long long)tree.line, (unsigned long long)lines);
    return BPT_OK;
}

// ---- The tree over the words

// What is read of the brackets.
typedef struct {
    const bpt_tree_text_t *text;
    bpt_nodes_t *nodes;
    uint32_t *of_words;       // [words]: their classes
    bpt_labels_t *collected;  // not NULL: labels are taken, and no nodes
    bool collects_words;
    int trees;
} brackets_t;

// Treebanks write brackets as names, as brackets themselves are what trees are made of.
static bool is_same(const bpt_word_t *in_tree, const bpt_word_t *word) {
    static const char *const names[][2] = {{"-LRB-", "("}, {"-RRB-", ")"}};
    if (in_tree->bytes == word->bytes && !memcmp(in_tree->data, word->data, word->bytes)) return true;
    for (size_t i = 0; i < BPT_COUNT(names); ++i)
        if (in_tree->bytes == 5 && !memcmp(in_tree->data, names[i][0], 5) && word->bytes == 1 && *word->data == *names[i][1]) return true;
    return false;
}

static bpt_status_t check_words(const bpt_tree_text_t *t, const bpt_found_t *f) {
    for (size_t i = 0; i < f->n_words && i < t->n_words; ++i)
        if (!is_same(&f->words[i], &t->words[i]))
            return bpt_fail(BPT_ERR_INPUT,
                            "%s: line %llu: word %llu of the tree is '%s', that of the text '%s'; a tree has the words of its text, line "
                            "%llu of %s",
                            f->where->path, (unsigned long long)f->where->line, (unsigned long long)i + 1,
                            bpt_show(f->words[i].data, f->words[i].bytes).text, bpt_show(t->words[i].data, t->words[i].bytes).text,
                            (unsigned long long)t->where->line, t->where->path);
    if (f->n_words == t->n_words) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %llu: the tree has %llu words, the text %llu; a tree has the words of its text, line %llu of %s",
                    f->where->path, (unsigned long long)f->where->line, (unsigned long long)f->n_words, (unsigned long long)t->n_words,
                    (unsigned long long)t->where->line, t->where->path);
}

static uint32_t class_of(const bpt_tree_text_t *t, const bpt_word_t *label) {
    uint32_t class;
    return t->labels && label->data && bpt_labels_find(t->labels, label, &class) ? class : BPT_NO_LABEL;
}

static bpt_status_t take_nodes(const brackets_t *b, const bpt_found_t *f) {
    for (size_t i = 0; i < f->n_nodes; ++i)
        BPT_TRY(bpt_nodes_add(b->nodes, (uint32_t)f->nodes[i].first, (uint32_t)f->nodes[i].end, class_of(b->text, &f->nodes[i].label)));
    for (size_t i = 0; i < f->n_words; ++i) b->of_words[i] = class_of(b->text, &f->word_labels[i]);
    return BPT_OK;
}

static bpt_status_t collect(const brackets_t *b, const bpt_found_t *f) {
    for (size_t i = 0; i < f->n_nodes; ++i)
        if (f->nodes[i].label.bytes) BPT_TRY(bpt_labels_add(b->collected, f->where, &f->nodes[i].label));
    for (size_t i = 0; b->collects_words && i < f->n_words; ++i)
        if (f->word_labels[i].bytes) BPT_TRY(bpt_labels_add(b->collected, f->where, &f->word_labels[i]));
    return BPT_OK;
}

static bpt_status_t take_tree(void *user, const bpt_found_t *f) {
    brackets_t *b = user;
    if (b->trees++) return bpt_reader_fail(f->where, "more than one tree in a line; the tree of the next text begins in a line of its own");
    BPT_TRY(check_words(b->text, f));
    return b->collected ? collect(b, f) : take_nodes(b, f);
}

static bpt_status_t read_brackets(brackets_t *b) {
    const bpt_tree_text_t *t = b->text;
    const bpt_examples_options_t options = {.format = BPT_FORMAT_TREES, .trees = true, .cut_functions = true};
    bpt_reader_t reader = {.options = &options, .visit = take_tree, .user = b};
    if (!t->tree) return bpt_reader_fail(t->where, "no tree over this text; --trees balanced, right or flat makes trees");
    bpt_status_t status = bpt_format_of(options.format)->read(&reader, t->tree);
    if (status == BPT_OK && !b->trees) status = bpt_reader_fail(t->tree, "no tree; tree N of the file is over text N");
    bpt_free(reader.words);
    bpt_free(reader.tags);
    return status;
}

bpt_status_t bpt_tree_text_collect(const bpt_tree_text_t *t, bool of_words, bpt_labels_t *labels) {
    return read_brackets(&(brackets_t){.text = t, .collected = labels, .collects_words = of_words});
}

// ---- Tokens

typedef struct {
    bpt_take_id_t *take;
    void *user;
    uint32_t count;
} counter_t;

static bpt_status_t count_token(void *user, uint32_t id) {
    counter_t *c = user;
    ++c->count;
    return c->take(c->user, id);
}

// Words one by one, as each has a place in the tree: those of word i are first[i] .. first[i + 1] - 1.
static bpt_status_t encode(const bpt_tree_text_t *t, const bpt_vocab_t *vocab, counter_t *counter, uint32_t *first) {
    for (size_t i = 0; i < t->n_words; ++i) {
        BPT_TRY(bpt_vocab_encode_words(vocab, t->where, &t->words[i], 1, count_token, counter));
        first[i + 1] = counter->count;
    }
    return BPT_OK;
}

// The nodes over the words, and the classes of these.
static bpt_status_t find_tree(const bpt_tree_text_t *t, bpt_nodes_t *nodes, uint32_t *of_words) {
    for (size_t i = 0; i < t->n_words; ++i) of_words[i] = BPT_NO_LABEL;
    if (t->made != BPT_TREES_FILE) return bpt_trees_make(t->made, (uint32_t)t->n_words, nodes);
    return read_brackets(&(brackets_t){.text = t, .nodes = nodes, .of_words = of_words});
}

bpt_status_t bpt_tree_text_read(const bpt_tree_text_t *t, const bpt_vocab_t *vocab, bpt_take_id_t *take, void *user, bpt_nodes_t *nodes) {
    counter_t counter = {.take = take, .user = user};
    bpt_nodes_t over_words = {0};
    uint32_t *first;
    BPT_TRY(bpt_alloc(2 * t->n_words + 1, sizeof *first, &first));
    uint32_t *of_words = first + t->n_words + 1;
    bpt_status_t status = encode(t, vocab, &counter, first);
    if (status == BPT_OK) status = find_tree(t, &over_words, of_words);
    if (status == BPT_OK) status = bpt_trees_split_words(t->where, &over_words, first, of_words, nodes);
    bpt_free(over_words.items);
    bpt_free(first);
    return status;
}
