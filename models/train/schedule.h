// Learning rates and what else follows from the number of a step alone. Knows no model.
#ifndef BPT_TRAIN_SCHEDULE_H
#define BPT_TRAIN_SCHEDULE_H

#include "models/config/config.h"

// Learning rate of optimiser step `step` (1, 2, ..), in an epoch numbered from 0. `plateau_factor`: what the plateau schedule has
// made of it so far. All but noam rise linearly over train->warmup steps first; then
//   constant: lr;   cosine: lr (1 + cos(pi (step - 1) / steps)) / 2;   exponential: lr * lr_decay^epoch;   plateau: lr * plateau_factor;
//   warmup-stable-decay (Hu et al. 2024, MiniCPM, section 4): lr, and in the last decay_share of the steps half a cosine from lr to 0;
//   inverse-sqrt: lr * sqrt(warmup / step);   noam: lr_factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al.
//   2017, 5.3).
double bpt_schedule_lr(const bpt_train_config_t *train, int32_t d_model, int64_t step, int64_t epoch, double plateau_factor);

// Whether its rate is a function of the warm-up, which cannot be 0 then.
bool bpt_schedule_needs_warmup(bpt_schedule_t schedule);

// Key of the random numbers of a micro-step.
uint64_t bpt_schedule_rng(uint64_t seed, int64_t step, int64_t micro_step);

// Deep supervision: the first layer, counted from 1, that has a loss in this epoch: those i > layers * epoch / epochs; the last always.
int32_t bpt_schedule_first_head(const bpt_train_config_t *train, int32_t layers, int64_t epoch, double epochs);

#endif
