#include "cl/attention/attention.h"
KERNEL_BEGIN
    const uint columns = p.heads * p.head_dim, size = columns + 2u * p.heads;
    if (GLOBAL_ID < p.count) {
        const uint unit = GLOBAL_ID / columns, column = GLOBAL_ID - unit * columns, head = column / p.head_dim;
        const uint sequence = unit / p.n_nodes, from = unit * p.parts * size;
        const uint row = (p.calls & CALL_ROOTS) != 0u ? sequence
                                                      : row_of_node(INT4(0, p.n, 0, 0), p.leaf_rows, p.other, sequence,
                                                                    p.first_node + TO_INT(unit % p.n_nodes));
        float largest = LOWEST, total = 0.0f, sum = 0.0f;
        for (uint part = 0u; part < p.parts; ++part) largest = max(largest, AT(partial, from + part * size + columns + head));
        for (uint part = 0u; part < p.parts; ++part) {
            const uint at = from + part * size;
            const float factor = exp(AT(partial, at + columns + head) - largest);
            total += factor * AT(partial, at + columns + p.heads + head);
            sum += factor * AT(partial, at + column);
        }
        STORE(result, row * columns + column, total == 0.0f ? 0.0f : sum * p.inverse / total);
        if ((p.calls & CALL_LSE) != 0u && column == head * p.head_dim)
            AT(lse, row * p.heads + head) = total == 0.0f ? 0.0f : largest + log(total);
    }
KERNEL_END
