// A checkpoint opened for use: its state, its model's configuration, and files that are checked while they are read. state.json lists size
// and xxh3 of what belongs together (run_state.h); what contradicts it, or another of the files, is refused. Knows no command line.
#ifndef BPT_TRAIN_CHECKPOINT_H
#define BPT_TRAIN_CHECKPOINT_H

#include "models/run/runner.h"
#include "models/train/run_config.h"
#include "models/train/run_dir.h"
#include "models/train/run_state.h"

typedef struct {
    const bpt_run_t *run;  // must outlive the checkpoint
    char *folder;
    bpt_run_state_t state;
    bpt_model_config_t config;  // from the model file's metadata; that of config.json is the same
    bpt_run_origin_t origin;    // what config.json says
} bpt_checkpoint_t;

// `which` as in bpt_run_checkpoint_find. BPT_ERR_INPUT names the file and what it contradicts.
bpt_status_t bpt_checkpoint_open(const bpt_run_t *run, const char *which, bpt_checkpoint_t *out) BPT_MUST_USE;
void bpt_checkpoint_close(bpt_checkpoint_t *checkpoint);

// The weights, and the optimiser's moments, each file read once and compared with its checksum on the way. Where state.json lists none (a
// version before checksums wrote it: a remark says so), numbers that are not finite are refused; else they are what was written.
bpt_status_t bpt_checkpoint_load(const bpt_checkpoint_t *checkpoint, bpt_runner_t *runner) BPT_MUST_USE;
bpt_status_t bpt_checkpoint_load_moments(const bpt_checkpoint_t *checkpoint, bpt_runner_t *runner) BPT_MUST_USE;
// The weights as starting values of another run (bpt_runner_take), checked in the same way.
bpt_status_t bpt_checkpoint_take(const bpt_checkpoint_t *checkpoint, bpt_runner_t *runner, const bpt_taken_rows_t *rows,
                                 uint64_t seed) BPT_MUST_USE;
// The same for a reader of the caller's own: `read` reads the model file at `path` once and gives its checksum, if `sum` is not NULL.
typedef bpt_status_t (*bpt_checkpoint_read_t)(void *user, const char *path, bool non_finite, bpt_checksum_t *sum);
bpt_status_t bpt_checkpoint_read_model(const bpt_checkpoint_t *checkpoint, bpt_checkpoint_read_t read, void *user) BPT_MUST_USE;
// For files that somebody else reads (vocab.txt, source_vocab.txt, subword.model, labels.txt): BPT_ERR_INPUT unless `sum` is what
// state.json lists. NULL: there is no such file.
bpt_status_t bpt_checkpoint_check(const bpt_checkpoint_t *checkpoint, bpt_run_file_t file, const char *path,
                                  const bpt_checksum_t *sum) BPT_MUST_USE;

// ---- For who writes a checkpoint
// The list for a new one: vocab.txt, source_vocab.txt, subword.model and labels.txt of the run as they are, the model's configuration, and
// the origin that config.json has; NULL: it has none. The caller adds what he writes.
bpt_status_t bpt_run_sums_begin(const bpt_run_t *run, const bpt_model_config_t *config, const bpt_run_origin_t *origin,
                                bpt_run_sums_t *out) BPT_MUST_USE;
void bpt_run_sums_add_origin(bpt_run_sums_t *sums, const bpt_run_origin_t *origin);
void bpt_run_sums_add(bpt_run_sums_t *sums, bpt_run_file_t file, bpt_checksum_t sum);

#endif
