// Training that goes on after a lost device (see recovery.h).
#include "models/train/recovery.h"

#include "bpt/alloc.h"

enum { MOST_LOSSES = 3, FIRST_SUBMIT_MS = 50 };

bool bpt_device_losses_add(bpt_device_losses_t *losses) {
    if (++losses->count > MOST_LOSSES) return false;
    losses->submit_ms = losses->submit_ms > 0 ? losses->submit_ms / 2 : FIRST_SUBMIT_MS;
    return true;
}

bpt_status_t bpt_device_losses_explain(const bpt_device_losses_t *losses, bpt_status_t status) {
    return bpt_context(
        status,
        "the device was lost %d times, the last time with --submit-ms %g; the checkpoints are intact, try a lower one, a smaller "
        "--batch-tokens, or another driver",
        losses->count, losses->submit_ms);
}

static bpt_status_t has_checkpoint(const bpt_run_t *run, bool *has) {
    char *folder = NULL;
    *has = bpt_run_checkpoint_find(run, "latest", &folder) == BPT_OK;
    bpt_free(folder);
    return *has ? BPT_OK : bpt_metrics_cut(bpt_run_metrics_path(run), 0);  // what was logged will be logged again
}

bpt_status_t bpt_trainer_run_recovering(bpt_trainer_t *trainer, const bpt_recovery_t *r) {
    bpt_device_losses_t losses = {.submit_ms = r->submit_ms};
    bpt_status_t status = bpt_trainer_run(trainer);
    while (status == BPT_ERR_DEVICE_LOST) {
        bool resume;
        if (!bpt_device_losses_add(&losses)) return bpt_device_losses_explain(&losses, status);
        r->lost(r->user, losses.submit_ms);
        BPT_TRY(has_checkpoint(r->run, &resume));
        status = r->restart(r->user, losses.submit_ms, resume, &trainer);
        if (status == BPT_OK) status = bpt_trainer_run(trainer);
    }
    return status;
}
