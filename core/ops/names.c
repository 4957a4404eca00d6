// Names of the ops, from the one list in bpt/ops.def.
#include "bpt/ops.h"

const char *bpt_op_name(bpt_op_t op) {
    switch (op) {
#define BPT_OP(id, name, family) \
    case BPT_OP_##id:            \
        return name;
#define BPT_GRAPH_OP(id, name, family) BPT_OP(id, name, family)
#include "bpt/ops.def"
#undef BPT_OP
    case BPT_OP_COUNT: break;
    }
    return "unknown";
}
