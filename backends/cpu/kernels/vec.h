// Vectors of the instruction set that a kernel file is compiled for, on GCC/clang vector extensions: arithmetic, comparison
// and shifts are the plain operators; here is what the language lacks. BPT_LANES floats fill one register (native width:
// wider vectors are legal but compilers spill them). Intrinsics only where no portable spelling compiles well.
#ifndef BPT_CPU_VEC_H
#define BPT_CPU_VEC_H

#include <math.h>
#include <string.h>

#include "bpt/dtype.h"
#include "bpt/exp.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define BPT_LANES 16
#elif defined(__AVX2__)
#define BPT_LANES 8
#else
#define BPT_LANES 4
#endif

#define BPT_INLINE static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(4 * BPT_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * BPT_LANES)));  // also the result of comparing vf: -1 or 0
typedef uint32_t vu __attribute__((vector_size(4 * BPT_LANES)));
typedef uint16_t vh __attribute__((vector_size(2 * BPT_LANES)));  // low-precision storage
typedef double vd __attribute__((vector_size(4 * BPT_LANES)));    // half as many lanes
typedef uint64_t vq __attribute__((vector_size(4 * BPT_LANES)));  // half as many lanes

BPT_INLINE vf vf_load(const float *p) {
    vf x;
    memcpy(&x, p, sizeof x);
    return x;
}
BPT_INLINE void vf_store(float *p, vf x) { memcpy(p, &x, sizeof x); }
BPT_INLINE vf vf_set1(float x) { return x - (vf){0}; }
BPT_INLINE vu vu_set1(uint32_t x) { return x + (vu){0}; }
BPT_INLINE vf vf_select(vi mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }
BPT_INLINE vf vf_if(vi mask, vf yes) { return (vf)((vi)yes & mask); }  // else 0

// p[lane] = x[lane] where the mask is set.
BPT_INLINE void vf_store_if(float *p, vi mask, vf x) {
#if defined(__AVX512DQ__)
    _mm512_mask_storeu_ps(p, _mm512_movepi32_mask((__m512i)mask), (__m512)x);
#else
    vf_store(p, vf_select(mask, x, vf_load(p)));
#endif
}

// max(a, b); b when a is NaN, so that a NaN in the running value passes when it is put second.
BPT_INLINE vf vf_max(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return vf_select(a > b, a, b);
#endif
}

// a * b + c with one rounding where the instruction set has that. The compiler makes the same of the plain operators where it likes to, which
// may differ between two copies of one loop; by this function, sums of products have the same bits in all of them.
BPT_INLINE vf vf_fma(vf a, vf b, vf c) {
#if defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

BPT_INLINE vd vd_load(const float *p) {  // widens BPT_LANES / 2 floats
    typedef float half __attribute__((vector_size(2 * BPT_LANES)));
    half x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vd);
}

// The sum and maximum of all lanes, halving: the order is fixed for one instruction set.
BPT_INLINE float vf_sum(vf x) {
    float t[BPT_LANES];
    memcpy(t, &x, sizeof t);
    for (int w = BPT_LANES / 2; w; w /= 2)
        for (int i = 0; i < w; ++i) t[i] += t[i + w];
    return t[0];
}
BPT_INLINE double vd_sum(vd x) {
    double t[BPT_LANES / 2];
    memcpy(t, &x, sizeof t);
    for (int w = BPT_LANES / 4; w; w /= 2)
        for (int i = 0; i < w; ++i) t[i] += t[i + w];
    return t[0];
}
BPT_INLINE float vf_hmax(vf x) {
    float t[BPT_LANES];
    memcpy(t, &x, sizeof t);
    for (int w = BPT_LANES / 2; w; w /= 2)
        for (int i = 0; i < w; ++i) t[i] = t[i] > t[i + w] ? t[i] : t[i + w];
    return t[0];
}

// a0 b0 a1 b1 ..: of the lower half of the lanes, and of the upper; of 32-bit lanes, and of 64-bit lanes.
#if BPT_LANES == 16
#define BPT_ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define BPT_ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define BPT_ZIP64_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BPT_ZIP64_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif BPT_LANES == 8
#define BPT_ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BPT_ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define BPT_ZIP64_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define BPT_ZIP64_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define BPT_ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define BPT_ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define BPT_ZIP64_LOW(a, b) __builtin_shufflevector(a, b, 0, 2)
#define BPT_ZIP64_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

