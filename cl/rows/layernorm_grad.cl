FUNCTION float upper_of(CONTEXT, uint i) {
    OPEN
    return READ(dy, i) + (HAS_LOW != 0u ? READ(dlow, i) : 0.0f);
}
FOLDS(add_sums, sums, add)
FOLDS(add_products, products, add)
KERNEL_BEGIN
    const uint row = GROUP_ID, base = row * p.columns;
    const float mean = AT(stats, 2u * row), inverse_deviation = AT(stats, 2u * row + 1u);
    float sum = 0.0f, product = 0.0f;
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float g = upper_of(PASS, base + c) * READ(gamma, c);
        sum += g;
        product += g * ((READ(z, base + c) - mean) * inverse_deviation);
    }
    sums[LOCAL_ID] = sum;
    products[LOCAL_ID] = product;
    BARRIER;
    FOR_FOLDS(width) {
        add_sums(PASS, width);
        add_products(PASS, width);
        BARRIER;
    }
    add_sums_last(PASS);
    add_products_last(PASS);
    BARRIER_OF_FOLDS;
    const float mean_g = CENTRED != 0u ? sums[0] / TO_FLOAT(p.columns) : 0.0f, mean_gx = products[0] / TO_FLOAT(p.columns);
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float normal = (READ(z, base + c) - mean) * inverse_deviation;
        float v = (upper_of(PASS, base + c) * READ(gamma, c) - mean_g - normal * mean_gx) * inverse_deviation;
        AT(dz, base + c) = v;
        if (HAS_DX != 0u) {
            if (THRESHOLD != 0u)
                v = dropout_bits(c, AT(row_keys, 2u * row), AT(row_keys, 2u * row + 1u), p.uid << 8, AT(rng, 0u), AT(rng, 1u)) < THRESHOLD
                        ? 0.0f
                        : v * p.keep;
            STORE(dx, base + c, v);
        }
    }
KERNEL_END
