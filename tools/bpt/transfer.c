// A new run directory (see transfer.h).
#include "tools/bpt/transfer.h"

bpt_status_t cli_new_run(const char *command, const char *path, bpt_run_t **out) {
    bpt_run_t *there;
    if (bpt_run_open(path, &there) != BPT_OK) {
        bpt_error_clear();
        return bpt_run_create(path, out);
    }
    bpt_run_close(there);
    return bpt_fail(BPT_ERR_USAGE, "%s already holds a run, and bpt %s makes a new one; name another folder in --out", path, command);
}
