// numpy's generator (see numpy_random.h).
#include "data/score/numpy_random.h"

// ---- 128 bits

static bpt_u128_t add(bpt_u128_t a, bpt_u128_t b) {
    const uint64_t low = a.low + b.low;
    return (bpt_u128_t){a.high + b.high + (low < a.low), low};
}

static bpt_u128_t multiply(bpt_u128_t a, bpt_u128_t b) {
    const uint64_t half = UINT32_MAX, a0 = a.low & half, a1 = a.low >> 32, b0 = b.low & half, b1 = b.low >> 32;
    const uint64_t middle = (a0 * b0 >> 32) + (a1 * b0 & half) + (a0 * b1 & half);
    const uint64_t high = a1 * b1 + (a1 * b0 >> 32) + (a0 * b1 >> 32) + (middle >> 32);
    return (bpt_u128_t){high + a.high * b.low + a.low * b.high, a.low * b.low};
}

// ---- SeedSequence: words of the seed, mixed into a pool of four words

enum { POOL = 4 };

static uint32_t hash(uint32_t value, uint32_t *constant, uint32_t factor) {
    value ^= *constant;
    *constant *= factor;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mix(uint32_t a, uint32_t b) {
    const uint32_t mixed = a * 0xca01f9ddU - b * 0x4973f715U;
    return mixed ^ mixed >> 16;
}

static void spread_seed(uint64_t seed, uint32_t words[2 * POOL]) {
    const uint32_t entropy[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t pool[POOL], constant = 0x43b0d7e5U;
    for (int i = 0; i < POOL; ++i) pool[i] = hash(entropy[i], &constant, 0x931e8875U);
    for (int from = 0; from < POOL; ++from)
        for (int to = 0; to < POOL; ++to)
            if (from != to) pool[to] = mix(pool[to], hash(pool[from], &constant, 0x931e8875U));
    constant = 0x8b51f9ddU;
    for (int i = 0; i < 2 * POOL; ++i) words[i] = hash(pool[i % POOL], &constant, 0x58f38dedU);
}

// ---- PCG64

static void step(bpt_numpy_random_t *r) {
    const bpt_u128_t factor = {UINT64_C(2549297995355413924), UINT64_C(4865540595714422341)};
    r->state = add(multiply(r->state, factor), r->increment);
}

static uint64_t next64(bpt_numpy_random_t *r) {
    step(r);
    const uint64_t folded = r->state.high ^ r->state.low;
    const unsigned turn = (unsigned)(r->state.high >> 58);
    return folded >> turn | folded << (-turn & 63);
}

static uint32_t next32(bpt_numpy_random_t *r) {
    r->has_kept = !r->has_kept;
    if (!r->has_kept) return r->kept;
    const uint64_t bits = next64(r);
    r->kept = (uint32_t)(bits >> 32);
    return (uint32_t)bits;
}

bpt_numpy_random_t bpt_numpy_random(uint64_t seed) {
    uint32_t w[2 * POOL];
    bpt_numpy_random_t r = {.has_kept = false};
    spread_seed(seed, w);
    const bpt_u128_t state = {w[0] | (uint64_t)w[1] << 32, w[2] | (uint64_t)w[3] << 32};
    const bpt_u128_t stream = {w[4] | (uint64_t)w[5] << 32, w[6] | (uint64_t)w[7] << 32};
    r.increment = (bpt_u128_t){stream.high << 1 | stream.low >> 63, stream.low << 1 | 1};
    step(&r);
    r.state = add(r.state, state);
    step(&r);
    return r;
}

// Lemire (2019): a draw that would prefer some numbers is thrown away.
uint32_t bpt_numpy_random_below(bpt_numpy_random_t *r, uint32_t end) {
    if (end <= 1) return 0;
    uint64_t product = (uint64_t)next32(r) * end;
    if ((uint32_t)product < end) {
        const uint32_t least = (uint32_t)-end % end;
        while ((uint32_t)product < least) product = (uint64_t)next32(r) * end;
    }
    return (uint32_t)(product >> 32);
}
