// Host memory with overflow-checked sizes, failure reports and a fault injector for tests.
#ifndef BPT_ALLOC_H
#define BPT_ALLOC_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

// Zeroed memory for `count` items of `size` bytes; *out must be freed with bpt_free. count 0 gives a valid pointer.
// BPT_ERR_NO_MEMORY names the size that was wanted.
BPT_API bpt_status_t bpt_alloc(size_t count, size_t size, void *out) BPT_MUST_USE;
// As bpt_alloc, aligned to 64 bytes and not zeroed: for tensor data. Large blocks are put on huge pages where the system has them.
// Freed with bpt_free_aligned.
BPT_API bpt_status_t bpt_alloc_aligned(size_t bytes, void *out) BPT_MUST_USE;
// Grows or shrinks *inout (a pointer variable, NULL allowed); on failure it keeps its old value. New bytes are not zeroed.
BPT_API bpt_status_t bpt_realloc(void *inout, size_t count, size_t size) BPT_MUST_USE;
// Makes room for one more item: doubles *capacity when count == *capacity.
BPT_API bpt_status_t bpt_grow(void *inout, size_t count, size_t *capacity, size_t size) BPT_MUST_USE;
BPT_API void bpt_free(void *pointer);
BPT_API void bpt_free_aligned(void *pointer);
BPT_API bpt_status_t bpt_strdup(const char *text, char **out) BPT_MUST_USE;

// Tests: the allocation number `nth` from now on (1 = the next) and all later ones fail; 0 switches the injector off.
BPT_API void bpt_alloc_fail_after(size_t nth);
// Tests: blocks allocated and not freed yet.
BPT_API size_t bpt_alloc_live(void);

BPT_END_DECLS

#endif
