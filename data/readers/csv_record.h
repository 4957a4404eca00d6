// Records of CSV files and their cells (RFC 4180): lines of cells between commas; a cell between quotes may hold commas, line ends, and
// quotes, each written twice.
#ifndef BPT_DATA_READERS_CSV_RECORD_H
#define BPT_DATA_READERS_CSV_RECORD_H

#include "data/vocab/vocab.h"

// Which cells of a record are of use, counted from 0; -1: none. Zero-initialised: not known yet.
typedef struct {
    uint64_t line;  // of the record that they were found in
    int count;      // of cells of each record
    int text[2], label;
} bpt_csv_columns_t;

// The cells of a record: bytes of the file, or of `plain` where quotes were taken out of them. Zero-initialised: empty.
typedef struct {
    bpt_word_t *cell;
    char *plain;
    size_t count, capacity, plain_capacity;
} bpt_csv_cells_t;
void bpt_csv_cells_free(bpt_csv_cells_t *cells);

// Takes a record off the front of `rest`, over as many lines as its quotes need, without its last line end; false at the end. *open: its
// quotes are not closed.
bool bpt_csv_next(bpt_range_t *rest, bpt_range_t *record, bool *open);
// BPT_ERR_INPUT with file and line: a quote that is not closed, or that stands where none may.
bpt_status_t bpt_csv_split(const bpt_range_t *record, bpt_csv_cells_t *out) BPT_MUST_USE;

#endif
