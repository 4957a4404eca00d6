// A step of the model that is measured (see bench_step.h).
#include "tools/bpt/bench/bench_step.h"

static bool is_one_of_many(const bpt_runner_t *runner) { return bpt_ranks_size(bpt_runner_ranks(runner)) > 1; }

// A micro-batch on each rank, and the update that they make together.
static bpt_status_t step_together(bpt_runner_t *runner, const cli_bench_tokens_t *t, const bpt_update_t *update) {
    bpt_batch_t own = t->batch;
    bpt_update_t sending = *update;
    bpt_update_result_t result;
    own.last = false;
    sending.sends = true;
    BPT_TRY(bpt_runner_train(runner, &own, &sending, &result));
    return bpt_runner_update_together(runner, update, false, &result);
}

bpt_status_t cli_bench_step(bpt_runner_t *runner, const cli_bench_tokens_t *t, bool training, float *logits) {
    const bpt_update_t update = {.rng = 1, .lr = 1e-4f, .bias1 = 0.1f, .bias2 = 0.001f, .loss_scale = 1};
    bpt_update_result_t result;
    if (!training) return bpt_runner_logits(runner, &t->batch, logits);
    return is_one_of_many(runner) ? step_together(runner, t, &update) : bpt_runner_train(runner, &t->batch, &update, &result);
}

bpt_step_key_t cli_bench_step_key(const bpt_runner_t *runner, const cli_bench_tokens_t *t, bool training) {
    const bpt_step_kind_t training_kind = is_one_of_many(runner) ? BPT_STEP_MICRO : BPT_STEP_TRAIN;
    return (bpt_step_key_t){.kind = training ? training_kind : BPT_STEP_LOGITS, .shape = t->batch.shape};
}
