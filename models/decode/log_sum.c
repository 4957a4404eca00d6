// Sums of exponentials (see log_sum.h): one text of the loops, compiled for each kind of vectors. The search of a beam lies in host memory
// whatever the device is, so that this is no op of a backend.
#include "models/decode/log_sum.h"

#include <math.h>
#include <string.h>

#include "bpt/exp.h"

enum { LANES = 16, BLOCK = BPT_LOG_SUM_BLOCK };
typedef float vf __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t vi __attribute__((vector_size(LANES * sizeof(int32_t))));

#define INLINE static inline __attribute__((always_inline))

#define CHOOSE(mask, a, b) ((vf)(((mask) & (vi)(a)) | (~(mask) & (vi)(b))))

INLINE void add_exponential(const float *place, float largest, vf *sum) {
    vf x, y;
    memcpy(&x, place, sizeof x);
    BPT_EXP(vf, vi, x - largest, y);
    *sum += y;
}

// The rest of a block that is not whole is filled up with `filling`.
INLINE const float *whole_block(const float *x, int64_t n, float filling, float *room) {
    if (n >= BLOCK) return x;
    for (int64_t i = 0; i < BLOCK; ++i) room[i] = i < n ? x[i] : filling;
    return room;
}

INLINE float largest_of(const float *x) {
    vf most, next;
    memcpy(&most, x, sizeof most);
    for (int64_t i = LANES; i < BLOCK; i += LANES) {
        memcpy(&next, x + i, sizeof next);
        most = CHOOSE(next > most, next, most);
    }
    float result = most[0];
    for (int i = 1; i < LANES; ++i) result = most[i] > result ? most[i] : result;
    return result;
}

INLINE double sum_of(const float *x, float largest) {
    vf sum = {0};
    for (int64_t i = 0; i < BLOCK; i += LANES) add_exponential(x + i, largest, &sum);
    double result = 0;
    for (int i = 0; i < LANES; ++i) result += (double)sum[i];
    return result;
}

INLINE double log_sum(const float *x, int64_t n, float *largest) {
    float room[BLOCK], most = -INFINITY;
    double sum = 0;
    for (int64_t v = 0, b = 0; v < n; v += BLOCK, ++b) {
        largest[b] = largest_of(whole_block(x + v, n - v, x[n - 1], room));
        most = largest[b] > most ? largest[b] : most;
    }
    for (int64_t v = 0; v < n; v += BLOCK) sum += sum_of(whole_block(x + v, n - v, -INFINITY, room), most);
    return (double)most + log(sum);
}

typedef double log_sum_t(const float *x, int64_t n, float *largest);

static double log_sum_any(const float *x, int64_t n, float *largest) { return log_sum(x, n, largest); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double log_sum_avx2(const float *x, int64_t n, float *largest) { return log_sum(x, n, largest); }
__attribute__((target("avx512f"))) static double log_sum_avx512(const float *x, int64_t n, float *largest) {
    return log_sum(x, n, largest);
}

static log_sum_t *choose(void) {
    if (__builtin_cpu_supports("avx512f")) return log_sum_avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? log_sum_avx2 : log_sum_any;
}
#else
static log_sum_t *choose(void) { return log_sum_any; }
#endif

double bpt_log_sum_of_logits(const float *x, int64_t n, float *largest) { return choose()(x, n, largest); }
