// The oracle's values: small results worked out by hand or by another route, and calls that the contract refuses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/rng.h"
#include "support/attention.h"

static void assert_near(double got, double want) {
    if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want)))) fail_msg("got %.9g, expected %.9g", got, want);
}

static void put(void *data, int n, const float *values) { memcpy(data, values, (size_t)n * sizeof *values); }

static void product_of_two_matrices(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_MATMUL);
    c.call.attrs.matmul.transpose_b = true;
    test_in(&c, 0, BPT_F32, bpt_shape2(2, 2), TEST_PREPARED, 0, 0);
    test_in(&c, 1, BPT_F32, bpt_shape2(2, 2), TEST_PREPARED, 0, 0);
    test_in(&c, 3, BPT_F32, bpt_shape1(2), TEST_PREPARED, 0, 0);
    test_out(&c, 0, BPT_F32, bpt_shape2(2, 2));
    test_data_create(&c, &data);
    put(data.in[0], 4, (const float[]){1, 2, 3, 4});
    put(data.in[1], 4, (const float[]){5, 6, 7, 8});
    put(data.in[3], 2, (const float[]){100, 200});
    test_must_execute(test_ref_device(), &c, &data);
    assert_memory_equal(data.out[0], ((const float[]){117, 223, 139, 253}), 16);
    test_data_destroy(&data);
}

static void layernorm_of_one_row(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_LAYERNORM);
    c.call.attrs.layernorm.eps = 1;
    for (int i = 0; i < 4; ++i) test_in(&c, i, BPT_F32, i < 2 ? bpt_shape2(1, 4) : bpt_shape1(4), TEST_PREPARED, 0, 0);
    for (int i = 0; i < 3; ++i) test_out(&c, i, BPT_F32, i < 2 ? bpt_shape2(1, 4) : bpt_shape2(1, 2));
    test_data_create(&c, &data);
    put(data.in[0], 4, (const float[]){1, 1, 2, 2});
    put(data.in[1], 4, (const float[]){0, 4, 1, 5});  // z = 1 5 3 7: mean 4, variance 5
    put(data.in[2], 4, (const float[]){1, 1, 2, 1});
    put(data.in[3], 4, (const float[]){0, 0, 0, 10});
    test_must_execute(test_ref_device(), &c, &data);
    const float *y = data.out[0], *stats = data.out[2];
    assert_near((double)y[0], -3 / sqrt(6));
    assert_near((double)y[1], 1 / sqrt(6));
    assert_near((double)y[2], -2 / sqrt(6));
    assert_near((double)y[3], 10 + 3 / sqrt(6));
    assert_near((double)stats[0], 4);
    assert_near((double)stats[1], 1 / sqrt(6));
    test_data_destroy(&data);
}

// Two heads of two pairs each, and a column that stays: pair 0 by a quarter of a turn, pair 1 by the angle of (0.6, 0.8).
static void rotary_of_one_row(void **state) {
    (void)state;
    for (int inverse = 0; inverse < 2; ++inverse) {
        test_case_t c;
        test_data_t data;
        test_case_init(&c, BPT_OP_ROTARY);
        c.call.attrs.rotary = (bpt_rotary_attrs_t){.head_dim = 4, .columns = 8, .inverse = inverse};
        test_in(&c, 0, BPT_F32, bpt_shape2(1, 9), TEST_PREPARED, 0, 0);
        test_in(&c, 1, BPT_F32, bpt_shape2(1, 4), TEST_PREPARED, 0, 0);
        test_out(&c, 0, BPT_F32, bpt_shape2(1, 9));
        test_data_create(&c, &data);
        put(data.in[0], 9, (const float[]){1, 10, 2, 0, 3, 0, 4, 5, 7});
        put(data.in[1], 4, (const float[]){0, 0.6f, 1, 0.8f});
        test_must_execute(test_ref_device(), &c, &data);
        const float there[] = {-2, 6, 1, 8, -4, -4, 3, 3, 7}, back[] = {2, 6, -1, -8, 4, 4, -3, 3, 7};
        for (int i = 0; i < 9; ++i) assert_near((double)((const float *)data.out[0])[i], (double)(inverse ? back : there)[i]);
        test_data_destroy(&data);
    }
}

