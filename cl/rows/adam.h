// The update of one element (bpt/ops.h has the formula).
FUNCTION bool is_finite(float x) { return (AS_UINT(x) & 0x7F800000u) != 0x7F800000u; }

// What gradients are multiplied by: the mean over the loss's terms, and less where their norm passes the bound.
FUNCTION float gradient_scale(CONTEXT, float squares) {
    OPEN
    const float clip = AT(hyper, 3u), norm = sqrt(squares) * AT(hyper, 4u);
    return AT(hyper, 4u) * (clip > 0.0f && clip < norm + 1e-6f ? clip / (norm + 1e-6f) : 1.0f);
}

STRUCT(adam_t) {
    float value, first, second;  // an element and its moments
};
FUNCTION adam_t adam_step(CONTEXT, float v, float g_unscaled, float m1, float m2, float scale) {
    OPEN
    const float lr = AT(hyper, 0u) * p.lr_scale;
    float g = g_unscaled * scale;
    if (DECOUPLED != 0u)
        v -= lr * p.weight_decay * v;
    else
        g += p.weight_decay * v;
    m1 = p.beta1 * m1 + (1.0f - p.beta1) * g;
    m2 = p.beta2 * m2 + (1.0f - p.beta2) * g * g;
    v -= lr * (m1 / AT(hyper, 1u)) / (sqrt(m2 / AT(hyper, 2u)) + p.eps);
    adam_t next;
    next.value = v;
    next.first = m1;
    next.second = m2;
    return next;
}
