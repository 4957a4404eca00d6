// The op table of the reference backend, by name from the one list in bpt/ops.def.  bpt_host_op has already held every call against the
// contract (bpt_call_check), so a plan only says how much scratch its op needs.
#include "backends/ref/ref.h"

const bpt_host_op_t *const bpt_ref_ops[BPT_OP_COUNT] = {
#define BPT_OP(id, name, family) [BPT_OP_##id] = &bpt_ref_op_##id,
#include "bpt/ops.def"
#undef BPT_OP
};
