// The ledger of kernels, a file of the repository that the program writes: for each kernel, its constants and each target a number for what
// the compiler is given, and what the compiler said. One line each, sorted, so that a change can be read in a diff.
#ifndef BPT_TOOLS_LEDGER_H
#define BPT_TOOLS_LEDGER_H

#include "tools/bpt/devices/compiled.h"

typedef struct {
    char target[16];
    cli_kernel_t kernel;  // without `problem`; not `compiled`: the compiler was not at hand when the kernel last changed
} cli_ledger_line_t;

typedef struct {
    char name[16], compiler[192];
} cli_ledger_target_t;

// The compiler of a target for which nothing was compiled yet.
#define CLI_LEDGER_NOBODY "none yet"

// A kernel that is known to break a limit, and how far at most.
typedef struct {
    char kernel[40], key[24];
    int64_t most;
} cli_ledger_known_t;

typedef struct {
    cli_ledger_line_t *line;
    cli_ledger_target_t *target;
    cli_ledger_known_t *known;
    size_t n_lines, n_targets, n_known, lines_capacity, targets_capacity, known_capacity;
} cli_ledger_t;

// What no kernel may exceed.
typedef struct {
    const char *key, *words;  // NULL after the last; `words` follow a number
    int64_t most;
} cli_ledger_limit_t;

extern const cli_ledger_limit_t cli_ledger_limits[];

// A file that is not there is an empty ledger where `may_be_missing`.
bpt_status_t cli_ledger_read(const char *path, bool may_be_missing, cli_ledger_t *out) BPT_MUST_USE;
bpt_status_t cli_ledger_write(const char *path, cli_ledger_t *ledger) BPT_MUST_USE;  // sorts it
void cli_ledger_free(cli_ledger_t *ledger);

// Adds the line of a kernel, or replaces it.
bpt_status_t cli_ledger_put(cli_ledger_t *ledger, const char *target, const cli_kernel_t *kernel) BPT_MUST_USE;
// Adds the target, or names another compiler of it: what the one before said is then forgotten.
bpt_status_t cli_ledger_put_target(cli_ledger_t *ledger, const char *name, const char *compiler) BPT_MUST_USE;
// Removes the lines of the kernels of a target whose name begins with `kernels`; of all targets but those that `keeps`.
void cli_ledger_remove(cli_ledger_t *ledger, const char *target, const char *kernels);
void cli_ledger_keep_targets(cli_ledger_t *ledger, bool (*keeps)(const char *target));
const cli_ledger_target_t *cli_ledger_target(const cli_ledger_t *ledger, const char *name);
const cli_kernel_t *cli_ledger_find(const cli_ledger_t *ledger, const char *target, const char *kernel, const char *variant);
const cli_ledger_known_t *cli_ledger_known(const cli_ledger_t *ledger, const char *kernel, const char *key);
// Makes a breach of a limit a known one.
bpt_status_t cli_ledger_admit(cli_ledger_t *ledger, const char *kernel, const char *key, int64_t most) BPT_MUST_USE;
// What a kernel takes of this name; -1: not said.
int64_t cli_ledger_value(const cli_kernel_t *kernel, const char *key);

#endif
