// Edit distance of two sequences of words, computed only near the diagonal of the table, as sacreBLEU does it for TER. A table is kept
// for one pair of lengths; what a change of the first sequence costs is computed from the first row that changes. Knows no score.
#ifndef BPT_DATA_SCORE_EDIT_TABLE_H
#define BPT_DATA_SCORE_EDIT_TABLE_H

#include "bpt/status.h"

typedef struct {
    const uint32_t *reference;
    int64_t words, references;  // of the two sequences
    double ratio;               // references for a word: the slope of the diagonal
    int64_t beam, width;        // columns on each side of it; of a row that are kept
    int32_t *cost;              // [words + 1, width]
    uint8_t *edit;              // likewise: the last of the cheapest edits
    size_t room;                // cells of both
    int32_t *tried[2];          // rows of a changed sequence
    size_t tried_room;
} bpt_edit_table_t;  // zeroed: none yet

enum { BPT_EDIT_KEEP, BPT_EDIT_CHANGE, BPT_EDIT_DELETE, BPT_EDIT_INSERT };

// The two sequences' lengths; the reference must last.
bpt_status_t bpt_edit_table_shape(bpt_edit_table_t *table, int64_t words, const uint32_t *reference, int64_t references) BPT_MUST_USE;
// Fills the table for these words and returns the distance.
int64_t bpt_edit_table_fill(bpt_edit_table_t *table, const uint32_t *words);
// The distance of words whose first `same` are those of the table, which stays as it is.
int64_t bpt_edit_table_try(bpt_edit_table_t *table, const uint32_t *words, int64_t same);
// The last edit of the cheapest ones that turn the first i words into the first j of the reference: from (words, references) back to (0,
// 0).
int bpt_edit_table_edit(const bpt_edit_table_t *table, int64_t i, int64_t j);
void bpt_edit_table_free(bpt_edit_table_t *table);

#endif
