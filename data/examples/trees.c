// Trees over the tokens of a text (see trees.h).
#include "data/examples/trees.h"

#include "bpt/alloc.h"
#include "bpt/lists.h"

#include <string.h>

const char *const bpt_trees_names[] = {
    [BPT_TREES_FILE] = "file", [BPT_TREES_BALANCED] = "balanced", [BPT_TREES_RIGHT] = "right", [BPT_TREES_FLAT] = "flat", NULL};

bpt_status_t bpt_nodes_add(bpt_nodes_t *nodes, uint32_t first, uint32_t end, uint32_t label) {
    BPT_TRY(bpt_grow(&nodes->items, (size_t)nodes->count, &nodes->capacity, sizeof *nodes->items));
    nodes->items[nodes->count++] = (bpt_example_node_t){first, end, label};
    return BPT_OK;
}

// As deep as the logarithm of the length.
static bpt_status_t balance(uint32_t first, uint32_t end, bpt_nodes_t *nodes) {
    if (end - first < 2) return BPT_OK;
    const uint32_t middle = first + (end - first) / 2;
    BPT_TRY(balance(first, middle, nodes));
    BPT_TRY(balance(middle, end, nodes));
    return bpt_nodes_add(nodes, first, end, BPT_NO_LABEL);
}

bpt_status_t bpt_trees_make(bpt_trees_t form, uint32_t n, bpt_nodes_t *nodes) {
    if (n == 1 || form == BPT_TREES_FLAT) return bpt_nodes_add(nodes, 0, n, BPT_NO_LABEL);
    if (form == BPT_TREES_BALANCED) return balance(0, n, nodes);
    for (uint32_t first = n - 1; first-- > 0;) BPT_TRY(bpt_nodes_add(nodes, first, n, BPT_NO_LABEL));
    return BPT_OK;
}

bpt_status_t bpt_trees_split_words(const bpt_range_t *where, const bpt_nodes_t *of_words, const uint32_t *first,
                                   const uint32_t *word_labels, bpt_nodes_t *nodes) {
    uint32_t word = 0;
    for (uint64_t i = 0; i < of_words->count; ++i) {
        const bpt_example_node_t *node = &of_words->items[i];
        const bool one_word = node->end - node->first == 1;  // the whole text
        for (; word < node->end; ++word) {
            const uint32_t tokens = first[word + 1] - first[word];
            if (tokens == 0)
                return bpt_fail(BPT_ERR_INPUT,
                                "%s: line %llu: word %u is no token of the vocabulary, so a tree has no place for it; leave the word out",
                                where->path, (unsigned long long)where->line, word + 1);
            if (tokens > 1 && !one_word)
                BPT_TRY(bpt_nodes_add(nodes, first[word], first[word + 1], word_labels ? word_labels[word] : BPT_NO_LABEL));
        }
        BPT_TRY(bpt_nodes_add(nodes, first[node->first], first[node->end], node->label));
    }
    return BPT_OK;
}

bpt_status_t bpt_trees_check(const bpt_example_node_t *nodes, uint32_t count, uint32_t n) {
    for (uint32_t i = 0; i < count; ++i)
        if (nodes[i].first > nodes[i].end || nodes[i].end > n)
            return bpt_fail(BPT_ERR_INPUT,
                            "node %u of a tree is over tokens %u to %u, its text has %u; text and tree do not belong together", i,
                            nodes[i].first + 1, nodes[i].end, n);
    return BPT_OK;
}

// Children are the vertices before a node that have no parent yet, from its first token on: tokens come before the node that ends with
// them, so the last token and the last node without a parent are found by going back over their links.
void bpt_trees_link(const bpt_example_node_t *nodes, uint32_t count, uint32_t n, uint32_t first_token, uint32_t first_node,
                    uint32_t *links) {
    for (uint32_t i = 0; i < n; ++i) links[3 * (size_t)(first_token + i)] = BPT_PLACEHOLDER;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t row = first_node + i;
        uint32_t *link = links + 3 * (size_t)row;
        link[0] = BPT_PLACEHOLDER, link[1] = first_token + nodes[i].first, link[2] = first_token + nodes[i].end;
        // What is below it: subtrees of nodes that end one before the other, and tokens between them.
        uint32_t end = link[2], before = row;
        while (end > link[1]) {
            // The last node before `before` without a parent, if it ends here.
            const uint32_t child = before - 1;
            if (before > first_node && links[3 * (size_t)child + 2] == end && links[3 * (size_t)child + 1] >= link[1]) {
                links[3 * (size_t)child] = row;
                end = links[3 * (size_t)child + 1];
                while (before > first_node && links[3 * (size_t)(before - 1) + 1] >= end) --before;  // its subtree
            } else {
                links[3 * (size_t)--end] = row;
            }
        }
    }
}

