// bpt/attention.h: the op on arrays of the host, forward and backward, is the sum over the edges that the graph has, on every backend.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first.
#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/attention.h"
#include "bpt/backend.h"
#include "bpt/rng.h"
#include "support/check.h"
#include "support/support.h"

enum { MOST = 32768, B = 2, H = 3, D = 8 };

// ---- What is computed, edge by edge, in double

typedef struct {
    const char *name;
    bpt_attention_spec_t spec;
    const uint32_t *lengths;
    int64_t queries, keys, rel_rows;  // as the op says
} problem_t;

static float q[MOST], k[MOST], v[MOST], dout[MOST], rel[MOST];
static float out[MOST], lse[MOST], dq[MOST], dk[MOST], dv[MOST], drel[MOST];
static double wanted[5][MOST];  // out, dq, dk, dv, drel

static void fill(float *x, int seed) {
    for (int i = 0; i < MOST; ++i) x[i] = (float)((double)(bpt_mix64((uint64_t)(i + MOST * seed)) >> 40) / 0x1p23 - 1);
}

// The keys of a query with the rows of rel (-1: none), with repetitions. Returns their number.
static int edges_of(const problem_t *p, int64_t s, int64_t query, int64_t *key, int64_t *row) {
    const bpt_attention_table_t *t = p->spec.table;
    int count = 0;
    if (t) {
        const uint32_t *ranges = t->ranges + ((t->tables == 1 ? 0 : s) * t->queries + query) * t->slots * 4;
        for (int64_t i = 0; i < t->slots; ++i, ranges += 4)
            for (int64_t j = ranges[0]; j < ranges[1]; ++j, ++count)
                key[count] = j, row[count] = ranges[2] == UINT32_MAX ? -1 : ranges[2] + (j - ranges[0]) * (int32_t)ranges[3];
        return count;
    }
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int n = bpt_intervals_keys(&p->spec.graph, p->lengths ? p->lengths[s] : p->spec.graph.n, query, slots);
    for (int i = 0; i < n; ++i)
        for (int64_t j = slots[i].begin; j < slots[i].end; ++j, ++count)
            key[count] = j, row[count] = p->rel_rows ? slots[i].rel_row + (j - slots[i].begin) * slots[i].rel_step : -1;
    return count;
}

static size_t at(int64_t rows, int64_t s, int64_t i, int64_t h) { return (size_t)(((s * rows + i) * H + h) * D); }

static void attend(const problem_t *p, int64_t s, int64_t query, int64_t h, double scale) {
    static int64_t key[4096], row[4096];
    static double score[4096];
    const int count = edges_of(p, s, query, key, row);
    const size_t iq = at(p->queries, s, query, h);
    double largest = -INFINITY, sum = 0, mean = 0;
    for (int e = 0; e < count; ++e) {
        const float *x = k + at(p->keys, s, key[e], h), *r = row[e] >= 0 ? rel + row[e] * D : NULL;
        score[e] = 0;
        for (int c = 0; c < D; ++c) score[e] += scale * (double)q[iq + (size_t)c] * ((double)x[c] + (r ? (double)r[c] : 0));
        largest = fmax(largest, score[e]);
    }
    for (int e = 0; e < count; ++e) sum += exp(score[e] - largest);
    for (int e = 0; e < count; ++e) {
        const double share = exp(score[e] - largest) / sum;
        for (int c = 0; c < D; ++c) {
            wanted[0][iq + (size_t)c] += share * (double)v[at(p->keys, s, key[e], h) + (size_t)c];
            mean += share * (double)v[at(p->keys, s, key[e], h) + (size_t)c] * (double)dout[iq + (size_t)c];
        }
    }
    for (int e = 0; e < count; ++e) {
        const size_t ik = at(p->keys, s, key[e], h);
        const double share = exp(score[e] - largest) / sum;
        double dshare = 0;
        for (int c = 0; c < D; ++c) dshare += (double)v[ik + (size_t)c] * (double)dout[iq + (size_t)c];
        const double dscore = scale * share * (dshare - mean);
        for (int c = 0; c < D; ++c) {
            const double x = (double)k[ik + (size_t)c] + (row[e] >= 0 ? (double)rel[row[e] * D + c] : 0);
            wanted[1][iq + (size_t)c] += dscore * x;
            wanted[2][ik + (size_t)c] += dscore * (double)q[iq + (size_t)c];
            wanted[3][ik + (size_t)c] += share * (double)dout[iq + (size_t)c];
            if (row[e] >= 0) wanted[4][row[e] * D + c] += dscore * (double)q[iq + (size_t)c];
        }
    }
}

