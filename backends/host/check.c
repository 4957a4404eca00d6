// Operands and attributes of a call against the contract in bpt/ops.h: presence, element types, shapes. The same for every
// backend; knows nothing of how an op is computed. A mismatch is a bug of the caller (BPT_ERR_INTERNAL).
#include <stdio.h>

#include "backends/host/check.h"

// Element types that an operand may have.
typedef enum { ANY_FLOAT, ONLY_F32, ONLY_U32 } dtype_class_t;
typedef enum { REQUIRED, OPTIONAL } presence_t;

enum { ANY_ROWS = -1 };  // as `rows`: whatever the operand has

typedef struct {
    const bpt_op_call_t *call;
    unsigned seen_in, seen_out;  // bit per slot that the op knows
} checker_t;

static void describe_shape(const bpt_shape_t *shape, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "[");
    for (int i = 0; i < shape->rank && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, i ? ",%lld" : "%lld", (long long)shape->dim[i]);
    if (used < bytes) snprintf(text + used, bytes - used, "]");
}

static bool dtype_fits(bpt_dtype_t dtype, dtype_class_t class) {
    if (class == ONLY_F32) return dtype == BPT_F32;
    return class == ONLY_U32 ? dtype == BPT_U32 : dtype != BPT_U32;
}

// The operand seen as [rows, columns]; a vector or scalar is given as rows = 1, and any rank with that many elements fits.
static bpt_status_t check_operand(const bpt_op_call_t *call, const bpt_operand_t *operand, const char *kind, int slot, const char *name,
                                  dtype_class_t class, presence_t presence, int64_t rows, int64_t columns) {
    static const char *const class_names[] = {"f32, bf16 or f16", "f32", "u32"};
    if (!operand->present) {
        if (presence == OPTIONAL) return BPT_OK;
        return bpt_fail(BPT_ERR_INTERNAL, "%s needs %s %d (%s)", bpt_op_name(call->op), kind, slot, name);
    }
    if (!dtype_fits(operand->dtype, class))
        return bpt_fail(BPT_ERR_INTERNAL, "%s %s %d (%s) has type %s; it must be %s", bpt_op_name(call->op), kind, slot, name,
                        bpt_dtype_name(operand->dtype), class_names[class]);
    const bpt_shape_t *shape = &operand->shape;
    bool fits = shape->rank >= 0 && shape->rank <= BPT_MAX_RANK;
    for (int i = 0; fits && i < shape->rank; ++i) fits = shape->dim[i] >= 0;
    if (fits && rows == ANY_ROWS)
        fits = bpt_shape_columns(shape) == columns;
    else if (fits && rows == 1)
        fits = bpt_shape_count(shape) == columns;
    else if (fits)
        fits = bpt_shape_rows(shape) == rows && bpt_shape_columns(shape) == columns;
    if (fits) return BPT_OK;
    char text[128];
    describe_shape(shape, text, sizeof text);
    return bpt_fail(BPT_ERR_INTERNAL, "%s %s %d (%s) has shape %s; it must be [%lld,%lld]", bpt_op_name(call->op), kind, slot, name, text,
                    (long long)rows, (long long)columns);
}

static bpt_status_t input(checker_t *c, int slot, const char *name, dtype_class_t class, presence_t presence, int64_t rows,
                          int64_t columns) {
    c->seen_in |= 1u << slot;
    return check_operand(c->call, &c->call->in[slot], "input", slot, name, class, presence, rows, columns);
}

static bpt_status_t output(checker_t *c, int slot, const char *name, dtype_class_t class, presence_t presence, int64_t rows,
                           int64_t columns) {
    c->seen_out |= 1u << slot;
    return check_operand(c->call, &c->call->out[slot], "output", slot, name, class, presence, rows, columns);
}

static int64_t rows_of(const bpt_operand_t *operand) { return bpt_shape_rows(&operand->shape); }
static int64_t columns_of(const bpt_operand_t *operand) { return bpt_shape_columns(&operand->shape); }

