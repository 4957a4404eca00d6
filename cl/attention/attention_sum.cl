#include "cl/attention/attention.h"
KERNEL_BEGIN
    if (GLOBAL_ID < p.count) {
        const uint unit = GLOBAL_ID / p.columns, column = GLOBAL_ID - unit * p.columns, sequence = unit / p.n_nodes;
        const uint row = (p.calls & CALL_ROOTS) != 0u ? sequence
                                                      : row_of_node(INT4(0, p.n, 0, 0), p.leaf_rows, p.other, sequence,
                                                                    p.first_node + TO_INT(unit % p.n_nodes));
        float sum = 0.0f;
        for (uint part = 0u; part < p.parts; ++part) sum += AT(partial, (unit * p.parts + part) * p.columns + column);
        STORE(target, row * p.stride + p.offset + column, sum);
    }
KERNEL_END
