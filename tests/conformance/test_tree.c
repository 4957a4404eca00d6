// Hierarchical accumulation against the paper's own formulation (Nguyen et al. 2020, section 4.1), which keeps a value for every pair of
// node and leaf: interpolation, upward cumulative average, weighted aggregation. And an example that was worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/execute.h"
#include "support/trees.h"

enum {
    HEADS = 2,
    HEAD_DIM = 4,
    HALF = HEAD_DIM / 2,
    COLUMNS = HEADS * HEAD_DIM,
    KEYS = 3,
    WIDTH = KEYS + COLUMNS,
    VERTICAL = 12,
    HORIZONTAL = 20
};

static test_tree_form_t form;
static uint32_t seed;

static void make_tree(const test_case_t *c, void *const in[]) {
    test_trees_t t = {.links = in[4], .leaves = (uint32_t)bpt_shape_rows(&c->call.in[1].shape), .seed = seed};
    uint32_t *tree = in[5];
    test_tree_add(&t, form, 0, t.leaves);
    tree[0] = 0, tree[1] = t.leaves, tree[2] = t.leaves, tree[3] = t.leaves + t.nodes;
}

static int64_t nodes_of(int64_t leaves) { return form == TEST_TREE_UNARY ? 3 : leaves > 1 ? leaves - 1 : 1; }

static test_case_t case_of(int64_t leaves, bool tables, bool counts_leaf) {
    test_case_t c;
    const int64_t rows = leaves + nodes_of(leaves);
    test_case_init(&c, BPT_OP_TREE_VALUES);
    test_case_name(&c, "form %d, %lld leaves", (int)form, (long long)leaves);
    c.call.attrs.tree_values = (bpt_tree_values_attrs_t){.heads = HEADS, .head_dim = HEAD_DIM, .counts_leaf = counts_leaf};
    c.prepare = make_tree;
    test_in(&c, 0, BPT_F32, bpt_shape2(rows, WIDTH), TEST_UNIFORM, -1, 1);
    test_in(&c, 1, BPT_F32, bpt_shape2(leaves, HEADS), TEST_UNIFORM, -1, 1);
    if (tables) test_in(&c, 2, BPT_F32, bpt_shape2(VERTICAL, HALF), TEST_UNIFORM, -1, 1);
    if (tables) test_in(&c, 3, BPT_F32, bpt_shape2(HORIZONTAL, HALF), TEST_UNIFORM, -1, 1);
    test_in(&c, 4, BPT_U32, bpt_shape2(rows, 3), TEST_PREPARED, 0, 0);
    test_in(&c, 5, BPT_U32, bpt_shape2(1, 4), TEST_PREPARED, 0, 0);
    test_out(&c, 0, BPT_F32, bpt_shape2(rows, WIDTH));
    return c;
}

// ---- The paper's formulation, for one column
typedef struct {
    const test_data_t *data;
    int64_t leaves, nodes, column;
    bool counts_leaf;
} dense_t;

static const uint32_t *span(const dense_t *d, int64_t node) { return (const uint32_t *)d->data->in[4] + 3 * (d->leaves + node) + 1; }
static bool covers(const dense_t *d, int64_t node, int64_t leaf) { return leaf >= span(d, node)[0] && leaf < span(d, node)[1]; }
// In post-order the nodes below a node are those before it whose leaves are among its own.
static bool below(const dense_t *d, int64_t low, int64_t node) {
    return low <= node && span(d, low)[0] >= span(d, node)[0] && span(d, low)[1] <= span(d, node)[1];
}
static double value(const dense_t *d, int64_t row) { return (double)((const float *)d->data->in[0])[row * WIDTH + KEYS + d->column]; }

static double embedding(const dense_t *d, int64_t node, int64_t leaf) {
    const int64_t place = d->column % HEAD_DIM;
    if (!d->data->in[2]) return 0;
    int64_t row = 0;
    if (place >= HALF)
        row = leaf - span(d, node)[0] + 1;
    else
        for (int64_t t = 0; t < d->nodes; ++t) row += covers(d, t, leaf) && below(d, t, node);
    const int64_t most = place < HALF ? VERTICAL : HORIZONTAL;
    return (double)((const float *)d->data->in[place < HALF ? 2 : 3])[((row < most ? row : most) - 1) * HALF + place % HALF];
}

// S [nodes, leaves], then its upward average.
static void interpolate(const dense_t *d, double *s) {
    for (int64_t i = 0; i < d->nodes; ++i)
        for (int64_t j = 0; j < d->leaves; ++j) s[i * d->leaves + j] = covers(d, i, j) ? value(d, d->leaves + i) + embedding(d, i, j) : 0;
}

static double accumulated(const dense_t *d, const double *s, int64_t node) {
    double sum = 0;
    for (int64_t j = span(d, node)[0]; j < span(d, node)[1]; ++j) {
        double branch = value(d, j);
        int64_t count = d->counts_leaf;
        for (int64_t t = 0; t <= node; ++t)
            if (covers(d, t, j) && below(d, t, node)) branch += s[t * d->leaves + j], ++count;
        sum += (double)((const float *)d->data->in[1])[j * HEADS + d->column / HEAD_DIM] * branch / (double)count;
    }
    return sum / (double)(span(d, node)[1] - span(d, node)[0]);
}

