// Attention over tables and its gradient: queries and keys that are rows of different tensors, repeated keys, overlapping ranges, queries
// and keys without edges, dense blocks as packed batches have them, rings and relays; calls that know how many edges their rows have at
// most.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/lists.h"
#include "bpt/rng.h"
#include "support/attention.h"

// What the queries read.
typedef enum {
    SPREAD,     // slot s lies in the s-th part of the keys; about a third of the slots, and every seventh query, are empty
    ANYWHERE,   // ranges that overlap and repeat keys; every fifth query, and some keys, have none
    BACKWARDS,  // the transpose of ANYWHERE: many slots a query, few a key
    TRIANGLE,   // [0, i K / Q]
    SEQUENCES,  // all keys of the query's sequence, as packed batches have them
    ONE_KEY,    // all queries read the same key, and nothing else
    NEAR,       // three keys around the query's place, and the first of them again
    RING,       // Star-Transformer's satellites: K = 2 Q + sequences
    RELAY,      // and its relays: Q = sequences
} pattern_t;
static const char *const pattern_names[] = {"spread", "anywhere", "backwards", "triangle", "sequences", "one_key", "near", "ring", "relay"};

// What a call knows of the edges of its rows: what the writer of rings and relays says, or the largest numbers of each half of the rows.
typedef enum { UNBOUNDED, BY_WRITER, BY_HALVES } bounds_t;

enum { F32 = BPT_F32, BF16 = BPT_BF16, F16 = BPT_F16 };

