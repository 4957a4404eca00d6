// A model as a graph of ops on values (tensors). The builder infers shapes, bpt_graph_gradients differentiates from graph
// to graph, bpt_graph_fuse fuses, bpt_program_compile (program.h) schedules, plans memory and records.
//
// Values are numbers, valid for the life of their graph; nodes are kept in execution order. A builder function that fails
// returns BPT_NO_VALUE and the graph remembers the first failure (bpt_graph_status), so that model code reads like formulas:
// check once at the end. BPT_NO_VALUE as an input means "absent" where ops.h allows it.
#ifndef BPT_GRAPH_H
#define BPT_GRAPH_H

#include "bpt/ops.h"

BPT_BEGIN_DECLS

typedef struct bpt_graph bpt_graph_t;
typedef int32_t bpt_value_t;
#define BPT_NO_VALUE ((bpt_value_t)-1)

typedef enum {
    BPT_VALUE_TEMP,   // made by a node, lives in the planned workspace
    BPT_VALUE_INPUT,  // written by the host before a run, kept between runs
    BPT_VALUE_STATE,  // a range of a buffer that outlives the program (parameters, gradients, moments, caches)
    BPT_VALUE_VIEW,   // a contiguous range of another value
} bpt_value_kind_t;

typedef struct {
    bpt_value_kind_t kind;
    bpt_dtype_t dtype;
    bpt_shape_t shape;
    const char *name;     // owned by the graph, "" if none
    bpt_value_t base;     // VIEW: the viewed value
    size_t offset_bytes;  // VIEW: from the start of base
    int32_t state;        // STATE: which buffer
    int32_t node;         // TEMP: the node that makes it, else -1
} bpt_value_info_t;

static inline bpt_shape_t bpt_shape1(int64_t a) {
    const bpt_shape_t shape = {1, {a}};
    return shape;
}
static inline bpt_shape_t bpt_shape2(int64_t a, int64_t b) {
    const bpt_shape_t shape = {2, {a, b}};
    return shape;
}
static inline bpt_shape_t bpt_shape3(int64_t a, int64_t b, int64_t c) {
    const bpt_shape_t shape = {3, {a, b, c}};
    return shape;
}

BPT_API bpt_status_t bpt_graph_create(bpt_graph_t **out) BPT_MUST_USE;
BPT_API void bpt_graph_destroy(bpt_graph_t *graph);
BPT_API bpt_status_t bpt_graph_status(const bpt_graph_t *graph) BPT_MUST_USE;  // the first failure; restores its message
// For who could not make a value that nodes will read: with a status that is not BPT_OK the graph has failed, and takes no further nodes.
// Returns the status.
BPT_API bpt_status_t bpt_graph_fail(bpt_graph_t *graph, bpt_status_t status);
BPT_API const bpt_value_info_t *bpt_graph_value(const bpt_graph_t *graph, bpt_value_t value);

// ---- Leaves of the graph -------------------------------------------------------------------------------------------
BPT_API bpt_value_t bpt_input(bpt_graph_t *g, const char *name, bpt_dtype_t dtype, bpt_shape_t shape);
// A whole persistent buffer number `state` (chosen by the caller, bound at compile time).
BPT_API bpt_value_t bpt_state(bpt_graph_t *g, const char *name, int32_t state, bpt_dtype_t dtype, bpt_shape_t shape);
BPT_API bpt_value_t bpt_view(bpt_graph_t *g, bpt_value_t base, size_t offset_bytes, bpt_shape_t shape);
// Rows [row, row + rows) of a value seen as [rows, columns].
BPT_API bpt_value_t bpt_rows(bpt_graph_t *g, bpt_value_t x, int64_t row, int64_t rows);
BPT_API void bpt_name(bpt_graph_t *g, bpt_value_t x, const char *name);

// ---- Ops (ops.h has their semantics) --------------------------------------------------------------------------------
BPT_API bpt_value_t bpt_add(bpt_graph_t *g, bpt_value_t a, bpt_value_t b);
BPT_API bpt_value_t bpt_mul(bpt_graph_t *g, bpt_value_t a, bpt_value_t b);
BPT_API bpt_value_t bpt_add_row(bpt_graph_t *g, bpt_value_t a, bpt_value_t row);
BPT_API bpt_value_t bpt_mul_scalar(bpt_graph_t *g, bpt_value_t a, bpt_value_t scalar);
BPT_API bpt_value_t bpt_scale(bpt_graph_t *g, bpt_value_t a, float factor);
BPT_API bpt_value_t bpt_relu(bpt_graph_t *g, bpt_value_t a);
BPT_API bpt_value_t bpt_abs(bpt_graph_t *g, bpt_value_t a);
BPT_API bpt_value_t bpt_swish(bpt_graph_t *g, bpt_value_t a);

