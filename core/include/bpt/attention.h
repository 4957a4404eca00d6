// The op itself for other programs: sparse attention over a graph and its gradient, on arrays in the memory of the host, computed by any
// backend. Everything else of a model is the caller's. The package `bpt` for Python is built on it.
//
// out[s, i, h] = sum over the keys j that query i reads of softmax_j(scale q[s, i, h] . k[s, j, h]) v[s, j, h]; with a table of relative
// positions the score is scale (q . k + q . rel[row of the edge]). B sequences s, H heads h, head_dim numbers each; numbers are rounded to
// the type of the arrays once, sums are f32. Which keys a query reads is said by a rule (bpt/intervals.h) or by tables of ranges.
//
// Rows. A graph with a rule has the nodes of bpt/intervals.h: its n leaves first, then its spans (or the virtual root), level by level:
// bpt_node_count(graph) rows in all. Keys and values have all of them; queries all, or the leaves alone. In a sequence that is shorter than
// n (`lengths`) the rows of nodes that do not exist are not read, give zeros, and get zeros as gradients. A table has any numbers of
// queries and of keys.
//
// Errors: bpt/status.h. What does not fit together, a null pointer: BPT_ERR_USAGE, and nothing has happened. A number in an array, or in a
// result, that is not finite: BPT_ERR_NUMERIC with its place; results then hold nothing of use. BPT_ERR_DEVICE_LOST: the device must be
// closed and opened again.
// Ownership: arguments are borrowed for the duration of the call. Threads: a device, with its ops, is for one thread at a time, any thread.
// Sources: Ye et al. 2019, "BP-Transformer", section 3.2; the backward pass from the log-sum-exp is that of Dao et al. 2022,
// "FlashAttention", section 3.1.
#ifndef BPT_ATTENTION_H
#define BPT_ATTENTION_H

#include "bpt/dtype.h"
#include "bpt/intervals.h"

BPT_BEGIN_DECLS

#define BPT_ATTENTION_VERSION 1  // of the structs of this header

struct bpt_device;

// ---- The device -------------------------------------------------------------------------------------------------------

typedef struct {
    uint32_t version;       // BPT_ATTENTION_VERSION
    int32_t device;         // number of the device within its backend, as `bpt devices` lists them
    const char *backend;    // "cpu", "opencl", "vulkan", "cuda", "ref"; never replaced by another one
    int32_t threads;        // cpu: 0 = all
    double submit_ms;       // GPUs: longest submission; 0 = what suits the device
    uint64_t memory_bytes;  // GPUs: most to use of its memory; 0 = all
} bpt_attention_device_t;

// BPT_ERR_UNAVAILABLE: no such backend or device. Programs that have opened a device by bpt/backend.h give that one to the ops below.
BPT_API bpt_status_t bpt_attention_open_device(const bpt_attention_device_t *options, struct bpt_device **out) BPT_MUST_USE;
BPT_API void bpt_attention_close_device(struct bpt_device *device);  // after its ops; NULL is fine

// ---- An op: a graph, sizes and a type ---------------------------------------------------------------------------------

// What each query reads, as ranges of keys. They may overlap, and a key then counts as often as it is read; with rel_rows they may not.
typedef struct {
    int64_t queries, keys;   // rows of a sequence, at least 1
    int64_t slots;           // ranges of a query, at least 1; those that are not needed are empty (begin = end)
    int64_t tables;          // 1: all sequences have the same; else one for each sequence
    const uint32_t *ranges;  // [tables, queries, slots, 4]: begin, end, row of rel of the first key (0xFFFFFFFF: none), step from a key's
                             // row to the next key's, as int32
    int64_t rel_rows;        // rows of the table of relative positions; 0: there is none
} bpt_attention_table_t;

typedef struct {
    uint32_t version;                    // BPT_ATTENTION_VERSION
    bpt_dtype_t dtype;                   // of all arrays: BPT_F32, BPT_BF16, BPT_F16
    bpt_intervals_t graph;               // where `table` is NULL. rel_levels > 0: there is a table of relative positions
    const bpt_attention_table_t *table;  // read by bpt_attention_op_create only
    int64_t batch;                       // B, at least 1
    int32_t heads, head_dim;             // H at most 256, head_dim at most 65536
    bool leaves;                         // queries are the leaves alone; not with a table
    float scale;                         // 0: 1 / sqrt(head_dim)
} bpt_attention_spec_t;

typedef struct bpt_attention_op bpt_attention_op_t;

// Makes an op ready for a device, which must outlive it; it may be used any number of times, for any layer of a model. Its memory is that
// of the operands, once. BPT_ERR_UNSUPPORTED: the device lacks the type.
BPT_API bpt_status_t bpt_attention_op_create(struct bpt_device *device, const bpt_attention_spec_t *spec,
                                             bpt_attention_op_t **out) BPT_MUST_USE;
BPT_API void bpt_attention_op_destroy(bpt_attention_op_t *op);            // NULL is fine
BPT_API int64_t bpt_attention_op_queries(const bpt_attention_op_t *op);   // Q: rows of queries of a sequence
BPT_API int64_t bpt_attention_op_keys(const bpt_attention_op_t *op);      // K: rows of keys of a sequence
BPT_API int64_t bpt_attention_op_rel_rows(const bpt_attention_op_t *op);  // rows of the table of relative positions; 0: there is none

// ---- Arrays -----------------------------------------------------------------------------------------------------------

// [B, rows, H, head_dim], in any order: the number [s, i, h, c] is number s stride[0] + i stride[1] + h stride[2] + c behind `data`.
// Strides may be negative; those of what is written must not make numbers overlap.
typedef struct {
    void *data;
    int64_t stride[3];
} bpt_attention_array_t;

typedef struct {
    bpt_attention_array_t q;     // Q rows
    bpt_attention_array_t k, v;  // K rows
    const void *rel;             // [rel_rows, head_dim], dense; NULL where there is none
    const uint32_t *lengths;     // [B], 1 .. n: leaves of each sequence; NULL: n each. Not with a table
} bpt_attention_operands_t;

typedef struct {
    bpt_attention_array_t q, k, v;  // as the operands; `data` NULL: not wanted
    float *rel;                     // [rel_rows, head_dim], f32 whatever the type; NULL: not wanted
} bpt_attention_gradients_t;

// out: [B, Q, H, head_dim]. lse: [B, Q, H], dense, the log of the sum of the exponentials of the scores, which the gradient needs; NULL:
// not wanted. A query without keys: zeros.
BPT_API bpt_status_t bpt_attention_forward(bpt_attention_op_t *op, const bpt_attention_operands_t *in, const bpt_attention_array_t *out,
                                           float *lse) BPT_MUST_USE;
// The gradients of a number L of which `dout` is the gradient with respect to out; `in`, `out` and `lse` as in bpt_attention_forward,
// whatever the op has computed since. Not all of `gradients` may be unwanted.
BPT_API bpt_status_t bpt_attention_backward(bpt_attention_op_t *op, const bpt_attention_operands_t *in, const bpt_attention_array_t *out,
                                            const float *lse, const bpt_attention_array_t *dout,
                                            const bpt_attention_gradients_t *gradients) BPT_MUST_USE;

BPT_END_DECLS

#endif