static const struct {
    pattern_t pattern;
    int64_t queries, keys;
    int32_t slots;  // of queries (BACKWARDS: of keys); SEQUENCES, RING, RELAY: number of sequences
    int32_t heads, head_dim;
    int64_t rel_rows;  // > 0: with relative positions
    float p;
    int dtype;
    bounds_t bounds;
} tables[] = {
    {SPREAD, 0, 3, 2, 1, 10, 0, 0, F32},
    {SPREAD, 1, 1, 1, 1, 20, 1, 0, F32},
    {SPREAD, 5, 2, 3, 2, 40, 7, 0, F32},
    {SPREAD, 33, 17, 1, 2, 64, 0, 0, BF16},
    {SPREAD, 31, 129, 6, 3, 10, 9, 0, F16},
    {SPREAD, 129, 33, 150, 1, 50, 3, 0, F32},
    {SPREAD, 257, 1000, 4, 2, 20, 300, 0, F32},
    {SPREAD, 13, 50000, 1, 4, 16, 0, 0, F32},
    {SPREAD, 129, 33, 150, 1, 50, 0, 0.25f, F32},
    {SPREAD, 70, 90, 5, 3, 24, 40, 0.25f, F32},
    {SPREAD, 65, 700, 3, 2, 64, 90, 0.1f, BF16},
    {SPREAD, 1500, 120, 2, 1, 32, 2000, 0, F32},  // more private sums of the positions' gradient than are held at once
    {ANYWHERE, 1, 1, 1, 1, 10, 0, 0, F32},
    {ANYWHERE, 7, 5, 2, 2, 20, 0, 0, F32},
    {ANYWHERE, 9, 30, 3, 1, 50, 0, 0.25f, F32},
    {ANYWHERE, 40, 11, 4, 3, 10, 0, 0.25f, F32},
    {ANYWHERE, 17, 64, 5, 2, 64, 0, 0, BF16},
    {ANYWHERE, 64, 33, 6, 1, 100, 0, 0.25f, F16},
    {ANYWHERE, 129, 31, 7, 2, 20, 0, 0.5f, BF16},
    {ANYWHERE, 300, 290, 8, 1, 20, 0, 0.1f, F32},
    {ANYWHERE, 33, 300, 3, 1, 100, 0, 0, F32},
    {BACKWARDS, 20, 21, 1, 2, 20, 0, 0.25f, F32},
    {BACKWARDS, 100, 47, 3, 1, 50, 0, 0, F32},
    {BACKWARDS, 35, 300, 8, 1, 64, 0, 0.1f, BF16},
    {TRIANGLE, 2, 2, 1, 1, 10, 0, 0, F32},
    {TRIANGLE, 31, 31, 1, 2, 50, 0, 0.25f, F32},
    {TRIANGLE, 127, 127, 1, 2, 20, 0, 0, F32},
    {TRIANGLE, 100, 33, 1, 1, 64, 0, 0.1f, BF16},
    {SEQUENCES, 16, 16, 1, 1, 16, 0, 0, F32},
    {SEQUENCES, 33, 40, 1, 2, 50, 0, 0.25f, F32},
    {SEQUENCES, 64, 64, 2, 2, 64, 0, 0, F32},
    {SEQUENCES, 97, 300, 3, 1, 100, 0, 0.25f, BF16},
    {SEQUENCES, 127, 127, 7, 3, 20, 0, 0.1f, F32},
    {SEQUENCES, 300, 150, 11, 1, 10, 0, 0, F16},
    {SEQUENCES, 20, 1500, 1, 1, 64, 0, 0.25f, F32},
    {SEQUENCES, 1025, 20, 1, 1, 40, 0, 0, F32},
    {SEQUENCES, 40, 50, 1, 2, 200, 0, 0, F32},  // a head as large as the models have
    {ONE_KEY, 33, 12, 1, 2, 10, 0, 0.25f, F32},
    {ONE_KEY, 2049, 3, 1, 1, 20, 0, 0, F32},
    {NEAR, 2, 3, 2, 1, 10, 0, 0.25f, F32},
    {NEAR, 129, 129, 2, 2, 20, 0, 0, F32},
    {NEAR, 65537, 4001, 2, 1, 4, 0, 0, F32},
    {NEAR, 3001, 65539, 2, 1, 10, 0, 0.25f, F32},
    {RING, 1, 3, 1, 1, 10, 0, 0.25f, F32},
    {RING, 2, 5, 1, 2, 20, 0, 0, F32},
    {RING, 50, 107, 7, 2, 50, 0, 0.25f, F32},
    {RING, 1, 3, 1, 1, 10, 0, 0.25f, F32, BY_WRITER},
    {RING, 50, 107, 7, 2, 50, 0, 0.25f, F32, BY_WRITER},
    {RING, 2400, 4801, 1, 12, 10, 0, 0.25f, F32, BY_WRITER},  // more readers of the relay than a group of Mesa's rasterizer takes
    {RELAY, 3, 130, 3, 2, 20, 0, 0.25f, F32, BY_WRITER},
    {RELAY, 1, 3001, 1, 12, 10, 0, 0.25f, F32, BY_WRITER},
    {RELAY, 1, 700, 1, 5, 20, 0, 0.1f, BF16, BY_WRITER},
    {ANYWHERE, 40, 330, 5, 2, 20, 0, 0.25f, F32, BY_HALVES},
    {BACKWARDS, 35, 300, 8, 1, 64, 0, 0, F32, BY_HALVES},
    {TRIANGLE, 300, 300, 1, 12, 10, 0, 0, F32, BY_HALVES},
    {SPREAD, 257, 1000, 4, 2, 20, 300, 0, F32, BY_HALVES},
    // Heads of 16 bits that matrix units take.
    {SEQUENCES, 100, 130, 3, 5, 64, 0, 0.1f, BF16},
    {SEQUENCES, 97, 300, 3, 3, 128, 0, 0.1f, F16},
    {RING, 50, 107, 7, 2, 48, 0, 0.25f, F16, BY_WRITER},
    {TRIANGLE, 150, 150, 1, 2, 16, 0, 0, F16},
    {RING, 127, 257, 3, 3, 20, 0, 0, BF16, BY_WRITER},  // the last one: test_ref.c takes it
};
enum { N_TABLES = BPT_COUNT(tables) };

// ---- Tables

