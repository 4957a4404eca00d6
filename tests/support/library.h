// Products by a driver's library that no self-check has looked at.
#ifndef BPT_TEST_LIBRARY_H
#define BPT_TEST_LIBRARY_H

#include "bpt/backend.h"

// Of an open device of a GPU backend: all products that the library can compute, masked ones too.
void test_take_library(bpt_device_t *device);

#endif
