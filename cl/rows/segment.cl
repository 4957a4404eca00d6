KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint number = i / p.columns, column = i - number * p.columns;
        const uint begin = AT(ranges, 2u * number), end = min(AT(ranges, 2u * number + 1u), p.all_rows);
        const uint from = max(begin, p.first_row), to = min(end, p.end_row);
        float value = FIRST != 0u ? 0.0f : AT(partial, i);
        uint at = 0xFFFFFFFFu;
        for (uint row = from; row < to; ++row) {
            const float v = LOAD(x, (row - p.first_row) * p.columns + column);
            if (LARGEST == 0u) {
                value += v;
            } else if (row == begin || (!(v <= value) && value == value)) {  // a NaN wins, the first of them stays
                value = v;
                at = row;
            }
        }
        if (HAS_PLACE != 0u && (FIRST != 0u || at != 0xFFFFFFFFu)) AT(place, i) = at;
        if (LAST == 0u) {
            AT(partial, i) = value;
        } else {
            if (MEAN != 0u && begin < end) value /= TO_FLOAT(end - begin);
            STORE(y, i, value);
        }
    }
KERNEL_END