static void swish_of_some_numbers(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_POINTWISE);
    c.call.attrs.pointwise = (bpt_pointwise_attrs_t){.n_steps = 1, .step = {{BPT_POINTWISE_SWISH}}};
    test_in(&c, 0, BPT_F32, bpt_shape1(5), TEST_PREPARED, 0, 0);
    test_out(&c, 0, BPT_F32, bpt_shape1(5));
    test_data_create(&c, &data);
    put(data.in[0], 5, (const float[]){0, 1, -1, 20, -200});
    test_must_execute(test_ref_device(), &c, &data);
    const double expected[] = {0, 0.731058578630005, -0.268941421369995, 19.9999999587769, 0};
    for (int i = 0; i < 5; ++i) assert_near((double)((const float *)data.out[0])[i], expected[i]);
    test_data_destroy(&data);
}

static void rmsnorm_of_one_row(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_RMSNORM);
    c.call.attrs.layernorm.eps = 4;
    for (int i = 0; i < 3; ++i) test_in(&c, i, BPT_F32, i < 2 ? bpt_shape2(1, 4) : bpt_shape1(4), TEST_PREPARED, 0, 0);
    for (int i = 0; i < 3; ++i) test_out(&c, i, BPT_F32, i < 2 ? bpt_shape2(1, 4) : bpt_shape2(1, 2));
    test_data_create(&c, &data);
    put(data.in[0], 4, (const float[]){1, 1, 2, 2});
    put(data.in[1], 4, (const float[]){0, 4, 1, 5});  // z = 1 5 3 7: mean of the squares 21
    put(data.in[2], 4, (const float[]){1, 1, 2, 1});
    test_must_execute(test_ref_device(), &c, &data);
    const float *y = data.out[0], *stats = data.out[2];
    assert_near((double)y[0], 0.2);
    assert_near((double)y[1], 1);
    assert_near((double)y[2], 1.2);
    assert_near((double)y[3], 1.4);
    assert_near((double)stats[0], 0);
    assert_near((double)stats[1], 0.2);
    test_data_destroy(&data);
}

static void cross_entropy_of_equal_logits_is_log_of_the_vocabulary(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_XENT_GRAD);
    test_in(&c, 0, BPT_F32, bpt_shape2(3, 2), TEST_PREPARED, 0, 0);
    test_in(&c, 1, BPT_F32, bpt_shape2(5, 2), TEST_UNIFORM, -1, 1);
    test_in(&c, 2, BPT_F32, bpt_shape1(5), TEST_CONSTANT, 0.5, 0);
    test_in(&c, 3, BPT_U32, bpt_shape1(3), TEST_CONSTANT, 2, 0);
    test_in(&c, 4, BPT_F32, bpt_shape1(3), TEST_PREPARED, 0, 0);
    test_in(&c, 5, BPT_F32, bpt_shape1(1), TEST_CONSTANT, 2, 0);
    test_out(&c, 0, BPT_F32, bpt_shape1(1));
    test_out(&c, 1, BPT_F32, bpt_shape1(3));
    test_out(&c, 2, BPT_F32, bpt_shape2(3, 2));
    test_out(&c, 3, BPT_F32, bpt_shape2(5, 2));
    test_out(&c, 4, BPT_F32, bpt_shape1(5));
    test_data_create(&c, &data);
    put(data.in[4], 3, (const float[]){1, 0, 0.5f});
    test_must_execute(test_ref_device(), &c, &data);
    const float *nll = data.out[1], *db = data.out[4];
    assert_near((double)*(float *)data.out[0], 1.5 * log(5));
    assert_near((double)nll[0], log(5));
    assert_near((double)nll[1], 0);
    assert_near((double)nll[2], log(5));
    for (int v = 0; v < 5; ++v) assert_near((double)db[v], 2 * 1.5 * (0.2 - (v == 2)));
    test_data_destroy(&data);
}

