// A new run directory (see transfer.h).
#include "tools/bpt/corpus/transfer.h"

#include "bpt/alloc.h"

// What a killed writer left before its checkpoint was whole is no run: it is made again.
static bpt_status_t check_no_run(const char *command, const bpt_run_t *run) {
    int64_t *steps;
    size_t count;
    char *latest;
    const bool finished = bpt_run_checkpoint_find(run, "latest", &latest) == BPT_OK;
    if (finished) bpt_free(latest);
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    bpt_free(steps);
    if (!finished && !count) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s already holds a run, and bpt %s makes a new one; name another folder in --out%s", bpt_run_path(run),
                    command, finished ? "" : ", or delete this one, which has no `latest`");
}

bpt_status_t cli_new_run(const char *command, const char *path, bpt_run_t **out) {
    bpt_run_t *there;
    if (bpt_run_open(path, &there) == BPT_OK) {
        const bpt_status_t status = check_no_run(command, there);
        bpt_run_close(there);
        BPT_TRY(status);
    }
    bpt_error_clear();
    return bpt_run_create(path, out);
}
