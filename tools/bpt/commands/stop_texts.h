// Texts that end a generation. Knows no tokens.
#ifndef BPT_TOOLS_STOP_TEXTS_H
#define BPT_TOOLS_STOP_TEXTS_H

#include "tools/bpt/options/options.h"

// How many bytes at the front of `text`, all that is not printed yet, may be printed: those before the first stop text that is in it
// (*found), else those before the end that may be the beginning of one.
size_t cli_stop_texts_scan(const cli_texts_t *stops, const char *text, size_t bytes, bool *found);

#endif
