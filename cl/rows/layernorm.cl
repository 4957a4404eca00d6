// z is computed anew in each pass instead of being kept, so that rows of any width need no memory.
FUNCTION float z_of(CONTEXT, uint i, uint column, uint key0, uint key1) {
    OPEN
    return (THRESHOLD == 0u ? READ(x, i)
            : dropout_bits(column, key0, key1, p.uid << 8, AT(rng, 0u), AT(rng, 1u)) < THRESHOLD ? 0.0f : READ(x, i) * p.keep) +
           (HAS_RESIDUAL != 0u ? READ(residual, i) : 0.0f);
}
FOLDS(add_sums, sums, add)
KERNEL_BEGIN
    const uint row = GROUP_ID, base = row * p.columns;
    uint key0 = 0u, key1 = 0u;
    if (THRESHOLD != 0u) {
        key0 = AT(row_keys, 2u * row);
        key1 = AT(row_keys, 2u * row + 1u);
    }
    float sum = 0.0f;
    for (uint c = LOCAL_ID; CENTRED != 0u && c < p.columns; c += WG) sum += z_of(PASS, base + c, c, key0, key1);
    sums[LOCAL_ID] = sum;
    BARRIER;
    FOR_FOLDS(width) {
        add_sums(PASS, width);
        BARRIER;
    }
    add_sums_last(PASS);
    BARRIER_OF_FOLDS;
    const float mean = CENTRED != 0u ? sums[0] / TO_FLOAT(p.columns) : 0.0f;
    BARRIER;
    sum = 0.0f;
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float d = z_of(PASS, base + c, c, key0, key1) - mean;
        sum += d * d;
    }
    sums[LOCAL_ID] = sum;
    BARRIER;
    FOR_FOLDS(width) {
        add_sums(PASS, width);
        BARRIER;
    }
    add_sums_last(PASS);
    BARRIER_OF_FOLDS;
    const float inverse_deviation = 1.0f / sqrt(sums[0] / TO_FLOAT(p.columns) + p.eps);
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float v = z_of(PASS, base + c, c, key0, key1);
        const float n = (v - mean) * inverse_deviation * READ(gamma, c) + (CENTRED != 0u ? READ(beta, c) : 0.0f);
        if (HAS_Z != 0u) AT(z, base + c) = v;
        AT(y, base + c) = n;
        if (HAS_LOW != 0u) STORE(low, base + c, n);
    }
    if (HAS_STATS != 0u && LOCAL_ID == 0u) {
        AT(stats, 2u * row) = mean;
        AT(stats, 2u * row + 1u) = inverse_deviation;
    }
KERNEL_END
