// Token ids of a text, each in the fewest bytes that hold the vocabulary: 1, 2 or 4.
#ifndef BPT_DATA_IDS_H
#define BPT_DATA_IDS_H

#include "data/text/store.h"

typedef struct {
    const void *data;
    uint64_t count;
    uint32_t width;     // bytes of an id
    uint64_t hidden;    // words or subwords of the text that are <unk> and are not written so
    bpt_store_t store;  // what `data` lies in; empty where the ids are borrowed
} bpt_ids_t;

// Ids that the caller owns.
bpt_ids_t bpt_ids_of(const uint32_t *ids, uint64_t count);
// Bytes that the caller owns: the ids of unit byte are the text itself.
bpt_ids_t bpt_ids_of_bytes(const void *bytes, uint64_t count);
void bpt_ids_free(bpt_ids_t *ids);
// out[i] = id number first + i, i < count.
void bpt_ids_copy(const bpt_ids_t *ids, uint64_t first, uint64_t count, uint32_t *out);
// Adds how often each id is there to counts[id]; ids from `size` on are not counted.
void bpt_ids_count(const bpt_ids_t *ids, uint64_t *counts, uint64_t size);
uint64_t bpt_ids_count_one(const bpt_ids_t *ids, uint32_t id);  // how often this one is there

// Making them: for a vocabulary of `size` tokens (0: any u32), id by id, then finished.
bpt_ids_t bpt_ids_begin(int64_t size);
bpt_status_t bpt_ids_push(bpt_ids_t *ids, uint32_t id) BPT_MUST_USE;
bpt_status_t bpt_ids_finish(bpt_ids_t *ids) BPT_MUST_USE;

#endif
