// Texts and their lines. 64-bit sizes; no unit, no vocabulary.
//
// Corpora are copied (store.h), not mapped: a file that another program shortens or rewrites meanwhile can then neither kill the process
// (SIGBUS) nor change what a run trains on. Word vectors, of which little is kept, come in blocks.
#ifndef BPT_DATA_TEXT_H
#define BPT_DATA_TEXT_H

#include "bpt/status.h"
#include "data/text/store.h"

typedef struct bpt_text bpt_text_t;

// Reads a file or a pipe, unpacked where it is packed (input.h); "-" is the standard input. An empty one is BPT_ERR_INPUT; BPT_ERR_IO and
// BPT_ERR_INPUT name path and remedy.
bpt_status_t bpt_text_open(const char *path, bpt_text_t **out) BPT_MUST_USE;
// Files that are read as one, in this order.
typedef struct {
    const char *const *path;
    size_t count;
} bpt_paths_t;
// Refuses "-" more than once: from a file it could be read again, from a pipe not.
bpt_status_t bpt_paths_check_standard_input(const bpt_paths_t *paths) BPT_MUST_USE;
#define BPT_ONE_PATH(name) (&(bpt_paths_t){(const char *const[]){name}, 1})
// Several files as one text: each but the last gets a line end where it has none. An empty one is BPT_ERR_INPUT.
bpt_status_t bpt_text_open_files(const bpt_paths_t *paths, bpt_text_t **out) BPT_MUST_USE;
// Appends the bytes of one of them to a store; `others`: more will follow.
bpt_status_t bpt_store_read(const char *path, bool others, bpt_store_t *out) BPT_MUST_USE;
// A text of bytes that were made of files, which it takes out of the store, also in case of an error. begin [paths->count]: where those of
// each file begin.
bpt_status_t bpt_text_make(const bpt_paths_t *paths, const uint64_t *begin, bpt_store_t *bytes, bpt_text_t **out) BPT_MUST_USE;
void bpt_text_close(bpt_text_t *text);

// Where a file begins in a text of several. Behind the last one stands one that is never reached.
typedef struct {
    const char *path;
    uint64_t offset;
} bpt_text_file_t;

// A range of bytes of a named file; the text must outlive it.
typedef struct {
    const char *path;
    const char *data;
    uint64_t bytes;
    uint64_t offset;                // of data in the file
    uint64_t line;                  // number of the first line, from 1
    const bpt_text_file_t *behind;  // the file behind `path` in a text of several, whose bytes the range may have too; NULL: there is none
} bpt_range_t;
bpt_range_t bpt_text_range(const bpt_text_t *text);
// The bytes [begin, end) of a range, with the file and the line where they begin.
bpt_range_t bpt_range_part(const bpt_range_t *range, uint64_t begin, uint64_t end);
// Takes what is of one file off the front of `rest`, with its place in that file; false at the end.
bool bpt_range_next_file(bpt_range_t *rest, bpt_range_t *file);
uint64_t bpt_range_files(const bpt_range_t *range);  // how many files it has bytes of

// A range over bytes that somebody else owns, as if they were the file `path`.
bpt_range_t bpt_range_of(const char *path, const void *data, uint64_t bytes);

// Takes the next line (without its newline, without a final \r) off the front of `rest`; false at the end. line->line is its number.
// A byte order mark at the start of a file is no part of its first line.
bool bpt_range_next_line(bpt_range_t *rest, bpt_range_t *line);
// Takes such a mark off the front, for what is not read by lines.
void bpt_range_skip_mark(bpt_range_t *rest);
// A byte order mark at the start of any other line, where files were joined, is no part of that either.
void bpt_line_skip_mark(bpt_range_t *line);
// What is read a line at a time is held a line at a time: a longer line is BPT_ERR_INPUT with file, line and remedy. Texts of words, code
// points and bytes are not: their lines may have any length.
#define BPT_LINE_BYTES ((size_t)64 << 20)
bpt_status_t bpt_range_check_line(const bpt_range_t *line) BPT_MUST_USE;
// BPT_ERR_INPUT with line and byte offset unless the range is valid UTF-8.
bpt_status_t bpt_range_check_utf8(const bpt_range_t *range) BPT_MUST_USE;
// Decodes one code point of valid or invalid UTF-8; returns its bytes, 0 when invalid.
int bpt_utf8_next(const char *data, uint64_t bytes, uint32_t *code_point);
// Of a Unicode category P (punctuation) or S (symbols).
bool bpt_is_punctuation(uint32_t code_point);

// A file or a pipe ("-": the standard input) in blocks of whole lines, for what need not fit in memory or comes little by little: a block
// ends when it is full, or when it has a line and nothing more is there yet. *lines stays valid until the next call; *end = true: no more.
// A line of more than BPT_LINE_BYTES is BPT_ERR_INPUT.
typedef struct bpt_text_blocks bpt_text_blocks_t;
bpt_status_t bpt_text_blocks_open(const char *path, size_t block_bytes, bpt_text_blocks_t **out) BPT_MUST_USE;
bpt_status_t bpt_text_blocks_next(bpt_text_blocks_t *blocks, bpt_range_t *lines, bool *end) BPT_MUST_USE;
bool bpt_text_blocks_ended(const bpt_text_blocks_t *blocks);  // the end was read already: the next call waits for nothing
void bpt_text_blocks_close(bpt_text_blocks_t *blocks);

// A token for a message: control characters and what is not UTF-8 as escapes, at most about 40 characters.
typedef struct {
    char text[192];
} bpt_shown_t;
bpt_shown_t bpt_show(const char *data, uint64_t bytes);

#endif
