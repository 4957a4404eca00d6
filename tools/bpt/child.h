// Work in a child process with a time limit: a driver that crashes or hangs is reported and does no harm.
#ifndef BPT_TOOLS_CHILD_H
#define BPT_TOOLS_CHILD_H

#include "bpt/status.h"

typedef struct {
    void (*work)(const void *input, void *result);  // runs in the child; fills the result
    const void *input;
    void *result;  // zeroed in the child; copied back, so it holds no pointers
    size_t result_bytes;
    int seconds;   // limit
    bool verbose;  // let the child write to stderr
} cli_child_t;

// *done = the result came back whole; else `why` says what became of the child ("crashed with signal 11 (Segmentation fault)").
// Fails only when no process can be started.
bpt_status_t cli_child_run(const cli_child_t *child, bool *done, char *why, size_t why_bytes) BPT_MUST_USE;

#endif
