// Names of the ops, from the one list in bpt/ops.def.
#include "bpt/ops.h"

const char *bpt_op_name(bpt_op_t op) {
    static const char *const names[] = {
#define BPT_OP(id, name, family) name,
#include "bpt/ops.def"
#undef BPT_OP
    };
    return (unsigned)op < BPT_OP_COUNT ? names[op] : "unknown";
}
