// Private to the graph writer: an output that remembers its first failure, and the words that all formats describe a graph with.
#ifndef BPT_INTERVALS_WRITER_INTERNAL_H
#define BPT_INTERVALS_WRITER_INTERNAL_H

#include "bpt/intervals_writer.h"

typedef struct {
    FILE *out;
    int error;  // errno of the first failure, 0 while all went well; nothing is written after it
} writer_t;

void bpt_writer_put(writer_t *w, const char *format, ...) BPT_PRINTF(2, 3);

// "bpt graph, paper rule, k = 4, causal, n = 8192"
enum { BPT_INTERVALS_TITLE_SIZE = 160 };
void bpt_intervals_title(const bpt_intervals_t *g, char title[BPT_INTERVALS_TITLE_SIZE]);

bpt_status_t bpt_writer_finish(writer_t *w) BPT_MUST_USE;  // flushes; BPT_ERR_IO for the first failure

bpt_status_t bpt_intervals_write_svg(const bpt_intervals_t *g, writer_t *w) BPT_MUST_USE;

#endif
