// Trees for tests, as links of hierarchical accumulation (ops.h, tree_values) and of subtree masks (lists.h).
#ifndef BPT_TEST_TREES_H
#define BPT_TEST_TREES_H

#include <stdint.h>

typedef enum {
    TEST_TREE_FLAT,
    TEST_TREE_LEFT,  // chains
    TEST_TREE_RIGHT,
    TEST_TREE_BALANCED,
    TEST_TREE_RANDOM,  // of any number of children
    TEST_TREE_UNARY,   // three nodes over the same leaves
} test_tree_form_t;

// Where trees are added: rows 0 .. leaves - 1 of links [rows, 3] are leaves, nodes are the rows behind.
typedef struct {
    uint32_t *links;
    uint32_t leaves;
    uint32_t nodes;  // so many are made
    uint32_t seed;
} test_trees_t;

// A number below n.
uint32_t test_trees_random(test_trees_t *t, uint32_t n);
// Adds a tree over the leaf rows [first, end), in post-order. One leaf has one node over it. At most 1,100 leaves; a tree of n > 1 leaves
// has at most n - 1 nodes, UNARY three.
void test_tree_add(test_trees_t *t, test_tree_form_t form, uint32_t first, uint32_t end);

#endif
