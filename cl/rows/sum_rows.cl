KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint part = i / p.columns, column = i - part * p.columns;
        const uint begin = part * p.chunk, end = min(begin + p.chunk, p.rows);
        float sum = 0.0f;
        for (uint row = begin; row < end; ++row) sum += READ(x, row * p.columns + column);
        if (ADD != 0u) sum += AT(result, i);
        AT(result, i) = sum;
    }
KERNEL_END
