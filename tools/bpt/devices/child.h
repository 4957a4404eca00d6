// Work in a child process with a time limit: a driver that crashes or hangs is reported and does no harm.
#ifndef BPT_TOOLS_CHILD_H
#define BPT_TOOLS_CHILD_H

#include <sys/types.h>

#include "bpt/status.h"

typedef struct {
    void (*work)(const void *input, void *result);  // runs in the child; fills the result
    const void *input;
    size_t input_bytes;  // 0: the child has the input from its start; else it waits for cli_child_send
    void *result;        // zeroed; holds no pointers. After a crash it has what the child had written by then
    size_t result_bytes;
    int seconds;   // limit
    bool verbose;  // let the child write to stderr
} cli_child_t;

// A child at work. Several may work side by side.
typedef struct {
    pid_t pid;
    int in, go;    // its word that the work is done; what it waits for
    void *shared;  // its result
} cli_running_t;

// Fails only when no process can be started.
bpt_status_t cli_child_start(const cli_child_t *child, cli_running_t *out) BPT_MUST_USE;
void cli_child_send(const cli_child_t *child, const cli_running_t *running, const void *input);
// Waits for the child. *done = the work was done; else `why` says what became of it ("crashed with signal 11 (Segmentation fault)").
// BPT_ERR_INTERRUPTED after Ctrl-C: the child is ended.
bpt_status_t cli_child_finish(const cli_child_t *child, cli_running_t *running, bool *done, char *why, size_t why_bytes) BPT_MUST_USE;
// Waits up to so long for the end of its work, which cli_child_finish then need not wait for; what it has written of its result by now.
bool cli_child_wait(const cli_running_t *running, double seconds);
const void *cli_child_result(const cli_running_t *running);
void cli_child_end(const cli_child_t *child, cli_running_t *running);  // without waiting for its work

// All of it.
bpt_status_t cli_child_run(const cli_child_t *child, bool *done, char *why, size_t why_bytes) BPT_MUST_USE;

#endif
