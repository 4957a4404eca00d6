// What the files of the emulator share: fibers run the threads of a block (block.c), lanes meet (warp.c), the driver launches (driver.c).
#ifndef BPT_TEST_EMULATOR_INTERNAL_H
#define BPT_TEST_EMULATOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/block.h"

// Runs a kernel; the arguments are pointers to values, as cuLaunchKernel takes them. Returns 0 or the fault, which it has told stderr.
int emulated_launch(const emulated_kernel_t *kernel, const char *name, const unsigned grid[3], unsigned threads, void **arguments);

// One operation of a warp. Words of all lanes; false: *why says what is wrong.
bool emulated_warp(emulated_operation_t operation, int mode, const uint32_t in[][EMULATED_MOST_WORDS], uint32_t out[][EMULATED_MOST_WORDS],
                   const emulated_kernel_t *kernel, const char **why);

#endif
