// Inside of a graph, shared by the files of core/graph and core/ops.
#ifndef BPT_GRAPH_INTERNAL_H
#define BPT_GRAPH_INTERNAL_H

#include "bpt/alloc.h"
#include "bpt/graph.h"

typedef struct {
    bpt_op_t op;
    bpt_attrs_t attrs;
    bpt_dtype_t dtype;  // of out[0], where it does not follow from the inputs
    bpt_value_t in[BPT_MAX_INPUTS], out[BPT_MAX_OUTPUTS];
    int32_t region;  // of recomputation, -1 = none
    bool backward;   // made by bpt_graph_gradients or after it
} bpt_node_t;

typedef struct {
    bpt_value_info_t info;
    char *name;
    bpt_value_t place;  // where a TEMP is stored instead of the workspace, else BPT_NO_VALUE
    bool kept, parts;   // parts: a TEMP that several nodes make (bpt_parts)
    bool offload;       // bpt_graph_offload
    bool result;        // of the region that makes it (bpt_graph_region_result)
} bpt_value_record_t;

struct bpt_graph {
    bpt_node_t *nodes;
    size_t n_nodes, node_capacity;
    bpt_value_record_t *values;
    size_t n_values, value_capacity;
    bpt_value_t *marks;  // bpt_graph_mark
    size_t n_marks, mark_capacity;
    uint32_t next_uid;
    int32_t *parent;  // of each region: the one that it lies in, -1 = none
    size_t n_regions, region_capacity;
    int32_t region;  // the open one, -1 = none
    bool differentiated;
    bpt_status_t status;
    char message[512];
};

struct bpt_checker;

// What core knows of an op: one entry per op, in core/ops/<family>.c.
typedef struct {
    // Holds the operands and attributes of a backend's call against bpt/ops.h (core/ops/contract.h). NULL: no backend sees the op.
    bpt_status_t (*check)(struct bpt_checker *c);
    // Checks the inputs and creates the outputs of `node` (bpt_new_output).
    bpt_status_t (*infer)(bpt_graph_t *g, bpt_node_t *node);
    // Appends nodes that give din[i], the gradient with respect to in[i] (wanted where need[i]), from dout[j] (may be absent).
    // `node` is a copy: the node array may move.
    bpt_status_t (*grad)(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din);
    // Floating-point operations; bytes are counted from the operands.
    double (*flops)(const bpt_graph_t *g, const bpt_node_t *node);
    uint32_t mutates;                        // bit i: in[i] is changed in place
    uint32_t optional_outputs;               // bit j: out[j] may be absent when nobody reads it
    bool by_host;                            // no backend computes it: the host does, between two lists of work
    const struct bpt_attribute *attributes;  // of its line (core/lines/form.h), NULL: none
    const struct bpt_content *contents;      // of inputs that are more than numbers, NULL: none
    // The input whose storage out[0] may take over when that input dies here, -1 = none.
    int (*share)(const bpt_graph_t *g, const bpt_node_t *node, int nth);
} bpt_op_info_t;

const bpt_op_info_t *bpt_op_info(bpt_op_t op);

bpt_value_t bpt_new_value(bpt_graph_t *g, bpt_value_kind_t kind, bpt_dtype_t dtype, bpt_shape_t shape, const char *name);
// Creates output j of a node that is about to be added.
bpt_status_t bpt_new_output(bpt_graph_t *g, bpt_node_t *node, int j, bpt_dtype_t dtype, bpt_shape_t shape);
// A node with all operands absent; fill it, then bpt_add_node infers the outputs and appends it.
bpt_node_t bpt_node_init(bpt_op_t op);
bpt_value_t bpt_add_node(bpt_graph_t *g, bpt_node_t *node);  // returns out[0]
// The node that was added last makes the first `outputs` outputs of the node that makes `value`, under their old numbers, in its place: for
// a gradient op that also computes what the forward op does, which then disappears as dead code.
void bpt_take_over(bpt_graph_t *g, bpt_value_t value, int outputs);

static inline const bpt_value_info_t *value_info(const bpt_graph_t *g, bpt_value_t v) { return &g->values[v].info; }
static inline const bpt_shape_t *value_shape(const bpt_graph_t *g, bpt_value_t v) { return &g->values[v].info.shape; }
static inline int64_t value_rows(const bpt_graph_t *g, bpt_value_t v) { return bpt_shape_rows(value_shape(g, v)); }
static inline int64_t value_columns(const bpt_graph_t *g, bpt_value_t v) { return bpt_shape_columns(value_shape(g, v)); }
static inline bool present(bpt_value_t v) { return v != BPT_NO_VALUE; }
static inline size_t value_bytes(const bpt_graph_t *g, bpt_value_t v) {
    return (size_t)bpt_shape_count(value_shape(g, v)) * bpt_dtype_size(value_info(g, v)->dtype);
}
// Of all operands of a node: what it moves at least.
static inline double bpt_node_bytes(const bpt_graph_t *g, const bpt_node_t *node) {
    double bytes = 0;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) bytes += present(node->in[i]) ? (double)value_bytes(g, node->in[i]) : 0;
    for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) bytes += present(node->out[j]) ? (double)value_bytes(g, node->out[j]) : 0;
    return bytes;
}
// The value whose storage holds v, and v's offset in it: follows views and places.
bpt_value_t bpt_storage_of(const bpt_graph_t *g, bpt_value_t v, size_t *offset_bytes);

// Orders the nodes so that every value is made before it is read and states are read and written in the order of the
// program; otherwise keeps the order (stable).
bpt_status_t bpt_graph_sort(bpt_graph_t *g);
// Writes down again which node makes each value, after nodes have moved.
void bpt_set_producers(bpt_graph_t *g);
// Removes nodes whose results nobody needs; drop_outputs: also outputs that ops.h calls optional (a later differentiation may want them).
bpt_status_t bpt_graph_remove_dead(bpt_graph_t *g, bool drop_outputs);
// Whether a node writes any of this state or view of one.
bool bpt_node_writes(const bpt_graph_t *g, const bpt_node_t *node, bpt_value_t value);
// How often each value is read by nodes (a view counts for itself and for all that it views), into an array of n_values.
void bpt_count_uses(const bpt_graph_t *g, int32_t *uses);

#define GRAPH_EXPECT(condition, ...)                                      \
    do {                                                                  \
        if (!(condition)) return bpt_fail(BPT_ERR_INTERNAL, __VA_ARGS__); \
    } while (0)

#endif
