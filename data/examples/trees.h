// Trees over the tokens of a text: made where a file has none, and as links of their vertices.
#ifndef BPT_DATA_TREES_H
#define BPT_DATA_TREES_H

#include "bpt/batch.h"
#include "data/examples/examples.h"

bpt_status_t bpt_nodes_add(bpt_nodes_t *nodes, uint32_t first, uint32_t end, uint32_t label) BPT_MUST_USE;
// Appends the nodes of such a tree over n >= 1 words, without labels. Not BPT_TREES_FILE.
bpt_status_t bpt_trees_make(bpt_trees_t form, uint32_t n, bpt_nodes_t *nodes) BPT_MUST_USE;
// Appends the nodes of one tree over words as nodes over their tokens: word i is the tokens first[i] .. first[i + 1] - 1. A word of several
// tokens has a node over them, of the label word_labels[i] (NULL: of none), unless it is the whole text. BPT_ERR_INPUT, with file and line
// of `where`, for a word without a token.
bpt_status_t bpt_trees_split_words(const bpt_range_t *where, const bpt_nodes_t *of_words, const uint32_t *first,
                                   const uint32_t *word_labels, bpt_nodes_t *nodes) BPT_MUST_USE;

// BPT_ERR_INPUT where a node is over tokens that a text of `n` does not have: such a tree and text do not belong together, and links would
// be written beyond theirs.
bpt_status_t bpt_trees_check(const bpt_example_node_t *nodes, uint32_t count, uint32_t n) BPT_MUST_USE;
// The links (bpt/lists.h) of a tree, which has been checked, over `n` tokens: first_token and first_node are the rows of its first token
// and node, `links` those of all rows. Tokens below no node have none.
void bpt_trees_link(const bpt_example_node_t *nodes, uint32_t count, uint32_t n, uint32_t first_token, uint32_t first_node,
                    uint32_t *links);

// What a node begins with (bpt_side_t.node_labels): with `named` its label, BPT_PLACEHOLDER (zeros) for one without; else 0, as all nodes.
static inline uint32_t bpt_trees_symbol(const bpt_example_node_t *node, bool named) { return named ? node->label : 0; }

// Gives the sequences of the first side of a batch, in buckets, these trees, in its shape too: those of sequence s end before
// nodes[ends[s]]. Room and slots are rounded up, so that batches have few shapes. *memory as below.
bpt_status_t bpt_trees_put(const bpt_example_node_t *nodes, const uint64_t *ends, bool named, bpt_batch_t *batch,
                           uint32_t **memory) BPT_MUST_USE;
// Makes such trees over the sequences of the first side of a batch that has none, in its shape too, with one symbol for all nodes. *memory
// holds them, to be freed by the caller with bpt_free.
bpt_status_t bpt_trees_add(bpt_trees_t form, bpt_batch_t *batch, uint32_t **memory) BPT_MUST_USE;

#endif
