// Rows and reference-free checks of attention (see attention.h).
#include "support/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/rng.h"

// ---- Rows ------------------------------------------------------------------------------------------------------------

test_attention_rows_t test_attention_rows(const bpt_attention_attrs_t *t) {
    const int64_t leaves = t->batch * t->graph.n, all = t->batch * bpt_node_count(&t->graph);
    test_attention_rows_t rows = {.all = all, .keys = t->zero_spans ? leaves : all};
    rows.out = t->queries == BPT_QUERIES_ALL ? all : t->queries == BPT_QUERIES_LEAVES ? leaves : t->batch;
    rows.stored_queries = t->queries == BPT_QUERIES_ALL && t->zero_spans ? leaves : rows.out;
    return rows;
}

int64_t test_key_row(const bpt_attention_attrs_t *t, int64_t sequence, int64_t node) {
    const int64_t n = t->graph.n, other = bpt_node_count(&t->graph) - n;
    return node < n ? sequence * n + node : t->batch * n + sequence * other + node - n;
}

int64_t test_query_row(const bpt_attention_attrs_t *t, const uint32_t *lengths, int64_t sequence, int64_t node) {
    if (t->queries == BPT_QUERIES_ROOTS) return node == bpt_root_node(&t->graph, lengths[sequence]) ? sequence : -1;
    if (t->queries == BPT_QUERIES_LEAVES && node >= t->graph.n) return -1;
    return test_key_row(t, sequence, node);
}

// How the rows of an operand belong to nodes.
typedef enum { BY_NOTHING, BY_KEY, BY_QUERY, BY_STORED_QUERY } row_kind_t;

static row_kind_t kind_of_input(const bpt_op_call_t *call, int slot) {
    switch (slot) {
    case 0: return call->attrs.attention.packed ? BY_KEY : BY_STORED_QUERY;
    case 1: return BY_KEY;
    case 7:
    case 8:
    case 9: return BY_QUERY;
    default: return BY_NOTHING;
    }
}

static row_kind_t kind_of_output(const bpt_op_call_t *call, int slot) {
    if (call->op == BPT_OP_ATTENTION) return BY_QUERY;
    return slot < 2 ? kind_of_input(call, slot) : BY_NOTHING;
}

// The row of a node in such an operand, -1 if it has none.
static int64_t row_of(row_kind_t kind, const bpt_attention_attrs_t *t, const uint32_t *lengths, int64_t sequence, int64_t node) {
    const bool stored = !t->zero_spans || node < t->graph.n;
    if (kind == BY_KEY) return stored ? test_key_row(t, sequence, node) : -1;
    if (kind == BY_STORED_QUERY && t->queries == BPT_QUERIES_ALL && !stored) return -1;
    return test_query_row(t, lengths, sequence, node);
}

void test_attention_forward(const test_case_t *gradient, test_case_t *forward) {
    *forward = *gradient;
    forward->call.op = BPT_OP_ATTENTION;
    for (int i = 7; i <= 9; ++i) forward->call.in[i].present = false;
    memset(forward->call.out, 0, sizeof forward->call.out);
    forward->call.out[0] = gradient->call.in[7];
    forward->call.out[1] = gradient->call.in[9];
}

// ---- Changing what must not matter -----------------------------------------------------------------------------------

static void disturb(const bpt_operand_t *operand, void *data, int64_t row, int64_t first_column, int64_t columns) {
    const int64_t width = bpt_shape_columns(&operand->shape);
    for (int64_t c = first_column; c < first_column + columns; ++c) {
        const int64_t i = row * width + c;
        test_store(operand, data, i, 1.5 - 0.75 * test_load(operand, data, i));
    }
}

static void same_row(const char *what, const bpt_operand_t *operand, const void *got, const void *want, int64_t row) {
    const size_t bytes = (size_t)bpt_shape_columns(&operand->shape) * bpt_dtype_size(operand->dtype);
    if (memcmp((const char *)got + (size_t)row * bytes, (const char *)want + (size_t)row * bytes, bytes))
        fail_msg("%s: row %lld changed", what, (long long)row);
}

