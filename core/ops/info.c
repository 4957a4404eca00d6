// The table of what core knows of each op, by name from the one list in bpt/ops.def.
#include "core/graph/internal.h"

#define BPT_OP(id, name, family) extern const bpt_op_info_t bpt_op_info_##id;
#include "bpt/ops.def"
#undef BPT_OP

const bpt_op_info_t *bpt_op_info(bpt_op_t op) {
    static const bpt_op_info_t *const table[] = {
#define BPT_OP(id, name, family) &bpt_op_info_##id,
#include "bpt/ops.def"
#undef BPT_OP
    };
    return table[op];
}
