// Devices of several processes on one driver, connected (bpt_links_t of core/include/bpt/backend.h).
#include <stdio.h>

#include "backends/gpu/device.h"
#include "bpt/alloc.h"

struct bpt_link {
    bpt_gpu_device_t *device;
    const bpt_gpu_links_t *links;
    bpt_gpu_link_t *of_driver;
    int size;
};

static bpt_status_t find(bpt_device_t *device, bool *there, char *text, size_t bytes) {
    bpt_gpu_api_t *api = ((bpt_gpu_device_t *)device)->api;
    *there = false;
    return api->driver->links ? api->driver->links->find(api, there, text, bytes) : BPT_OK;
}

static bpt_status_t make_id(bpt_device_t *device, unsigned char *id) {
    bpt_gpu_api_t *api = ((bpt_gpu_device_t *)device)->api;
    return api->driver->links->make_id(api, id);
}

static bpt_status_t open_link(bpt_device_t *device, const unsigned char *id, int rank, int size, bpt_link_t **out) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    bpt_link_t *link;
    BPT_TRY(bpt_alloc(1, sizeof *link, &link));
    *link = (bpt_link_t){.device = g, .links = g->api->driver->links, .size = size};
    const bpt_status_t status = link->links->open(g->api, id, rank, size, &link->of_driver);
    if (status == BPT_OK)
        *out = link;
    else
        bpt_free(link);
    return status;
}

static void close_link(bpt_link_t *link) {
    if (!link) return;
    link->links->close(link->of_driver);
    bpt_free(link);
}

static bpt_status_t swap(bpt_link_t *link, bpt_buffer_t *from, bpt_buffer_t *to, const bpt_swap_part_t *parts) {
    for (int rank = 0; rank < link->size; ++rank) {
        BPT_TRY(bpt_gpu_buffer_check(from, parts[rank].send_at, parts[rank].send_bytes));
        BPT_TRY(bpt_gpu_buffer_check(to, parts[rank].receive_at, parts[rank].receive_bytes));
    }
    BPT_TRY(bpt_gpu_wait(&link->device->base, link->device->last_ticket, UINT64_MAX));
    return link->links->swap(link->of_driver, from->memory, to->memory, parts);
}

static bpt_status_t wait_for(bpt_link_t *link, double seconds) { return link->links->wait(link->of_driver, seconds); }

const bpt_links_t bpt_gpu_links = {find, make_id, open_link, close_link, swap, wait_for};
