// What run_dir.c and run_checkpoint.c share.
#ifndef BPT_TRAIN_RUN_DIR_INTERNAL_H
#define BPT_TRAIN_RUN_DIR_INTERNAL_H

#include "bpt/file.h"
#include "models/train/run_dir.h"

struct bpt_run {
    char *path, *config, *vocab, *source_vocab, *subwords, *labels, *metrics, *checkpoints, *latest, *best, *stop;
    bpt_folder_lock_t *lock;  // NULL for readers
    bool made;                // the folder is new
    bool begins;              // the run is new, and nothing of it is worth keeping before its first checkpoint
    int64_t begun_step;       // of the checkpoint being written
    char *begun;              // its folder, NULL when there is none
};

// Removes what a failure left. If it cannot be removed, the message is still that of the failure.
bool bpt_run_clean_up(const char *path);
// For a trainer that opens the run (run_stop.c).
bpt_status_t bpt_run_drop_old_stop(const bpt_run_t *run) BPT_MUST_USE;
bpt_status_t bpt_run_has_checkpoints(const bpt_run_t *run, bool *out) BPT_MUST_USE;
bool bpt_run_is_link(const char *path);  // also one that leads nowhere
bool bpt_run_leads(const bpt_run_t *run, const char *link);  // a link to a folder that exists, or such a folder itself
// Step of the checkpoint that a link names, -1 when it is no link to one.
int64_t bpt_run_linked_step(const char *link);
// The same, -1 also where the link does not lead to that checkpoint of this run.
int64_t bpt_run_own_linked_step(const bpt_run_t *run, const char *link);

#endif
