// Blocks of memory on large pages. Internal to core.
#ifndef BPT_PLATFORM_MEMORY_H
#define BPT_PLATFORM_MEMORY_H

#include <stddef.h>

// NULL: there is none.
void *bpt_blocks_take(size_t alignment, size_t bytes);
void bpt_blocks_give(void *block);
// This block is read and written as a whole; the system may use huge pages for it.
void bpt_blocks_prefer_huge(void *block, size_t bytes);

#endif
