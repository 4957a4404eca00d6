// The tree over one text whose words are known: a line of brackets beside the text, or a tree that is made.
#ifndef BPT_DATA_TREE_TEXT_H
#define BPT_DATA_TREE_TEXT_H

#include "data/examples.h"

// Nodes of texts, one text behind the other. Zero-initialised: empty.
typedef struct {
    bpt_example_node_t *items;
    uint64_t count;
    size_t capacity;
} bpt_nodes_t;

// Appends the nodes of the tree over a text, without labels: word i is its tokens first[i] .. first[i + 1] - 1, of which one word has
// several where a node is put over them. `tree`: one tree of brackets (data/examples.h, TREES), whose words must be those of the text;
// -LRB- and -RRB- stand for ( and ). NULL: one of the form `made` over the tokens. BPT_ERR_INPUT with file and line.
bpt_status_t bpt_tree_text(const bpt_range_t *tree, bpt_trees_t made, const bpt_word_t *words, size_t n_words, const uint32_t *first,
                           bpt_nodes_t *nodes) BPT_MUST_USE;

#endif
