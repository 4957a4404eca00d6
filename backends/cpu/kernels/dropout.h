// The dropout stream of rng.h for neighbouring elements of one row, vectorised: bit for bit what bpt_dropout_bits gives.
#ifndef BPT_CPU_DROPOUT_H
#define BPT_CPU_DROPOUT_H

#include "backends/cpu/kernels/vec.h"
#include "bpt/rng.h"

enum { BPT_DROPOUT_SLACK = 8 * BPT_LANES };  // elements that bpt_dropout_words may write beyond those wanted

#if BPT_LANES == 16
#define BPT_ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define BPT_ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif BPT_LANES == 8
#define BPT_ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BPT_ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define BPT_ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define BPT_ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

// bits[8 i + j] = the 16 bits of element 8 (block + i) + j, for i < blocks.
BPT_INLINE void bpt_dropout_words(uint16_t *bits, int64_t block, int64_t blocks, uint32_t row_code, uint32_t sequence, uint32_t stream,
                                  const uint32_t key[2]) {
    vu lane;
    for (int i = 0; i < BPT_LANES; ++i) lane[i] = (uint32_t)i;
    for (int64_t i = 0; i < blocks; i += BPT_LANES) {
        vu c[4] = {lane + (uint32_t)(block + i), vu_set1(row_code), vu_set1(sequence), vu_set1(stream)};
        vu_philox(c, key[0], key[1]);
        // four vectors of one word each to BPT_LANES groups of four words
        const vu a = BPT_ZIP_LOW(c[0], c[2]), b = BPT_ZIP_HIGH(c[0], c[2]), d = BPT_ZIP_LOW(c[1], c[3]), e = BPT_ZIP_HIGH(c[1], c[3]);
        const vu words[4] = {BPT_ZIP_LOW(a, d), BPT_ZIP_HIGH(a, d), BPT_ZIP_LOW(b, e), BPT_ZIP_HIGH(b, e)};
        memcpy(bits + 8 * i, words, sizeof words);
    }
}

BPT_INLINE vf bpt_dropout_vector(vf x, const uint16_t *bits, uint32_t threshold, float inverse) {
    vh h;
    memcpy(&h, bits, sizeof h);
    return vf_if((vi)(__builtin_convertvector(h, vu) >= threshold), x * inverse);
}

// data[i] = bits[i] < threshold ? 0 : data[i] * inverse; bits needs BPT_LANES readable elements beyond n.
BPT_INLINE void bpt_dropout_apply(float *data, const uint16_t *bits, int64_t n, uint32_t threshold, float inverse) {
    int64_t i = 0;
    for (; i + BPT_LANES <= n; i += BPT_LANES) vf_store(data + i, bpt_dropout_vector(vf_load(data + i), bits + i, threshold, inverse));
    for (; i < n; ++i) data[i] = bits[i] < threshold ? 0 : data[i] * inverse;
}

#endif
