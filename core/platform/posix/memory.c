// Blocks of memory (see core/platform/memory.h).
#include "core/platform/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

void *bpt_blocks_take(size_t alignment, size_t bytes) {
    void *block;
    return posix_memalign(&block, alignment, bytes) ? NULL : block;
}

void bpt_blocks_give(void *block) { free(block); }

// A system without huge pages refuses and gives small ones.
void bpt_blocks_prefer_huge(void *block, size_t bytes) { (void)madvise(block, bytes, MADV_HUGEPAGE); }