static void put_spread(bpt_lists_t *l, int64_t rel_rows) {
    uint32_t *entry = l->table;
    for (int64_t i = 0; i < l->queries * l->slots; ++i, entry += 4) {
        const uint64_t h = bpt_mix64((uint64_t)i);
        const int64_t low = l->keys * (i % l->slots) / l->slots, high = l->keys * (i % l->slots + 1) / l->slots;
        const bool empty = i / l->slots % 7 == 6 || h % 3 == 0 || low == high;
        const int64_t begin = empty ? low : low + (int64_t)((h >> 8) % (uint64_t)(high - low));
        const int64_t end = empty ? low : begin + 1 + (int64_t)((h >> 24) % (uint64_t)(high - begin));
        const int64_t room = rel_rows - (end - begin);
        const int32_t step = room < 0 ? 0 : (int32_t)((h >> 40) % 3) - 1;
        entry[0] = (uint32_t)begin, entry[1] = (uint32_t)end, entry[2] = BPT_NO_ROW, entry[3] = 0;
        if (empty || rel_rows == 0 || (h >> 44) % 4 == 0) continue;
        const int64_t first = (int64_t)((h >> 48) % (uint64_t)(step ? room + 1 : rel_rows));
        entry[2] = (uint32_t)(step < 0 ? first + end - begin - 1 : first);
        entry[3] = (uint32_t)step;
    }
}

// Range `slot` of a row that reads anywhere among `others`.
static void anywhere(int64_t row, int64_t slot, int64_t others, uint32_t *begin, uint32_t *end) {
    const uint64_t h = bpt_mix64((uint64_t)(row * 64 + slot) + 7919);
    const int64_t used = others - others / 5;  // the last of them are read by nobody
    *begin = (uint32_t)((h >> 8) % (uint64_t)used);
    *end = *begin + 1 + (uint32_t)((h >> 40) % (uint64_t)(used - *begin));
    if (row % 5 == 4 || h % 4 == 0) *end = *begin - (*begin > 0 && h % 8 == 0);  // empty, sometimes with its end before its begin
}

static void put_anywhere(bpt_lists_t *l) {
    for (int64_t q = 0; q < l->queries; ++q)
        for (int64_t s = 0; s < l->slots; ++s) {
            uint32_t *entry = l->table + (q * l->slots + s) * 4;
            anywhere(q, s, l->keys, &entry[0], &entry[1]);
            entry[2] = BPT_NO_ROW, entry[3] = 0;
        }
}

// The graph whose keys read queries anywhere, turned round.
static bpt_lists_t reversed(size_t index) {
    return (bpt_lists_t){.queries = tables[index].keys, .keys = tables[index].queries, .slots = tables[index].slots};
}

static void put_backwards(bpt_lists_t *l, size_t index) {
    bpt_lists_t r = reversed(index);
    r.back_slots = l->slots;
    r.table = calloc((size_t)(r.queries * r.slots * 4) + 1, sizeof *r.table);
    r.back = calloc((size_t)(r.keys * r.back_slots * 2) + 1, sizeof *r.back);
    assert_true(r.table && r.back);
    put_anywhere(&r);
    assert_int_equal(bpt_lists_transposed(&r), BPT_OK);
    for (int64_t i = 0; i < l->queries * l->slots; ++i)
        l->table[4 * i] = r.back[2 * i], l->table[4 * i + 1] = r.back[2 * i + 1], l->table[4 * i + 2] = BPT_NO_ROW, l->table[4 * i + 3] = 0;
    free(r.table), free(r.back);
}

static int64_t slots_of_backwards(size_t index) {
    bpt_lists_t r = reversed(index);
    int64_t slots;
    r.table = calloc((size_t)(r.queries * r.slots * 4) + 1, sizeof *r.table);
    assert_non_null(r.table);
    put_anywhere(&r);
    assert_int_equal(bpt_lists_transposed_slots(&r, &slots), BPT_OK);
    free(r.table);
    return slots;
}

