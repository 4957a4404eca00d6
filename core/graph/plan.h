// The result of planning: where every value lives and which ops need a barrier before them. Inside of core.
#ifndef BPT_GRAPH_PLAN_H
#define BPT_GRAPH_PLAN_H

#include "bpt/backend.h"
#include "bpt/program.h"
#include "core/graph/internal.h"

typedef struct {
    size_t offset, bytes;
    int32_t first, last;  // ops during which it must exist
    bpt_value_t value;    // whose storage it is; BPT_NO_VALUE: scratch of op `first`
} bpt_storage_t;

struct bpt_plan {
    bpt_storage_t *storage;
    size_t n_storage;
    int32_t *storage_of_value;  // index for TEMP values, -1 = not in the workspace
    int32_t *scratch_of_node;   // index, -1 = none
    size_t *input_offset;       // of INPUT values in the input buffer
    bool *barrier_before;
    size_t n_values, n_nodes;
    bpt_plan_summary_t summary;
};

// The op call of a node, with everything but buffers filled in.
void bpt_node_call(const bpt_graph_t *g, const bpt_node_t *node, bpt_op_call_t *call);

#endif
