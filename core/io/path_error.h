// One way to report what the operating system refused: path, reason, remedy. Internal to core/io.
#ifndef BPT_IO_PATH_ERROR_H
#define BPT_IO_PATH_ERROR_H

#include "bpt/status.h"

// "cannot ACTION PATH: REASON; REMEDY" as BPT_ERR_IO; `error` is an errno value.
bpt_status_t bpt_fail_path(const char *action, const char *path, int error) BPT_MUST_USE;

#endif
