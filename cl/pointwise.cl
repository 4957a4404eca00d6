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
