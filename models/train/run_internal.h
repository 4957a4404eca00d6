// What run_dir.c and run_checkpoint.c share.
#ifndef BPT_TRAIN_RUN_INTERNAL_H
#define BPT_TRAIN_RUN_INTERNAL_H

#include "bpt/file.h"
#include "models/train/run_dir.h"

struct bpt_run {
    char *path, *config, *vocab, *source_vocab, *subwords, *labels, *metrics, *checkpoints, *latest, *best;
    bpt_folder_lock_t *lock;  // NULL for readers
    bool made;                // the folder is new: it is removed where nothing was written into it
    int64_t begun_step;       // of the checkpoint being written
    char *begun;              // its folder, NULL when there is none
};

// Step of the checkpoint that a link names, -1 when it is no link to one.
int64_t bpt_run_linked_step(const char *link);

#endif
