// A source of batches that shows on stderr how far an evaluation of it has come, where that takes long. Whoever reads it need not know.
#ifndef BPT_TOOLS_WATCH_H
#define BPT_TOOLS_WATCH_H

#include "bpt/batch.h"
#include "tools/bpt/report/progress.h"

// `inner` and `progress` are borrowed and must outlive it; inner NULL gives NULL. Released by its own destroy.
bpt_status_t cli_watch_create(bpt_batch_source_t *inner, cli_progress_t *progress, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
