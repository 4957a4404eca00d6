// Softmax and cross-entropy of one row of logits.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

// logits[i] = exp(logits[i] + bias[i] - largest); returns their sum. The logit of the target is read before it is overwritten.
static float exponentials(float *logits, const float *bias, int64_t v, float *largest, int64_t target, float *target_logit) {
    vf top = vf_set1(-INFINITY);
    for (int64_t i = 0; i < v; i += BPT_LANES) {
        vf x = vf_read(logits, BPT_F32, i, v - i);
        if (bias) {
            x += vf_read(bias, BPT_F32, i, v - i);
            vf_write(logits, BPT_F32, i, v - i, x);
        }
        top = vf_max(v - i < BPT_LANES ? vf_select(vi_first(v - i), x, vf_set1(-INFINITY)) : x, top);
    }
    *largest = vf_hmax(top);
    *target_logit = logits[target];
    vf sum = {0};
    for (int64_t i = 0; i < v; i += BPT_LANES) {
        const vf e = vf_exp(vf_read(logits, BPT_F32, i, v - i) - *largest);
        vf_write(logits, BPT_F32, i, v - i, e);
        sum += v - i < BPT_LANES ? vf_if(vi_first(v - i), e) : e;
    }
    return vf_sum(sum);
}

// The sum over the classes of how far their logits (+ bias) are above the target's.
static double distances(const float *logits, const float *bias, int64_t v, int64_t target) {
    const double base = (double)logits[target] + (bias ? (double)bias[target] : 0);
    double sum = 0;
    for (int64_t i = 0; i < v; ++i) sum += (double)logits[i] + (bias ? (double)bias[i] : 0) - base;
    return sum;
}

float BPT_KERNEL_NAME(xent_row)(float *logits, const float *bias, int64_t v, uint32_t target, const float *scale, float smoothing,
                                float *loss) {
    if (target >= v) {  // bad data shows as a loss that is not a number
        for (int64_t i = 0; i < v; ++i) logits[i] = NAN;
        if (loss) *loss = NAN;
        return NAN;
    }
    const double share = smoothing > 0 ? (double)smoothing / (double)(v - 1) : 0;
    const double apart = smoothing > 0 ? share * distances(logits, bias, v, target) : 0;
    float largest, target_logit;
    const float sum = exponentials(logits, bias, v, &largest, target, &target_logit);
    if (scale) {
        const float factor = *scale / sum;
        for (int64_t i = 0; i < v; ++i) logits[i] *= factor;
        if (smoothing > 0) {
            const float other = (float)((double)*scale * share);
            for (int64_t i = 0; i < v; ++i) logits[i] -= other;
            logits[target] -= (float)((double)*scale * (1 - (double)smoothing - share));
        } else {
            logits[target] -= *scale;
        }
    }
    const double nll = (double)largest - (double)target_logit + log((double)sum);
    if (loss) *loss = (float)(nll - apart);
    return (float)nll;
}