// Two rows of three classes that all have the same logits: a third each, whatever is wanted. With logits 0, 0, 3 and a target of 0, by
// hand.
static void smoothed_cross_entropy_by_hand(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_XENT_GRAD);
    c.call.attrs.xent.smoothing = 0.2f;
    test_in(&c, 0, BPT_F32, bpt_shape2(2, 1), TEST_PREPARED, 0, 0);
    test_in(&c, 1, BPT_F32, bpt_shape2(3, 1), TEST_PREPARED, 0, 0);
    test_in(&c, 3, BPT_U32, bpt_shape1(2), TEST_CONSTANT, 0, 0);
    test_in(&c, 4, BPT_F32, bpt_shape1(2), TEST_CONSTANT, 1, 0);
    test_in(&c, 5, BPT_F32, bpt_shape1(1), TEST_CONSTANT, 1, 0);
    test_out(&c, 0, BPT_F32, bpt_shape1(1));
    test_out(&c, 1, BPT_F32, bpt_shape1(2));
    test_out(&c, 2, BPT_F32, bpt_shape2(2, 1));
    test_out(&c, 3, BPT_F32, bpt_shape2(3, 1));
    test_data_create(&c, &data);
    put(data.in[0], 2, (const float[]){0, 1});
    put(data.in[1], 3, (const float[]){0, 0, 3});
    test_must_execute(test_ref_device(), &c, &data);
    const float *nll = data.out[1], *dh = data.out[2], *dw = data.out[3];
    const double sum = 2 + exp(3), lse = log(sum);
    assert_near((double)nll[0], log(3));
    assert_near((double)nll[1], lse);  // not smoothed
    assert_near((double)*(float *)data.out[0], log(3) + lse - 0.1 * 3);
    assert_near((double)dh[1], 3 * (exp(3) / sum - 0.1));
    assert_near((double)dw[0], 1 / sum - 0.8);
    assert_near((double)dw[1], 1 / sum - 0.1);
    test_data_destroy(&data);
}

// The largest stands in rows 2 and 3: the first one counts. An empty range gives 0 and names no row; what lies beyond the end is not there.
static void segments_by_hand(void **state) {
    (void)state;
    static const uint32_t ranges[4][2] = {{0, 2}, {3, 3}, {2, 4}, {4, 9}};
    static const float wanted[3][4] = {{3, 0, 10, 7}, {1.5f, 0, 5, 7}, {2, 0, 5, 7}};
    for (int kind = BPT_SEGMENT_SUM; kind <= BPT_SEGMENT_MAX; ++kind) {
        test_case_t c;
        test_data_t data;
        test_case_init(&c, BPT_OP_SEGMENT);
        c.call.attrs.segment = (bpt_segment_attrs_t){(bpt_segment_kind_t)kind, 5};
        test_in(&c, 0, BPT_F32, bpt_shape2(5, 1), TEST_PREPARED, 0, 0);
        test_in(&c, 1, BPT_U32, bpt_shape2(4, 2), TEST_PREPARED, 0, 0);
        test_out(&c, 0, BPT_F32, bpt_shape2(4, 1));
        if (kind == BPT_SEGMENT_MAX) test_out(&c, 1, BPT_U32, bpt_shape2(4, 1));
        test_data_create(&c, &data);
        put(data.in[0], 5, (const float[]){1, 2, 5, 5, 7});
        memcpy(data.in[1], ranges, sizeof ranges);
        test_must_execute(test_ref_device(), &c, &data);
        for (int i = 0; i < 4; ++i) assert_near((double)((float *)data.out[0])[i], (double)wanted[kind][i]);
        if (kind == BPT_SEGMENT_MAX) assert_memory_equal(data.out[1], ((const uint32_t[]){1, BPT_NO_ROW, 2, 4}), 4 * sizeof(uint32_t));
        test_data_destroy(&data);
    }
}

