// Trees over the tokens of a text: made where a file has none, and as links of their vertices.
#ifndef BPT_DATA_TREES_H
#define BPT_DATA_TREES_H

#include "bpt/batch.h"
#include "data/examples.h"

// Appends the nodes of such a tree over n >= 1 tokens, in post-order, without labels, to *nodes of *count. Not BPT_TREES_FILE.
bpt_status_t bpt_trees_make(bpt_trees_t form, uint32_t n, bpt_example_node_t **nodes, uint64_t *count, size_t *capacity) BPT_MUST_USE;

// The links (bpt/lists.h) of a tree over `n` tokens: first_token and first_node are the rows of its first token and node, `links` those of
// all rows. Tokens below no node have none.
void bpt_trees_link(const bpt_example_node_t *nodes, uint32_t count, uint32_t n, uint32_t first_token, uint32_t first_node,
                    uint32_t *links);

// Gives the sequences of the first side of a batch, in buckets, these trees, in its shape too, with one symbol for all nodes: those of
// sequence s end before nodes[ends[s]]. Room and slots are rounded up, so that batches have few shapes. *memory as below.
bpt_status_t bpt_trees_put(const bpt_example_node_t *nodes, const uint64_t *ends, bpt_batch_t *batch, uint32_t **memory) BPT_MUST_USE;
// Makes such trees over the sequences of the first side of a batch that has none, in its shape too, with one symbol for all nodes. *memory
// holds them, to be freed by the caller with bpt_free.
bpt_status_t bpt_trees_add(bpt_trees_t form, bpt_batch_t *batch, uint32_t **memory) BPT_MUST_USE;

#endif
