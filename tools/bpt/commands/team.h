// Several processes that train together (--team): joining them, what each takes of its machine, what must be the same on all, how they end.
// Knows no training loop; how ranks talk is bpt/ranks.h.
#ifndef BPT_TOOLS_TEAM_H
#define BPT_TOOLS_TEAM_H

#include "bpt/ranks.h"
#include "tools/bpt/corpus/corpus.h"
#include "tools/bpt/options/options.h"

// Joins the team that --team names, if any, and gives this rank its share of the machine: a device by its number there, some of the cores.
// Ranks but the first say nothing unless --verbose is given. *out is owned by this file, NULL without a team.
bpt_status_t cli_team_join(cli_options_t *o, bpt_ranks_t **out) BPT_MUST_USE;
// Goes on where all ranks are well; else all end with the reason of one (bpt_ranks_agree).
bpt_status_t cli_team_agree(bpt_status_t status) BPT_MUST_USE;
// BPT_ERR_USAGE where program, settings, data or vocabulary are not the same on all ranks, or there are more ranks than micro-batches.
bpt_status_t cli_team_compare(const cli_options_t *o, const cli_corpus_t *corpus) BPT_MUST_USE;
// The outcome of the training. `together`: it is the same on all ranks.
bpt_status_t cli_team_finish(bpt_status_t status, bool together) BPT_MUST_USE;

// ---- For main
// Whether rank 0 says what this rank would say.
bool cli_team_is_silent(void);
// The process ends with this status: leaves the team, or ends the ranks that would wait for this one.
void cli_team_end(int exit_status);

#endif
