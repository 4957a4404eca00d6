// Tiny training runs through GPU backends whose loaders misbehave (tests/cli/*_shim.c). Include <cmocka.h> first.
#ifndef BPT_TEST_GPU_FAULT_H
#define BPT_TEST_GPU_FAULT_H

#include <stdbool.h>

#include "support/process.h"

// Makes the shim of the backend its loader. False, and a word on it, when there is no shim or no usable device; a failure when
// BPT_REQUIRE_BACKENDS names the backend.
bool test_shim_use(const char *backend);
void test_shim_drop(void);  // the real loaders again

// `bpt train` of a tiny model into the run directory, with more options behind, "" for none.
test_process_t test_train_tiny(const char *backend, const char *run, const char *more);

// The process ended with this status and wrote one error, which holds all parts (the last one NULL).
void test_expect_error(test_process_t *process, int exit_status, const char *const *parts);
#define expect_error(process, exit_status, ...) test_expect_error(process, exit_status, (const char *const[]){__VA_ARGS__, NULL})

#endif
