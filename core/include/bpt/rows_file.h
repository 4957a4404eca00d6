// A file of one array of f32 whose number of rows is known last, written row by row: NAME.npy (NumPy's format, version 1.0), or
// NAME.safetensors, which may have a second array, u64, that is written behind the first. Memory does not grow with the rows.
#ifndef BPT_ROWS_FILE_H
#define BPT_ROWS_FILE_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct bpt_rows_file bpt_rows_file_t;

typedef struct {
    const char *name;         // of the array in a safetensors file
    const char *offsets;      // of the second one [counts + 1]: 0, and the sums of what bpt_rows_file_count was given; NULL: there is none
    int rank;                 // of a row, 1 or 2
    int64_t shape[2];         // likewise
    const char *key, *value;  // metadata of a safetensors file; NULL: none
} bpt_rows_t;

// BPT_ERR_USAGE: a name that ends in neither, a pipe or a device, offsets in a .npy file.
BPT_API bpt_status_t bpt_rows_file_open(const char *path, const bpt_rows_t *rows, bpt_rows_file_t **out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_rows_file_write(bpt_rows_file_t *file, const float *rows, int64_t count) BPT_MUST_USE;
// So many rows belong together.
BPT_API bpt_status_t bpt_rows_file_count(bpt_rows_file_t *file, int64_t count) BPT_MUST_USE;
// The file appears under its name, complete and synced. BPT_ERR_INPUT: it has no rows.
BPT_API bpt_status_t bpt_rows_file_finish(bpt_rows_file_t *file) BPT_MUST_USE;
BPT_API void bpt_rows_file_close(bpt_rows_file_t *file);  // without finish nothing is left behind

BPT_END_DECLS

#endif
