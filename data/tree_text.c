// The tree over one text (see tree_text.h).
#include "data/tree_text.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/readers/reader.h"
#include "data/trees.h"

typedef struct {
    const bpt_word_t *words;
    size_t n_words;
    const uint32_t *first;
    bpt_nodes_t *nodes;
    int trees;
} join_t;

static bpt_status_t add(join_t *j, size_t word, size_t end) {
    BPT_TRY(bpt_grow(&j->nodes->items, (size_t)j->nodes->count, &j->nodes->capacity, sizeof *j->nodes->items));
    j->nodes->items[j->nodes->count++] = (bpt_example_node_t){j->first[word], j->first[end], BPT_NO_LABEL};
    return BPT_OK;
}

// Treebanks write brackets as names, as brackets themselves are what trees are made of.
static bool is_same(const bpt_word_t *in_tree, const bpt_word_t *word) {
    static const char *const names[][2] = {{"-LRB-", "("}, {"-RRB-", ")"}};
    if (in_tree->bytes == word->bytes && !memcmp(in_tree->data, word->data, word->bytes)) return true;
    for (size_t i = 0; i < BPT_COUNT(names); ++i)
        if (in_tree->bytes == 5 && !memcmp(in_tree->data, names[i][0], 5) && word->bytes == 1 && *word->data == *names[i][1]) return true;
    return false;
}

static bpt_status_t check_words(const join_t *j, const bpt_found_t *f) {
    for (size_t i = 0; i < f->n_words && i < j->n_words; ++i)
        if (!is_same(&f->words[i], &j->words[i]))
            return bpt_fail(BPT_ERR_INPUT,
                            "%s: line %llu: word %llu of the tree is '%s', that of the text '%s'; a tree has the words of its text",
                            f->where->path, (unsigned long long)f->where->line, (unsigned long long)i + 1,
                            bpt_show(f->words[i].data, f->words[i].bytes).text, bpt_show(j->words[i].data, j->words[i].bytes).text);
    if (f->n_words == j->n_words) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: the tree has %llu words, the text %llu; a tree has the words of its text",
                    f->where->path, (unsigned long long)f->where->line, (unsigned long long)f->n_words, (unsigned long long)j->n_words);
}

static bpt_status_t take(void *user, const bpt_found_t *f) {
    join_t *j = user;
    size_t word = 0;
    if (j->trees++) return bpt_reader_fail(f->where, "more than one tree in a line; line N has the tree of text N");
    BPT_TRY(check_words(j, f));
    for (size_t i = 0; i < f->n_nodes; ++i) {
        const bool one_word = f->nodes[i].end - f->nodes[i].first == 1;  // the only node
        for (; word < f->nodes[i].end; ++word)
            if (!one_word && j->first[word + 1] - j->first[word] > 1) BPT_TRY(add(j, word, word + 1));
        BPT_TRY(add(j, f->nodes[i].first, f->nodes[i].end));
    }
    return BPT_OK;
}

bpt_status_t bpt_tree_text(const bpt_range_t *tree, bpt_trees_t made, const bpt_word_t *words, size_t n_words, const uint32_t *first,
                           bpt_nodes_t *nodes) {
    const bpt_examples_options_t options = {.form = BPT_FORM_TREES, .trees = true};
    join_t j = {.words = words, .n_words = n_words, .first = first, .nodes = nodes};
    if (!tree) return bpt_trees_make(made, first[n_words], &nodes->items, &nodes->count, &nodes->capacity);
    bpt_reader_t reader = {.options = &options, .visit = take, .user = &j};
    bpt_status_t status = bpt_read_trees(&reader, tree);
    if (status == BPT_OK && !j.trees) status = bpt_reader_fail(tree, "no tree; line N has the tree of text N");
    bpt_free(reader.words);
    bpt_free(reader.tags);
    return status;
}