static void put_rule(bpt_lists_t *l, pattern_t pattern) {
    for (int64_t q = 0; q < l->queries; ++q) {
        uint32_t *entry = l->table + q * l->slots * 4;
        const int64_t place = q * l->keys / l->queries;
        const uint32_t near = (uint32_t)(place > 0 ? place - 1 : 0), key = (uint32_t)(l->keys / 2);
        for (int64_t s = 0; s < l->slots; ++s) entry[4 * s] = entry[4 * s + 1] = entry[4 * s + 3] = 0, entry[4 * s + 2] = BPT_NO_ROW;
        if (pattern == TRIANGLE) entry[1] = (uint32_t)place + 1;
        if (pattern == ONE_KEY) entry[0] = key, entry[1] = key + 1;
        if (pattern != NEAR) continue;
        entry[0] = near, entry[1] = (uint32_t)(place + 2 < l->keys ? place + 2 : l->keys);
        entry[4] = near, entry[5] = near + 1;
    }
}

enum { MAX_SEQUENCES = 16 };
typedef struct {
    bpt_row_space_t space;
    uint32_t start[MAX_SEQUENCES], length[MAX_SEQUENCES];
} rows_t;

static void cut(rows_t *r, int64_t rows, int32_t sequences) {
    for (int32_t s = 0; s < sequences; ++s) {
        r->start[s] = (uint32_t)(rows * s / sequences);
        r->length[s] = (uint32_t)(rows * (s + 1) / sequences) - r->start[s];
    }
    r->space = (bpt_row_space_t){rows, sequences, r->start, r->length};
}

static int64_t slots_of(size_t index) {
    switch (tables[index].pattern) {
    case BACKWARDS: return slots_of_backwards(index);
    case SEQUENCES: return BPT_LISTS_ALL_SLOTS;
    case RING: return BPT_LISTS_RING_SLOTS;
    case RELAY: return BPT_LISTS_RELAY_SLOTS;
    default: return tables[index].slots;
    }
}

// The table of a case, in l->table.
static void put_table(bpt_lists_t *l, size_t index) {
    rows_t q, k;
    switch (tables[index].pattern) {
    case SPREAD: put_spread(l, tables[index].rel_rows); return;
    case ANYWHERE: put_anywhere(l); return;
    case BACKWARDS: put_backwards(l, index); return;
    case SEQUENCES:
        cut(&q, l->queries, tables[index].slots), cut(&k, l->keys, tables[index].slots);
        assert_int_equal(bpt_lists_all(&q.space, &k.space, l), BPT_OK);
        return;
    case RING:
        cut(&q, l->queries, tables[index].slots);
        assert_int_equal(bpt_lists_ring(&q.space, BPT_SATELLITE_NEIGHBOURS | BPT_SATELLITE_RELAY, l), BPT_OK);
        return;
    case RELAY:
        cut(&q, l->keys - l->queries, tables[index].slots);
        assert_int_equal(bpt_lists_relay(&q.space, l), BPT_OK);
        return;
    default: put_rule(l, tables[index].pattern);
    }
}

static bpt_lists_t lists_of(size_t index) {
    return (bpt_lists_t){.queries = tables[index].queries, .keys = tables[index].keys, .slots = slots_of(index)};
}

// The back slots that the table needs; one where it needs none.
static int64_t back_slots_of(size_t index) {
    static int64_t known[N_TABLES];
    if (known[index]) return known[index];
    bpt_lists_t l = lists_of(index);
    int64_t slots;
    l.table = calloc((size_t)(l.queries * l.slots * 4) + 1, sizeof *l.table);
    assert_non_null(l.table);
    put_table(&l, index);
    assert_int_equal(bpt_lists_transposed_slots(&l, &slots), BPT_OK);
    free(l.table);
    return known[index] = slots > 0 ? slots : 1;
}

// ---- Bounds

// The largest number of edges of the rows [first, end), or 1 where they have none.
static int64_t most_edges(const uint32_t *ranges, int64_t first, int64_t end, int64_t slots, int words) {
    int64_t most = 1;
    for (int64_t row = first; row < end; ++row) {
        int64_t edges = 0;
        for (const uint32_t *range = ranges + row * slots * words; range < ranges + (row + 1) * slots * words; range += words)
            if (range[0] < range[1]) edges += range[1] - range[0];
        if (edges > most) most = edges;
    }
    return most;
}

