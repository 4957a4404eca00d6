// f16 and bf16 bits to f32 and back, as CUDA's conversions do it. Read by C and C++.
#ifndef BPT_TEST_EMULATOR_NUMBERS_H
#define BPT_TEST_EMULATOR_NUMBERS_H

static inline float emulated_float(unsigned bits) {
    float v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}
static inline unsigned emulated_bits(float v) {
    unsigned bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float emulated_bf16_to_float(unsigned short bits) { return emulated_float((unsigned)bits << 16); }

// To nearest, ties to even; a NaN becomes 0x7FFF.
static inline unsigned short emulated_float_to_bf16(float v) {
    const unsigned bits = emulated_bits(v);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;
    return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

static inline float emulated_half_to_float(unsigned short bits) {
    const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3FFu;
    if (exponent == 31u) return emulated_float(sign | 0x7F800000u | fraction << 13);
    if (exponent) return emulated_float(sign | (exponent + 112u) << 23 | fraction << 13);
    const float v = (float)fraction * 0x1p-24f;
    return sign ? -v : v;
}

// To nearest, ties to even; a NaN becomes 0x7FFF.
static inline unsigned short emulated_float_to_half(float v) {
    const unsigned bits = emulated_bits(v), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7FFFu;
    if (magnitude >= 0x477FF000u) return (unsigned short)(sign | 0x7C00u);                                        // 65520 and more
    if (magnitude < 0x38800000u)                                                                                  // below 2^-14: the sum
        return (unsigned short)(sign | (emulated_bits(emulated_float(magnitude) + 0.5f) - emulated_bits(0.5f)));  // rounds to 2^-24
    return (unsigned short)(sign | ((magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13));
}

#endif
