KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint part = i / p.columns, column = i - part * p.columns;
        const uint begin = part * p.chunk, end = min(begin + p.chunk, p.rows);
        float dgamma = 0.0f, dbeta = 0.0f;
        for (uint row = begin; row < end; ++row) {
            const uint e = row * p.columns + column;
            const float d = READ(dy, e) + (HAS_LOW != 0u ? READ(dlow, e) : 0.0f);
            dgamma += d * ((READ(z, e) - READ(stats, 2u * row)) * READ(stats, 2u * row + 1u));
            dbeta += d;
        }
        AT(result, part * 2u * p.columns + column) = dgamma;
        AT(result, (part * 2u + 1u) * p.columns + column) = dbeta;
    }
KERNEL_END
