// A text file in memory, mapped, not copied. 64-bit sizes; no unit, no vocabulary.
#ifndef BPT_DATA_TEXT_H
#define BPT_DATA_TEXT_H

#include "bpt/status.h"

typedef struct bpt_text bpt_text_t;

// Opens a regular file that is not empty. BPT_ERR_IO / BPT_ERR_INPUT name the path and the remedy.
bpt_status_t bpt_text_open(const char *path, bpt_text_t **out) BPT_MUST_USE;
void bpt_text_close(bpt_text_t *text);

// A range of bytes of a named file; the text must outlive it.
typedef struct {
    const char *path;
    const char *data;
    uint64_t bytes;
    uint64_t offset;  // of data in the file
    uint64_t line;    // number of the first line, from 1
} bpt_range_t;
bpt_range_t bpt_text_range(const bpt_text_t *text);

// Takes the next line (without its newline, without a final \r) off the front of `rest`; false at the end. *line is its number.
bool bpt_range_next_line(bpt_range_t *rest, bpt_range_t *line);
// BPT_ERR_INPUT with line and byte offset unless the range is valid UTF-8.
bpt_status_t bpt_range_check_utf8(const bpt_range_t *range) BPT_MUST_USE;
// Decodes one code point of valid or invalid UTF-8; returns its bytes, 0 when invalid.
int bpt_utf8_next(const char *data, uint64_t bytes, uint32_t *code_point);

#endif
