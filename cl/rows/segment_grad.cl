KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint number = i / p.columns, column = i - number * p.columns;
        const uint begin = AT(ranges, 2u * number), end = min(AT(ranges, 2u * number + 1u), p.all_rows);
        uint from = max(begin, p.first_row), to = min(end, p.end_row);
        if (LARGEST != 0u) {
            const uint row = AT(place, i);
            from = max(from, row);
            to = row < to ? row + 1u : 0u;
        }
        float v = LOAD(dy, i);
        if (MEAN != 0u && begin < end) v /= TO_FLOAT(end - begin);
        for (uint row = from; row < to; ++row) {
            STORE(dx, (row - p.first_row) * p.columns + column, v);
        }
    }
KERNEL_END
