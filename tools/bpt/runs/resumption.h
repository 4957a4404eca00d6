// `bpt train --resume`: the run that training goes on with, opened and checked before its lock is taken, and its options, but for those
// that may change. Knows no training loop.
#ifndef BPT_TOOLS_RESUMPTION_H
#define BPT_TOOLS_RESUMPTION_H

#include "models/train/checkpoint.h"
#include "tools/bpt/options/options.h"

typedef struct {
    bpt_run_t *run;         // open for reading
    bpt_checkpoint_t from;  // folder NULL: there is none
    int64_t steps;          // where the learning rate's schedule ended so far
} cli_resumption_t;

// The run --out and its latest checkpoint; `o` gets the options that it was trained with.
bpt_status_t cli_resumption_open(cli_options_t *o, cli_resumption_t *out) BPT_MUST_USE;
// Says so where the learning rate jumps, as its schedule ends at another step from here on. `o` is resolved.
void cli_resumption_note_rate(const cli_options_t *o, const cli_resumption_t *resumption);
void cli_resumption_close(cli_resumption_t *resumption);

#endif