static void dropout_keeps_what_the_generator_says(void **state) {
    (void)state;
    enum { ROWS = 40, COLUMNS = 50 };
    test_case_t c;
    test_data_t data;
    int kept = 0;
    test_case_init(&c, BPT_OP_POINTWISE);
    c.call.attrs.pointwise = (bpt_pointwise_attrs_t){1, {{BPT_POINTWISE_DROPOUT, .c = 0.25f, .uid = 6}}};
    test_in(&c, 0, BPT_F32, bpt_shape2(ROWS, COLUMNS), TEST_CONSTANT, 3, 0);
    test_random(&c, ROWS);
    test_out(&c, 0, BPT_F32, bpt_shape2(ROWS, COLUMNS));
    test_data_create(&c, &data);
    test_must_execute(test_ref_device(), &c, &data);
    const uint32_t *keys = data.in[BPT_IN_ROW_KEYS], *rng = data.in[BPT_IN_RNG];
    for (uint32_t i = 0; i < ROWS * COLUMNS; ++i) {
        const uint32_t row = i / COLUMNS, bits = bpt_dropout_bits(i % COLUMNS, keys[2 * row], keys[2 * row + 1], 6 << 8, rng);
        assert_near((double)((float *)data.out[0])[i], bits < 16384 ? 0 : 4);
        kept += bits >= 16384;
    }
    assert_in_range(kept, 1400, 1600);  // 1500 expected, standard deviation 19
    test_data_destroy(&data);
}

static void adam_moves_by_the_learning_rate_at_first(void **state) {
    (void)state;
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_ADAM);
    c.call.attrs.adam = (bpt_adam_attrs_t){0.9f, 0.999f, 1e-8f, 0, 1, false};
    c.changed = 1u << 0 | 1u << 2 | 1u << 3;
    for (int i = 0; i < 4; ++i) test_in(&c, i, BPT_F32, bpt_shape1(2), TEST_PREPARED, 0, 0);
    test_in(&c, 4, BPT_F32, bpt_shape1(8), TEST_PREPARED, 0, 0);
    test_in(&c, 5, BPT_F32, bpt_shape1(1), TEST_CONSTANT, 25, 0);
    test_data_create(&c, &data);
    put(data.in[0], 2, (const float[]){1, 1});
    put(data.in[1], 2, (const float[]){3, -4});
    put(data.in[4], 5, (const float[]){0.01f, 1 - 0.9f, 1 - 0.999f, 1, 0.5f});  // norm 5 * 0.5: clipped by 1 / 2.5
    test_must_execute(test_ref_device(), &c, &data);
    const float *p = data.in[0], *m = data.in[2], *v = data.in[3];
    assert_near((double)p[0], 0.99);
    assert_near((double)p[1], 1.01);
    assert_near((double)m[0], 0.1 * 0.6);
    assert_near((double)v[1], 0.001 * 0.64);
    test_data_destroy(&data);
}

// Zero queries: every query takes the mean of the values of its keys, and log sum exp is the log of their number.
static void attention_without_queries_is_a_mean(void **state) {
    (void)state;
    enum { N = 6, D = 2 };
    test_case_t c;
    test_data_t data;
    test_case_init(&c, BPT_OP_ATTENTION);
    c.call.attrs.attention = (bpt_attention_attrs_t){
        .graph = {.kind = BPT_INTERVALS_DENSE, .causal = true, .root = true, .n = N}, .batch = 1, .heads = 1, .head_dim = D, .scale = 1};
    test_in(&c, 0, BPT_F32, bpt_shape2(N + 1, D), TEST_PREPARED, 0, 0);
    test_in(&c, 1, BPT_F32, bpt_shape2(N + 1, 2 * D), TEST_UNIFORM, -1, 1);
    test_in(&c, 3, BPT_U32, bpt_shape1(1), TEST_CONSTANT, 5, 0);
    test_out(&c, 0, BPT_F32, bpt_shape2(N + 1, D));
    test_out(&c, 1, BPT_F32, bpt_shape2(N + 1, 1));
    test_data_create(&c, &data);
    test_must_execute(test_ref_device(), &c, &data);
    const float *kv = data.in[1], *out = data.out[0], *lse = data.out[1];
    for (int q = 0; q <= N; ++q) {
        const int n_keys = q < 5 ? q + 1 : q == N ? 5 : 0;  // leaf 5 does not exist; the root reads all five leaves
        for (int d = 0; d < D; ++d) {
            double mean = 0;
            for (int key = 0; key < n_keys; ++key) mean += (double)kv[key * 2 * D + D + d] / n_keys;
            assert_near((double)out[q * D + d], mean);
        }
        assert_near((double)lse[q], n_keys ? log(n_keys) : 0);
    }
    test_data_destroy(&data);
}

