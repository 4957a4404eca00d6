// stash, fetch: rows that wait on disk between two lists of work. The host moves them (core/graph/program.c); graph/offload.c puts both ops
// into a graph that has been differentiated.
#include "core/graph/internal.h"

static bpt_status_t infer_stash(bpt_graph_t *g, bpt_node_t *node) { return bpt_new_output(g, node, 0, BPT_U32, bpt_shape1(1)); }

static bpt_status_t infer_fetch(bpt_graph_t *g, bpt_node_t *node) {
    return bpt_new_output(g, node, 0, node->dtype, bpt_shape2(node->attrs.stash.rows, node->attrs.stash.columns));
}

const bpt_op_info_t bpt_op_info_STASH = {.infer = infer_stash, .by_host = true};
const bpt_op_info_t bpt_op_info_FETCH = {.infer = infer_fetch, .by_host = true};
