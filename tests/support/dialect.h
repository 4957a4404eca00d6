// Kernels of the tests, written in the dialect of cl/README.md in one file each (interface and text), as the build would put them together.
#ifndef BPT_TEST_DIALECT_H
#define BPT_TEST_DIALECT_H

// cl/dialect/cuda.h and the file `path` (from the source folder), each line #include "folder/x.h" replaced by that file. To be freed.
char *test_cuda_text(const char *path);

#endif