// The same graph as index arithmetic and as an explicit table: the same bits.
static void a_graph_and_its_table_agree(void **state) {
    (void)state;
    enum { MAX_TABLE_SLOTS = BPT_MAX_SLOTS };
    const bpt_intervals_t graphs[] = {
        {.kind = BPT_INTERVALS_BPT, .k = 2, .n = 29, .rel_levels = 4},
        {.kind = BPT_INTERVALS_BPT, .k = 1, .n = 33, .rel_levels = 6, .reference_rule = true},
        {.kind = BPT_INTERVALS_SEGTREE, .n = 21, .rel_levels = 5, .span_self = true},
        {.kind = BPT_INTERVALS_WINDOW, .n = 17, .window = 3, .rel_levels = 3, .root = true},
    };
    for (size_t i = 0; i < BPT_COUNT(graphs); ++i) {
        const int64_t rows = bpt_node_count(&graphs[i]);
        test_case_t c, t;
        test_data_t data, table;
        test_case_init(&c, BPT_OP_ATTENTION);
        c.call.attrs.attention = (bpt_attention_attrs_t){.graph = graphs[i], .batch = 1, .heads = 2, .head_dim = 3, .scale = 0.5f};
        test_in(&c, 0, BPT_F32, bpt_shape2(rows, 6), TEST_UNIFORM, -2, 2);
        test_in(&c, 1, BPT_F32, bpt_shape2(rows, 12), TEST_UNIFORM, -2, 2);
        test_in(&c, 2, BPT_F32, bpt_shape2(bpt_rel_rows(&graphs[i]), 3), TEST_UNIFORM, -2, 2);
        test_out(&c, 0, BPT_F32, bpt_shape2(rows, 6));
        t = c;
        t.call.attrs.attention.graph = (bpt_intervals_t){.kind = BPT_INTERVALS_TABLE, .n = rows};
        test_in(&c, 3, BPT_U32, bpt_shape1(1), TEST_CONSTANT, (double)graphs[i].n, 0);
        test_in(&t, 6, BPT_U32, (bpt_shape_t){3, {rows, MAX_TABLE_SLOTS, 4}}, TEST_PREPARED, 0, 0);
        test_data_create(&c, &data);
        test_data_create(&t, &table);
        for (int64_t q = 0; q < rows; ++q) {
            bpt_slot_t slots[BPT_MAX_SLOTS];
            const int n_slots = bpt_intervals_keys(&graphs[i], graphs[i].n, q, slots);
            uint32_t *entry = (uint32_t *)table.in[6] + q * MAX_TABLE_SLOTS * 4;
            for (int s = 0; s < n_slots; ++s, entry += 4)
                entry[0] = (uint32_t)slots[s].begin, entry[1] = (uint32_t)slots[s].end, entry[2] = (uint32_t)slots[s].rel_row,
                entry[3] = (uint32_t)slots[s].rel_step;
        }
        test_must_execute(test_ref_device(), &c, &data);
        test_must_execute(test_ref_device(), &t, &table);
        assert_memory_equal(data.out[0], table.out[0], test_operand_bytes(&c.call.out[0]));
        test_data_destroy(&data), test_data_destroy(&table);
    }
}

