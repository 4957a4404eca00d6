// The op table of the cpu backend: which ops there are.
#include "backends/cpu/cpu.h"

#define ENTRY(id) [BPT_OP_##id] = {bpt_cpu_plan_##id, bpt_cpu_run_##id}

const bpt_host_op_t bpt_cpu_ops[BPT_OP_COUNT] = {
    ENTRY(POINTWISE), ENTRY(MATMUL), ENTRY(CAST), ENTRY(FILL), ENTRY(COPY),
};
