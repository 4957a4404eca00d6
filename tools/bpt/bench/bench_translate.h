// `bpt bench translate`: how fast a translator translates a batch of random texts. Prints nothing.
#ifndef BPT_TOOLS_BENCH_TRANSLATE_H
#define BPT_TOOLS_BENCH_TRANSLATE_H

#include "data/examples/examples.h"
#include "models/run/runner.h"
#include "tools/bpt/bench/bench_report.h"

enum { CLI_TRANSLATED_VOCAB = 8000 };  // words of both languages, as many as subwords of a small corpus

// Translates out->texts texts of out->n tokens with a beam of out->beam, `repeat` times after once that is not timed, and fills in the
// times: medians. The runner is that of a translator whose weights nobody needs: the bias of its end sign is changed, so that every
// hypothesis runs to its longest length, which is that of the text, or BPT_MOST_TRANSLATED. `trees`: those that are made, for models that
// read them.
bpt_status_t cli_bench_translate(bpt_runner_t *runner, int repeat, bpt_trees_t trees, cli_bench_result_t *out) BPT_MUST_USE;

#endif