// Where random numbers of a program come from. row_keys may be BPT_NO_VALUE when p is 0 everywhere.
typedef struct {
    bpt_value_t row_keys, rng;
} bpt_random_t;
// Every call takes the next uid of the graph, so the same model code gives the same streams on every backend and bucket.
BPT_API bpt_value_t bpt_dropout(bpt_graph_t *g, bpt_value_t a, float p, bpt_random_t random);
// How many uids have been taken, and the same number set again: rows that are computed by pieces have the random numbers that they have
// together where each piece begins with the same number.
BPT_API uint32_t bpt_graph_randoms(const bpt_graph_t *g);
BPT_API void bpt_graph_set_randoms(bpt_graph_t *g, uint32_t uid);

typedef struct {
    bool transpose_a, transpose_b;
    bpt_value_t acc, bias;  // BPT_NO_VALUE: none
    bpt_dtype_t dtype;      // of the result
} bpt_matmul_options_t;
BPT_API bpt_value_t bpt_matmul(bpt_graph_t *g, bpt_value_t a, bpt_value_t b, bpt_matmul_options_t options);
// y = x W^T + bias: x [R,in], w [out,in], bias [out] or BPT_NO_VALUE; y has x's dtype.
BPT_API bpt_value_t bpt_linear(bpt_graph_t *g, bpt_value_t x, bpt_value_t w, bpt_value_t bias);

// y = LayerNorm(dropout(x) + residual); *low (may be NULL): y in `low_dtype`, y itself when that is f32.
BPT_API bpt_value_t bpt_layernorm(bpt_graph_t *g, bpt_value_t x, bpt_value_t residual, bpt_value_t gamma, bpt_value_t beta, float p,
                                  bpt_random_t random, bpt_dtype_t low_dtype, bpt_value_t *low);
// The same without mean and beta (RMSNorm).
BPT_API bpt_value_t bpt_rmsnorm(bpt_graph_t *g, bpt_value_t x, bpt_value_t residual, bpt_value_t gamma, float p, bpt_random_t random,
                                bpt_dtype_t low_dtype, bpt_value_t *low);
BPT_API bpt_value_t bpt_gather(bpt_graph_t *g, bpt_value_t table, bpt_value_t ids);
BPT_API void bpt_scatter(bpt_graph_t *g, bpt_value_t destination, bpt_value_t x, bpt_value_t ids);
BPT_API bpt_value_t bpt_add_rows(bpt_graph_t *g, bpt_value_t a, bpt_value_t b, int64_t row, int64_t rows);
// Rotary position embedding (ops.h) of the heads in the first `columns` columns of x [R,C]; angles f32 [R,head_dim].
BPT_API bpt_value_t bpt_rotary(bpt_graph_t *g, bpt_value_t x, bpt_value_t angles, int32_t head_dim, int64_t columns);
// The parts' rows one behind the other, as `dtype`: [sum of their rows, columns]. Costs nothing where a part is made for it: its node then
// writes into the result; other parts (inputs, states, views of some rows, parts of two joins) are copied.
enum { BPT_MAX_PARTS = BPT_MAX_INPUTS };
BPT_API bpt_value_t bpt_join(bpt_graph_t *g, bpt_dtype_t dtype, const bpt_value_t *part, int n);
// Row b of the result: the sum, mean or largest of the rows ranges[b] of x; ranges u32 [B,2]. For a gradient no two may overlap.
BPT_API bpt_value_t bpt_segment(bpt_graph_t *g, bpt_segment_kind_t kind, bpt_value_t x, bpt_value_t ranges);
// Hierarchical accumulation (ops.h): kv [R,W] with the values of the nodes of trees accumulated. vertical and horizontal BPT_NO_VALUE: no
// hierarchical embeddings.
typedef struct {
    bpt_value_t kv, weight, vertical, horizontal, links, trees;
} bpt_tree_values_inputs_t;
BPT_API bpt_value_t bpt_tree_values(bpt_graph_t *g, const bpt_tree_values_attrs_t *attrs, const bpt_tree_values_inputs_t *in);
BPT_API bpt_value_t bpt_column_sum(bpt_graph_t *g, bpt_value_t x);
BPT_API bpt_value_t bpt_square_sum(bpt_graph_t *g, bpt_value_t x);

typedef struct {
    bpt_value_t q, kv, rel, lengths, row_keys, rng, table;
    bpt_value_t back, key_codes;  // kind TABLE only, not looked at elsewhere; without `back` there is no gradient
} bpt_attention_inputs_t;
// attrs.uid is filled in.
BPT_API bpt_value_t bpt_attention(bpt_graph_t *g, const bpt_attention_attrs_t *attrs, const bpt_attention_inputs_t *in);
// The log sum exp of the scores beside a result of bpt_attention, f32 [query rows, heads]; to be asked for before the graph is changed.
BPT_API bpt_value_t bpt_attention_lse(bpt_graph_t *g, bpt_value_t attention);

typedef struct {
    bpt_value_t loss, nll;
} bpt_xent_t;
BPT_API bpt_xent_t bpt_xent(bpt_graph_t *g, bpt_value_t h, bpt_value_t w, bpt_value_t bias, bpt_value_t targets, bpt_value_t weights,
                            float smoothing);
typedef struct {
    bpt_value_t loss, nll;
} bpt_crf_t;
BPT_API bpt_crf_t bpt_crf(bpt_graph_t *g, bpt_value_t scores, bpt_value_t transitions, bpt_value_t tags, bpt_value_t ranges,
                          bpt_value_t weights);