static void check_against_dense(bpt_device_t *device, int64_t leaves, bool tables, bool counts_leaf, int64_t column_step) {
    const test_case_t c = case_of(leaves, tables, counts_leaf);
    test_data_t data;
    test_data_create(&c, &data);
    test_must_execute(device, &c, &data);
    const uint32_t *tree = data.in[5];
    dense_t d = {.data = &data, .leaves = leaves, .nodes = tree[3] - tree[2], .counts_leaf = counts_leaf};
    double *s = malloc((size_t)(d.nodes * leaves) * sizeof *s);
    assert_non_null(s);
    for (d.column = seed % column_step; d.column < COLUMNS; d.column += column_step) {
        interpolate(&d, s);
        for (int64_t i = 0; i < d.nodes; ++i) {
            const double want = accumulated(&d, s, i), got = (double)((float *)data.out[0])[(leaves + i) * WIDTH + KEYS + d.column];
            if (!(fabs(got - want) <= 2e-6)) fail_msg("%s: node %lld has %.8g, wanted %.8g", c.name, (long long)i, got, want);
        }
    }
    free(s);
    test_data_destroy(&data);
}

static void accumulation_is_that_of_the_dense_definition_on_1000_trees(void **state) {
    (void)state;
    bpt_device_t *cpu = NULL;
    assert_int_equal(bpt_backend_find("cpu")->open(0, &(bpt_device_options_t){0}, &cpu), BPT_OK);
    for (uint32_t i = 0; i < 1000; ++i) {
        seed = i;
        form = (test_tree_form_t)(i % 6);
        const int64_t leaves = 1 + (i * 7 + i / 6) % 40;
        check_against_dense(i % 2 ? cpu : test_ref_device(), leaves, i % 3 != 0, i % 5 != 0, 1);
    }
    for (int f = 0; f < 6; ++f) {  // 500 leaves; the chains are 499 nodes deep
        form = (test_tree_form_t)f, seed = (uint32_t)f;
        check_against_dense(cpu, 500, form != TEST_TREE_LEFT && form != TEST_TREE_RIGHT, true, 8);
        check_against_dense(cpu, 80, true, false, 2);
    }
    cpu->backend->close(cpu);
}

// (ROOT (S (X a) (VP (P b) (NP (Q c))))): leaves a b c, nodes VP over b c and S over all.
static void a_small_tree_has_the_values_worked_out_by_hand(void **state) {
    (void)state;
    static const float kv[] = {1, 0, 0, 1, 1, 1, 2, 0, 0, 4}, weight[] = {1, 1, 2};
    static const uint32_t links[] = {4, 0, 0, 3, 0, 0, 3, 0, 0, 4, 1, 3, BPT_NO_ROW, 0, 3}, tree[] = {0, 3, 3, 5};
    static const struct {
        bool counts_leaf, tables;
        double want[4];  // VP, S
    } known[] = {
        {true, false, {2, 0.75, 19.0 / 18, 7.0 / 3}},
        {false, false, {4, 1.5, 5.0 / 3, 23.0 / 6}},
        {true, true, {2.075, 0.7625, 1.1722222222, 2.3494444444}},
    };
    for (size_t k = 0; k < BPT_COUNT(known); ++k) {
        test_case_t c;
        test_data_t data;
        test_case_init(&c, BPT_OP_TREE_VALUES);
        c.call.attrs.tree_values = (bpt_tree_values_attrs_t){.heads = 1, .head_dim = 2, .counts_leaf = known[k].counts_leaf};
        test_in(&c, 0, BPT_F32, bpt_shape2(5, 2), TEST_CONSTANT, 0, 0);
        test_in(&c, 1, BPT_F32, bpt_shape2(3, 1), TEST_CONSTANT, 0, 0);
        for (int i = 2; i < 4 && known[k].tables; ++i) test_in(&c, i, BPT_F32, bpt_shape2(5, 1), TEST_CONSTANT, 0, 0);
        test_in(&c, 4, BPT_U32, bpt_shape2(5, 3), TEST_PREPARED, 0, 0);
        test_in(&c, 5, BPT_U32, bpt_shape2(1, 4), TEST_PREPARED, 0, 0);
        test_out(&c, 0, BPT_F32, bpt_shape2(5, 2));
        test_data_create(&c, &data);
        memcpy(data.in[0], kv, sizeof kv);
        memcpy(data.in[1], weight, sizeof weight);
        memcpy(data.in[4], links, sizeof links);
        memcpy(data.in[5], tree, sizeof tree);
        for (int i = 0; i < 5 && known[k].tables; ++i) {
            ((float *)data.in[2])[i] = (float)(i + 1) / 10;
            ((float *)data.in[3])[i] = (float)(i + 1) / 100;
        }
        test_must_execute(test_ref_device(), &c, &data);
        const float *out = data.out[0];
        assert_memory_equal(out, kv, 6 * sizeof *kv);
        for (int i = 0; i < 4; ++i) assert_true(fabs((double)out[6 + i] - known[k].want[i]) < 1e-6);
        test_data_destroy(&data);
    }
}

static void accumulation_has_the_same_bits_with_any_number_of_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < test_tree_cases.count(); i += 7) {
        test_case_t c;
        test_tree_cases.make(i, &c);
        test_same_bits_with_any_number_of_threads(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_tree_has_the_values_worked_out_by_hand),
        cmocka_unit_test(accumulation_is_that_of_the_dense_definition_on_1000_trees),
        cmocka_unit_test(accumulation_has_the_same_bits_with_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
