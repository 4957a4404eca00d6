// Trees over the tokens of a text (see trees.h).
#include "data/trees.h"

#include "bpt/alloc.h"
#include "bpt/batch.h"

const char *const bpt_trees_names[] = {
    [BPT_TREES_FILE] = "file", [BPT_TREES_BALANCED] = "balanced", [BPT_TREES_RIGHT] = "right", [BPT_TREES_FLAT] = "flat", NULL};

typedef struct {
    bpt_example_node_t **nodes;
    uint64_t *count;
    size_t *capacity;
} list_t;

static bpt_status_t add(const list_t *l, uint32_t first, uint32_t end) {
    BPT_TRY(bpt_grow(l->nodes, (size_t)*l->count, l->capacity, sizeof **l->nodes));
    (*l->nodes)[(*l->count)++] = (bpt_example_node_t){first, end, BPT_NO_LABEL};
    return BPT_OK;
}

// As deep as the logarithm of the length.
static bpt_status_t balance(const list_t *l, uint32_t first, uint32_t end) {
    if (end - first < 2) return BPT_OK;
    const uint32_t middle = first + (end - first) / 2;
    BPT_TRY(balance(l, first, middle));
    BPT_TRY(balance(l, middle, end));
    return add(l, first, end);
}

bpt_status_t bpt_trees_make(bpt_trees_t form, uint32_t n, bpt_example_node_t **nodes, uint64_t *count, size_t *capacity) {
    const list_t l = {nodes, count, capacity};
    if (n == 1 || form == BPT_TREES_FLAT) return add(&l, 0, n);
    if (form == BPT_TREES_BALANCED) return balance(&l, 0, n);
    for (uint32_t first = n - 1; first-- > 0;) BPT_TRY(add(&l, first, n));
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