// ---- For batches

// Nodes of all sequences, one behind the other; ends[s] is the number of those of sequences 0 .. s.
static bpt_status_t make_all(bpt_trees_t form, const bpt_batch_t *batch, bpt_nodes_t *nodes, uint64_t *ends) {
    for (int64_t s = 0; s < batch->shape.batch; ++s) {
        if (batch->side[0].lengths[s]) BPT_TRY(bpt_trees_make(form, batch->side[0].lengths[s], nodes));
        ends[s] = nodes->count;
    }
    return BPT_OK;
}

_Static_assert(BPT_NO_LABEL == BPT_PLACEHOLDER, "a node without a label begins with zeros");

static bpt_status_t check_all(const bpt_batch_t *batch, const bpt_example_node_t *nodes, const uint64_t *ends) {
    for (int64_t s = 0; s < batch->shape.batch; ++s) {
        const uint64_t first = s ? ends[s - 1] : 0;
        BPT_TRY(bpt_trees_check(nodes + first, (uint32_t)(ends[s] - first), batch->side[0].lengths[s]));
    }
    return BPT_OK;
}

static bpt_status_t link_all(bpt_batch_t *batch, const bpt_example_node_t *made, const uint64_t *ends, bool named, int64_t room,
                             uint32_t **memory) {
    bpt_side_t *side = &batch->side[0];
    const int64_t n = batch->shape.batch, rows = batch->shape.side[0].rows, real = (int64_t)ends[n - 1], least = real ? real : 1,
                  nodes = room > least ? room : least;
    uint32_t *links;
    BPT_TRY(check_all(batch, made, ends));
    BPT_TRY(bpt_alloc((size_t)(3 * (rows + nodes) + nodes + 2 * n), sizeof *links, &links));
    uint32_t *labels = links + 3 * (rows + nodes), *start = labels + nodes, *counts = start + n;
    for (int64_t i = 0; i < rows + nodes; ++i) links[3 * i] = BPT_PLACEHOLDER;
    for (int64_t i = 0; i < nodes; ++i) labels[i] = i < real ? bpt_trees_symbol(&made[i], named) : BPT_PLACEHOLDER;
    for (int64_t s = 0; s < n; ++s) {
        const uint64_t first = s ? ends[s - 1] : 0;
        start[s] = (uint32_t)(rows + (int64_t)first), counts[s] = (uint32_t)(ends[s] - first);
        bpt_trees_link(made + first, counts[s], side->lengths[s], side->start[s], start[s], links);
    }
    const bpt_row_space_t of_tokens = {rows, n, side->start, side->lengths}, of_nodes = {nodes, n, start, counts};
    side->links = links, side->node_labels = labels, side->node_start = start, side->node_counts = counts;
    batch->shape.side[0].nodes = nodes;
    batch->shape.side[0].node_slots = bpt_lists_subtrees_back_slots(&of_tokens, &of_nodes, links);
    *memory = links;
    return BPT_OK;
}

bpt_status_t bpt_trees_put(const bpt_example_node_t *nodes, const uint64_t *ends, bool named, bpt_batch_t *batch, uint32_t **memory) {
    int64_t slots = 4;
    BPT_TRY(link_all(batch, nodes, ends, named, batch->shape.side[0].rows, memory));
    while (slots < batch->shape.side[0].node_slots) slots *= 2;
    batch->shape.side[0].node_slots = slots;
    return BPT_OK;
}

bpt_status_t bpt_trees_add(bpt_trees_t form, bpt_batch_t *batch, uint32_t **memory) {
    bpt_nodes_t made = {0};
    uint64_t *ends = NULL;
    bpt_status_t status = bpt_alloc((size_t)batch->shape.batch, sizeof *ends, &ends);
    if (status == BPT_OK) status = make_all(form, batch, &made, ends);
    if (status == BPT_OK) status = link_all(batch, made.items, ends, false, 0, memory);
    bpt_free(made.items);
    bpt_free(ends);
    return status;
}
