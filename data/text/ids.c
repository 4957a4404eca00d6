// Token ids in the fewest bytes (ids.h).
#include "data/text/ids.h"

#include <string.h>

bpt_ids_t bpt_ids_of(const uint32_t *ids, uint64_t count) { return (bpt_ids_t){.data = ids, .count = count, .width = 4}; }
bpt_ids_t bpt_ids_of_bytes(const void *bytes, uint64_t count) { return (bpt_ids_t){.data = bytes, .count = count, .width = 1}; }

void bpt_ids_free(bpt_ids_t *ids) {
    bpt_store_free(&ids->store);
    *ids = (bpt_ids_t){0};
}

void bpt_ids_copy(const bpt_ids_t *ids, uint64_t first, uint64_t count, uint32_t *out) {
    const uint8_t *bytes = ids->data;
    const uint16_t *shorts = ids->data;
    const uint32_t *words = ids->data;
    if (!count) return;
    if (ids->width == 4)
        memcpy(out, words + first, count * sizeof *out);
    else if (ids->width == 2)
        for (uint64_t i = 0; i < count; ++i) out[i] = shorts[first + i];
    else
        for (uint64_t i = 0; i < count; ++i) out[i] = bytes[first + i];
}

bpt_ids_t bpt_ids_begin(int64_t size) { return (bpt_ids_t){.width = size == 0 ? 4 : size <= 256 ? 1 : size <= 65536 ? 2 : 4}; }

bpt_status_t bpt_ids_push(bpt_ids_t *ids, uint32_t id) {
    const uint8_t byte = (uint8_t)id;
    const uint16_t two = (uint16_t)id;
    ++ids->count;
    return bpt_store_append(&ids->store, ids->width == 4 ? (const void *)&id : ids->width == 2 ? (const void *)&two : &byte, ids->width);
}

bpt_status_t bpt_ids_finish(bpt_ids_t *ids) {
    uint64_t bytes;
    return bpt_store_finish(&ids->store, &ids->data, &bytes);
}

enum { BLOCK = 4096 };  // a text may be larger than memory

void bpt_ids_count(const bpt_ids_t *ids, uint64_t *counts, uint64_t size) {
    uint32_t block[BLOCK];
    for (uint64_t at = 0, n; at < ids->count; at += n) {
        n = ids->count - at < BLOCK ? ids->count - at : BLOCK;
        bpt_ids_copy(ids, at, n, block);
        for (uint64_t i = 0; i < n; ++i)
            if (block[i] < size) ++counts[block[i]];
    }
}

uint64_t bpt_ids_count_one(const bpt_ids_t *ids, uint32_t id) {
    uint32_t block[BLOCK];
    uint64_t count = 0;
    for (uint64_t at = 0, n; at < ids->count; at += n) {
        n = ids->count - at < BLOCK ? ids->count - at : BLOCK;
        bpt_ids_copy(ids, at, n, block);
        for (uint64_t i = 0; i < n; ++i) count += block[i] == id;
    }
    return count;
}