static bpt_table_side_t halves(const uint32_t *ranges, int64_t rows, int64_t slots, int words) {
    return (bpt_table_side_t){rows / 2, most_edges(ranges, 0, rows / 2, slots, words), most_edges(ranges, rows / 2, rows, slots, words)};
}

static bpt_table_bounds_t bounds_by_halves(size_t index) {
    static bpt_table_bounds_t known[N_TABLES];
    bpt_lists_t l = lists_of(index);
    if (known[index].queries.edges) return known[index];
    l.back_slots = back_slots_of(index);
    l.table = calloc((size_t)(l.queries * l.slots * 4) + 1, sizeof *l.table);
    l.back = calloc((size_t)(l.keys * l.back_slots * 2) + 1, sizeof *l.back);
    assert_true(l.table && l.back);
    put_table(&l, index);
    assert_int_equal(bpt_lists_transposed(&l), BPT_OK);
    known[index] = (bpt_table_bounds_t){halves(l.table, l.queries, l.slots, 4), halves(l.back, l.keys, l.back_slots, 2)};
    free(l.table), free(l.back);
    return known[index];
}

static bpt_table_bounds_t bounds_of(size_t index) {
    const bpt_lists_t l = lists_of(index);
    const bool relay = tables[index].pattern == RELAY;
    rows_t rows;
    if (tables[index].bounds == UNBOUNDED) return (bpt_table_bounds_t){.queries = {0}};
    if (tables[index].bounds == BY_HALVES) return bounds_by_halves(index);
    cut(&rows, relay ? l.keys - l.queries : l.queries, tables[index].slots);
    int64_t longest = 0;
    for (int64_t s = 0; s < rows.space.sequences; ++s)
        if (rows.length[s] > longest) longest = rows.length[s];
    return relay ? bpt_lists_relay_bounds(longest) : bpt_lists_ring_bounds(rows.space.rows, longest);
}

// ---- Cases

// The case's line of the list is kept in what a table does not use.
static size_t index_of(const test_case_t *c) { return (size_t)c->call.attrs.attention.graph.rel_levels; }

static void prepare(const test_case_t *c, void *const in[]) {
    const size_t index = index_of(c);
    bpt_lists_t l = lists_of(index);
    uint32_t *row_keys = in[4], *codes = in[11];
    l.table = in[6];
    put_table(&l, index);
    if (in[10]) {
        l.back = in[10], l.back_slots = c->call.in[10].shape.dim[1];
        assert_int_equal(bpt_lists_transposed(&l), BPT_OK);
        test_lists_are_transposed(&l);
    }
    assert_int_equal(bpt_lists_check(&l, &c->call.attrs.attention.bounds), BPT_OK);
    for (int64_t i = 0; codes && i < l.keys; ++i) codes[i] = bpt_node_code((uint32_t)(i / 50 % 3), (uint32_t)(i % 200));
    for (int64_t i = 0; row_keys && i < l.queries; ++i)
        row_keys[2 * i] = bpt_node_code((uint32_t)(i / 40 % 2), (uint32_t)i), row_keys[2 * i + 1] = 17 + (uint32_t)(i / 64);
}

// The same, and what the forward pass gives to the gradient: out and lse.
static void prepare_gradient(const test_case_t *c, void *const in[]) {
    test_case_t forward;
    test_data_t data;
    prepare(c, in);
    test_attention_forward(c, &forward);
    test_data_allocate(&forward.call, &data);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (data.in[i]) memcpy(data.in[i], in[i], test_operand_bytes(&c->call.in[i]));
    test_must_execute(test_ref_device(), &forward, &data);
    memcpy(in[7], data.out[0], test_operand_bytes(&c->call.in[7]));
    memcpy(in[9], data.out[1], test_operand_bytes(&c->call.in[9]));
    test_data_destroy(&data);
}

