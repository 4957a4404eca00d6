// Is there room for one more block of device memory? Asked before the driver is: some drivers grant more than there is, and where the
// device shares the host's memory that takes the desktop down. Knows no API.
#include <stdio.h>

#include "backends/gpu/device.h"
#include "bpt/machine.h"

static const double MIB = 1 << 20;
static const uint64_t SMALL_BYTES = 64 << 20;          // blocks that cannot take the host down
static const uint64_t MAX_RESERVE_BYTES = 2ull << 30;  // what the host keeps, at most

// Of the host: memory that can be had without swapping, less a reserve of a quarter of the whole. UINT64_MAX when it cannot be known.
static uint64_t host_room(void) {
    uint64_t total, available;
    if (!bpt_machine_room(&total, &available)) return UINT64_MAX;
    const uint64_t reserve = total / 4 < MAX_RESERVE_BYTES ? total / 4 : MAX_RESERVE_BYTES;
    return available > reserve ? available - reserve : 0;
}

bpt_status_t bpt_gpu_no_room(const bpt_gpu_device_t *g, size_t bytes, const char *why) {
    return bpt_fail(
        BPT_ERR_NO_MEMORY,
        "device '%s' has no room for a block of %.1f MiB: it has %.1f MiB, of which this program uses %.1f MiB; %s. Lower --batch-tokens, "
        "--context or the size of the model, or use --recompute, --half-inputs, --offload",
        g->base.info.name, (double)bytes / MIB, (double)g->memory_bytes / MIB, (double)g->used_bytes / MIB, why);
}

bpt_status_t bpt_gpu_room(const bpt_gpu_device_t *g, size_t bytes) {
    const bpt_gpu_limits_t *l = &g->api->limits;
    char why[128];
    if (bytes > l->max_allocation_bytes) {
        snprintf(why, sizeof why, "its driver allows at most %.1f MiB in one block", (double)l->max_allocation_bytes / MIB);
        return bpt_gpu_no_room(g, bytes, why);
    }
    const uint64_t left = g->memory_bytes > g->used_bytes ? g->memory_bytes - g->used_bytes : 0;
    if (bytes > left) return bpt_gpu_no_room(g, bytes, "that does not suffice");
    const uint64_t host = l->unified && bytes >= SMALL_BYTES ? host_room() : UINT64_MAX;
    if (bytes <= host) return BPT_OK;
    snprintf(why, sizeof why, "it shares the memory of the host, which can spare %.1f MiB", (double)host / MIB);
    return bpt_gpu_no_room(g, bytes, why);
}
