// The confusion of labels as a picture: a square of cells, the darker the larger a part of its row. Knows no run.
#ifndef BPT_TOOLS_CONFUSION_PICTURE_H
#define BPT_TOOLS_CONFUSION_PICTURE_H

#include "bpt/strbuf.h"

// The "confusion" of the first line that has one, of lines of JSON such as `bpt eval --json` writes; "-" is the standard input. Appends
// the whole picture. BPT_ERR_INPUT with file and line for what is none, or where there is none.
bpt_status_t cli_confusion_picture(const char *path, int width, int height, bpt_strbuf_t *out) BPT_MUST_USE;

#endif