BPT_API void bpt_adam(bpt_graph_t *g, bpt_value_t p, bpt_value_t grad, bpt_value_t m, bpt_value_t v, bpt_value_t hyper,
                      bpt_value_t square_sum, const bpt_adam_attrs_t *attrs);
BPT_API void bpt_accumulate(bpt_graph_t *g, bpt_value_t acc, bpt_value_t x, bpt_value_t keep);
BPT_API void bpt_momentum(bpt_graph_t *g, bpt_value_t grad, bpt_value_t m, bpt_value_t hyper, bpt_value_t square_sum,
                          const bpt_momentum_attrs_t *attrs);
BPT_API bpt_value_t bpt_normalize(bpt_graph_t *g, bpt_value_t x, bpt_value_t square_sum, float eps, bpt_dtype_t dtype);
BPT_API void bpt_descend(bpt_graph_t *g, bpt_value_t p, bpt_value_t u, bpt_value_t hyper, bpt_value_t square_sum,
                         const bpt_descend_attrs_t *attrs);
// Rows for rows, with other processes (ops.h): [rows, columns] of x's dtype. The program needs to be told how (bpt_program_on_exchange).
BPT_API bpt_value_t bpt_exchange(bpt_graph_t *g, bpt_value_t x, int64_t rows);
BPT_API bpt_value_t bpt_cast(bpt_graph_t *g, bpt_value_t x, bpt_dtype_t dtype);  // x itself when it has the dtype
BPT_API bpt_value_t bpt_fill(bpt_graph_t *g, bpt_dtype_t dtype, bpt_shape_t shape, float value);
BPT_API bpt_value_t bpt_copy(bpt_graph_t *g, bpt_value_t x);

// ---- Whole-graph operations -----------------------------------------------------------------------------------------
// A tensor that nodes make part by part, in row order or any other: each puts its result in a view of it by bpt_graph_place, all before
// it is read. It lies in the planned workspace. For a gradient no two of them may overlap.
BPT_API bpt_value_t bpt_parts(bpt_graph_t *g, bpt_dtype_t dtype, bpt_shape_t shape);
// Marks `value` as a result that the host reads, or that must exist for another reason: it and what it needs stay.
BPT_API void bpt_graph_keep(bpt_graph_t *g, bpt_value_t value);
// Asks to be told when `value`, a state or a view of one, is final: while the program runs, behind the last node that writes any of it
// (bpt_program_run_marked). Marks are numbered from 0. Nodes that write marked values run as early as what they read allows; the others
// keep their order.
BPT_API void bpt_graph_mark(bpt_graph_t *g, bpt_value_t value);
// The storage of `value` (a TEMP) becomes `target` (a STATE, a tensor of bpt_parts or a view of one, of the same dtype and count).
BPT_API void bpt_graph_place(bpt_graph_t *g, bpt_value_t value, bpt_value_t target);
// Nodes added between begin and end form a region whose inner values `recompute` may forget and compute again. A region may have others in
// it: the backward pass computes it again once, and each of those once more from what the first time left.
BPT_API void bpt_graph_region_begin(bpt_graph_t *g);
BPT_API void bpt_graph_region_end(bpt_graph_t *g);
// The region at hand does not forget `value`, which it makes; a region around it may.
BPT_API void bpt_graph_region_result(bpt_graph_t *g, bpt_value_t value);

// `value` (a TEMP) may wait on disk (bpt_program_on_offload) between the forward and the backward pass.
BPT_API void bpt_graph_offload(bpt_graph_t *g, bpt_value_t value);

// Reverse-mode differentiation of the scalar `loss`: appends the backward nodes and writes to grads[i] the gradient of
// loss with respect to wrt[i] (f32 for weights, else the dtype of the value), BPT_NO_VALUE where loss does not depend on it.
BPT_API bpt_status_t bpt_graph_gradients(bpt_graph_t *g, bpt_value_t loss, const bpt_value_t *wrt, int n_wrt,
                                         bpt_value_t *grads) BPT_MUST_USE;
// Fusion. Before gradients: product + relu + dropout, whose joint gradient is known. After gradients also pointwise chains,
// a product and the chain behind it, and sums of products (beta = 1).
BPT_API bpt_status_t bpt_graph_fuse(bpt_graph_t *g) BPT_MUST_USE;
BPT_API bpt_status_t bpt_graph_recompute(bpt_graph_t *g) BPT_MUST_USE;  // after gradients: forget and recompute inside regions
// Behind it: values that bpt_graph_offload names go to disk and come back.
BPT_API bpt_status_t bpt_graph_offload_marked(bpt_graph_t *g) BPT_MUST_USE;
BPT_API bpt_status_t bpt_graph_eliminate(bpt_graph_t *g) BPT_MUST_USE;  // dead code
// Last, before planning: joins become places where their parts are made, or copies into them; what is marked moves to its place.
BPT_API bpt_status_t bpt_graph_place_joins(bpt_graph_t *g) BPT_MUST_USE;

BPT_END_DECLS

#endif
