FUNCTION float step_operand(CONTEXT, uint number, uint i) {
    OPEN
    return number == 1u   ? LOAD(extra1, i)
           : number == 2u ? LOAD(extra2, i)
           : number == 3u ? LOAD(extra3, i)
           : number == 4u ? LOAD(extra4, i)
                          : LOAD(extra5, i);
}
#include "cl/dialect/steps.h"
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint row = i / p.columns, column = i - row * p.columns;
        STORE(y, i, apply_steps(PASS, LOAD(x, i), i, row, column));
    }
KERNEL_END
