// What the queries of attention over a table read, by the rule of a line: E keys each, one behind the other, whose place moves evenly from
// the first keys to the last ones. So a key is read by neighbouring queries, and both tables follow from numbers alone.
#ifndef BPT_LINES_READS_H
#define BPT_LINES_READS_H

#include "bpt/line.h"

typedef struct {
    int64_t queries, keys, edges;  // edges of each query
} bpt_line_reads_t;

bpt_line_reads_t bpt_line_reads(const bpt_op_line_t *line);
// BPT_ERR_USAGE where a table of so many edges is not what the line says of it.
bpt_status_t bpt_line_reads_check(const bpt_op_line_t *line) BPT_MUST_USE;
// Fewer edges, where the usual number is not what the line says of the table.
void bpt_line_reads_fit(bpt_op_line_t *line);
void bpt_line_fill_table(const bpt_op_line_t *line, uint32_t *table);
void bpt_line_fill_back(const bpt_op_line_t *line, uint32_t *back);

#endif