static void execute(bpt_device_t *device, const test_case_t *c, test_data_t *data) {
    if (test_is_packed(&c->call)) memcpy(data->in[1], data->in[0], test_operand_bytes(&c->call.in[0]));
    test_must_execute(device, c, data);
}

// The keys of one output row in any graph, marked in `read` [key rows]; false when the query does not exist.
static bool mark_keys(const test_case_t *c, const test_data_t *data, int64_t sequence, int64_t query, bool *read) {
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int n_slots = bpt_intervals_keys(&t->graph, ((const uint32_t *)data->in[3])[sequence], query, slots);
    for (int s = 0; s < n_slots; ++s)
        for (int64_t key = slots[s].begin; key < slots[s].end; ++key)
            if (!t->zero_spans || key < t->graph.n) read[test_key_row(t, sequence, key)] = true;
    return n_slots > 0;
}

// Disturbs every key that is not marked and every query but the one of `node`.
static void disturb_all_but(const test_case_t *c, test_data_t *data, int64_t sequence, int64_t node, const bool *read) {
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    const test_attention_rows_t rows = test_attention_rows(t);
    const int64_t d = (int64_t)t->heads * t->head_dim;
    const int kv = t->packed ? 0 : 1;
    const int64_t own = row_of(kind_of_input(&c->call, 0), t, data->in[3], sequence, node);
    for (int64_t row = 0; row < bpt_shape_rows(&c->call.in[0].shape); ++row)
        if (row != own) disturb(&c->call.in[0], data->in[0], row, 0, d);
    for (int64_t row = 0; row < rows.keys; ++row)
        if (!read[row]) disturb(&c->call.in[kv], data->in[kv], row, t->packed ? d : 0, 2 * d);
}

void test_attention_reads_only_its_keys(bpt_device_t *device, const test_case_t *c, const test_data_t *result) {
    enum { TRIES = 12, ROWS = 3 };
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    const int64_t nodes = bpt_node_count(&t->graph);
    for (int try = 0, checked = 0; try < TRIES && checked < ROWS && t->batch > 0; ++try) {
        const uint64_t h = bpt_mix64((uint64_t)(nodes * 100 + try));
        const int64_t sequence = (int64_t)(h % (uint64_t)t->batch);
        const uint32_t *lengths = result->in[3];
        const int64_t node =
            t->queries == BPT_QUERIES_ROOTS ? bpt_root_node(&t->graph, lengths[sequence]) : (int64_t)((h >> 20) % (uint64_t)nodes);
        const int64_t row = test_query_row(t, lengths, sequence, node);
        bool *read = calloc((size_t)test_attention_rows(t).keys + 1, sizeof *read);
        if (row >= 0 && mark_keys(c, result, sequence, node, read)) {
            test_data_t data;
            test_data_create(c, &data);
            disturb_all_but(c, &data, sequence, node, read);
            execute(device, c, &data);
            for (int i = 0; i < 2; ++i)
                if (c->call.out[i].present) same_row("keys that a query does not read", &c->call.out[i], data.out[i], result->out[i], row);
            test_data_destroy(&data);
            ++checked;
        }
        free(read);
    }
}

