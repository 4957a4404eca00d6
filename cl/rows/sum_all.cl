FOLDS(add_sums, sums, add)
KERNEL_BEGIN
    const uint begin = GROUP_ID * p.chunk, end = min(begin + p.chunk, p.count);
    float sum = 0.0f;
    for (uint i = begin + LOCAL_ID; i < end; i += WG) {
        const float v = READ(x, i);
        sum += SQUARE != 0u ? v * v : v;
    }
    sums[LOCAL_ID] = sum;
    BARRIER;
    FOR_FOLDS(width) {
        add_sums(PASS, width);
        BARRIER;
    }
    add_sums_last(PASS);
    BARRIER_OF_FOLDS;
    if (LOCAL_ID == 0u) AT(result, GROUP_ID) = sums[0];
KERNEL_END
