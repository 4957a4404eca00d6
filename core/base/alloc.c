// Host memory (see bpt/alloc.h). Counts live blocks and can be told to fail, so that tests reach every error path.
#include "bpt/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/machine.h"
#include "core/platform/memory.h"

enum { HUGE_PAGE = 2 << 20 };  // bytes; of x86-64, and of aarch64 with small pages of 4 KiB

static atomic_size_t live_blocks;
static atomic_size_t fail_countdown;  // 0 = off; 1 = every allocation fails

static bool injected_failure(void) {
    size_t left = atomic_load(&fail_countdown);
    while (left > 1)
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) return false;
    return left == 1;
}

static bpt_status_t out_of_memory(size_t count, size_t size) {
    uint64_t limit;
    if (!bpt_address_limit(&limit))
        return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory (wanted %zu x %zu bytes)", count, size);
    return bpt_fail(BPT_ERR_NO_MEMORY,
                    "out of host memory (wanted %zu x %zu bytes); this program is limited to %llu MiB, lift the limit: ulimit -v unlimited",
                    count, size, (unsigned long long)limit >> 20);
}

bpt_status_t bpt_alloc(size_t count, size_t size, void *out) {
    void *block = injected_failure() ? NULL : calloc(count ? count : 1, size ? size : 1);
    if (!block) return out_of_memory(count, size);
    atomic_fetch_add(&live_blocks, 1);
    memcpy(out, &block, sizeof block);
    return BPT_OK;
}

bpt_status_t bpt_alloc_aligned(size_t bytes, void *out) {
    const size_t alignment = bytes < HUGE_PAGE ? 64 : HUGE_PAGE;
    void *block = injected_failure() || bytes > PTRDIFF_MAX ? NULL : bpt_blocks_take(alignment, bytes ? bytes : 1);
    if (!block) return out_of_memory(1, bytes);
    // Rows that kernels take a few columns of lie on a small page each.
    if (bytes >= HUGE_PAGE) bpt_blocks_prefer_huge(block, bytes / HUGE_PAGE * HUGE_PAGE);
    atomic_fetch_add(&live_blocks, 1);
    memcpy(out, &block, sizeof block);
    return BPT_OK;
}

bpt_status_t bpt_realloc(void *inout, size_t count, size_t size) {
    void *old, *block = NULL;
    memcpy(&old, inout, sizeof old);
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory(count, size);
    if (!injected_failure()) block = realloc(old, bytes ? bytes : 1);
    if (!block) return out_of_memory(count, size);
    if (!old) atomic_fetch_add(&live_blocks, 1);
    memcpy(inout, &block, sizeof block);
    return BPT_OK;
}

bpt_status_t bpt_grow(void *inout, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return BPT_OK;
    const size_t wanted = *capacity ? *capacity * 2 : 16;
    BPT_TRY(bpt_realloc(inout, wanted, size));
    *capacity = wanted;
    return BPT_OK;
}

static void release(void *pointer, void (*give)(void *block)) {
    if (!pointer) return;
    atomic_fetch_sub(&live_blocks, 1);
    give(pointer);
}
void bpt_free(void *pointer) { release(pointer, free); }
void bpt_free_aligned(void *pointer) { release(pointer, bpt_blocks_give); }

bpt_status_t bpt_strdup(const char *text, char **out) {
    const size_t bytes = strlen(text) + 1;
    BPT_TRY(bpt_alloc(bytes, 1, out));
    memcpy(*out, text, bytes);
    return BPT_OK;
}

void bpt_alloc_fail_after(size_t nth) { atomic_store(&fail_countdown, nth); }
size_t bpt_alloc_live(void) { return atomic_load(&live_blocks); }
