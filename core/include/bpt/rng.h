// Counter-based random numbers: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
// The same counter and key give the same numbers on every backend; nothing is stored and no state advances.
#ifndef BPT_RNG_H
#define BPT_RNG_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

static inline void bpt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1, c3 = (uint32_t)p0, c0 = n0, c2 = n2;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

// splitmix64: mixes a 64-bit word; used to derive keys from (seed, step, micro-step) and from parameter names.
static inline uint64_t bpt_mix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static inline uint64_t bpt_hash_string(const char *text) {  // FNV-1a
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; ++text) h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    return bpt_mix64(h);
}

static inline float bpt_uniform01(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }  // [0, 1)

// ---- Dropout -------------------------------------------------------------------------------------------------------
// One Philox call decides eight neighbouring elements, 16 bits each: element e of a row is dropped when its 16 bits are
// below bpt_dropout_threshold(p). counter = {e >> 3, row code, sequence, stream}, key = the step's key.
//   row code, sequence: the row's two words of the `row_keys` tensor (node code and sequence index in the epoch's order);
//   stream: the op's uid << 8 | head (0 outside attention). For attention weights e is the *key's* node code.
static inline uint32_t bpt_dropout_threshold(float p) { return (uint32_t)(p * 65536.0f + 0.5f); }
static inline uint32_t bpt_dropout_bits(uint32_t element, uint32_t row_code, uint32_t sequence, uint32_t stream, const uint32_t key[2]) {
    const uint32_t counter[4] = {element >> 3, row_code, sequence, stream};
    uint32_t out[4];
    bpt_philox(counter, key, out);
    return (out[(element >> 1) & 3] >> (16 * (element & 1))) & 0xFFFFu;
}

// Node code of node m of level j: independent of the sequence's length and bucket. m < 2^26.
static inline uint32_t bpt_node_code(uint32_t level, uint32_t index) { return level << 26 | index; }

BPT_END_DECLS

#endif