void test_attention_ignores_padding_and_mates(bpt_device_t *device, const test_case_t *c, const test_data_t *result) {
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    const int64_t nodes = bpt_node_count(&t->graph), chosen = t->batch / 2;
    const uint32_t *lengths = result->in[3];
    if (t->batch == 0) return;
    test_data_t data;
    test_data_create(c, &data);
    for (int slot = 0; slot < 9; ++slot) {  // not lse: it would no longer belong to the scores
        const bpt_operand_t *operand = &c->call.in[slot];
        const row_kind_t kind = kind_of_input(&c->call, slot);
        if (!operand->present || kind == BY_NOTHING || (slot == 1 && t->packed)) continue;
        for (int64_t b = 0; b < t->batch; ++b)
            for (int64_t node = 0; node < nodes; ++node) {
                const int64_t row = row_of(kind, t, lengths, b, node);
                if (row >= 0 && (b != chosen || !bpt_node_exists(&t->graph, lengths[b], node)))
                    disturb(operand, data.in[slot], row, 0, bpt_shape_columns(&operand->shape));
            }
    }
    for (int64_t b = 0; b < t->batch && c->call.op == BPT_OP_ATTENTION; ++b)
        if (b != chosen) ((uint32_t *)data.in[3])[b] = 1 + (lengths[b] * 7 + 3) % (uint32_t)t->graph.n;
    execute(device, c, &data);
    for (int slot = 0; slot < 2; ++slot) {
        const row_kind_t kind = kind_of_output(&c->call, slot);
        for (int64_t node = 0; node < nodes && c->call.out[slot].present; ++node) {
            const int64_t row = row_of(kind, t, lengths, chosen, node);
            if (row >= 0) same_row("padding and other sequences", &c->call.out[slot], data.out[slot], result->out[slot], row);
        }
    }
    test_data_destroy(&data);
}

// ---- A sequence alone ------------------------------------------------------------------------------------------------

// The node of the bucket that is node `node` of a bucket of the sequence's own length.
static int64_t node_in_bucket(const bpt_intervals_t *own, const bpt_intervals_t *bucket, int64_t node) {
    int level;
    int64_t index;
    if (!bpt_intervals_has_spans(own)) return node < own->n ? node : bucket->n;
    bpt_node_position(own, node, &level, &index);
    return bpt_tree_node(bucket, level, index);
}

static bpt_shape_t resized(const bpt_operand_t *operand, int64_t rows) { return bpt_shape2(rows, bpt_shape_columns(&operand->shape)); }

static int64_t rows_of_kind(row_kind_t kind, const test_attention_rows_t *rows) {
    return kind == BY_KEY ? rows->keys : kind == BY_QUERY ? rows->out : rows->stored_queries;
}

// The case of one sequence alone, and its inputs copied from `all`.
static void make_alone(const test_case_t *c, const test_data_t *all, int64_t sequence, test_case_t *alone, test_data_t *data) {
    *alone = *c;
    const bpt_attention_attrs_t *bucket = &c->call.attrs.attention;
    bpt_attention_attrs_t *t = &alone->call.attrs.attention;
    const uint32_t *lengths = all->in[3];
    const uint32_t own_length[1] = {lengths[sequence]};
    t->batch = 1;
    t->graph.n = lengths[sequence];
    const test_attention_rows_t rows = test_attention_rows(t);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (kind_of_input(&c->call, i) != BY_NOTHING)
            alone->call.in[i].shape = resized(&c->call.in[i], rows_of_kind(kind_of_input(&c->call, i), &rows));
    alone->call.in[3].shape = bpt_shape1(1);
    alone->call.in[4].shape = bpt_shape2(rows.all, 2);
    for (int i = 0; i < 2; ++i) alone->call.out[i].shape = resized(&c->call.out[i], rows_of_kind(kind_of_output(&c->call, i), &rows));
    test_data_allocate(&alone->call, data);
    memcpy(data->in[3], own_length, sizeof own_length);
    if (data->in[2]) memcpy(data->in[2], all->in[2], test_operand_bytes(&c->call.in[2]));
    if (data->in[5]) memcpy(data->in[5], all->in[5], test_operand_bytes(&c->call.in[5]));
    for (int64_t node = 0; node < bpt_node_count(&t->graph); ++node) {
        const int64_t node_there = node_in_bucket(&t->graph, &bucket->graph, node);
        for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
            const row_kind_t kind = kind_of_input(&c->call, i);
            const size_t row_bytes = (size_t)bpt_shape_columns(&c->call.in[i].shape) * bpt_dtype_size(c->call.in[i].dtype);
            if (!data->in[i] || (kind == BY_NOTHING && i != 4)) continue;
            const int64_t to = i == 4 ? test_key_row(t, 0, node) : row_of(kind, t, own_length, 0, node);
            const int64_t from = i == 4 ? test_key_row(bucket, sequence, node_there) : row_of(kind, bucket, lengths, sequence, node_there);
            if (to >= 0)
                memcpy((char *)data->in[i] + (size_t)to * row_bytes, (const char *)all->in[i] + (size_t)from * row_bytes, row_bytes);
        }
    }
}

