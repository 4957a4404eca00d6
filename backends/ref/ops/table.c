// The op table of the reference backend. bpt_host_op has already held every call against the contract (bpt_call_check), so a
// plan only says how much scratch its op needs.
#include "backends/ref/ref.h"

const bpt_host_op_t bpt_ref_ops[BPT_OP_COUNT] = {
    [BPT_OP_POINTWISE] = {NULL, bpt_ref_POINTWISE},
    [BPT_OP_MATMUL] = {bpt_ref_plan_MATMUL, bpt_ref_MATMUL},
    [BPT_OP_LAYERNORM] = {bpt_ref_plan_LAYERNORM, bpt_ref_LAYERNORM},
    [BPT_OP_LAYERNORM_GRAD] = {bpt_ref_plan_LAYERNORM_GRAD, bpt_ref_LAYERNORM_GRAD},
    [BPT_OP_GATHER] = {NULL, bpt_ref_GATHER},
    [BPT_OP_GATHER_GRAD] = {bpt_ref_plan_GATHER_GRAD, bpt_ref_GATHER_GRAD},
    [BPT_OP_SCATTER] = {NULL, bpt_ref_SCATTER},
    [BPT_OP_ADD_ROWS] = {NULL, bpt_ref_ADD_ROWS},
    [BPT_OP_SEGMENT] = {NULL, bpt_ref_SEGMENT},
    [BPT_OP_SEGMENT_GRAD] = {NULL, bpt_ref_SEGMENT_GRAD},
    [BPT_OP_TREE_VALUES] = {bpt_ref_plan_TREE_VALUES, bpt_ref_TREE_VALUES},
    [BPT_OP_TREE_VALUES_GRAD] = {bpt_ref_plan_TREE_VALUES_GRAD, bpt_ref_TREE_VALUES_GRAD},
    [BPT_OP_COLUMN_SUM] = {NULL, bpt_ref_COLUMN_SUM},
    [BPT_OP_SQUARE_SUM] = {NULL, bpt_ref_SQUARE_SUM},
    [BPT_OP_ATTENTION] = {bpt_ref_plan_ATTENTION, bpt_ref_ATTENTION},
    [BPT_OP_ATTENTION_GRAD] = {bpt_ref_plan_ATTENTION_GRAD, bpt_ref_ATTENTION_GRAD},
    [BPT_OP_XENT] = {bpt_ref_plan_XENT, bpt_ref_XENT},
    [BPT_OP_XENT_GRAD] = {bpt_ref_plan_XENT_GRAD, bpt_ref_XENT_GRAD},
    [BPT_OP_CRF] = {bpt_ref_plan_CRF, bpt_ref_CRF},
    [BPT_OP_CRF_GRAD] = {bpt_ref_plan_CRF, bpt_ref_CRF_GRAD},
    [BPT_OP_ADAM] = {NULL, bpt_ref_ADAM},
    [BPT_OP_ACCUMULATE] = {NULL, bpt_ref_ACCUMULATE},
    [BPT_OP_CAST] = {NULL, bpt_ref_CAST},
    [BPT_OP_FILL] = {NULL, bpt_ref_FILL},
    [BPT_OP_COPY] = {NULL, bpt_ref_COPY},
};
