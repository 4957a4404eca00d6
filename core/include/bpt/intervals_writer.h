// Attention graphs for eyes and scripts: an edge list, a readable listing, a picture of the adjacency matrix. Reads graphs only
// through bpt/intervals.h. (The graphs of ops in bpt/graph.h are something else.)
#ifndef BPT_INTERVALS_WRITER_H
#define BPT_INTERVALS_WRITER_H

#include <stdio.h>

#include "bpt/intervals.h"
#include "bpt/lists.h"

BPT_BEGIN_DECLS

typedef enum {
    BPT_INTERVALS_FORMAT_CSV,   // header `dst,src,rel`, then every edge, sorted by dst (query), then src (key); rel = row of the relative
                                // position table, -1 for none
    BPT_INTERVALS_FORMAT_TEXT,  // every query with its intervals, and for small graphs the adjacency matrix in characters
    BPT_INTERVALS_FORMAT_SVG,   // the adjacency matrix as a picture, less than 2 MB: of large graphs one cell stands for many nodes
} bpt_intervals_format_t;

// Writes the graph of a sequence of g->n leaves (no padding) in one format to `out`, which stays open and is flushed.
// BPT_ERR_USAGE for a graph that bpt_intervals_check refuses or that has no rule (kind TABLE); BPT_ERR_IO when not all of it
// could be written, for example on a full disk: writing stops at once.
BPT_API bpt_status_t bpt_intervals_write(const bpt_intervals_t *g, bpt_intervals_format_t format, FILE *out) BPT_MUST_USE;

// The same for a table whose queries and keys are the same nodes (bpt/lists.h), in groups of neighbours. A key that a query reads several
// times has as many edges; rel is -1.
typedef struct {
    const char *title;
    int count;
    struct {
        const char *name;
        int64_t nodes;
    } group[4];
} bpt_lists_groups_t;
BPT_API bpt_status_t bpt_lists_write(const bpt_lists_t *lists, const bpt_lists_groups_t *groups, bpt_intervals_format_t format,
                                     FILE *out) BPT_MUST_USE;

BPT_END_DECLS

#endif
