// Fisher-Yates with one Philox call a position (order.h).
#include "data/order.h"

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
