KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint row = i / p.columns, place = row * p.width + p.width - p.columns + (i - row * p.columns);
        float value = AT(sums, i);
        if (row < p.add_below) value += LOAD(x, place);
        STORE(y, place, value);
    }
KERNEL_END
