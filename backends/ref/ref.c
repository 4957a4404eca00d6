// The reference backend: naive loops with double accumulation, one thread. It is the oracle of every other backend.
#include <stdio.h>
#include <string.h>

#include "backends/host/host.h"
#include "backends/ref/ref.h"

extern const bpt_backend_t bpt_ref_backend;

static bpt_status_t ref_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    *count = 1;
    if (capacity < 1) return BPT_OK;
    infos[0] = (bpt_device_info_t){.name = "reference loops",
                                   .driver = "bpt " BPT_VERSION_STRING,
                                   .type = "cpu",
                                   .units = 1,
                                   .usable = true,
                                   .bf16 = true,
                                   .f16 = true,
                                   .packed = true,
                                   .max_buffer_bytes = SIZE_MAX};
    snprintf(infos[0].features, sizeof infos[0].features, "double-accumulation");
    return BPT_OK;
}

static bpt_status_t ref_open(int index, const bpt_device_options_t *options, bpt_device_t **out) {
    (void)options;
    if (index != 0) return bpt_fail(BPT_ERR_UNAVAILABLE, "backend ref has one device, 0; device %d was asked for", index);
    BPT_TRY(bpt_host_open(&bpt_ref_backend, bpt_ref_ops, 1, out));
    int count;
    return ref_enumerate(&(*out)->info, 1, &count);
}

const bpt_backend_t bpt_ref_backend = {
    .version = BPT_BACKEND_VERSION,
    .name = "ref",
    .description = "naive loops with double accumulation: slow, the oracle of the tests",
    .enumerate = ref_enumerate,
    .open = ref_open,
    .close = bpt_host_close,
    BPT_HOST_BACKEND_FUNCTIONS,
};