static void make_case(size_t index, bool gradient, test_case_t *c) {
    const int32_t heads = tables[index].heads, head_dim = tables[index].head_dim;
    const int64_t queries = tables[index].queries, keys = tables[index].keys, slots = slots_of(index), d = (int64_t)heads * head_dim;
    const bpt_dtype_t dtype = (bpt_dtype_t)tables[index].dtype;
    const float p = tables[index].p;
    const bool lse = index % 2 || tables[index].pattern >= TRIANGLE;
    test_case_init(c, gradient ? BPT_OP_ATTENTION_GRAD : BPT_OP_ATTENTION);
    test_case_name(c, "%stable-%lldx%lld-%lldslots-%dx%d/%s%s%s/%s", tables[index].bounds ? "bounded-" : "", (long long)queries,
                   (long long)keys, (long long)slots, (int)heads, (int)head_dim, pattern_names[tables[index].pattern],
                   tables[index].rel_rows ? "-rel" : "", p > 0 ? "-dropout" : "", bpt_dtype_name(dtype));
    c->call.attrs.attention = (bpt_attention_attrs_t){.graph = {.kind = BPT_INTERVALS_TABLE, .n = queries, .rel_levels = (int32_t)index},
                                                      .bounds = bounds_of(index),
                                                      .batch = 1,
                                                      .heads = heads,
                                                      .head_dim = head_dim,
                                                      .scale = (float)(1 / sqrt((double)head_dim)),
                                                      .p = p,
                                                      .uid = 11};
    c->tolerance = 64 + test_sum_tolerance(keys);
    c->more[0] = test_factor_tolerance(dtype);
    c->prepare = gradient ? prepare_gradient : prepare;
    test_in(c, 0, dtype, bpt_shape2(queries, d), TEST_UNIFORM, -2, 2);
    test_in(c, 1, dtype, bpt_shape2(keys, 2 * d), TEST_UNIFORM, -2, 2);
    if (tables[index].rel_rows) test_in(c, 2, dtype, bpt_shape2(tables[index].rel_rows, head_dim), TEST_UNIFORM, -1, 1);
    if (p > 0) {
        test_in(c, 4, BPT_U32, bpt_shape2(queries, 2), TEST_PREPARED, 0, 0);
        test_in(c, 5, BPT_U32, bpt_shape1(2), TEST_RNG, 0, 0);
        test_in(c, 11, BPT_U32, bpt_shape1(keys), TEST_PREPARED, 0, 0);
    }
    test_in(c, 6, BPT_U32, (bpt_shape_t){3, {queries, slots, 4}}, TEST_PREPARED, 0, 0);
    if (gradient || ((lse || index % 3 == 0) && !tables[index].rel_rows))
        test_in(c, 10, BPT_U32, (bpt_shape_t){3, {keys, back_slots_of(index), 2}}, TEST_PREPARED, 0, 0);
    if (!gradient) {
        test_out(c, 0, dtype, bpt_shape2(queries, d));
        if (lse) test_out(c, 1, BPT_F32, bpt_shape2(queries, heads));
        return;
    }
    c->least = 1;  // dout . v - dout . out cancels for queries of few keys
    c->tolerance += test_sum_tolerance(queries);
    test_in(c, 7, dtype, bpt_shape2(queries, d), TEST_PREPARED, 0, 0);
    test_in(c, 8, dtype, bpt_shape2(queries, d), TEST_UNIFORM, -1, 1);
    test_in(c, 9, BPT_F32, bpt_shape2(queries, heads), TEST_PREPARED, 0, 0);
    test_out(c, 0, dtype, bpt_shape2(queries, d));
    test_out(c, 1, dtype, bpt_shape2(keys, 2 * d));
    c->more[1] = c->more[0];
    if (tables[index].rel_rows) test_out(c, 2, BPT_F32, bpt_shape2(tables[index].rel_rows, head_dim));
}

// Each forward and backward.
static size_t count(void) { return 2 * (size_t)N_TABLES; }
static void make(size_t index, test_case_t *c) { make_case(index / 2, index % 2 == 1, c); }

const test_family_t test_attention_table_cases = {"attention over tables", count, make};
