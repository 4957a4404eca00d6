// The dropout stream of rng.h for neighbouring elements of one row, vectorised: bit for bit what bpt_dropout_bits gives.
#ifndef BPT_CPU_DROPOUT_H
#define BPT_CPU_DROPOUT_H

#include "backends/cpu/kernels/vec.h"
#include "bpt/rng.h"

enum { BPT_DROPOUT_SLACK = 8 * BPT_LANES };  // elements that bpt_dropout_words may write beyond those wanted

// bits[8 i + j] = the 16 bits of element 8 (block + i) + j, for i < blocks.
BPT_INLINE void bpt_dropout_words(uint16_t *bits, int64_t block, int64_t blocks, uint32_t row_code, uint32_t sequence, uint32_t stream,
                                  const uint32_t key[2]) {
    enum { COUNTERS = BPT_LANES / 2, GROUPS = 2 };  // two groups at a time hide each other's latency
    vq lane;
    for (int i = 0; i < COUNTERS; ++i) lane[i] = (uint64_t)i;
    const vq zero = {0}, codes = zero + row_code, sequences = zero + sequence, streams = zero + stream;
    for (int64_t i = 0; i < blocks; i += GROUPS * COUNTERS) {
        vq c[GROUPS][4];
        for (int g = 0; g < GROUPS; ++g) {
            c[g][0] = lane + (uint64_t)(block + i + g * COUNTERS);
            c[g][1] = codes, c[g][2] = sequences, c[g][3] = streams;
            vq_philox(c[g], key[0], key[1]);
        }
        for (int g = 0; g < GROUPS; ++g) {  // words 0 and 1, then 2 and 3, of each counter
            const vq first = (c[g][0] & 0xFFFFFFFFu) | c[g][1] << 32, second = (c[g][2] & 0xFFFFFFFFu) | c[g][3] << 32;
            const vq words[2] = {BPT_ZIP64_LOW(first, second), BPT_ZIP64_HIGH(first, second)};
            memcpy(bits + 8 * (i + g * COUNTERS), words, sizeof words);
        }
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
