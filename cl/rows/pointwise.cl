#define STEP_OPERAND(step, i)                     \
    ((step >> 8 & 255u) == 1u   ? LOAD(extra1, i) \
     : (step >> 8 & 255u) == 2u ? LOAD(extra2, i) \
     : (step >> 8 & 255u) == 3u ? LOAD(extra3, i) \
     : (step >> 8 & 255u) == 4u ? LOAD(extra4, i) \
                                : LOAD(extra5, i))
#define LOCALS(L)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint row = i / p.columns, column = i - row * p.columns;
        float v = LOAD(x, i);
        APPLY_STEPS(v, i, row, column)
        STORE(y, i, v);
    }
KERNEL_END
