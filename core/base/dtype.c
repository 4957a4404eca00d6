// Element types (see bpt/dtype.h).
#include "bpt/dtype.h"

const char *bpt_dtype_name(bpt_dtype_t dtype) {
    static const char *const names[] = {"f32", "bf16", "f16", "u32"};
    return names[dtype];
}

float bpt_from_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    uint32_t bits;
    float x;
    if (exponent == 31) {
        bits = sign | 0x7F800000u | mantissa << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else {  // zero or subnormal: mantissa * 2^-24
        x = (float)mantissa * 0x1p-24f;
        return sign ? -x : x;
    }
    memcpy(&x, &bits, 4);
    return x;
}

uint16_t bpt_to_f16(float x) {  // round to nearest even
    uint32_t bits;
    memcpy(&bits, &x, 4);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000u) return (uint16_t)(sign | 0x7C00);  // rounds to infinity
    if (magnitude < 0x38800000u) {                                   // subnormal half
        float absolute;
        memcpy(&absolute, &magnitude, 4);
        const float shifted = absolute + 0.5f;  // the unit of the last place of [0.5, 1) is 2^-24
        uint32_t rounded;
        memcpy(&rounded, &shifted, 4);
        return (uint16_t)(sign | (rounded - 0x3F000000u));
    }
    const uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000u) >> 13));
}
