// The update of one element (bpt/ops.h has the formula).
#include "cl/rows/clip.h"

STRUCT(adam_t) {
    float value, first, second;  // an element and its moments
};
FUNCTION adam_t adam_step(CONTEXT, float v, float g_unscaled, float m1, float m2, float scale) {
    OPEN const float lr = AT(hyper, 0u) * p.lr_scale;
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
