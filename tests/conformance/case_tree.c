// Hierarchical accumulation: trees of all forms, packed with rows of padding before, between and behind them.
#include <stdlib.h>

#include "support/case.h"
#include "support/trees.h"

static const struct {
    test_tree_form_t form;
    int64_t leaves, trees;                          // leaves of a tree, the last one has one
    int32_t heads, head_dim, vertical, horizontal;  // 0: no tables
    int64_t keys;                                   // columns in front of the values
    bool counts_leaf, bounded;
} shapes[] = {
    {TEST_TREE_FLAT, 5, 0, 2, 4, 3, 2, 8, true, false},         {TEST_TREE_FLAT, 1, 1, 1, 2, 1, 1, 0, true, true},
    {TEST_TREE_FLAT, 120, 2, 2, 6, 50, 100, 12, true, false},   {TEST_TREE_LEFT, 2, 3, 1, 1, 0, 0, 1, true, false},
    {TEST_TREE_LEFT, 31, 2, 3, 2, 4, 5, 7, false, true},        {TEST_TREE_LEFT, 127, 2, 2, 8, 50, 100, 16, true, false},
    {TEST_TREE_RIGHT, 33, 3, 2, 5, 0, 0, 10, false, false},     {TEST_TREE_RIGHT, 129, 1, 1, 34, 50, 100, 34, true, true},
    {TEST_TREE_BALANCED, 8, 5, 2, 6, 2, 3, 12, true, false},    {TEST_TREE_BALANCED, 64, 3, 6, 50, 50, 100, 300, true, true},
    {TEST_TREE_BALANCED, 127, 2, 1, 129, 0, 0, 0, true, false}, {TEST_TREE_RANDOM, 9, 31, 2, 4, 50, 100, 8, true, false},
    {TEST_TREE_RANDOM, 40, 9, 4, 16, 3, 4, 64, false, true},    {TEST_TREE_RANDOM, 200, 2, 2, 31, 0, 0, 62, true, true},
    {TEST_TREE_RANDOM, 1025, 1, 1, 4, 50, 100, 4, true, true},  {TEST_TREE_UNARY, 3, 4, 2, 2, 2, 2, 4, true, false},
    {TEST_TREE_RANDOM, 125, 1, 2, 4, 7, 9, 8, true, false},     {TEST_TREE_LEFT, 1023, 1, 1, 2, 0, 0, 2, true, false},
    {TEST_TREE_RANDOM, 2, 33000, 1, 2, 2, 2, 2, true, true},    {TEST_TREE_RANDOM, 21, 11, 5, 70, 4, 6, 350, true, true},
};
enum { TYPES = 3 };

static size_t count(void) { return BPT_COUNT(shapes) * 2 * TYPES; }

// One leaf of padding in front of every third tree, one node of padding behind every second.
static int64_t leaves_of(size_t shape) { return shapes[shape].leaves * shapes[shape].trees + shapes[shape].trees / 3 + 2; }
static int64_t nodes_of(size_t shape) {
    const int64_t most = shapes[shape].form == TEST_TREE_UNARY ? 3 : shapes[shape].leaves > 1 ? shapes[shape].leaves - 1 : 1;
    return (most + 1) * shapes[shape].trees + 2;
}

static size_t shape_of(const test_case_t *c) {
    for (size_t i = 0; i < BPT_COUNT(shapes); ++i)
        if (leaves_of(i) == bpt_shape_rows(&c->call.in[1].shape) && leaves_of(i) + nodes_of(i) == bpt_shape_rows(&c->call.in[0].shape) &&
            shapes[i].head_dim == c->call.attrs.tree_values.head_dim)
            return i;
    abort();
}

