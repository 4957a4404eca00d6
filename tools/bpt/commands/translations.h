// The translations of a line, best first, and how `bpt translate` prints them. Knows no search.
#ifndef BPT_TOOLS_TRANSLATIONS_H
#define BPT_TOOLS_TRANSLATIONS_H

#include "models/decode/translate.h"
#include "tools/bpt/corpus/loaded.h"

typedef struct {
    char *text;
    double score;
} cli_translation_t;

// count 0: there is none, yet or because the line is blank.
typedef struct {
    cli_translation_t *items;
    int count;
} cli_translations_t;

// Of what a search has found. Freed by cli_translations_free, also after a failure.
bpt_status_t cli_translations_make(const bpt_vocab_t *vocab, const bpt_hypothesis_t *found, int count,
                                   cli_translations_t *out) BPT_MUST_USE;
void cli_translations_free(cli_translations_t *translations);

// The answer to line `line`: the best one; with --n-best lines of NUMBER<TAB>SCORE<TAB>TEXT; with --json an object.
bpt_status_t cli_translations_print(const cli_options_t *o, uint64_t line, const cli_translations_t *translations) BPT_MUST_USE;

#endif
