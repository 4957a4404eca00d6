// The op table of the reference backend. Each family of ops lives in ops/<family>.c.
#ifndef BPT_REF_H
#define BPT_REF_H

#include "backends/host/host.h"

extern const bpt_host_op_t bpt_ref_ops[BPT_OP_COUNT];

#define BPT_OP(id, name, family) void bpt_ref_##id(const bpt_host_run_t *run);
#include "bpt/ops.def"
#undef BPT_OP

#endif
