FOLDS(add_up, partial, add)
FOLDS(find_largest, partial, larger)
KERNEL_BEGIN
    const uint row = GROUP_ID, base = row * p.columns, target = AT(targets, row);
    const float weight = AT(weights, row);
    float largest = AT(logits, base);
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float v = AT(logits, base + c);
        if (!(v <= largest)) largest = v;
    }
    partial[LOCAL_ID] = largest;
    BARRIER;
    FOR_FOLDS(width) {
        find_largest(PASS, width);
        BARRIER;
    }
    find_largest_last(PASS);
    BARRIER_OF_FOLDS;
    largest = partial[0];
    BARRIER;
    float sum = 0.0f;
    for (uint c = LOCAL_ID; c < p.columns; c += WG) sum += exp(AT(logits, base + c) - largest);
    partial[LOCAL_ID] = sum;
    BARRIER;
    FOR_FOLDS(width) {
        add_up(PASS, width);
        BARRIER;
    }
    add_up_last(PASS);
    BARRIER_OF_FOLDS;
    sum = partial[0];
    float below = 0.0f;  // the sum over the classes of how far they are below the largest
    if (SMOOTH != 0u) {
        BARRIER;
        for (uint c = LOCAL_ID; c < p.columns; c += WG) below += largest - AT(logits, base + c);
        partial[LOCAL_ID] = below;
        BARRIER;
        FOR_FOLDS(width) {
            add_up(PASS, width);
            BARRIER;
        }
        add_up_last(PASS);
        BARRIER_OF_FOLDS;
        below = partial[0];
    }
    if (LOCAL_ID == 0u) {
        const float behind = weight != 0.0f ? largest - AT(logits, base + target) : 0.0f;
        const float loss = weight != 0.0f ? log(sum) + behind : 0.0f;
        float smoothed = loss;
        if (SMOOTH != 0u && weight != 0.0f) smoothed += p.share * (below - TO_FLOAT(p.columns) * behind);
        AT(nll, row) = loss;
        AT(terms, row) = weight * smoothed;
    }
    BARRIER_GLOBAL;
    if (GRAD != 0u) {
        const float factor = weight * AT(dloss, 0u);
        for (uint c = LOCAL_ID; c < p.columns; c += WG) {
            const float v = exp(AT(logits, base + c) - largest) / sum - (c == target ? p.target_share : p.share);
            AT(logits, base + c) = weight != 0.0f ? factor * v : 0.0f;
        }
    }
KERNEL_END