static void compare_row(const test_case_t *c, int slot, const void *got, int64_t got_row, const void *want, int64_t want_row, bool exact) {
    const bpt_operand_t *operand = &c->call.out[slot];
    const int64_t columns = bpt_shape_columns(&operand->shape);
    for (int64_t i = 0; i < columns; ++i) {
        const double g = test_load(operand, got, got_row * columns + i), w = test_load(operand, want, want_row * columns + i);
        // Values are of the order of 1: differences in rounding only.
        const double allowed = exact ? 0 : test_spacing(operand->dtype, w) + (c->tolerance + c->more[slot]) * 0x1p-24 * 4;
        if (!(fabs(g - w) <= allowed))
            fail_msg("a sequence alone: output %d, row %lld, column %lld: %.9g, in its bucket %.9g", slot, (long long)got_row, (long long)i,
                     g, w);
    }
}

void test_attention_ignores_the_bucket(bpt_device_t *device, const test_case_t *c, const test_data_t *result) {
    const bpt_attention_attrs_t *bucket = &c->call.attrs.attention;
    // A trimmed bucket has spans that the sequence alone has not, as no leaf of it reads them: in a model their gradient is zero, here
    // it is not, and the leaves get it.
    if (bucket->graph.trimmed && c->call.op == BPT_OP_ATTENTION_GRAD) return;
    const bool exact = device == test_ref_device();
    const uint32_t *lengths = result->in[3];
    for (int64_t sequence = 0; sequence < bucket->batch && sequence < 3; ++sequence) {
        test_case_t alone;
        test_data_t data;
        make_alone(c, result, sequence, &alone, &data);
        const bpt_attention_attrs_t *t = &alone.call.attrs.attention;
        const uint32_t own_length[1] = {lengths[sequence]};
        execute(device, &alone, &data);
        for (int slot = 0; slot < 2; ++slot) {
            const row_kind_t kind = kind_of_output(&c->call, slot);
            for (int64_t node = 0; node < bpt_node_count(&t->graph) && data.out[slot]; ++node) {
                const int64_t node_there = node_in_bucket(&t->graph, &bucket->graph, node);
                const int64_t row = row_of(kind, t, own_length, 0, node), row_there = row_of(kind, bucket, lengths, sequence, node_there);
                if (row >= 0) compare_row(c, slot, data.out[slot], row, result->out[slot], row_there, exact);
            }
        }
        test_data_destroy(&data);
    }
}

// ---- Tables ----------------------------------------------------------------------------------------------------------

