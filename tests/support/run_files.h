// Files of run directories, copied to be damaged.
#ifndef BPT_TEST_RUN_FILES_H
#define BPT_TEST_RUN_FILES_H

#include <stdint.h>

// A fresh copy of a run in the scratch folder, always at the same path.
const char *test_copy_run(const char *run);
// RUN/NAME; the last four results stay valid.
char *test_in_run(const char *run, const char *name);
// Changes one bit; a negative offset counts from the end.
void test_flip(const char *path, int64_t offset, int bit);
// Changes the first place of `from` in a text; fails the test where there is none.
void test_edit(const char *path, const char *from, const char *to);
// As a version would have written the run that knew no checksum of config.json, or no checksums at all.
void test_forget_config_checksum(const char *run);
void test_forget_checksums(const char *run);

#endif