// The gradient too, with dropout: by the rule's formulas of who reads a key, and by the transposed table. Keys are met in another order.
static void a_graph_and_its_table_have_the_same_gradient(void **state) {
    (void)state;
    const bpt_intervals_t graphs[] = {
        {.kind = BPT_INTERVALS_BPT, .k = 2, .n = 29},
        {.kind = BPT_INTERVALS_SEGTREE, .n = 21, .span_self = true},
        {.kind = BPT_INTERVALS_DENSE, .n = 19, .causal = true},
        {.kind = BPT_INTERVALS_DENSE, .n = 9},
    };
    for (size_t i = 0; i < BPT_COUNT(graphs); ++i) {
        const int64_t rows = bpt_node_count(&graphs[i]);
        test_case_t c, t;
        test_data_t data, table;
        test_case_init(&c, BPT_OP_ATTENTION_GRAD);
        c.call.attrs.attention =
            (bpt_attention_attrs_t){.graph = graphs[i], .batch = 1, .heads = 2, .head_dim = 3, .scale = 0.5f, .p = 0.25f, .uid = 3};
        test_in(&c, 0, BPT_F32, bpt_shape2(rows, 6), TEST_UNIFORM, -2, 2);
        test_in(&c, 1, BPT_F32, bpt_shape2(rows, 12), TEST_UNIFORM, -2, 2);
        test_in(&c, 4, BPT_U32, bpt_shape2(rows, 2), TEST_ROW_KEYS, 0, 0);
        test_in(&c, 5, BPT_U32, bpt_shape1(2), TEST_RNG, 0, 0);
        test_in(&c, 7, BPT_F32, bpt_shape2(rows, 6), TEST_UNIFORM, -2, 2);
        test_in(&c, 8, BPT_F32, bpt_shape2(rows, 6), TEST_UNIFORM, -2, 2);
        test_in(&c, 9, BPT_F32, bpt_shape2(rows, 2), TEST_UNIFORM, 1, 2);
        test_out(&c, 0, BPT_F32, bpt_shape2(rows, 6));
        test_out(&c, 1, BPT_F32, bpt_shape2(rows, 12));
        t = c;
        t.call.attrs.attention.graph = (bpt_intervals_t){.kind = BPT_INTERVALS_TABLE, .n = rows};
        test_in(&c, 3, BPT_U32, bpt_shape1(1), TEST_CONSTANT, (double)graphs[i].n, 0);
        test_in(&t, 6, BPT_U32, (bpt_shape_t){3, {rows, BPT_MAX_SLOTS, 4}}, TEST_PREPARED, 0, 0);
        test_in(&t, 10, BPT_U32, (bpt_shape_t){3, {rows, BPT_MAX_SLOTS, 2}}, TEST_PREPARED, 0, 0);
        test_in(&t, 11, BPT_U32, bpt_shape1(rows), TEST_PREPARED, 0, 0);
        test_data_create(&c, &data);
        test_data_create(&t, &table);
        for (int64_t q = 0; q < rows; ++q) {
            bpt_slot_t slots[BPT_MAX_SLOTS];
            const int n_slots = bpt_intervals_keys(&graphs[i], graphs[i].n, q, slots);
            for (int s = 0; s < n_slots; ++s) {
                uint32_t *entry = (uint32_t *)table.in[6] + (q * BPT_MAX_SLOTS + s) * 4;
                entry[0] = (uint32_t)slots[s].begin, entry[1] = (uint32_t)slots[s].end, entry[2] = BPT_NO_ROW;
            }
            ((uint32_t *)table.in[11])[q] = ((const uint32_t *)table.in[4])[2 * q];
        }
        assert_int_equal(bpt_lists_transposed(&(bpt_lists_t){rows, rows, BPT_MAX_SLOTS, BPT_MAX_SLOTS, table.in[6], table.in[10]}), BPT_OK);
        test_must_execute(test_ref_device(), &c, &data);
        test_must_execute(test_ref_device(), &t, &table);
        for (int o = 0; o < 2; ++o)
            for (int64_t j = 0; j < bpt_shape_count(&c.call.out[o].shape); ++j)
                assert_near((double)((const float *)table.out[o])[j], (double)((const float *)data.out[o])[j]);
        test_data_destroy(&data);
        test_data_destroy(&table);
    }
}

// ---- Calls that are refused ------------------------------------------------------------------------------------------