static bpt_status_t check_attribute(const checker_t *c, bool fits, const char *sentence) {
    if (fits) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "%s: %s", bpt_op_name(c->call->op), sentence);
}

static bpt_status_t check_random(checker_t *c, int keys_slot, int rng_slot, float p, int64_t rows) {
    BPT_TRY(check_attribute(c, p >= 0 && p < 1, "the dropout rate must be in [0, 1)"));
    c->seen_in |= 1u << keys_slot | 1u << rng_slot;
    if (p <= 0) return BPT_OK;
    BPT_TRY(input(c, keys_slot, "row_keys", ONLY_U32, REQUIRED, rows, 2));
    return input(c, rng_slot, "rng", ONLY_U32, REQUIRED, 1, 2);
}

// Steps of a pointwise chain whose extras may be in the slots first_extra..5.
static bpt_status_t check_steps(checker_t *c, const bpt_pointwise_attrs_t *steps, int first_extra, int64_t rows, int64_t columns) {
    BPT_TRY(check_attribute(c, steps->n_steps >= 0 && steps->n_steps <= BPT_MAX_STEPS, "too many steps in the chain"));
    float p = 0;
    for (int i = 0; i < steps->n_steps; ++i) {
        const bpt_pointwise_step_t *step = &steps->step[i];
        const bpt_pointwise_form_t *form = bpt_pointwise_form(step->code);
        if (!form) return check_attribute(c, false, "unknown step in the chain");
        if (form->constant == BPT_CONSTANT_RATE) {
            BPT_TRY(check_attribute(c, step->c >= 0 && step->c < 1, "the dropout rate must be in [0, 1)"));
            if (step->c > p) p = step->c;
        }
        if (form->operand == BPT_OPERAND_NONE) continue;
        BPT_TRY(
            check_attribute(c, step->arg >= first_extra && step->arg < BPT_IN_ROW_KEYS, "a step reads a slot that holds no extra operand"));
        const bool elements = form->operand == BPT_OPERAND_ELEMENTS;
        BPT_TRY(input(c, step->arg, "operand of a step", ANY_FLOAT, REQUIRED, elements ? rows : 1,
                      form->operand == BPT_OPERAND_SCALAR ? 1 : columns));
    }
    return check_random(c, BPT_IN_ROW_KEYS, BPT_IN_RNG, p, rows);
}

static bpt_status_t check_pointwise(checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    BPT_TRY(input(c, 0, "x", ANY_FLOAT, REQUIRED, rows_of(x), columns_of(x)));
    BPT_TRY(output(c, 0, "result", ANY_FLOAT, REQUIRED, rows_of(x), columns_of(x)));
    return check_steps(c, &c->call->attrs.pointwise, 1, rows_of(x), columns_of(x));
}

static bpt_status_t check_matmul(checker_t *c) {
    const bpt_operand_t *a = &c->call->in[0], *b = &c->call->in[1];
    const bpt_matmul_attrs_t *t = &c->call->attrs.matmul;
    const int64_t m = t->transpose_a ? columns_of(a) : rows_of(a), k = t->transpose_a ? rows_of(a) : columns_of(a);
    const int64_t n = t->transpose_b ? rows_of(b) : columns_of(b);
    BPT_TRY(input(c, 0, "A", ANY_FLOAT, REQUIRED, rows_of(a), columns_of(a)));
    BPT_TRY(input(c, 1, "B", ANY_FLOAT, REQUIRED, t->transpose_b ? n : k, t->transpose_b ? k : n));
    BPT_TRY(input(c, 2, "acc", ONLY_F32, OPTIONAL, m, n));
    BPT_TRY(input(c, 3, "bias", ONLY_F32, OPTIONAL, 1, n));
    BPT_TRY(output(c, 0, "result", ANY_FLOAT, REQUIRED, m, n));
    return check_steps(c, &t->epilogue, 4, m, n);
}

