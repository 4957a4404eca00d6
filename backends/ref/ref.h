// The op table of the reference backend. Each family of ops lives in ops/<family>.c.
#ifndef BPT_REF_H
#define BPT_REF_H

#include "backends/host/host.h"

extern const bpt_host_op_t bpt_ref_ops[BPT_OP_COUNT];

// run and, for the ops that need scratch, plan.
#define BPT_OP(id, name, family)                  \
    void bpt_ref_##id(const bpt_host_run_t *run); \
    bpt_status_t bpt_ref_plan_##id(const bpt_op_call_t *call, int threads, size_t *scratch_bytes);
#include "bpt/ops.def"
#undef BPT_OP

#endif
