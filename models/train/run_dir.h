// A run directory: config, vocabulary, labels, metrics, and checkpoints that a crash at any moment leaves readable.
//
//     RUN/config.json vocab.txt subword.model labels.txt metrics.jsonl .lock
//     RUN/stop                 while a trainer is asked to stop
//     RUN/checkpoints/step-N/{model.safetensors, optimizer.safetensors, state.json}
//     RUN/latest, RUN/best     relative links to folders of checkpoints/
//
// A checkpoint is written as checkpoints/.tmp-step-N, synced, renamed; then the links are swapped by rename, `best` first, so that
// a resumed run never misses a best checkpoint. Knows nothing of tensors or optimisers: the caller writes the files.
#ifndef BPT_TRAIN_RUN_DIR_H
#define BPT_TRAIN_RUN_DIR_H

#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/status.h"

#define BPT_MODEL_FILE "model.safetensors"
#define BPT_OPTIMIZER_FILE "optimizer.safetensors"

typedef struct bpt_run bpt_run_t;

// For a trainer: locked until closed; a run that another trainer holds is BPT_ERR_IO. Create makes the folder, with those
// above it, and refuses one that holds a checkpoint (BPT_ERR_USAGE: --resume) or foreign files; what a run killed before its first
// checkpoint left is removed. Resume needs a checkpoint. Both remove what a killed writer left (.tmp-*) and mend a link that
// leads nowhere.
bpt_status_t bpt_run_create(const char *path, bpt_run_t **out) BPT_MUST_USE;
bpt_status_t bpt_run_resume(const char *path, bpt_run_t **out) BPT_MUST_USE;
// For readers: no lock, nothing is written; works on a read-only disk and beside a trainer.
bpt_status_t bpt_run_open(const char *path, bpt_run_t **out) BPT_MUST_USE;
// Drops a checkpoint that was begun and not committed, and all of a created run that has none.
void bpt_run_close(bpt_run_t *run);

const bpt_folder_lock_t *bpt_run_lock(const bpt_run_t *run);  // NULL for readers

// Paths, owned by the run. The files need not exist.
const char *bpt_run_path(const bpt_run_t *run);
const char *bpt_run_config_path(const bpt_run_t *run);
const char *bpt_run_vocab_path(const bpt_run_t *run);
const char *bpt_run_source_vocab_path(const bpt_run_t *run);  // of the texts that are translated, where they have their own
const char *bpt_run_subwords_path(const bpt_run_t *run);
const char *bpt_run_labels_path(const bpt_run_t *run);
const char *bpt_run_metrics_path(const bpt_run_t *run);

// For a trainer, before it writes: a folder that was renamed is followed, with a warning (*moved; paths from before are no longer valid).
// One that was deleted, or whose checkpoints were, is BPT_ERR_IO; what has its name is not touched.
bpt_status_t bpt_run_follow(bpt_run_t *run, bool *moved) BPT_MUST_USE;
// Training begins: from here on the files stay, whatever becomes of the run.
void bpt_run_keep_folder(bpt_run_t *run);

// A file `stop` in the folder asks its trainer to stop, whatever machine or program it comes from. Ask is for readers: BPT_ERR_INPUT unless
// a trainer holds the run. The trainer looks, and the file goes when it closes the run, however that ended. One that is left over from a
// trainer that was killed goes, with a warning, when the next one opens the run.
bpt_status_t bpt_run_ask_to_stop(const bpt_run_t *run) BPT_MUST_USE;
bool bpt_run_stop_asked(const bpt_run_t *run);

// BPT_ERR_IO unless the disk has room for `bytes` more: call with the size of a checkpoint before the first step.
bpt_status_t bpt_run_require_space(const bpt_run_t *run, uint64_t bytes) BPT_MUST_USE;

// Begin makes an empty folder for the files of the checkpoint; *folder is owned by the run and valid until commit or abandon.
// Commit makes it durable, points `latest` (and `best`) to it and deletes older checkpoints: besides those that a link names the
// `keep` with the highest steps stay. A checkpoint of the same step is replaced. After a failure of any call everything
// committed before is intact.
bpt_status_t bpt_run_checkpoint_begin(bpt_run_t *run, int64_t step, const char **folder) BPT_MUST_USE;
bpt_status_t bpt_run_checkpoint_commit(bpt_run_t *run, bool is_best, int64_t keep) BPT_MUST_USE;
void bpt_run_checkpoint_abandon(bpt_run_t *run);

// Folder of a checkpoint: `which` = "latest", "best", a step number, or NULL for best if there is one, else latest (but a link
// `best` that leads nowhere is an error). *folder is freed with bpt_free. The message for one that is missing lists those that are there.
bpt_status_t bpt_run_checkpoint_find(const bpt_run_t *run, const char *which, char **folder) BPT_MUST_USE;
int64_t bpt_run_checkpoint_step(const char *folder);  // by its name; -1: it is not called step-N
// For messages: the checkpoints besides that in `folder`, "checkpoints 5, 10" or "no checkpoint at all".
bpt_status_t bpt_run_checkpoint_others(const bpt_run_t *run, const char *folder, char *text, size_t bytes) BPT_MUST_USE;
// Steps of all checkpoints, ascending; freed with bpt_free.
bpt_status_t bpt_run_checkpoint_list(const bpt_run_t *run, int64_t **steps, size_t *count) BPT_MUST_USE;

#endif
