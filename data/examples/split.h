// Where training, validation and test text come from: `--data PATH` is a folder of three files or one file cut 90/5/5,
// or several of them.
#ifndef BPT_DATA_SPLIT_H
#define BPT_DATA_SPLIT_H

#include "data/examples/formats.h"
#include "data/vocab/vocab.h"

enum { BPT_TRAIN, BPT_VALID, BPT_TEST, BPT_PARTS };

// The part of each example of a file, in their order: BPT_TRAIN, .. Examples are lines, trees or sentences, as a reader finds them.
typedef struct {
    uint8_t *part;
    uint64_t count;
} bpt_cut_t;

typedef struct {
    bpt_text_t *text[BPT_PARTS];  // owned; one file cut in three has only text[0]
    bpt_range_t part[BPT_PARTS];  // bytes 0: absent
    bpt_cut_t cut;                // owned; part NULL: all of part[p] is of part p, else part[p] is the whole file for each of them
} bpt_split_t;

// The files of a part, in order.
typedef struct {
    char **path;
    size_t count, capacity;
} bpt_part_paths_t;
void bpt_part_paths_free(bpt_part_paths_t *paths);

bool bpt_split_has_folder(const bpt_paths_t *paths);  // one of them is a folder
// What has parts: folders, or files of which each has the name of a part, and one is for training and one is not. In a folder the files are
// those whose names hold "train", "valid", "dev" or the word "val", "test" (not hidden ones, not folders); several of a part are its shards
// if their names differ in numbers alone, and are read in the order of these, else they are an error; train must be there. What several
// folders and files have of a part is read one behind the other.
bool bpt_split_has_parts(const bpt_paths_t *paths);
// Other files are one text, which is cut in its order (of examples: data/examples/cut.h). by_lines: at line ends (words, ids), else between
// bytes or code points (chars): train has 90 %, valid 5 %, test 5 % of them, rounded down at the cuts, and valid and test at least one
// each. Fewer than three are BPT_ERR_INPUT.
bpt_status_t bpt_split_open(const bpt_paths_t *paths, bpt_unit_t unit, bool by_lines, bpt_split_t *out) BPT_MUST_USE;
// The same of the running text of files in some format; `how` NULL: of the files as they are.
bpt_status_t bpt_split_open_running(const bpt_paths_t *paths, bpt_unit_t unit, bool by_lines, const bpt_running_t *how,
                                    bpt_split_t *out) BPT_MUST_USE;
// Files as one text, whole for each part; what is of which part is still to be said in `cut` (data/examples/cut.h).
bpt_status_t bpt_split_open_whole(const bpt_paths_t *paths, bpt_split_t *out) BPT_MUST_USE;
// The parts of one language: the files of folders whose names end in .LANGUAGE, named as above. A path that is no folder is BPT_ERR_INPUT.
bpt_status_t bpt_split_open_language(const bpt_paths_t *folders, const char *language, bpt_split_t *out) BPT_MUST_USE;
// Adds the files of the parts of a folder, named as above, to lists; of one language, or with NULL of any. The lists are to be freed also
// after an error.
bpt_status_t bpt_split_find(const char *folder, const char *language, bpt_part_paths_t part[BPT_PARTS]) BPT_MUST_USE;
void bpt_split_close(bpt_split_t *split);

// The first of `count` >= 3 things of each part when they are cut 90/5/5 in their order, rounded as above; begin[BPT_PARTS] is `count`.
void bpt_split_places(uint64_t count, uint64_t begin[BPT_PARTS + 1]);
// The error that a file has too few (or more than 2^32 - 1) things of this name in the singular.
bpt_status_t bpt_split_fail_count(const char *path, uint64_t count, const char *thing) BPT_MUST_USE;

#endif
