// Element types and their conversions.
#ifndef BPT_DTYPE_H
#define BPT_DTYPE_H

#include <string.h>

#include "bpt/base.h"

BPT_BEGIN_DECLS

typedef enum { BPT_F32, BPT_BF16, BPT_F16, BPT_U32 } bpt_dtype_t;

static inline size_t bpt_dtype_size(bpt_dtype_t t) { return t == BPT_F32 || t == BPT_U32 ? 4 : 2; }
BPT_API const char *bpt_dtype_name(bpt_dtype_t dtype);  // "f32", "bf16", "f16", "u32"

static inline float bpt_from_bf16(uint16_t h) {
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static inline uint16_t bpt_to_bf16(float x) {  // round to nearest even; NaN stays NaN
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
BPT_API float bpt_from_f16(uint16_t h);
BPT_API uint16_t bpt_to_f16(float x);

BPT_END_DECLS

#endif
