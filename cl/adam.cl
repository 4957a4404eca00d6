#define LOCALS(L)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    const float squares = AT(square_sum, 0u);
    if (i < p.count && (AS_UINT(squares) & 0x7F800000u) != 0x7F800000u) {
        const float lr = AT(hyper, 0u) * p.lr_scale, clip = AT(hyper, 3u);
        float scale = AT(hyper, 4u);
        const float norm = sqrt(squares) * scale;
        if (clip > 0.0f && clip < norm + 1e-6f) scale *= clip / (norm + 1e-6f);
        float v = AT(value, i), g = AT(gradient, i) * scale;
        if (DECOUPLED != 0u)
            v -= lr * p.weight_decay * v;
        else
            g += p.weight_decay * v;
        const float m1 = p.beta1 * AT(first, i) + (1.0f - p.beta1) * g;
        const float m2 = p.beta2 * AT(second, i) + (1.0f - p.beta2) * g * g;
        AT(value, i) = v - lr * (m1 / AT(hyper, 1u)) / (sqrt(m2 / AT(hyper, 2u)) + p.eps);
        AT(first, i) = m1;
        AT(second, i) = m2;
    }
KERNEL_END
