// Shared by all test programs.
#ifndef BPT_TEST_SUPPORT_H
#define BPT_TEST_SUPPORT_H

#include <stdbool.h>

// Folder with extra material (golden cases, corpora), NULL when there is none: tests may use it in addition.
const char *test_shared_dir(void);

// Whether a backend has a usable device here. Prints the reason once when it has none; a failure when BPT_REQUIRE_BACKENDS names it.
bool test_backend_usable(const char *name);

// For a program whose tests cannot run in this build: one test that says why and is skipped. What main returns.
int test_skip_program(const char *why);

#endif
