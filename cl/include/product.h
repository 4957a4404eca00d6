// What the kernels of products do with a finished sum: addend, bias, steps, and c. Row and column are those of this part of c.
#define STEP_OPERAND(step, i) ((step >> 8 & 255u) == 4u ? LOAD(extra4, i) : LOAD(extra5, i))
#define FINISH_PRODUCT(row, column, sum)                   \
    if ((row) < p.m && (column) < p.n) {                   \
        const uint place = (row) * p.ldc + (column);       \
        float v = sum;                                     \
        if (HAS_ADDEND != 0u) v += AT(addend, place);      \
        if (HAS_BIAS != 0u) v += AT(bias, column);         \
        APPLY_STEPS(v, place, row, (column) + p.column0)   \
        STORE(c, place, v);                                \
    }
