// Clipping of gradients by the norm of all of them, for kernels with a binding `hyper` (bpt/ops.h, adam).
FUNCTION bool is_finite(float x) { return (AS_UINT(x) & 0x7F800000u) != 0x7F800000u; }

// What gradients are multiplied by: the mean over the loss's terms, and less where their norm passes the bound.
FUNCTION float gradient_scale(CONTEXT, float squares) {
    OPEN const float clip = AT(hyper, 3u), norm = sqrt(squares) * AT(hyper, 4u);
    return AT(hyper, 4u) * (clip > 0.0f && clip < norm + 1e-6f ? clip / (norm + 1e-6f) : 1.0f);
}