static int compare_edges(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The edges of a table as query << 32 | key, sorted; of `back` likewise.
static uint64_t *edges_of(const uint32_t *ranges, int64_t rows, int64_t slots, int words, bool rows_are_queries, size_t *n) {
    *n = 0;
    for (int64_t i = 0; i < rows * slots; ++i)
        if (ranges[i * words] < ranges[i * words + 1]) *n += ranges[i * words + 1] - ranges[i * words];
    uint64_t *edges = malloc((*n + 1) * sizeof *edges), *edge = edges;
    assert_non_null(edges);
    for (int64_t i = 0; i < rows * slots; ++i)
        for (uint64_t other = ranges[i * words]; other < ranges[i * words + 1]; ++other) {
            const uint64_t row = (uint64_t)(i / slots);
            *edge++ = rows_are_queries ? row << 32 | other : other << 32 | row;
        }
    qsort(edges, *n, sizeof *edges, compare_edges);
    return edges;
}

bool test_lists_match(const bpt_lists_t *l) {
    size_t n, n_back;
    uint64_t *edges = edges_of(l->table, l->queries, l->slots, 4, true, &n),
             *back = edges_of(l->back, l->keys, l->back_slots, 2, false, &n_back);
    const bool match = n == n_back && memcmp(edges, back, n * sizeof *edges) == 0;
    free(edges), free(back);
    return match;
}

void test_lists_are_transposed(const bpt_lists_t *l) {
    if (!test_lists_match(l))
        fail_msg("back is not the transpose of the table of %lld queries and %lld keys", (long long)l->queries, (long long)l->keys);
}

// Which of the other rows a row of a table has an edge with.
static bool *mark_edges(const uint32_t *ranges, int64_t slots, int words, int64_t row, int64_t others) {
    bool *edge = calloc((size_t)others + 1, sizeof *edge);
    assert_non_null(edge);
    for (const uint32_t *range = ranges + row * slots * words; slots > 0; --slots, range += words)
        for (uint32_t other = range[0]; other < range[1]; ++other) edge[other] = true;
    return edge;
}

// Disturbs all rows of an operand but `own` and those with an edge (NULL: none).
static void disturb_others(const test_case_t *c, test_data_t *data, int slot, int64_t own, const bool *edge) {
    const bpt_operand_t *operand = &c->call.in[slot];
    const int64_t rows = operand->present ? operand->shape.dim[0] : 0;
    for (int64_t row = 0; row < rows; ++row)
        if (row != own && !(edge && edge[row])) disturb(operand, data->in[slot], row, 0, bpt_shape_columns(&operand->shape));
}

// `output` has a row for each row of the table, input `slot`, whose ranges have so many words.
static void check_table_row(bpt_device_t *device, const test_case_t *c, const test_data_t *result, int slot, int words, int64_t row) {
    const bool is_query = slot == 6, grad = c->call.op == BPT_OP_ATTENTION_GRAD;
    bool *edge = mark_edges(result->in[slot], c->call.in[slot].shape.dim[1], words, row, c->call.in[is_query ? 1 : 0].shape.dim[0]);
    test_data_t data;
    test_data_create(c, &data);
    disturb_others(c, &data, 0, is_query ? row : -1, is_query ? NULL : edge);
    disturb_others(c, &data, 1, is_query ? -1 : row, is_query ? edge : NULL);
    for (int i = 7; i <= 8 && grad; ++i) disturb_others(c, &data, i, is_query ? row : -1, is_query ? NULL : edge);
    execute(device, c, &data);
    for (int o = 0; o < 2; ++o)
        if (c->call.out[o].present && (!grad || o == (is_query ? 0 : 1)))
            same_row(is_query ? "what a query does not read" : "what does not read a key", &c->call.out[o], data.out[o], result->out[o],
                     row);
    test_data_destroy(&data);
    free(edge);
}

void test_attention_table_rows_are_independent(bpt_device_t *device, const test_case_t *c, const test_data_t *result) {
    const int64_t queries = c->call.in[0].shape.dim[0], keys = c->call.in[1].shape.dim[0];
    if (queries > 5000 || keys > 5000) return;
    for (uint64_t try = 0; try < 2 && queries > 0; ++try)
        check_table_row(device, c, result, 6, 4, (int64_t)(bpt_mix64((uint64_t)queries * 10 + try) % (uint64_t)queries));
    for (uint64_t try = 0; try < 2 && keys > 0 && c->call.op == BPT_OP_ATTENTION_GRAD; ++try)
        check_table_row(device, c, result, 10, 2, (int64_t)(bpt_mix64((uint64_t)keys * 10 + try) % (uint64_t)keys));
}
