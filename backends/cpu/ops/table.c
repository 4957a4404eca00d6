// The op table of the cpu backend.
#include "backends/cpu/cpu.h"

#define RUN(id) [BPT_OP_##id] = {NULL, bpt_cpu_run_##id}
#define PLAN_AND_RUN(id) [BPT_OP_##id] = {bpt_cpu_plan_##id, bpt_cpu_run_##id}

const bpt_host_op_t bpt_cpu_ops[BPT_OP_COUNT] = {
    RUN(POINTWISE),
    PLAN_AND_RUN(MATMUL),
    RUN(LAYERNORM),
    PLAN_AND_RUN(LAYERNORM_GRAD),
    RUN(GATHER),
    RUN(GATHER_GRAD),
    RUN(SCATTER),
    RUN(ADD_ROWS),
    RUN(SEGMENT),
    RUN(SEGMENT_GRAD),
    PLAN_AND_RUN(TREE_VALUES),
    PLAN_AND_RUN(TREE_VALUES_GRAD),
    PLAN_AND_RUN(COLUMN_SUM),
    PLAN_AND_RUN(SQUARE_SUM),
    PLAN_AND_RUN(ATTENTION),
    PLAN_AND_RUN(ATTENTION_GRAD),
    PLAN_AND_RUN(XENT),
    PLAN_AND_RUN(XENT_GRAD),
    PLAN_AND_RUN(CRF),
    PLAN_AND_RUN(CRF_GRAD),
    RUN(ADAM),
    RUN(ACCUMULATE),
    RUN(CAST),
    RUN(FILL),
    RUN(COPY),
};
