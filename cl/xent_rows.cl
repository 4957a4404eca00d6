#define LOCALS(L) L(float, partial, WG)
KERNEL_BEGIN
    const uint row = GROUP_ID, base = row * p.columns, target = AT(targets, row);
    const float weight = AT(weights, row);
    float largest = AT(logits, base);
    for (uint c = LOCAL_ID; c < p.columns; c += WG) {
        const float v = AT(logits, base + c);
        if (!(v <= largest)) largest = v;
    }
    partial[LOCAL_ID] = largest;
    REDUCE_MAX(partial)
    largest = partial[0];
    BARRIER;
    float sum = 0.0f;
    for (uint c = LOCAL_ID; c < p.columns; c += WG) sum += exp(AT(logits, base + c) - largest);
    partial[LOCAL_ID] = sum;
    REDUCE_ADD(partial)
    sum = partial[0];
    if (LOCAL_ID == 0u) {
        const float loss = weight != 0.0f ? log(sum) + (largest - AT(logits, base + target)) : 0.0f;
        AT(nll, row) = loss;
        AT(terms, row) = weight * loss;
    }
    BARRIER_GLOBAL;
    if (GRAD != 0u) {
        const float factor = weight * AT(dloss, 0u);
        for (uint c = LOCAL_ID; c < p.columns; c += WG) {
            const float v = exp(AT(logits, base + c) - largest) / sum - (c == target ? 1.0f : 0.0f);
            AT(logits, base + c) = weight != 0.0f ? factor * v : 0.0f;
        }
    }
KERNEL_END
