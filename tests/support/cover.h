// Chooses from case tables the few cases that together show all that any case shows once: of every op each operand present and absent,
// number types, sizes and settings, of attention each graph with each setting. For devices on which every case is slow.
#ifndef BPT_TEST_COVER_H
#define BPT_TEST_COVER_H

#include "support/case.h"

typedef struct {
    uint64_t *seen;  // hashes of what the cases so far show
    size_t count, capacity;
} test_cover_t;

// True when the case shows something that none before it showed; what it shows is then noted.
bool test_cover_adds(test_cover_t *cover, const test_case_t *c);
void test_cover_free(test_cover_t *cover);

#endif
