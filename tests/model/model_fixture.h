// Small models, batches and devices for the model tests.
#ifndef BPT_TEST_MODEL_FIXTURE_H
#define BPT_TEST_MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka needs the headers above first.
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "bpt/rng.h"
#include "models/config/config.h"
#include "models/run/runner.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

static inline bpt_device_t *fixture_open(const char *backend) {
    bpt_device_t *device = NULL;
    const bpt_backend_t *b = bpt_backend_find(backend);
    const bpt_device_options_t options = {.threads = 2};
    assert_non_null(b);
    assert_ok(b->open(0, &options, &device));
    return device;
}
static inline void fixture_close(bpt_device_t *device) { device->backend->close(device); }

// Adam, at a constant rate, in so many steps.
static inline bpt_train_config_t fixture_training(int64_t steps) {
    return (bpt_train_config_t){.steps = steps,
                                .accumulate = 1,
                                .seed = 7,
                                .lr = 3e-3,
                                .beta1 = 0.9,
                                .beta2 = 0.98,
                                .eps = 1e-8,
                                .momentum = 0.95,
                                .lr_decay = 1,
                                .lr_factor = 1,
                                .keep = 3};
}

static inline bpt_model_config_t fixture_lm(void) {
    return (bpt_model_config_t){.task = BPT_TASK_LM,
                                .model = BPT_MODEL_BPT,
                                .causal = true,
                                .tied = true,
                                .layers = 2,
                                .d_model = 16,
                                .d_embed = 16,
                                .d_ff = 24,
                                .heads = 2,
                                .k = 2,
                                .rel_levels = 5,
                                .max_positions = 64,
                                .window = 3,
                                .vocab = 11};
}
static inline bpt_model_config_t fixture_classifier(void) {
    bpt_model_config_t c = fixture_lm();
    c.task = BPT_TASK_CLASSIFY;
    c.causal = c.tied = false;
    c.classes = 3;
    return c;
}

static inline bpt_runner_t *fixture_runner(const bpt_model_config_t *config, bpt_device_t *device, bpt_runner_options_t options) {
    bpt_runner_t *runner = NULL;
    bpt_optimizer_options_t *optimizer = &options.step.optimizer;
    if (optimizer->beta1 == 0) {
        optimizer->beta1 = 0.9f;
        optimizer->beta2 = 0.98f;
        optimizer->eps = 1e-8f;
    }
    assert_ok(bpt_runner_create(config, &options, device, &runner));
    assert_ok(bpt_runner_init(runner, 1));
    return runner;
}

// A batch that owns its arrays. Sequence s has lengths[s] tokens that depend on (sequences[s], position) alone.
typedef struct {
    bpt_batch_t batch;
    uint32_t tokens[4096], targets[4096], start[64], lengths[64], sequences[64];
    float weights[4096];
} fixture_batch_t;

// The first token tells sequences apart, so that all later ones can be known.
static inline uint32_t fixture_token(uint32_t sequence, int64_t i, int64_t vocab) {
    if (i == 0) return sequence % (uint32_t)vocab;
    return (uint32_t)(bpt_mix64((uint64_t)sequence << 32 | (uint64_t)i) % (uint64_t)vocab);
}

static inline void fixture_fill(fixture_batch_t *b, const bpt_model_config_t *c, int64_t n, int64_t batch, const uint32_t *lengths,
                                uint32_t first_sequence) {
    const bool classify = c->task == BPT_TASK_CLASSIFY;
    memset(b, 0, sizeof *b);
    b->batch = (bpt_batch_t){.shape = bpt_batch_buckets(n, batch),
                             .n_real = batch,
                             .side = {{.tokens = b->tokens, .start = b->start, .lengths = b->lengths}},
                             .targets = b->targets,
                             .weights = b->weights,
                             .n_targets = classify ? batch : batch * n,
                             .sequences = b->sequences,
                             .first = true,
                             .last = true};
    for (int64_t s = 0; s < batch; ++s) {
        b->start[s] = (uint32_t)(s * n);
        b->lengths[s] = lengths[s];
        b->sequences[s] = first_sequence + (uint32_t)s;
        for (uint32_t i = 0; i < lengths[s]; ++i) {
            b->tokens[s * n + i] = fixture_token(b->sequences[s], i, c->vocab);
            if (classify) continue;
            b->targets[s * n + i] = fixture_token(b->sequences[s], (int64_t)i + 1, c->vocab);
            b->weights[s * n + i] = 1;
        }
        if (classify) {
            b->targets[s] = b->sequences[s] % (uint32_t)c->classes;
            b->weights[s] = 1;
        }
        b->batch.n_tokens += lengths[s];
        b->batch.n_scored += classify ? 1 : lengths[s];
    }
    b->batch.window_scored = b->batch.n_scored;
}

// ---- Gradients

// The loss at params + step * direction.
static inline double fixture_loss_at(bpt_runner_t *r, const bpt_batch_t *batch, const float *params, const float *direction, double step,
                                     int64_t count) {
    bpt_device_t *device = bpt_runner_device(r);
    float *moved;
    double loss;
    assert_ok(bpt_alloc((size_t)count, sizeof *moved, &moved));
    for (int64_t i = 0; i < count; ++i) moved[i] = (float)((double)params[i] + step * (double)direction[i]);
    assert_ok(device->backend->write(device, bpt_runner_state(r, BPT_STATE_PARAMS), 0, moved, (size_t)count * sizeof *moved));
    bpt_free(moved);
    assert_ok(bpt_runner_evaluate(r, batch, NULL, &loss));
    return loss;
}

// Along the gradient g the loss rises by |g| for a step of length 1, if g is the gradient: where the sum is largest, rounding least. A relu
// may bend on the way.
static inline void fixture_check_gradient(bpt_runner_t *r, const bpt_batch_t *batch, const char *what) {
    const int64_t count = bpt_runner_params(r)->trained_elements;
    bpt_device_t *device = bpt_runner_device(r);
    float *params, *gradient;
    double loss, square = 0;
    assert_ok(bpt_alloc((size_t)count, sizeof *params, &params));
    assert_ok(bpt_alloc((size_t)count, sizeof *gradient, &gradient));
    assert_ok(bpt_runner_gradient(r, batch, true, &loss));
    assert_ok(bpt_runner_read_gradient(r, gradient));
    assert_ok(device->backend->read(device, bpt_runner_state(r, BPT_STATE_PARAMS), 0, params, (size_t)count * sizeof *params));
    for (int64_t i = 0; i < count; ++i) square += (double)gradient[i] * (double)gradient[i];
    const double norm = sqrt(square), h = 1e-3 / norm;
    const double rise = fixture_loss_at(r, batch, params, gradient, h, count) - fixture_loss_at(r, batch, params, gradient, -h, count);
    bpt_free(gradient);
    bpt_free(params);
    if (!(fabs(rise / 2e-3 - norm) < 0.02 * norm)) fail_msg("%s: norm %g, by differences %g", what, norm, rise / 2e-3);
}

#endif
