// Texts packed by gzip, for tests of what reads them.
#ifndef BPT_TEST_GZIP_H
#define BPT_TEST_GZIP_H

#include <stddef.h>

// Writes the bytes as a gzip file of stored blocks: as they are, with a checksum.
void test_write_gzip(const char *path, const void *bytes, size_t length);

#endif
