// The texts of `bpt bleu`: one of each system, and the references, with as many lines. Knows no score.
#ifndef BPT_TOOLS_BLEU_TEXTS_H
#define BPT_TOOLS_BLEU_TEXTS_H

#include "data/text/text.h"
#include "tools/bpt/options/options.h"

typedef struct {
    bpt_text_t **text;  // of the systems, and behind them the references
    bpt_range_t *rest, *line;
    int count, systems;
    uint64_t segments;
} cli_bleu_texts_t;  // zeroed: none

bpt_status_t cli_bleu_texts_open(const cli_options_t *o, cli_bleu_texts_t *texts) BPT_MUST_USE;
// Reads the next line of every text; there are as many as `segments`.
bpt_status_t cli_bleu_texts_next(cli_bleu_texts_t *texts) BPT_MUST_USE;
void cli_bleu_texts_close(cli_bleu_texts_t *texts);
// The file of a system, "-" for the standard input.
const char *cli_bleu_system(const cli_options_t *o, int system);

#endif
