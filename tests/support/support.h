// Shared by all test programs.
#ifndef BPT_TEST_SUPPORT_H
#define BPT_TEST_SUPPORT_H

// Folder with extra material (golden cases, corpora), NULL when there is none: tests may use it in addition.
const char *test_shared_dir(void);

#endif