// Lane i = vf_sum of vector i, the same bits.
BPT_INLINE vf vf_sums(vf x[BPT_LANES]) {
    for (int half = BPT_LANES / 2; half; half /= 2)
        for (int i = 0; i < half; ++i) x[i] = BPT_ZIP_LOW(x[i], x[i + half]) + BPT_ZIP_HIGH(x[i], x[i + half]);
    return x[0];
}

// Lane i of vector j trades places with lane j of vector i: log2(BPT_LANES) rounds of interleaving.
BPT_INLINE void vf_transpose(vf x[BPT_LANES]) {
    vf y[BPT_LANES];
    for (int n = 1; n < BPT_LANES; n *= 2) {
        for (int i = 0; i < BPT_LANES / 2; ++i) {
            y[2 * i] = BPT_ZIP_LOW(x[i], x[i + BPT_LANES / 2]);
            y[2 * i + 1] = BPT_ZIP_HIGH(x[i], x[i + BPT_LANES / 2]);
        }
        for (int i = 0; i < BPT_LANES; ++i) x[i] = y[i];
    }
}

// ---- Low-precision storage -------------------------------------------------------------------------------------------
BPT_INLINE vf vf_from_bf16(vh h) { return (vf)(__builtin_convertvector(h, vu) << 16); }
BPT_INLINE vh vf_to_bf16(vf x) {  // as bpt_to_bf16
    const vu bits = (vu)x, quiet = (bits >> 16) | 0x40, rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const vu is_nan = (vu)(x != x);
    return __builtin_convertvector((quiet & is_nan) | (rounded & ~is_nan), vh);
}
BPT_INLINE vf vf_from_f16(vh h) {
#if defined(__AVX512F__)
    return (vf)_mm512_cvtph_ps((__m256i)h);
#elif defined(__F16C__)
    return (vf)_mm256_cvtph_ps((__m128i)h);
#else
    vf x;
    for (int i = 0; i < BPT_LANES; ++i) x[i] = bpt_from_f16(h[i]);
    return x;
#endif
}
BPT_INLINE vh vf_to_f16(vf x) {
#if defined(__AVX512F__)
    return (vh)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
    return (vh)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#else
    vh h;
    for (int i = 0; i < BPT_LANES; ++i) h[i] = bpt_to_f16(x[i]);
    return h;
#endif
}