static void want(const problem_t *p) {
    memset(wanted, 0, sizeof wanted);
    for (int64_t s = 0; s < B; ++s)
        for (int64_t i = 0; i < p->queries; ++i)
            for (int64_t h = 0; h < H; ++h) attend(p, s, i, h, p->spec.scale != 0 ? (double)p->spec.scale : 1 / sqrt((double)D));
}

// ---- Comparison

static void expect_near(const problem_t *p, const char *backend, const char *what, const float *x, const double *y, int64_t count,
                        double allowed) {
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs((double)x[i] - y[i]) <= allowed))
            fail_msg("%s on %s: %s[%d] is %g, not %g", p->name, backend, what, (int)i, (double)x[i], y[i]);
}

static bpt_attention_array_t dense(float *x, int64_t rows) { return (bpt_attention_array_t){x, {rows * H * D, H * D, D}}; }

static void run(bpt_attention_op_t *op, const problem_t *p) {
    const bpt_attention_operands_t in = {
        .q = dense(q, p->queries), .k = dense(k, p->keys), .v = dense(v, p->keys), .rel = p->rel_rows ? rel : NULL, .lengths = p->lengths};
    const bpt_attention_array_t to = dense(out, p->queries), from = dense(dout, p->queries);
    const bpt_attention_gradients_t g = {
        .q = dense(dq, p->queries), .k = dense(dk, p->keys), .v = dense(dv, p->keys), .rel = p->rel_rows ? drel : NULL};
    assert_ok(bpt_attention_forward(op, &in, &to, lse));
    assert_ok(bpt_attention_backward(op, &in, &to, lse, &from, &g));
}

static bpt_device_t *open_device(const char *backend) {
    const bpt_attention_device_t options = {.version = BPT_ATTENTION_VERSION, .backend = backend, .threads = 2};
    bpt_device_t *device = NULL;
    assert_ok(bpt_attention_open_device(&options, &device));
    return device;
}

static void check_on(const char *backend, bpt_device_t *device, const problem_t *given) {
    problem_t p = *given;
    bpt_attention_op_t *op;
    assert_ok(bpt_attention_op_create(device, &p.spec, &op));
    p.queries = bpt_attention_op_queries(op), p.keys = bpt_attention_op_keys(op), p.rel_rows = bpt_attention_op_rel_rows(op);
    assert_true(B * p.keys * H * D <= MOST && B * p.queries * H * D <= MOST && p.rel_rows * D <= MOST);
    want(&p);
    for (int again = 0; again < 2; ++again) {  // the second time with what the first has left
        run(op, &p);
        expect_near(&p, backend, "out", out, wanted[0], B * p.queries * H * D, 2e-5);
        expect_near(&p, backend, "dq", dq, wanted[1], B * p.queries * H * D, 5e-5);
        expect_near(&p, backend, "dk", dk, wanted[2], B * p.keys * H * D, 2e-4);
        expect_near(&p, backend, "dv", dv, wanted[3], B * p.keys * H * D, 2e-4);
        expect_near(&p, backend, "drel", drel, wanted[4], p.rel_rows * D, 5e-4);
    }
    bpt_attention_op_destroy(op);
}

// ---- Problems

