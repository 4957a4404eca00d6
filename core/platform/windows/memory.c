// Blocks of memory (see core/platform/memory.h), and what has to be set before a program of this library begins.
#include "core/platform/memory.h"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <malloc.h>
#include <windows.h>

void *bpt_blocks_take(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }

void bpt_blocks_give(void *block) { _aligned_free(block); }

// Huge pages are for privileged users alone.
void bpt_blocks_prefer_huge(void *block, size_t bytes) { (void)block, (void)bytes; }

// Files and streams carry bytes: no line end is changed. A library that is missing is an error, no window.
__attribute__((constructor)) static void begin(void) {
    _fmode = _O_BINARY;
    for (int fd = 0; fd <= 2; ++fd) (void)_setmode(fd, _O_BINARY);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX);
}
