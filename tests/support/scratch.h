// A folder of the test program's own, removed when it ends.
#ifndef BPT_TEST_SCRATCH_H
#define BPT_TEST_SCRATCH_H

#include <stddef.h>

#include "bpt/base.h"

const char *test_scratch_dir(void);
// test_scratch_dir()/NAME in printf format; the last 16 results stay valid.
const char *test_path(const char *format, ...) BPT_PRINTF(1, 2);
void test_make_folder(const char *path);  // fails if there is one
void test_write_file(const char *path, const void *bytes, size_t length);
// Content, NUL-terminated, NULL if the file cannot be read; freed with free().
char *test_read_file(const char *path, size_t *length);
// The number by which this process has a file in this folder open, also one that has lost its name; -1: none, or the system does not tell.
int test_open_file_in(const char *folder);

#endif
