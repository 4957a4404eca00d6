// A text with a tree over its words: brackets in a file beside the texts, or a tree that is made. The words become tokens, the tree becomes
// nodes over these.
#ifndef BPT_DATA_TREE_TEXT_H
#define BPT_DATA_TREE_TEXT_H

#include "data/examples/examples.h"

typedef struct {
    const bpt_range_t *where;  // of the text, for messages
    const bpt_word_t *words;   // at least one
    size_t n_words;
    // One tree of brackets (data/examples/examples.h, TREES), whose words must be those of the text; -LRB- and -RRB- stand for ( and ).
    // NULL: there is none, or one is made.
    const bpt_range_t *tree;
    bpt_trees_t made;
    const bpt_labels_t *labels;  // of nodes; others, and with NULL all, are BPT_NO_LABEL
} bpt_tree_text_t;

// Takes the tree over a text off the front of the trees of a file: they stand in the order of the texts, each over as many lines as its
// brackets need, and empty lines between them mean nothing. Of a text without words (`empty`) a tree without words is taken, if one is
// next, and *tree is {0}. BPT_ERR_INPUT with file and line where there is none.
bpt_status_t bpt_tree_text_next(bpt_range_t *trees, const bpt_range_t *text, bool empty, bpt_range_t *tree) BPT_MUST_USE;
// BPT_ERR_INPUT if trees are left behind the last of `lines` lines of text.
bpt_status_t bpt_tree_text_end(bpt_range_t *trees, uint64_t lines) BPT_MUST_USE;

// Adds the labels of the nodes of the tree in brackets; `of_words`: those of words too, which are those of nodes over their tokens.
// BPT_ERR_INPUT as below.
bpt_status_t bpt_tree_text_collect(const bpt_tree_text_t *text, bool of_words, bpt_labels_t *labels) BPT_MUST_USE;
// Gives the tokens of the text to `take`, and appends the nodes of its tree. A word of several tokens has a node over them. BPT_ERR_INPUT
// with file and line: a text without a tree, a tree that is not over these words, an unknown word. A failure of `take` is the result.
bpt_status_t bpt_tree_text_read(const bpt_tree_text_t *text, const bpt_vocab_t *vocab, bpt_take_id_t *take, void *user,
                                bpt_nodes_t *nodes) BPT_MUST_USE;

#endif
