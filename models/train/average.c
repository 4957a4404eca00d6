// Means of checkpoints (see average.h).
#include "models/train/average.h"

#include <inttypes.h>
#include <stdio.h>

#include "bpt/alloc.h"
#include "models/config/params_of.h"

typedef struct {
    const bpt_params_t *params;
    float *arena;
} reader_t;

static bpt_status_t read_weights(void *user, const char *path, bool non_finite, bpt_checksum_t *sum) {
    const reader_t *r = user;
    const bpt_param_set_t set = {.prefix = "", .arena = r->arena};
    return bpt_params_read(r->params, path, &set, 1, non_finite, sum);
}

// All are of the configuration in config.json: bpt_checkpoint_open refuses others.
static bpt_status_t prepare(const bpt_checkpoint_t *c, bpt_average_t *out, double **sums) {
    if (*sums) return BPT_OK;
    out->config = c->config;
    out->first_step = c->state.step;
    BPT_TRY(bpt_model_params(&c->config, (bpt_frozen_t){0}, &out->params));
    BPT_TRY(bpt_alloc((size_t)out->params.elements, sizeof *out->arena, &out->arena));
    return bpt_alloc((size_t)out->params.elements, sizeof **sums, sums);
}

static bpt_status_t add(const bpt_run_t *run, int64_t step, bpt_average_t *out, double **sums) {
    char which[24];
    bpt_checkpoint_t c;
    snprintf(which, sizeof which, "%" PRId64, step);
    BPT_TRY(bpt_checkpoint_open(run, which, &c));
    bpt_status_t status = prepare(&c, out, sums);
    if (status == BPT_OK) status = bpt_checkpoint_read_model(&c, read_weights, &(reader_t){&out->params, out->arena});
    for (int64_t i = 0; i < out->params.elements && status == BPT_OK; ++i) (*sums)[i] += (double)out->arena[i];
    out->state = c.state;
    bpt_checkpoint_close(&c);
    return status;
}

static bpt_status_t divide(const bpt_run_t *run, int64_t count, const double *sums, bpt_average_t *out) {
    for (int64_t i = 0; i < out->params.elements; ++i) out->arena[i] = (float)(sums[i] / (double)count);
    for (size_t i = 0; i < out->params.count; ++i) {
        const bpt_param_t *p = &out->params.items[i];
        BPT_TRY(bpt_params_check_finite(bpt_run_path(run), p->name, out->arena + p->offset, p->count));
    }
    return BPT_OK;
}

bpt_status_t bpt_average_read(const bpt_run_t *run, int64_t last, bpt_average_t *out) {
    int64_t *steps;
    size_t count;
    double *sums = NULL;
    *out = (bpt_average_t){0};
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    bpt_status_t status = BPT_OK;
    if ((int64_t)count < last)
        status = bpt_fail(BPT_ERR_INPUT,
                          "%s has %zu checkpoint%s, not %" PRId64
                          "; average fewer, or train with a larger --keep, which keeps older checkpoints",
                          bpt_run_path(run), count, count == 1 ? "" : "s", last);
    for (size_t i = count - (size_t)last; i < count && status == BPT_OK; ++i) status = add(run, steps[i], out, &sums);
    if (status == BPT_OK) status = divide(run, last, sums, out);
    bpt_free(sums);
    bpt_free(steps);
    return status;
}

void bpt_average_free(bpt_average_t *average) {
    bpt_params_free(&average->params);
    bpt_free(average->arena);
    *average = (bpt_average_t){0};
}
