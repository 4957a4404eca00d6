// Learning rates (see schedule.h).
#include "models/train/schedule.h"

#include <math.h>

#include "bpt/rng.h"

// 1 until step `first`, then half a cosine to 0, which it reaches one step after `last`.
static double falling(double step, double first, double last) {
    return (1 + cos(3.14159265358979323846 * fmin(fmax((step - first) / (last - first + 1), 0), 1))) / 2;
}

double bpt_schedule_lr(const bpt_train_config_t *t, int32_t d_model, int64_t step, int64_t epoch, double plateau_factor) {
    const double s = (double)step, warmup = (double)t->warmup;
    if (t->schedule == BPT_SCHEDULE_NOAM) {
        const double rising = t->warmup > 0 ? s * pow(warmup, -1.5) : INFINITY;
        return t->lr_factor / sqrt((double)d_model) * fmin(1 / sqrt(s), rising);
    }
    if (step <= t->warmup) return t->lr * plateau_factor * s / warmup;
    switch (t->schedule) {
    case BPT_SCHEDULE_COSINE: return t->lr * falling(s, 1, (double)t->steps);
    case BPT_SCHEDULE_EXPONENTIAL: return t->lr * pow(t->lr_decay, (double)epoch);
    case BPT_SCHEDULE_PLATEAU: return t->lr * plateau_factor;
    case BPT_SCHEDULE_INVERSE_SQRT: return t->lr * sqrt(warmup / s);
    case BPT_SCHEDULE_WARMUP_STABLE_DECAY: return t->lr * falling(s, round((double)t->steps * (1 - t->decay_share)) + 1, (double)t->steps);
    case BPT_SCHEDULE_CONSTANT:
    case BPT_SCHEDULE_NOAM: break;
    }
    return t->lr;
}

bool bpt_schedule_needs_warmup(bpt_schedule_t schedule) { return schedule == BPT_SCHEDULE_NOAM || schedule == BPT_SCHEDULE_INVERSE_SQRT; }

uint64_t bpt_schedule_rng(uint64_t seed, int64_t step, int64_t micro_step) {
    return bpt_mix64(bpt_mix64(bpt_mix64(seed) + (uint64_t)step) + (uint64_t)micro_step);
}

int32_t bpt_schedule_first_head(const bpt_train_config_t *t, int32_t layers, int64_t epoch, double epochs) {
    if (!t->deep_supervision || !(epochs > 0)) return layers;
    const double past = floor((double)layers * (double)epoch / epochs);
    return past >= layers - 1 ? layers : (int32_t)past + 1;
}
