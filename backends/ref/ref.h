// The op table of the reference backend. Each family of ops lives in ops/<family>.c.
#ifndef BPT_REF_H
#define BPT_REF_H

#include "backends/host/host.h"

extern const bpt_host_op_t *const bpt_ref_ops[BPT_OP_COUNT];

// ops/<family>.c defines its ops: `run` and, for those that need scratch, `plan`.
#define BPT_OP(id, name, family) extern const bpt_host_op_t bpt_ref_op_##id;
#include "bpt/ops.def"
#undef BPT_OP

#endif