static const uint32_t some_ranges[] = {0, 3, UINT32_MAX, 0, 5, 7, UINT32_MAX, 0,   // query 0 reads keys 0 .. 2, 5, 6
                                       2, 2, UINT32_MAX, 0, 1, 2, UINT32_MAX, 0,   // query 1 reads key 1
                                       0, 0, UINT32_MAX, 0, 9, 9, UINT32_MAX, 0,   // query 2 reads nothing
                                       0, 9, UINT32_MAX, 0, 4, 6, UINT32_MAX, 0};  // query 3 reads all, and 4 and 5 twice
static const uint32_t relative_ranges[] = {0, 3, 1, 1, 5, 7, UINT32_MAX, 0, 4, 9, 4, (uint32_t)-1, 0, 1, 0, 0};
static const bpt_attention_table_t some = {.queries = 4, .keys = 9, .slots = 2, .tables = 1, .ranges = some_ranges},
                                   each = {.queries = 2, .keys = 9, .slots = 2, .tables = B, .ranges = some_ranges},
                                   relative = {.queries = 2, .keys = 9, .slots = 2, .tables = 1, .ranges = relative_ranges, .rel_rows = 5};
static const uint32_t short_lengths[B] = {37, 5};

#define SPEC .version = BPT_ATTENTION_VERSION, .dtype = BPT_F32, .batch = B, .heads = H, .head_dim = D
static const problem_t problems[] = {
    {.name = "bpt", .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_BPT, .k = 2, .n = 37}}},
    {.name = "bpt, causal, leaves, rel",
     .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_BPT, .causal = true, .k = 4, .n = 64, .rel_levels = 3}, .leaves = true, .scale = 0.5f}},
    {.name = "bpt, lengths",
     .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_BPT, .k = 2, .n = 37, .rel_levels = 4}},
     .lengths = short_lengths},
    {.name = "segtree", .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_SEGTREE, .n = 50, .span_self = true}}},
    {.name = "window", .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_WINDOW, .window = 3, .n = 70, .rel_levels = 3}}},
    {.name = "dense, root", .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_DENSE, .n = 20, .root = true}}},
    {.name = "sparse", .spec = {SPEC, .graph = {.kind = BPT_INTERVALS_SPARSE, .causal = true, .stride = 8, .tail = 2, .n = 60}}},
    {.name = "table", .spec = {SPEC, .table = &some}},
    {.name = "a table each", .spec = {SPEC, .table = &each}},
    {.name = "table, rel", .spec = {SPEC, .table = &relative}},
};

static void every_graph_on_every_backend(void **state) {
    (void)state;
    int devices = 0;
    for (int b = 0; bpt_backends[b]; ++b) {
        const char *only = getenv("BPT_CASE");  // a backend
        if (only && strcmp(only, bpt_backends[b]->name)) continue;
        if (!test_backend_usable(bpt_backends[b]->name)) continue;
        bpt_device_t *device = open_device(bpt_backends[b]->name);
        // Of GPUs, whose kernels take long to compile in software, one table: the rest is the conformance suite's.
        for (size_t i = 0; i < BPT_COUNT(problems); ++i)
            if (!bpt_backends[b]->gpu || problems[i].spec.table == &each) check_on(bpt_backends[b]->name, device, &problems[i]);
        bpt_attention_close_device(device);
        ++devices;
    }
    assert_true(devices >= (getenv("BPT_CASE") ? 1 : 2));  // ref and cpu are always there
}

// ---- Strides, types