static void assert_refused(const bpt_op_call_t *call, const char *part_of_message) {
    bpt_device_t *device = test_ref_device();
    size_t scratch;
    assert_int_equal(device->backend->op(device, call, NULL, &scratch), BPT_ERR_INTERNAL);
    if (!strstr(bpt_error_message(), part_of_message))
        fail_msg("the message \"%s\" does not say \"%s\"", bpt_error_message(), part_of_message);
}

static void wrong_calls_are_refused_with_the_operand_named(void **state) {
    (void)state;
    test_case_t good, c;
    test_matmul_cases.make(4 * 5, &good);  // 129 x 33 x 127
    c = good, c.call.in[1].present = false;
    assert_refused(&c.call, "matmul needs input 1 (b)");
    c = good, c.call.in[1].shape.dim[0] += 1;
    assert_refused(&c.call, "matmul input 1 (b) has shape");
    c = good, c.call.in[0].dtype = BPT_U32;
    assert_refused(&c.call, "matmul input 0 (a) has type u32; it must be f32, bf16 or f16");
    c = good, c.call.in[9] = c.call.in[0];
    assert_refused(&c.call, "matmul has no input 9");
    c = good, c.call.attrs.matmul.epilogue = (bpt_pointwise_attrs_t){1, {{BPT_POINTWISE_ADD, 1}}};
    assert_refused(&c.call, "holds no extra operand");
    c = good, c.call.attrs.matmul.epilogue = (bpt_pointwise_attrs_t){1, {{BPT_POINTWISE_DROPOUT, .c = 1}}};
    assert_refused(&c.call, "dropout rate");
    test_rows_cases.make(3, &good);
    c = good, c.call.attrs.rows.row = 1;
    assert_refused(&c.call, "outside");
    test_xent_cases.make(2, &good);  // one class
    c = good, c.call.attrs.xent.smoothing = 0.1f;
    assert_refused(&c.call, "two classes");
    c = good, c.call.attrs.xent.smoothing = 1;
    assert_refused(&c.call, "[0, 1)");
    test_segment_cases.make(4, &good);
    c = good, c.call.in[1].shape.dim[1] = 3;
    assert_refused(&c.call, "segment input 1 (ranges) has shape");
    test_attention_cases.make(0, &good);
    c = good, c.call.attrs.attention.packed = true, c.call.attrs.attention.queries = BPT_QUERIES_ROOTS;
    assert_refused(&c.call, "a query for every key row");
    test_attention_table_cases.make(test_attention_table_cases.count() - 1, &good);
    c = good, c.call.in[10].present = false;
    assert_refused(&c.call, "attention_grad needs input 10 (back)");
    c = good, c.call.in[10].shape.dim[0] -= 1;
    assert_refused(&c.call, "attention_grad input 10 (back) must be u32 [257, slots, 2]");
    c = good, c.call.attrs.attention.p = 0.5f;
    assert_refused(&c.call, "attention_grad needs input 4 (row_keys)");
    c = good, c.call.attrs.attention.bounds.keys.light = 258;
    assert_refused(&c.call, "nor have more light rows than there are");
    c = good, c.call.attrs.attention.bounds.queries.edges = -1;
    assert_refused(&c.call, "bounds of a table must not be negative");
    c = good, c.call.op = (bpt_op_t)99;
    assert_refused(&c.call, "99");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_of_two_matrices),
        cmocka_unit_test(layernorm_of_one_row),
        cmocka_unit_test(rmsnorm_of_one_row),
        cmocka_unit_test(rotary_of_one_row),
        cmocka_unit_test(swish_of_some_numbers),
        cmocka_unit_test(cross_entropy_of_equal_logits_is_log_of_the_vocabulary),
        cmocka_unit_test(smoothed_cross_entropy_by_hand),
        cmocka_unit_test(segments_by_hand),
        cmocka_unit_test(dropout_keeps_what_the_generator_says),
        cmocka_unit_test(adam_moves_by_the_learning_rate_at_first),
        cmocka_unit_test(attention_without_queries_is_a_mean),
        cmocka_unit_test(a_graph_and_its_table_agree),
        cmocka_unit_test(a_graph_and_its_table_have_the_same_gradient),
        cmocka_unit_test(wrong_calls_are_refused_with_the_operand_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
