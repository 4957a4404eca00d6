// z is computed anew in each pass instead of being kept, so that rows of any width need no memory.
#define Z(i, column)                                                                                                        \
    ((THRESHOLD == 0u ? READ(x, i)                                                                                          \
      : dropout_bits(column, key0, key1, p.uid << 8, AT(rng, 0u), AT(rng, 1u)) < THRESHOLD ? 0.0f : READ(x, i) * p.keep) + \
     (HAS_RESIDUAL != 0u ? READ(residual, i) : 0.0f))
#define LOCALS(L) L(float, sums, WG)
KERNEL_BEGIN
    const uint row = GROUP_ID, base = row * p.columns;
    uint key0 = 0u, key1 = 0u;
    if (THRESHOLD != 0u) {
        key0 = AT(row_keys, 2u * row);
        key1 = AT(row_keys, 2u * row + 1u);
    }
    float sum = 0.0f;
    for (uint c = LOCAL_ID; CENTRED != 0u && c < p.columns; c += WG) sum += Z(base + c, c);
    sums[LOCAL_ID] = sum;
    REDUCE_ADD(sums)
    const float mean = CENTRED != 0u ? sums[0] / TO_FLOAT(p.columns) : 0.0f;
    BARRIER;
    sum = 0.0f;
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float d = Z(base + c, c) - mean;
        sum += d * d;
    }
    sums[LOCAL_ID] = sum;
    REDUCE_ADD(sums)
    const float inverse_deviation = 1.0f / sqrt(sums[0] / TO_FLOAT(p.columns) + p.eps);
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float v = Z(base + c, c), n = (v - mean) * inverse_deviation * READ(gamma, c) + (CENTRED != 0u ? READ(beta, c) : 0.0f);
        if (HAS_Z != 0u) AT(z, base + c) = v;
        AT(y, base + c) = n;
        if (HAS_LOW != 0u) STORE(low, base + c, n);
    }
    if (HAS_STATS != 0u && LOCAL_ID == 0u) {
        AT(stats, 2u * row) = mean;
        AT(stats, 2u * row + 1u) = inverse_deviation;
    }
KERNEL_END