static void heads_may_lie_before_rows(void **state) {
    (void)state;
    const problem_t *p = &problems[0];
    static float turned[4][MOST], back[4][MOST];
    bpt_device_t *device = open_device("cpu");
    bpt_attention_op_t *op;
    assert_ok(bpt_attention_op_create(device, &p->spec, &op));
    const int64_t r = bpt_attention_op_keys(op);
    problem_t same = *p;
    same.queries = same.keys = r;
    run(op, &same);
    float *const from[4] = {q, k, v, dout};
    for (int x = 0; x < 4; ++x)
        for (int64_t s = 0; s < B; ++s)
            for (int64_t i = 0; i < r; ++i)
                for (int64_t h = 0; h < H; ++h) memcpy(&turned[x][((s * H + h) * r + i) * D], &from[x][at(r, s, i, h)], D * sizeof(float));
    const int64_t stride[3] = {H * r * D, D, r * D};
    bpt_attention_array_t array[4], result[4];
    for (int x = 0; x < 4; ++x) {
        array[x].data = turned[x], result[x].data = back[x];
        memcpy(array[x].stride, stride, sizeof stride), memcpy(result[x].stride, stride, sizeof stride);
    }
    const bpt_attention_operands_t in = {.q = array[0], .k = array[1], .v = array[2]};
    const bpt_attention_gradients_t g = {.q = result[1], .k = result[2], .v = result[3]};
    assert_ok(bpt_attention_forward(op, &in, &result[0], lse));
    assert_ok(bpt_attention_backward(op, &in, &result[0], lse, &array[3], &g));
    const float *const plain[4] = {out, dq, dk, dv};
    for (int x = 0; x < 4; ++x)
        for (int64_t s = 0; s < B; ++s)
            for (int64_t i = 0; i < r; ++i)
                for (int64_t h = 0; h < H; ++h)
                    assert_memory_equal(&back[x][((s * H + h) * r + i) * D], &plain[x][at(r, s, i, h)], D * sizeof(float));
    bpt_attention_op_destroy(op);
    bpt_attention_close_device(device);
}

static void sixteen_bits(void **state) {
    (void)state;
    static uint16_t low[4][MOST];
    problem_t p = problems[0];
    bpt_device_t *device = open_device("cpu");
    bpt_attention_op_t *op;
    float *const from[4] = {q, k, v, dout};
    p.spec.dtype = BPT_BF16;
    for (int x = 0; x < 3; ++x)
        for (int i = 0; i < MOST; ++i) low[x][i] = bpt_to_bf16(from[x][i]), from[x][i] = bpt_from_bf16(low[x][i]);
    assert_ok(bpt_attention_op_create(device, &p.spec, &op));
    p.queries = p.keys = bpt_attention_op_keys(op);
    want(&p);
    bpt_attention_array_t array[4];
    for (int x = 0; x < 4; ++x) array[x] = (bpt_attention_array_t){low[x], {p.keys * H * D, H * D, D}};
    const bpt_attention_operands_t in = {.q = array[0], .k = array[1], .v = array[2]};
    assert_ok(bpt_attention_forward(op, &in, &array[3], NULL));
    for (int64_t i = 0; i < B * p.queries * H * D; ++i) out[i] = bpt_from_bf16(low[3][i]);
    expect_near(&p, "cpu", "out", out, wanted[0], B * p.queries * H * D, 0.01);
    bpt_attention_op_destroy(op);
    bpt_attention_close_device(device);
    fill(q, 0), fill(k, 1), fill(v, 2);
}

// ---- Wrong use

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    bpt_device_t *device = open_device("cpu"), *none = NULL;
    bpt_attention_op_t *op = NULL;
    const bpt_attention_device_t unknown = {.version = BPT_ATTENTION_VERSION, .backend = "abacus"}, old = {.version = 0, .backend = "cpu"};
    assert_fails(bpt_attention_open_device(&unknown, &none), BPT_ERR_UNAVAILABLE, "abacus is not built into this library");
    assert_fails(bpt_attention_open_device(&old, &none), BPT_ERR_USAGE, "version 0");
    bpt_attention_spec_t s = problems[0].spec;
    s.graph.k = 0;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "k");
    s = problems[0].spec, s.heads = 0;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "0 heads");
    s = problems[0].spec, s.batch = (int64_t)1 << 40;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "more than 2^31");
    s = problems[0].spec, s.dtype = BPT_U32;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "BPT_F32");
    static const uint32_t beyond[] = {0, 10, UINT32_MAX, 0}, row[] = {0, 3, 3, 1}, twice[] = {0, 3, 0, 1, 2, 4, 0, 0};
    bpt_attention_table_t t = {.queries = 1, .keys = 9, .slots = 1, .tables = 1, .ranges = beyond};
    s = problems[0].spec, s.table = &t;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "query 0 reads keys 0 to 10, and there are 9");
    t.ranges = row, t.rel_rows = 5;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "rows 3 to 5 of relative positions, and there are 5");
    t.ranges = twice, t.slots = 2;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "overlap");
    t.tables = 3;
    assert_fails(bpt_attention_op_create(device, &s, &op), BPT_ERR_USAGE, "3 tables for 2 sequences");
    bpt_attention_close_device(device);
    bpt_attention_op_destroy(NULL);
    bpt_attention_close_device(NULL);
}

