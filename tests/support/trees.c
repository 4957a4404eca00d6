// Trees for tests (see trees.h).
#include "support/trees.h"

#include "bpt/ops.h"

uint32_t test_trees_random(test_trees_t *t, uint32_t n) {
    t->seed = t->seed * 1664525u + 1013904223u;
    return (t->seed >> 8) % n;
}

// Leaves of the first child of a node over `size` > 1 leaves.
static uint32_t first_child(test_trees_t *t, test_tree_form_t form, uint32_t size) {
    switch (form) {
    case TEST_TREE_LEFT: return size - 1;
    case TEST_TREE_BALANCED: return size / 2;
    case TEST_TREE_RANDOM: return test_trees_random(t, 4) ? 1 + test_trees_random(t, size - 1) : 1;
    default: return 1;
    }
}

// Makes what is over the leaves [first, end) and returns its top row, a leaf or a node.
static uint32_t grow(test_trees_t *t, test_tree_form_t form, uint32_t first, uint32_t end) {
    uint32_t child[1100], n = 0;
    const uint32_t size = end - first;
    if (size == 1) return first;
    const uint32_t cut = first_child(t, form, size);
    const bool each_leaf = form == TEST_TREE_FLAT || form == TEST_TREE_UNARY || (form == TEST_TREE_RANDOM && cut == 1 && size < 9);
    for (uint32_t at = first; at < end;) {
        const uint32_t to = at == first || each_leaf ? at + cut : end;
        child[n++] = grow(t, form, at, to);
        at = to;
    }
    const uint32_t node = t->leaves + t->nodes++;
    for (uint32_t i = 0; i < n; ++i) t->links[3 * child[i]] = node;
    t->links[3 * node] = BPT_NO_ROW, t->links[3 * node + 1] = first, t->links[3 * node + 2] = end;
    return node;
}

// A node over the subtree `top` alone.
static uint32_t cover(test_trees_t *t, uint32_t top, uint32_t first, uint32_t end) {
    const uint32_t node = t->leaves + t->nodes++;
    t->links[3 * top] = node;
    t->links[3 * node] = BPT_NO_ROW, t->links[3 * node + 1] = first, t->links[3 * node + 2] = end;
    return node;
}

void test_tree_add(test_trees_t *t, test_tree_form_t form, uint32_t first, uint32_t end) {
    const uint32_t before = t->nodes;
    uint32_t top = grow(t, form, first, end);
    while (t->nodes - before < (form == TEST_TREE_UNARY ? 3u : 1u)) top = cover(t, top, first, end);
}