// Elements i .. i + BPT_LANES - 1 of a tensor F. `dtype` should be a constant where the loop is hot.
BPT_INLINE vf vf_load_as(const void *p, bpt_dtype_t dtype, int64_t i) {
    if (dtype == BPT_F32) return vf_load((const float *)p + i);
    vh h;
    memcpy(&h, (const uint16_t *)p + i, sizeof h);
    return dtype == BPT_BF16 ? vf_from_bf16(h) : vf_from_f16(h);
}
BPT_INLINE void vf_store_as(void *p, bpt_dtype_t dtype, int64_t i, vf x) {
    if (dtype == BPT_F32) {
        vf_store((float *)p + i, x);
        return;
    }
    const vh h = dtype == BPT_BF16 ? vf_to_bf16(x) : vf_to_f16(x);
    memcpy((uint16_t *)p + i, &h, sizeof h);
}
// The same past the caches, for what nobody reads soon: the old lines are not fetched. The address is a multiple of the vector's size,
// whole lines are written, and other threads read them after vf_stream_end.
#if defined(__AVX512F__)
BPT_INLINE void vf_stream(float *p, vf x) { _mm512_stream_ps(p, (__m512)x); }
BPT_INLINE void vh_stream(uint16_t *p, vh x) { _mm256_stream_si256((__m256i *)p, (__m256i)x); }
BPT_INLINE void vf_stream_end(void) { _mm_sfence(); }
#elif defined(__AVX2__)
BPT_INLINE void vf_stream(float *p, vf x) { _mm256_stream_ps(p, (__m256)x); }
BPT_INLINE void vh_stream(uint16_t *p, vh x) { _mm_stream_si128((__m128i *)p, (__m128i)x); }
BPT_INLINE void vf_stream_end(void) { _mm_sfence(); }
#else
BPT_INLINE void vf_stream(float *p, vf x) { vf_store(p, x); }
BPT_INLINE void vh_stream(uint16_t *p, vh x) { memcpy(p, &x, sizeof x); }
BPT_INLINE void vf_stream_end(void) {}
#endif
BPT_INLINE void vf_stream_as(void *p, bpt_dtype_t dtype, int64_t i, vf x) {
    if (dtype == BPT_F32)
        vf_stream((float *)p + i, x);
    else
        vh_stream((uint16_t *)p + i, dtype == BPT_BF16 ? vf_to_bf16(x) : vf_to_f16(x));
}
// The first n < BPT_LANES of these elements, zeros above.
BPT_INLINE vf vf_load_part(const void *p, bpt_dtype_t dtype, int64_t i, int64_t n) {
    const size_t size = bpt_dtype_size(dtype);
    float t[BPT_LANES] = {0};
    memcpy(t, (const char *)p + (size_t)i * size, (size_t)n * size);
    return vf_load_as(t, dtype, 0);
}
BPT_INLINE void vf_store_part(void *p, bpt_dtype_t dtype, int64_t i, int64_t n, vf x) {
    const size_t size = bpt_dtype_size(dtype);
    float t[BPT_LANES];
    vf_store_as(t, dtype, 0, x);
    memcpy((char *)p + (size_t)i * size, t, (size_t)n * size);
}
// Elements i .. of a row that has n more of them: a whole vector where they fill one, else the rest, zeros above.
BPT_INLINE vf vf_read(const void *p, bpt_dtype_t dtype, int64_t i, int64_t n) {
    return n >= BPT_LANES ? vf_load_as(p, dtype, i) : vf_load_part(p, dtype, i, n);
}
BPT_INLINE void vf_write(void *p, bpt_dtype_t dtype, int64_t i, int64_t n, vf x) {
    if (n >= BPT_LANES)
        vf_store_as(p, dtype, i, x);
    else
        vf_store_part(p, dtype, i, n, x);
}
BPT_INLINE vi vi_first(int64_t n) {  // -1 in the lanes below n
    vi lane;
    for (int i = 0; i < BPT_LANES; ++i) lane[i] = i;
    return lane < (int32_t)(n < BPT_LANES ? n : BPT_LANES);
}

// ---- exp -------------------------------------------------------------------------------------------------------------
BPT_INLINE vf vf_exp(vf x) {
    vf y;
    BPT_EXP(vf, vi, x, y);
    return y;
}

// ---- Philox ----------------------------------------------------------------------------------------------------------
// The products of the low halves of the 64-bit lanes.
BPT_INLINE vq vq_mul_low(vq a, uint32_t b) {
#if defined(__AVX512F__)
    return (vq)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
#elif defined(__AVX2__)
    return (vq)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#elif defined(__x86_64__)
    return (vq)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#else
    return (a & 0xFFFFFFFFu) * (uint64_t)b;
#endif
}
// bpt_philox (rng.h) of BPT_LANES / 2 counters at once: c[i] holds word i of each in the low halves and becomes word i of the outputs.
// The high halves may hold anything, before and after: that saves a third of the instructions.
BPT_INLINE void vq_philox(vq c[4], uint32_t k0, uint32_t k1) {
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
        const vq p0 = vq_mul_low(c[0], 0xD2511F53u), p1 = vq_mul_low(c[2], 0xCD9E8D57u);
        c[0] = (p1 >> 32) ^ c[1] ^ k0, c[1] = p1;
        c[2] = (p0 >> 32) ^ c[3] ^ k1, c[3] = p0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
}
// The same for BPT_LANES counters, one word a lane.
BPT_INLINE void vu_philox(vu c[4], uint32_t k0, uint32_t k1) {
    vq even[4], odd[4];
    for (int i = 0; i < 4; ++i) even[i] = (vq)c[i], odd[i] = (vq)c[i] >> 32;
    vq_philox(even, k0, k1);
    vq_philox(odd, k0, k1);
    for (int i = 0; i < 4; ++i) c[i] = (vu)((even[i] & 0xFFFFFFFFu) | odd[i] << 32);
}

#endif
