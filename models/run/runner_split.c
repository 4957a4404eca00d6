// Ranks that share each sequence (see runner.h): every one computes its own range of every micro-batch.
#include <string.h>

#include "bpt/alloc.h"
#include "models/blocks/split_layers.h"
#include "models/run/runner_internal.h"

static bool is_split(const bpt_runner_t *r) { return r->options.step.split.size > 1; }

bpt_status_t bpt_runner_split(bpt_runner_t *r) {
    bpt_ranks_t *ranks = r->options.ranks;
    if (!r->options.split_sequence) return BPT_OK;
    r->options.step.split = (bpt_shard_t){bpt_ranks_rank(ranks), bpt_ranks_size(ranks)};
    return bpt_split_check(&r->config, bpt_ranks_size(ranks));
}

void bpt_runner_connect(const bpt_runner_t *r, bpt_model_step_t *step) {
    bpt_halo_t *halo = step->encoder.halo;
    if (!halo) return;
    halo->ranks = r->options.ranks;
    bpt_program_on_exchange(step->program, bpt_halo_exchange, halo);
}

bpt_shard_t bpt_runner_turn(const bpt_runner_t *r) {
    bpt_ranks_t *ranks = r->options.ranks;
    return is_split(r) ? (bpt_shard_t){0, 1} : (bpt_shard_t){bpt_ranks_rank(ranks), bpt_ranks_size(ranks)};
}

bool bpt_runner_splits(const bpt_runner_t *r) { return is_split(r); }

void bpt_runner_exchanged(const bpt_runner_t *r, uint64_t *rows, uint64_t *bytes) {
    *rows = *bytes = 0;
    for (size_t i = 0; i < r->n_steps; ++i) {
        const bpt_halo_t *halo = r->steps[i]->encoder.halo;
        if (halo) *rows += halo->rows_exchanged, *bytes += halo->bytes_exchanged;
    }
}

// Those of all ranges, each behind the one before it in every sequence.
static bpt_status_t join_nll(bpt_runner_t *r, const bpt_model_step_t *step, float *nll) {
    const bpt_encoder_t *e = &step->encoder;
    const size_t rows = (size_t)e->targets, ranks = (size_t)r->options.step.split.size, n = (size_t)e->n;
    float *own;  // and behind it those of all
    BPT_TRY(bpt_alloc((1 + ranks) * rows, sizeof *own, &own));
    bpt_status_t status = bpt_program_read(step->program, e->nll, own);
    if (status == BPT_OK) status = bpt_ranks_gather(r->options.ranks, own, rows * sizeof *own, own + rows);
    for (size_t rank = 0; rank < ranks && status == BPT_OK; ++rank)
        for (size_t s = 0; s < (size_t)e->batch; ++s)
            memcpy(nll + (s * ranks + rank) * n, own + (1 + rank) * rows + s * n, n * sizeof *nll);
    bpt_free(own);
    return status;
}

bpt_status_t bpt_runner_join_evaluation(bpt_runner_t *r, const bpt_model_step_t *step, float *nll, double *loss) {
    BPT_TRY(bpt_ranks_add(r->options.ranks, loss, 1));
    return nll ? join_nll(r, step, nll) : BPT_OK;
}