static bpt_status_t check_layernorm(checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    const int64_t rows = rows_of(x), d = columns_of(x);
    BPT_TRY(input(c, 0, "x", ANY_FLOAT, REQUIRED, rows, d));
    BPT_TRY(check_attribute(c, d > 0, "rows of no columns have no mean"));
    BPT_TRY(input(c, 1, "residual", ONLY_F32, OPTIONAL, rows, d));
    BPT_TRY(input(c, 2, "gamma", ONLY_F32, REQUIRED, 1, d));
    BPT_TRY(input(c, 3, "beta", ONLY_F32, REQUIRED, 1, d));
    BPT_TRY(output(c, 0, "y", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(output(c, 1, "z", ONLY_F32, OPTIONAL, rows, d));
    BPT_TRY(output(c, 2, "stats", ONLY_F32, OPTIONAL, rows, 2));
    BPT_TRY(output(c, 3, "low", ANY_FLOAT, OPTIONAL, rows, d));
    return check_random(c, BPT_IN_ROW_KEYS, BPT_IN_RNG, c->call->attrs.layernorm.p, rows);
}

static bpt_status_t check_layernorm_grad(checker_t *c) {
    const bpt_operand_t *dy = &c->call->in[0];
    const int64_t rows = rows_of(dy), d = columns_of(dy);
    BPT_TRY(input(c, 0, "dy", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(check_attribute(c, d > 0, "rows of no columns have no mean"));
    BPT_TRY(input(c, 1, "z", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(input(c, 2, "stats", ONLY_F32, REQUIRED, rows, 2));
    BPT_TRY(input(c, 3, "gamma", ONLY_F32, REQUIRED, 1, d));
    BPT_TRY(input(c, 4, "dy of the low-precision output", ANY_FLOAT, OPTIONAL, rows, d));
    BPT_TRY(output(c, 0, "dz", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(output(c, 1, "dx", ANY_FLOAT, OPTIONAL, rows, d));
    BPT_TRY(output(c, 2, "dgamma", ONLY_F32, REQUIRED, 1, d));
    BPT_TRY(output(c, 3, "dbeta", ONLY_F32, REQUIRED, 1, d));
    return check_random(c, BPT_IN_ROW_KEYS, BPT_IN_RNG, c->call->attrs.layernorm.p, rows);
}

static bpt_status_t check_gather(checker_t *c) {
    const bpt_operand_t *table = &c->call->in[0];
    const int64_t n = bpt_shape_count(&c->call->in[1].shape);
    BPT_TRY(input(c, 0, "table", ANY_FLOAT, REQUIRED, rows_of(table), columns_of(table)));
    BPT_TRY(input(c, 1, "ids", ONLY_U32, REQUIRED, 1, n));
    return output(c, 0, "rows", ANY_FLOAT, REQUIRED, n, columns_of(table));
}

static bpt_status_t check_gather_grad(checker_t *c) {
    const bpt_operand_t *out = &c->call->out[0];
    const int64_t n = bpt_shape_count(&c->call->in[1].shape), v = rows_of(out), d = columns_of(out);
    BPT_TRY(input(c, 0, "dy", ANY_FLOAT, REQUIRED, n, d));
    BPT_TRY(input(c, 1, "ids", ONLY_U32, REQUIRED, 1, n));
    BPT_TRY(input(c, 2, "acc", ONLY_F32, OPTIONAL, v, d));
    return output(c, 0, "gradient of the table", ONLY_F32, REQUIRED, v, d);
}

static bpt_status_t check_scatter(checker_t *c) {
    const bpt_operand_t *destination = &c->call->in[0];
    const int64_t n = bpt_shape_count(&c->call->in[2].shape), d = columns_of(destination);
    BPT_TRY(input(c, 0, "destination", ANY_FLOAT, REQUIRED, rows_of(destination), d));
    BPT_TRY(input(c, 1, "x", ANY_FLOAT, REQUIRED, n, d));
    return input(c, 2, "ids", ONLY_U32, REQUIRED, 1, n);
}

static bpt_status_t check_add_rows(checker_t *c) {
    const bpt_rows_attrs_t *t = &c->call->attrs.rows;
    const bpt_operand_t *b = &c->call->in[1];
    const int64_t d = columns_of(b);
    BPT_TRY(input(c, 0, "a", ANY_FLOAT, OPTIONAL, t->rows, d));
    BPT_TRY(input(c, 1, "b", ANY_FLOAT, REQUIRED, rows_of(b), d));
    BPT_TRY(check_attribute(c, t->row >= 0 && rows_of(b) <= t->rows && t->row <= t->rows - rows_of(b), "the rows of b lie outside of a"));
    return output(c, 0, "result", ANY_FLOAT, REQUIRED, t->rows, d);
}

static bpt_status_t check_segment(checker_t *c) {
    const bpt_segment_attrs_t *t = &c->call->attrs.segment;
    const bpt_operand_t *x = &c->call->in[0], *ranges = &c->call->in[1];
    const bool gradient = c->call->op == BPT_OP_SEGMENT_GRAD, largest = t->kind == BPT_SEGMENT_MAX;
    const int64_t segments = rows_of(ranges), d = columns_of(x);
    BPT_TRY(check_attribute(c, t->kind == BPT_SEGMENT_SUM || t->kind == BPT_SEGMENT_MEAN || largest, "unknown kind of reduction"));
    BPT_TRY(check_attribute(c, t->rows >= 0 && t->rows < (int64_t)BPT_NO_ROW, "more rows than numbers for them"));
    BPT_TRY(input(c, 0, gradient ? "dy" : "x", ANY_FLOAT, REQUIRED, gradient ? segments : t->rows, d));
    BPT_TRY(input(c, 1, "ranges", ONLY_U32, REQUIRED, segments, 2));
    BPT_TRY(output(c, 0, gradient ? "dx" : "y", ANY_FLOAT, REQUIRED, gradient ? t->rows : segments, d));
    if (!largest) return BPT_OK;
    if (gradient) return input(c, 2, "place", ONLY_U32, REQUIRED, segments, d);
    return output(c, 1, "place", ONLY_U32, OPTIONAL, segments, d);
}

static bpt_status_t check_column_sum(checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    BPT_TRY(input(c, 0, "x", ANY_FLOAT, REQUIRED, rows_of(x), columns_of(x)));
    return output(c, 0, "sums", ONLY_F32, REQUIRED, 1, columns_of(x));
}

static bpt_status_t check_square_sum(checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    BPT_TRY(input(c, 0, "x", ONLY_F32, REQUIRED, rows_of(x), columns_of(x)));
    return output(c, 0, "sum", ONLY_F32, REQUIRED, 1, 1);
}

static bpt_status_t check_attention_attrs(const checker_t *c) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    const bool table = bpt_intervals_is_table(&t->graph);
    if (!table) BPT_TRY(bpt_context(bpt_intervals_check(&t->graph), "%s", bpt_op_name(c->call->op)));
    BPT_TRY(check_attribute(c, t->batch >= 0 && t->heads > 0 && t->head_dim > 0, "batch, heads and head_dim must be positive"));
    BPT_TRY(check_attribute(c, t->heads <= 256, "a dropout stream has room for 256 heads"));
    if (table) {
        return check_attribute(c, t->batch == 1 && t->queries == BPT_QUERIES_ALL && !t->packed && !t->zero_spans,
                               "graphs given as tables have batch 1, all queries, separate q and kv, and no zero_spans");
    }
    const int64_t n_other = bpt_node_count(&t->graph) - t->graph.n;
    BPT_TRY(check_attribute(
        c, !t->packed || t->queries == BPT_QUERIES_ALL || (t->queries == BPT_QUERIES_LEAVES && (n_other == 0 || t->zero_spans)),
        "q, k and v in one tensor need a query for every key row"));
    return check_attribute(c, t->queries != BPT_QUERIES_ROOTS || bpt_root_node(&t->graph, t->graph.n) >= 0,
                           "root queries of a graph without a root");
}

// A table of ranges, u32 [rows, slots, words].
static bpt_status_t check_ranges(checker_t *c, int slot, const char *name, presence_t presence, int64_t rows, int64_t words) {
    const bpt_operand_t *o = &c->call->in[slot];
    BPT_TRY(input(c, slot, name, ONLY_U32, presence, ANY_ROWS, words));
    if (!o->present || (o->shape.rank == 3 && o->shape.dim[0] == rows)) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "%s input %d (%s) must be u32 [%lld, slots, %lld]", bpt_op_name(c->call->op), slot, name,
                    (long long)rows, (long long)words);
}

static bool is_bound(const bpt_table_side_t *side, int64_t rows) {
    return side->light >= 0 && side->light <= rows && side->light_edges >= 0 && side->edges >= 0;
}

static bpt_status_t check_attention_table(checker_t *c, int64_t d) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    const int64_t queries = rows_of(&c->call->in[0]), keys = rows_of(&c->call->in[1]);
    const bool grad = c->call->op == BPT_OP_ATTENTION_GRAD;
    BPT_TRY(input(c, 0, "q", ANY_FLOAT, REQUIRED, ANY_ROWS, d));
    BPT_TRY(input(c, 1, "kv", ANY_FLOAT, REQUIRED, ANY_ROWS, 2 * d));
    BPT_TRY(input(c, 2, "rel", ANY_FLOAT, OPTIONAL, ANY_ROWS, t->head_dim));
    BPT_TRY(check_ranges(c, 6, "table", REQUIRED, queries, 4));
    BPT_TRY(check_ranges(c, 10, "back", grad ? REQUIRED : OPTIONAL, keys, 2));
    BPT_TRY(check_attribute(c, is_bound(&t->bounds.queries, queries) && is_bound(&t->bounds.keys, keys),
                            "bounds of a table must not be negative, nor have more light rows than there are"));
    BPT_TRY(check_random(c, 4, 5, t->p, queries));
    return t->p > 0 ? input(c, 11, "key_codes", ONLY_U32, REQUIRED, 1, keys) : BPT_OK;
}

static bpt_status_t check_attention_inputs(checker_t *c, int64_t *stored_queries, int64_t *out_rows) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    BPT_TRY(check_attention_attrs(c));
    const int64_t d = (int64_t)t->heads * t->head_dim;
    if (bpt_intervals_is_table(&t->graph)) {
        *stored_queries = *out_rows = rows_of(&c->call->in[0]);
        return check_attention_table(c, d);
    }
    const int64_t leaf_rows = t->batch * t->graph.n, all_rows = t->batch * bpt_node_count(&t->graph);
    const int64_t key_rows = t->zero_spans ? leaf_rows : all_rows;
    *out_rows = t->queries == BPT_QUERIES_ALL ? all_rows : t->queries == BPT_QUERIES_LEAVES ? leaf_rows : t->batch;
    *stored_queries = t->queries == BPT_QUERIES_ALL && t->zero_spans ? leaf_rows : *out_rows;
    if (t->packed) {
        BPT_TRY(input(c, 0, "qkv", ANY_FLOAT, REQUIRED, key_rows, 3 * d));
        BPT_TRY(input(c, 1, "qkv", ANY_FLOAT, REQUIRED, key_rows, 3 * d));
    } else {
        BPT_TRY(input(c, 0, "q", ANY_FLOAT, REQUIRED, *stored_queries, d));
        BPT_TRY(input(c, 1, "kv", ANY_FLOAT, REQUIRED, key_rows, 2 * d));
    }
    BPT_TRY(input(c, 2, "rel", ANY_FLOAT, OPTIONAL, bpt_rel_rows(&t->graph), t->head_dim));
    BPT_TRY(input(c, 3, "lengths", ONLY_U32, REQUIRED, 1, t->batch));
    return check_random(c, 4, 5, t->p, all_rows);
}

static bpt_status_t check_attention(checker_t *c) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    int64_t stored_queries, out_rows;
    BPT_TRY(check_attention_inputs(c, &stored_queries, &out_rows));
    BPT_TRY(output(c, 0, "out", ANY_FLOAT, REQUIRED, out_rows, (int64_t)t->heads * t->head_dim));
    return output(c, 1, "lse", ONLY_F32, OPTIONAL, out_rows, t->heads);
}

static bpt_status_t check_attention_grad(checker_t *c) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    const bpt_op_call_t *call = c->call;
    const int64_t d = (int64_t)t->heads * t->head_dim;
    int64_t stored_queries, out_rows;
    BPT_TRY(check_attention_inputs(c, &stored_queries, &out_rows));
    BPT_TRY(input(c, 7, "out", ANY_FLOAT, REQUIRED, out_rows, d));
    BPT_TRY(input(c, 8, "dout", ANY_FLOAT, REQUIRED, out_rows, d));
    BPT_TRY(input(c, 9, "lse", ONLY_F32, REQUIRED, out_rows, t->heads));
    BPT_TRY(output(c, 0, t->packed ? "dqkv" : "dq", ANY_FLOAT, REQUIRED, rows_of(&call->in[0]), columns_of(&call->in[0])));
    if (!t->packed) BPT_TRY(output(c, 1, "dkv", ANY_FLOAT, REQUIRED, rows_of(&call->in[1]), columns_of(&call->in[1])));
    if (!call->in[2].present) return BPT_OK;
    return output(c, 2, "drel", ONLY_F32, REQUIRED, rows_of(&call->in[2]), t->head_dim);
}

static bpt_status_t check_xent(checker_t *c) {
    const bpt_operand_t *h = &c->call->in[0], *w = &c->call->in[1];
    const int64_t n = rows_of(h), v = rows_of(w), d = columns_of(h);
    const float smoothing = c->call->attrs.xent.smoothing;
    BPT_TRY(check_attribute(c, smoothing >= 0 && smoothing < 1, "label smoothing must be in [0, 1)"));
    BPT_TRY(check_attribute(c, smoothing <= 0 || v > 1, "label smoothing needs two classes or more"));
    BPT_TRY(input(c, 0, "h", ANY_FLOAT, REQUIRED, n, d));
    BPT_TRY(input(c, 1, "W", ANY_FLOAT, REQUIRED, v, d));
    BPT_TRY(input(c, 2, "b", ONLY_F32, OPTIONAL, 1, v));
    BPT_TRY(input(c, 3, "targets", ONLY_U32, REQUIRED, 1, n));
    BPT_TRY(input(c, 4, "weights", ONLY_F32, REQUIRED, 1, n));
    BPT_TRY(output(c, 0, "loss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(output(c, 1, "nll", ONLY_F32, REQUIRED, 1, n));
    if (c->call->op == BPT_OP_XENT) return BPT_OK;
    BPT_TRY(input(c, 5, "dloss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(output(c, 2, "dh", ANY_FLOAT, REQUIRED, n, d));
    BPT_TRY(output(c, 3, "dW", ONLY_F32, REQUIRED, v, d));
    if (!c->call->in[2].present) return BPT_OK;
    return output(c, 4, "db", ONLY_F32, REQUIRED, 1, v);
}

static bpt_status_t check_crf(checker_t *c) {
    const int64_t rows = rows_of(&c->call->in[0]), tags = columns_of(&c->call->in[0]), sequences = rows_of(&c->call->in[3]);
    BPT_TRY(check_attribute(c, tags >= 1 && tags <= BPT_CRF_MOST_TAGS, "there must be 1 to 256 tags"));
    BPT_TRY(input(c, 0, "x", ONLY_F32, REQUIRED, rows, tags));
    BPT_TRY(input(c, 1, "t", ONLY_F32, REQUIRED, tags + 2, tags));
    BPT_TRY(input(c, 2, "tags", ONLY_U32, REQUIRED, 1, rows));
    BPT_TRY(input(c, 3, "ranges", ONLY_U32, REQUIRED, sequences, 2));
    BPT_TRY(input(c, 4, "weights", ONLY_F32, REQUIRED, 1, sequences));
    BPT_TRY(output(c, 0, "loss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(output(c, 1, "nll", ONLY_F32, REQUIRED, 1, sequences));
    if (c->call->op == BPT_OP_CRF) return BPT_OK;
    BPT_TRY(input(c, 5, "dloss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(output(c, 2, "dx", ONLY_F32, REQUIRED, rows, tags));
    return output(c, 3, "dt", ONLY_F32, REQUIRED, tags + 2, tags);
}

static bpt_status_t check_tree_values(checker_t *c) {
    const bpt_tree_values_attrs_t *t = &c->call->attrs.tree_values;
    const bpt_operand_t *kv = &c->call->in[0], *vertical = &c->call->in[2], *horizontal = &c->call->in[3];
    const int64_t rows = rows_of(kv), width = columns_of(kv), leaves = rows_of(&c->call->in[1]), half = t->head_dim / 2;
    const bool gradient = c->call->op == BPT_OP_TREE_VALUES_GRAD, tables = vertical->present;
    BPT_TRY(check_attribute(c, t->heads > 0 && t->head_dim > 0 && (int64_t)t->heads * t->head_dim <= width, "the heads need more columns"));
    BPT_TRY(check_attribute(c, leaves <= rows && t->depth >= 0, "there are more leaves than rows, or a depth below 0"));
    BPT_TRY(check_attribute(c, !tables || t->head_dim % 2 == 0, "hierarchical embeddings need an even head_dim"));
    BPT_TRY(check_attribute(c, !tables || (rows_of(vertical) > 0 && rows_of(horizontal) > 0), "a table of embeddings is empty"));
    BPT_TRY(input(c, 0, "kv", ANY_FLOAT, REQUIRED, rows, width));
    BPT_TRY(input(c, 1, "weight", ONLY_F32, REQUIRED, leaves, t->heads));
    if (tables) BPT_TRY(input(c, 2, "vertical", ONLY_F32, REQUIRED, rows_of(vertical), half));
    if (tables) BPT_TRY(input(c, 3, "horizontal", ONLY_F32, REQUIRED, rows_of(horizontal), half));
    BPT_TRY(input(c, 4, "links", ONLY_U32, REQUIRED, rows, 3));
    BPT_TRY(input(c, 5, "trees", ONLY_U32, REQUIRED, rows_of(&c->call->in[5]), 4));
    BPT_TRY(output(c, 0, gradient ? "dkv" : "out", ANY_FLOAT, REQUIRED, rows, width));
    if (!gradient) return BPT_OK;
    BPT_TRY(input(c, 6, "dout", ANY_FLOAT, REQUIRED, rows, width));
    BPT_TRY(output(c, 1, "dweight", ONLY_F32, REQUIRED, leaves, t->heads));
    if (tables) BPT_TRY(output(c, 2, "dvertical", ONLY_F32, REQUIRED, rows_of(vertical), half));
    return tables ? output(c, 3, "dhorizontal", ONLY_F32, REQUIRED, rows_of(horizontal), half) : BPT_OK;
}

static bpt_status_t check_adam(checker_t *c) {
    static const char *const names[] = {"p", "g", "m", "v"};
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    for (int i = 0; i < 4; ++i) BPT_TRY(input(c, i, names[i], ONLY_F32, REQUIRED, 1, count));
    BPT_TRY(input(c, 4, "hyper", ONLY_F32, REQUIRED, 1, 8));
    return input(c, 5, "square_sum", ONLY_F32, REQUIRED, 1, 1);
}

static bpt_status_t check_accumulate(checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(input(c, 0, "acc", ONLY_F32, REQUIRED, 1, count));
    BPT_TRY(input(c, 1, "x", ONLY_F32, REQUIRED, 1, count));
    return input(c, 2, "keep", ONLY_F32, REQUIRED, 1, 1);
}

static bpt_status_t check_cast(checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(input(c, 0, "x", ANY_FLOAT, REQUIRED, 1, count));
    return output(c, 0, "result", ANY_FLOAT, REQUIRED, 1, count);
}

static bpt_status_t check_fill(checker_t *c) {
    return output(c, 0, "result", ANY_FLOAT, REQUIRED, 1, bpt_shape_count(&c->call->out[0].shape));
}

static bpt_status_t check_copy(checker_t *c) {
    const bpt_operand_t *from = &c->call->in[0], *to = &c->call->out[0];
    const dtype_class_t class = from->dtype == BPT_U32 ? ONLY_U32 : ANY_FLOAT;
    BPT_TRY(input(c, 0, "source", class, REQUIRED, 1, bpt_shape_count(&from->shape)));
    BPT_TRY(output(c, 0, "target", class, REQUIRED, 1, bpt_shape_count(&from->shape)));
    return check_attribute(c, from->dtype == to->dtype, "source and target of a copy have the same type");
}

bpt_status_t bpt_call_check(const bpt_op_call_t *call) {
    checker_t c = {.call = call};
    if ((unsigned)call->op >= BPT_OP_COUNT) return bpt_fail(BPT_ERR_INTERNAL, "call of op number %d, which does not exist", (int)call->op);
    switch (call->op) {
    case BPT_OP_POINTWISE: BPT_TRY(check_pointwise(&c)); break;
    case BPT_OP_MATMUL: BPT_TRY(check_matmul(&c)); break;
    case BPT_OP_LAYERNORM: BPT_TRY(check_layernorm(&c)); break;
    case BPT_OP_LAYERNORM_GRAD: BPT_TRY(check_layernorm_grad(&c)); break;
    case BPT_OP_GATHER: BPT_TRY(check_gather(&c)); break;
    case BPT_OP_GATHER_GRAD: BPT_TRY(check_gather_grad(&c)); break;
    case BPT_OP_SCATTER: BPT_TRY(check_scatter(&c)); break;
    case BPT_OP_ADD_ROWS: BPT_TRY(check_add_rows(&c)); break;
    case BPT_OP_SEGMENT:
    case BPT_OP_SEGMENT_GRAD: BPT_TRY(check_segment(&c)); break;
    case BPT_OP_COLUMN_SUM: BPT_TRY(check_column_sum(&c)); break;
    case BPT_OP_SQUARE_SUM: BPT_TRY(check_square_sum(&c)); break;
    case BPT_OP_ATTENTION: BPT_TRY(check_attention(&c)); break;
    case BPT_OP_ATTENTION_GRAD: BPT_TRY(check_attention_grad(&c)); break;
    case BPT_OP_XENT:
    case BPT_OP_XENT_GRAD: BPT_TRY(check_xent(&c)); break;
    case BPT_OP_CRF:
    case BPT_OP_CRF_GRAD: BPT_TRY(check_crf(&c)); break;
    case BPT_OP_TREE_VALUES:
    case BPT_OP_TREE_VALUES_GRAD: BPT_TRY(check_tree_values(&c)); break;
    case BPT_OP_ADAM: BPT_TRY(check_adam(&c)); break;
    case BPT_OP_ACCUMULATE: BPT_TRY(check_accumulate(&c)); break;
    case BPT_OP_CAST: BPT_TRY(check_cast(&c)); break;
    case BPT_OP_FILL: BPT_TRY(check_fill(&c)); break;
    case BPT_OP_COPY: BPT_TRY(check_copy(&c)); break;
    case BPT_OP_COUNT:
    case BPT_OP_JOIN:
    case BPT_OP_EXCHANGE: break;
    }
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (call->in[i].present && !(c.seen_in >> i & 1)) return bpt_fail(BPT_ERR_INTERNAL, "%s has no input %d", bpt_op_name(call->op), i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (call->out[i].present && !(c.seen_out >> i & 1))
            return bpt_fail(BPT_ERR_INTERNAL, "%s has no output %d", bpt_op_name(call->op), i);
    return BPT_OK;
}
