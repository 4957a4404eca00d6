// Chains of elementwise steps (bpt/ops.h). A kernel that applies them has the constants N_STEPS, STEP0.., the parameters c0.., uid0.., the
// bindings row_keys and rng, and a function step_operand(PASS, number, i), element i of the operand of this number, before it includes this.
// A STEP constant is code | operand << 8 | threshold of a dropout << 16.
#define BPT_POINTWISE_STEP(number, id, name, operand, constant, rounding) NUMBER(STEP_##id, number)
#include "bpt/steps.def"
#undef BPT_POINTWISE_STEP

FUNCTION float apply_step(CONTEXT, float value, uint step, uint i, uint row, uint column, float factor, uint uid) {
    OPEN
    const uint code = step & 255u, operand = step >> 8 & 255u;
    float v = value;
    if (code == STEP_ADD) v += step_operand(PASS, operand, i);
    if (code == STEP_MUL) v *= step_operand(PASS, operand, i);
    if (code == STEP_ADD_ROW) v += step_operand(PASS, operand, column);
    if (code == STEP_MUL_SCALAR) v *= step_operand(PASS, operand, 0u);
    if (code == STEP_SCALE) v *= factor;
    if (code == STEP_RELU) v = v < 0.0f ? 0.0f : v;
    if (code == STEP_MASK) v = step_operand(PASS, operand, i) != 0.0f ? v * factor : 0.0f;
    if (code == STEP_ABS) v = AS_FLOAT(AS_UINT(v) & 0x7FFFFFFFu);
    if (code == STEP_SIGN) {
        const float of = step_operand(PASS, operand, i);
        v = of > 0.0f ? v : of < 0.0f ? -v : 0.0f;
    }
    if (code == STEP_SWISH) v = v / (1.0f + exp(-v));
    if (code == STEP_SWISH_SLOPE) {
        const float z = step_operand(PASS, operand, i), s = 1.0f / (1.0f + exp(-z));
        v *= s * (1.0f + z * (1.0f - s));
    }
    if (code == STEP_DROPOUT)
        v = dropout_bits(column, AT(row_keys, 2u * row), AT(row_keys, 2u * row + 1u), uid << 8, AT(rng, 0u), AT(rng, 1u)) < step >> 16
                ? 0.0f
                : v * factor;
    return v;
}

FUNCTION float apply_steps(CONTEXT, float value, uint i, uint row, uint column) {
    OPEN
    float v = value;
    if (N_STEPS > 0u) v = apply_step(PASS, v, STEP0, i, row, column, p.c0, p.uid0);
    if (N_STEPS > 1u) v = apply_step(PASS, v, STEP1, i, row, column, p.c1, p.uid1);
    if (N_STEPS > 2u) v = apply_step(PASS, v, STEP2, i, row, column, p.c2, p.uid2);
    if (N_STEPS > 3u) v = apply_step(PASS, v, STEP3, i, row, column, p.c3, p.uid3);
    if (N_STEPS > 4u) v = apply_step(PASS, v, STEP4, i, row, column, p.c4, p.uid4);
    if (N_STEPS > 5u) v = apply_step(PASS, v, STEP5, i, row, column, p.c5, p.uid5);
    return v;
}
