// The op table of the cpu backend, by name from the one list in bpt/ops.def.
#include "backends/cpu/cpu.h"

const bpt_host_op_t *const bpt_cpu_ops[BPT_OP_COUNT] = {
#define BPT_OP(id, name, family) [BPT_OP_##id] = &bpt_cpu_op_##id,
#include "bpt/ops.def"
#undef BPT_OP
};
