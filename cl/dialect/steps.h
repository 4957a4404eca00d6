// Chains of elementwise steps (bpt/ops.h). A kernel that applies them has the constants N_STEPS, STEP0.., the parameters c0.., uid0.., the
// bindings row_keys and rng, and defines STEP_OPERAND(step, i), element i of the operand that a step names. A STEP constant is
// code | operand << 8 | threshold of a dropout << 16.
#define BPT_POINTWISE_STEP(number, id, name, operand, constant, rounding) NUMBER(STEP_##id, number)
#include "bpt/steps.def"
#undef BPT_POINTWISE_STEP

#define APPLY_STEP(number, step, v, i, row, column, c, uid)                                                          \
    if (number < N_STEPS) {                                                                                          \
        const uint code = step & 255u;                                                                               \
        if (code == STEP_ADD) v += STEP_OPERAND(step, i);                                                            \
        if (code == STEP_MUL) v *= STEP_OPERAND(step, i);                                                            \
        if (code == STEP_ADD_ROW) v += STEP_OPERAND(step, column);                                                   \
        if (code == STEP_MUL_SCALAR) v *= STEP_OPERAND(step, 0u);                                                    \
        if (code == STEP_SCALE) v *= c;                                                                              \
        if (code == STEP_RELU) v = v < 0.0f ? 0.0f : v;                                                              \
        if (code == STEP_MASK) v = STEP_OPERAND(step, i) != 0.0f ? v * c : 0.0f;                                     \
        if (code == STEP_ABS) v = AS_FLOAT(AS_UINT(v) & 0x7FFFFFFFu);                                                \
        if (code == STEP_SIGN) {                                                                                     \
            const float sign_ = STEP_OPERAND(step, i);                                                               \
            v = sign_ > 0.0f ? v : sign_ < 0.0f ? -v : 0.0f;                                                         \
        }                                                                                                            \
        if (code == STEP_DROPOUT)                                                                                    \
            v = dropout_bits(column, AT(row_keys, 2u * (row)), AT(row_keys, 2u * (row) + 1u), uid << 8, AT(rng, 0u), \
                             AT(rng, 1u)) < step >> 16                                                               \
                    ? 0.0f                                                                                           \
                    : v * c;                                                                                         \
    }

#define APPLY_STEPS(v, i, row, column)                     \
    APPLY_STEP(0u, STEP0, v, i, row, column, p.c0, p.uid0) \
    APPLY_STEP(1u, STEP1, v, i, row, column, p.c1, p.uid1) \
    APPLY_STEP(2u, STEP2, v, i, row, column, p.c2, p.uid2) \
    APPLY_STEP(3u, STEP3, v, i, row, column, p.c3, p.uid3) \
    APPLY_STEP(4u, STEP4, v, i, row, column, p.c4, p.uid4) \
    APPLY_STEP(5u, STEP5, v, i, row, column, p.c5, p.uid5)
