// BLEU of a translator while it is trained: the first lines of the validation part, translated by greedy search, against their
// translations in the file. It is the score that `bpt translate --beam 1 | bpt bleu` gives for these lines. Knows no training loop.
#ifndef BPT_TOOLS_TRANSLATION_SCORE_H
#define BPT_TOOLS_TRANSLATION_SCORE_H

#include "models/run/runner.h"
#include "tools/bpt/corpus/corpus.h"
#include "tools/bpt/report/progress.h"

typedef struct cli_translation_score cli_translation_score_t;

// Reads the lines again that the corpus was made of; all arguments must outlive it. BPT_ERR_USAGE where there are numbers of tokens and no
// texts.
bpt_status_t cli_translation_score_create(const cli_options_t *o, const cli_corpus_t *corpus, cli_progress_t *progress,
                                          cli_translation_score_t **out) BPT_MUST_USE;
void cli_translation_score_destroy(cli_translation_score_t *score);
// BLEU in percent of the model as it is now. Lines of documents that the model's positions have no room for count as empty, with a warning.
// The ranks of the runner share the lines out; all of them get the score, or the same failure.
// `should_stop` is asked meanwhile; true: BPT_ERR_INTERRUPTED.
bpt_status_t cli_translation_score_run(const cli_translation_score_t *score, bpt_runner_t *runner, bool (*should_stop)(void *user),
                                       void *user, double *bleu) BPT_MUST_USE;

#endif
