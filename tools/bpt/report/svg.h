// Parts that all pictures have. Knows no chart.
#ifndef BPT_TOOLS_SVG_H
#define BPT_TOOLS_SVG_H

#include "bpt/strbuf.h"

// The head of a picture with a white ground, and its styles. "</svg>" ends it.
bpt_status_t svg_open(int width, int height, bpt_strbuf_t *out) BPT_MUST_USE;
// Text that may hold anything.
bpt_status_t svg_text(bpt_strbuf_t *out, double x, double y, const char *attributes, const char *text) BPT_MUST_USE;

#endif