static void prepare(const test_case_t *c, void *const in[]) {
    const size_t shape = shape_of(c);
    const test_tree_form_t form = shapes[shape].form;
    uint32_t *links = in[4], *trees = in[5], leaf = 0;
    test_trees_t m = {.links = links, .leaves = (uint32_t)leaves_of(shape), .seed = (uint32_t)shape + 7};
    for (int64_t r = 0; r < leaves_of(shape) + nodes_of(shape); ++r) links[3 * r] = BPT_NO_ROW, links[3 * r + 1] = links[3 * r + 2] = 0;
    for (int64_t s = 0; s < shapes[shape].trees; ++s) {
        const bool last = s == shapes[shape].trees - 1;
        if (s % 3 == 2) ++leaf;
        uint32_t *tree = trees + 4 * s;
        tree[0] = leaf, tree[1] = leaf + (last ? 1 : (uint32_t)shapes[shape].leaves);
        tree[2] = m.leaves + m.nodes;
        test_tree_add(&m, form, tree[0], tree[1]);
        tree[3] = m.leaves + m.nodes;
        leaf = tree[1];
        if (s % 2) ++m.nodes;
    }
}

static void make(size_t index, test_case_t *c) {
    static const bpt_dtype_t types[TYPES] = {BPT_F32, BPT_BF16, BPT_F16};
    const size_t shape = index / (2 * TYPES);
    const bool gradient = index / TYPES % 2;
    const bpt_dtype_t type = types[index % TYPES];
    static const char *const names[] = {"flat", "left", "right", "balanced", "random", "unary"};
    const int64_t leaves = leaves_of(shape), rows = leaves + nodes_of(shape), half = shapes[shape].head_dim / 2;
    const int64_t width = shapes[shape].keys + (int64_t)shapes[shape].heads * shapes[shape].head_dim, v = shapes[shape].vertical,
                  x = shapes[shape].horizontal;
    test_case_init(c, gradient ? BPT_OP_TREE_VALUES_GRAD : BPT_OP_TREE_VALUES);
    test_case_name(c, "%s/%lldof%lld/%dx%d/%s", names[shapes[shape].form], (long long)shapes[shape].trees, (long long)shapes[shape].leaves,
                   shapes[shape].heads, shapes[shape].head_dim, bpt_dtype_name(type));
    c->call.attrs.tree_values = (bpt_tree_values_attrs_t){.heads = shapes[shape].heads,
                                                          .head_dim = shapes[shape].head_dim,
                                                          .counts_leaf = shapes[shape].counts_leaf,
                                                          .depth = shapes[shape].bounded ? shapes[shape].leaves + 3 : 0};
    c->prepare = prepare;
    test_in(c, 0, type, bpt_shape2(rows, width), TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, bpt_shape2(leaves, shapes[shape].heads), TEST_UNIFORM, -1, 1);
    if (v) test_in(c, 2, BPT_F32, bpt_shape2(v, half), TEST_UNIFORM, -1, 1);
    if (v) test_in(c, 3, BPT_F32, bpt_shape2(x, half), TEST_UNIFORM, -1, 1);
    test_in(c, 4, BPT_U32, bpt_shape2(rows, 3), TEST_PREPARED, 0, 0);
    test_in(c, 5, BPT_U32, bpt_shape2(shapes[shape].trees, 4), TEST_PREPARED, 0, 0);
    if (gradient) test_in(c, 6, type, bpt_shape2(rows, width), TEST_UNIFORM, -1, 1);
    test_out(c, 0, type, bpt_shape2(rows, width));
    if (gradient) test_out(c, 1, BPT_F32, bpt_shape2(leaves, shapes[shape].heads));
    if (gradient && v) test_out(c, 2, BPT_F32, bpt_shape2(v, half));
    if (gradient && v) test_out(c, 3, BPT_F32, bpt_shape2(x, half));
    c->tolerance = 8 + test_sum_tolerance(shapes[shape].leaves + shapes[shape].head_dim);
    c->more[2] = c->more[3] = test_sum_tolerance(leaves);
}

const test_family_t test_tree_cases = {"tree", count, make};