static void bad_numbers_are_named(void **state) {
    (void)state;
    bpt_device_t *device = open_device("cpu");
    bpt_attention_op_t *op;
    assert_ok(bpt_attention_op_create(device, &problems[4].spec, &op));  // a window, with rel
    const int64_t n = 70;
    bpt_attention_operands_t in = {.q = dense(q, n), .k = dense(k, n), .v = dense(v, n)};
    const bpt_attention_array_t to = dense(out, n), from = dense(dout, n);
    bpt_attention_gradients_t g = {.q = dense(dq, n)};
    assert_fails(bpt_attention_forward(op, &in, &to, lse), BPT_ERR_USAGE, "rel is not there");
    in.rel = rel;
    in.lengths = (const uint32_t[]){70, 71};
    assert_fails(bpt_attention_forward(op, &in, &to, lse), BPT_ERR_USAGE, "sequence 1 has 71 leaves, and the graph is for 1 to 70");
    in.lengths = NULL;
    v[at(n, 1, 13, 2) + 5] = NAN;
    assert_fails(bpt_attention_forward(op, &in, &to, lse), BPT_ERR_NUMERIC, "v holds a number that is not finite, in row 13 of sequence 1");
    fill(v, 2);
    assert_ok(bpt_attention_forward(op, &in, &to, lse));
    dout[at(n, 0, 7, 0)] = INFINITY;
    assert_fails(bpt_attention_backward(op, &in, &to, lse, &from, &g), BPT_ERR_NUMERIC, "dout holds a number that is not finite, in row 7");
    fill(dout, 3);
    rel[3] = NAN;
    assert_fails(bpt_attention_backward(op, &in, &to, lse, &from, &g), BPT_ERR_NUMERIC, "rel holds");
    fill(rel, 4);
    assert_ok(bpt_attention_backward(op, &in, &to, lse, &from, &g));  // the gradient of q alone
    g.q.data = NULL;
    assert_fails(bpt_attention_backward(op, &in, &to, lse, &from, &g), BPT_ERR_USAGE, "no gradient is wanted");
    bpt_attention_op_destroy(op);
    bpt_attention_close_device(device);
}

// Whatever allocation fails, the op is refused and nothing is left behind.
static void memory_that_runs_out(void **state) {
    (void)state;
    for (size_t p = 0; p < BPT_COUNT(problems); p += 7) {
        const size_t before = bpt_alloc_live();
        bpt_device_t *device = open_device("ref");
        const size_t open = bpt_alloc_live();
        size_t nth = 0;
        for (bool done = false; !done; assert_true(nth < 200)) {
            bpt_attention_op_t *op = NULL;
            bpt_alloc_fail_after(++nth);
            const bpt_status_t status = bpt_attention_op_create(device, &problems[p].spec, &op);
            bpt_alloc_fail_after(0);
            done = status == BPT_OK;
            if (!done) assert_int_equal(status, BPT_ERR_NO_MEMORY);
            bpt_attention_op_destroy(op);
            assert_int_equal(bpt_alloc_live(), open);
        }
        assert_true(nth > 3);
        bpt_attention_close_device(device);
        assert_int_equal(bpt_alloc_live(), before);
    }
}

int main(void) {
    fill(q, 0), fill(k, 1), fill(v, 2), fill(dout, 3), fill(rel, 4);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_graph_on_every_backend), cmocka_unit_test(heads_may_lie_before_rows), cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(what_does_not_fit_is_refused), cmocka_unit_test(bad_numbers_are_named),     cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
