#define LOCALS(L)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint column = i / p.rows, row = i - column * p.rows;
        STORE(y, i, LOAD(x, row * p.columns + column));
    }
KERNEL_END
