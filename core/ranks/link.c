// Devices of several ranks, connected by their backend (see bpt/link.h): who may be, and which bytes go where.
#include "bpt/link.h"

#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "bpt/clock.h"
#include "bpt/log.h"
#include "core/ranks/internal.h"

struct bpt_ranks_link {
    bpt_ranks_t *ranks;
    const bpt_links_t *links;
    bpt_link_t *link;
    bpt_swap_part_t *parts;  // [size]
};

// ---- Connecting

typedef struct {
    char backend[32];  // "" where the device cannot be connected
    unsigned char id[BPT_LINK_ID_BYTES];
} offer_t;

// Whether every rank's device can be connected, and to those of the others.
static bpt_status_t compare(bpt_ranks_t *ranks, offer_t *mine, bool *same) {
    const int size = bpt_ranks_size(ranks);
    offer_t *all;
    BPT_TRY(bpt_alloc((size_t)size, sizeof *all, &all));
    const bpt_status_t status = bpt_ranks_gather(ranks, mine, sizeof *mine, all);
    *same = *all[0].backend;
    for (int rank = 1; rank < size; ++rank) *same = *same && !strcmp(all[rank].backend, all[0].backend);
    if (status == BPT_OK) memcpy(mine->id, all[0].id, sizeof mine->id);
    bpt_free(all);
    return status;
}

static bpt_status_t connect_devices(bpt_ranks_t *ranks, bpt_device_t *device, const offer_t *offer, bpt_ranks_link_t **out) {
    const bpt_links_t *links = device->backend->links;
    const int size = bpt_ranks_size(ranks);
    bpt_ranks_link_t *link;
    BPT_TRY(bpt_alloc(1, sizeof *link, &link));
    *link = (bpt_ranks_link_t){.ranks = ranks, .links = links};
    bpt_status_t status = bpt_alloc((size_t)size, sizeof *link->parts, &link->parts);
    if (status == BPT_OK) status = links->open(device, offer->id, bpt_ranks_rank(ranks), size, &link->link);
    if (status == BPT_OK)
        *out = link;
    else
        bpt_ranks_link_close(link);
    return status;
}

bpt_status_t bpt_ranks_link_open(bpt_ranks_t *ranks, bpt_device_t *device, bpt_ranks_link_t **out) {
    const bpt_links_t *links = device->backend->links;
    offer_t mine = {.backend = ""};
    char text[320] = "";
    bool there = false, same = false;
    *out = NULL;
    if (bpt_ranks_size(ranks) == 1) return BPT_OK;
    bpt_status_t status = links ? links->find(device, &there, text, sizeof text) : BPT_OK;
    if (status == BPT_OK && there && bpt_ranks_rank(ranks) == 0) status = links->make_id(device, mine.id);
    BPT_TRY(bpt_ranks_agree(ranks, status));
    if (there) snprintf(mine.backend, sizeof mine.backend, "%s", device->backend->name);
    BPT_TRY(compare(ranks, &mine, &same));
    if (!same) {
        if (*text)
            bpt_info("exchanges between the ranks go through host memory%s%s", there ? ": not all devices can be connected by " : ": ",
                     text);
        return BPT_OK;
    }
    BPT_TRY(bpt_ranks_agree(ranks, connect_devices(ranks, device, &mine, out)));
    bpt_info("the devices of the ranks are connected by %s", text);
    return BPT_OK;
}

void bpt_ranks_link_close(bpt_ranks_link_t *link) {
    if (!link) return;
    if (link->link) link->links->close(link->link);
    bpt_free(link->parts);
    bpt_free(link);
}

// ---- Exchanges

typedef struct {
    size_t at, bytes;
} slice_t;

static slice_t slice_of(const bpt_ranks_link_t *link, int64_t begin, int64_t count, int rank) {
    const int size = bpt_ranks_size(link->ranks);
    const int64_t from = bpt_rank_slice(count, rank, size), to = bpt_rank_slice(count, rank + 1, size);
    return (slice_t){(size_t)(begin + from) * sizeof(float), (size_t)(to - from) * sizeof(float)};
}

bpt_status_t bpt_ranks_link_exchange(bpt_ranks_link_t *link, bpt_buffer_t *values, int64_t begin, int64_t count, bpt_buffer_t *received) {
    const slice_t own = slice_of(link, begin, count, bpt_ranks_rank(link->ranks));
    for (int rank = 0; rank < bpt_ranks_size(link->ranks); ++rank) {
        const slice_t its = slice_of(link, begin, count, rank);
        link->parts[rank] = (bpt_swap_part_t){its.at, its.bytes, (size_t)rank * own.bytes, own.bytes};
    }
    return link->links->swap(link->link, values, received, link->parts);
}

bpt_status_t bpt_ranks_link_collect(bpt_ranks_link_t *link, bpt_buffer_t *values, int64_t begin, int64_t count) {
    const slice_t own = slice_of(link, begin, count, bpt_ranks_rank(link->ranks));
    for (int rank = 0; rank < bpt_ranks_size(link->ranks); ++rank) {
        const slice_t its = slice_of(link, begin, count, rank);
        link->parts[rank] = (bpt_swap_part_t){own.at, own.bytes, its.at, its.bytes};
    }
    return link->links->swap(link->link, values, values, link->parts);
}

bpt_status_t bpt_ranks_link_wait(bpt_ranks_link_t *link) {
    const double start = bpt_clock_seconds();
    const bpt_status_t status = link->links->wait(link->link, bpt_ranks_patience(link->ranks));
    bpt_ranks_note_wait(link->ranks, bpt_clock_seconds() - start);
    return status;
}
