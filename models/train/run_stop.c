// The file in a run that asks its trainer to stop (see run_dir.h).
#include "bpt/log.h"
#include "models/train/run_dir_internal.h"

static bpt_status_t require_trainer(const bpt_run_t *run) {
    bool held;
    BPT_TRY(bpt_folder_lock_is_held(run->path, &held));
    if (held) return BPT_OK;
    return bpt_fail(
        BPT_ERR_INPUT,
        "%s is not being trained, so there is nothing to stop; a trainer on another machine whose lock is not seen here stops when "
        "you make a file %s",
        run->path, run->stop);
}

// The trainer may come to its end while the file is written: then nobody would obey it.
bpt_status_t bpt_run_ask_to_stop(const bpt_run_t *run) {
    BPT_TRY(require_trainer(run));
    BPT_TRY(bpt_file_write(run->stop, "", 0));
    const bpt_status_t status = require_trainer(run);
    if (status != BPT_OK) bpt_run_clean_up(run->stop);
    return status;
}

bool bpt_run_stop_asked(const bpt_run_t *run) { return run->lock && bpt_folder_lock_has(run->lock, run->stop); }

bpt_status_t bpt_run_drop_old_stop(const bpt_run_t *run) {
    if (!bpt_run_stop_asked(run)) return BPT_OK;
    bpt_warn("%s was left over from a training that ended before it was obeyed; it is removed, and training goes on", run->stop);
    return bpt_path_remove(run->stop);
}
