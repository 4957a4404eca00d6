// config.json of a run, under two checksums that are keys of it:
//
//     "xxh3"    of the content of the file: one changed bit is found whatever key it is in, also before there is a checkpoint
//     "origin"  of the configuration that training began with; checkpoints list the same (run_state.h), so that the config.json of another
//               run is found
//
// A resumed run may change options: the file is replaced by one rename, with a new "xxh3" and the old "origin". Checkpoints from before the
// change go with it as those after, and whenever the writer is killed, the file is whole and fits them all. A later version that knows more
// keys writes them as well. Files without these keys are of earlier versions. Knows no options.
#ifndef BPT_TRAIN_RUN_CONFIG_H
#define BPT_TRAIN_RUN_CONFIG_H

#include "bpt/checksum.h"
#include "bpt/json.h"

typedef struct {
    bool known;  // false: a version without checksums wrote the file
    bpt_checksum_t sum;
} bpt_run_origin_t;

// Whether a key is one of the two, which are no options.
bool bpt_run_config_is_checksum(const char *key);
// Adds both to the options and writes them. *origin is that of a run that goes on; one that is not known becomes that of these options.
bpt_status_t bpt_run_config_write(const char *path, json_t *options, bpt_run_origin_t *origin) BPT_MUST_USE;
// BPT_ERR_INPUT unless the content is what was written; takes both keys out. `path` is for messages.
bpt_status_t bpt_run_config_check(json_t *config, const char *path, bpt_run_origin_t *out) BPT_MUST_USE;
// The same for a file.
bpt_status_t bpt_run_config_read(const char *path, bpt_run_origin_t *out) BPT_MUST_USE;

#endif
