// The table of what core knows of each op, by name from the one list in bpt/ops.def.
#include "core/graph/internal.h"

#define BPT_OP(id, name, family) extern const bpt_op_info_t bpt_op_info_##id;
#define BPT_GRAPH_OP(id, name, family) BPT_OP(id, name, family)
#include "bpt/ops.def"
#undef BPT_OP

const bpt_op_info_t *bpt_op_info(bpt_op_t op) {
    static const bpt_op_info_t *const table[] = {
#define BPT_OP(id, name, family) [BPT_OP_##id] = &bpt_op_info_##id,
#define BPT_GRAPH_OP(id, name, family) BPT_OP(id, name, family)
#include "bpt/ops.def"
#undef BPT_OP
    };
    return table[op];
}
