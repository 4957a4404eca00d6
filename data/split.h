// Where training, validation and test text come from: `--data PATH` is a folder of three files or one file cut 90/5/5.
#ifndef BPT_DATA_SPLIT_H
#define BPT_DATA_SPLIT_H

#include "data/vocab.h"

enum { BPT_TRAIN, BPT_VALID, BPT_TEST, BPT_PARTS };

typedef struct {
    bpt_text_t *text[BPT_PARTS];  // owned; one file cut in three has only text[0]
    bpt_range_t part[BPT_PARTS];  // bytes 0: absent
} bpt_split_t;

// by_lines: one file is cut at line ends (words, ids, classification), else between bytes or code points (chars): train has 90 %, valid 5
// %, test 5 % of them, rounded down at the cuts, and valid and test at least one each. A file with fewer than three is BPT_ERR_INPUT. In a
// folder the files are those whose names hold "train", "valid" or "dev", "test" (not hidden ones, not folders); two matches are an error;
// train must be there.
bpt_status_t bpt_split_open(const char *path, bpt_unit_t unit, bool by_lines, bpt_split_t *out) BPT_MUST_USE;
// The parts of one language: the files of a folder whose names end in .LANGUAGE, named as above. A path that is no folder is BPT_ERR_INPUT.
bpt_status_t bpt_split_open_language(const char *folder, const char *language, bpt_split_t *out) BPT_MUST_USE;
void bpt_split_close(bpt_split_t *split);

#endif
