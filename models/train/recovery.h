// A device that is lost in the middle of training: how often to go on with a fresh one, how long its submissions may be, from where.
// A driver resets a GPU whose work takes too long, so each fresh device gets submissions half as long.
#ifndef BPT_TRAIN_RECOVERY_H
#define BPT_TRAIN_RECOVERY_H

#include "models/train/trainer.h"

typedef struct {
    int count;         // losses so far
    double submit_ms;  // longest submission of the device in use, 0: what suits it
} bpt_device_losses_t;

// Counts a loss; true: it is worth going on with a fresh device whose submissions take at most losses->submit_ms, which is now lower.
bool bpt_device_losses_add(bpt_device_losses_t *losses);
// For the last one: puts in front of its message how often the device was lost and what to do.
bpt_status_t bpt_device_losses_explain(const bpt_device_losses_t *losses, bpt_status_t status) BPT_MUST_USE;

typedef struct {
    bpt_run_t *run;
    double submit_ms;  // of the trainer's device
    // The device was lost, bpt_error_message says how: destroys the trainer and closes the device.
    void (*lost)(void *user, double submit_ms);
    // Opens the device with submissions of at most submit_ms and makes a trainer on it: resumed, or else from the beginning.
    bpt_status_t (*restart)(void *user, double submit_ms, bool resume, bpt_trainer_t **trainer);
    void *user;
} bpt_recovery_t;

// bpt_trainer_run, which goes on after a lost device from the run's last checkpoint, or from the beginning while there is none.
bpt_status_t bpt_trainer_run_recovering(bpt_trainer_t *trainer, const bpt_recovery_t *recovery) BPT_MUST_USE;

#endif
