// The update of one element (bpt/ops.h has the formula), its value, gradient and moments being variables. ADAM_BEGIN comes before.
#define ADAM_BEGIN                                                                                    \
    const float lr = AT(hyper, 0u) * p.lr_scale, clip = AT(hyper, 3u), norm = sqrt(squares) * AT(hyper, 4u);\
    const float scale = AT(hyper, 4u) * (clip > 0.0f && clip < norm + 1e-6f ? clip / (norm + 1e-6f) : 1.0f);
#define ADAM(v, gradient, m1, m2)                                                                     \
    {                                                                                                 \
        float g = gradient * scale;                                                                   \
        if (DECOUPLED != 0u)                                                                          \
            v -= lr * p.weight_decay * v;                                                             \
        else                                                                                          \
            g += p.weight_decay * v;                                                                  \
        m1 = p.beta1 * m1 + (1.0f - p.beta1) * g;                                                     \
        m2 = p.beta2 * m2 + (1.0f - p.beta2) * g * g;                                                 \
        v -= lr * (m1 / AT(hyper, 1u)) / (sqrt(m2 / AT(hyper, 2u)) + p.eps);                          \
    }
#define IS_FINITE(x) ((AS_UINT(x) & 0x7F800000u) != 0x7F800000u)
