// Fisher-Yates with one Philox call a position; steps of like lengths (order.h).
#include "data/examples/order.h"

#include <stdlib.h>

#include "bpt/rng.h"

void bpt_epoch_order(uint64_t seed, int64_t epoch, uint32_t *order, int64_t count) {
    const uint64_t mixed = bpt_mix64(seed ^ bpt_mix64((uint64_t)epoch + 0x5EED));
    const uint32_t key[2] = {(uint32_t)mixed, (uint32_t)(mixed >> 32)};
    for (int64_t i = 0; i < count; ++i) order[i] = (uint32_t)i;
    for (int64_t i = count - 1; i > 0; --i) {
        uint32_t out[4];
        bpt_philox((const uint32_t[4]){(uint32_t)i, (uint32_t)((uint64_t)i >> 32), 0, 0}, key, out);
        const int64_t j = (int64_t)(((uint64_t)out[0] << 32 | out[1]) % (uint64_t)(i + 1));
        const uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

static int by_length(const void *a, const void *b) {
    const bpt_dealt_t *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? 1 : -1;
    return x->place < y->place ? -1 : x->place > y->place;
}

// Of `count` examples, less than a step of which may stand at the end.
static void deal_pool(uint64_t seed, int64_t epoch, int64_t step, bpt_dealt_t *room, uint32_t *order, int64_t count) {
    uint32_t steps[BPT_POOL_STEPS];
    const int64_t whole = count / step;
    bpt_epoch_order(seed, epoch, steps, whole);
    for (int64_t s = 0; s < whole; ++s)
        for (int64_t i = 0; i < step; ++i) order[s * step + i] = room[steps[s] * step + i].example;
    for (int64_t i = whole * step; i < count; ++i) order[i] = room[i].example;
}

void bpt_epoch_order_by_length(uint64_t seed, int64_t epoch, const uint32_t *length, int64_t step, bpt_dealt_t *room, uint32_t *order,
                               int64_t count) {
    const int64_t pool = BPT_POOL_STEPS * step;
    bpt_epoch_order(seed, epoch, order, count);
    for (int64_t first = 0; first < count; first += pool) {
        const int64_t n = count - first < pool ? count - first : pool;
        for (int64_t i = 0; i < n; ++i)
            room[i] = (bpt_dealt_t){.length = length[order[first + i]], .place = (uint32_t)i, .example = order[first + i]};
        qsort(room, (size_t)n, sizeof *room, by_length);
        deal_pool(bpt_mix64(seed + (uint64_t)first), epoch, step, room, order + first, n);
    }
}
