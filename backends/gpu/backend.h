// A backend on top of a driver: the functions of bpt_backend_t, the same for every API.
#ifndef BPT_GPU_BACKEND_H
#define BPT_GPU_BACKEND_H

#include "bpt/backend.h"

struct bpt_gpu_driver;

bpt_status_t bpt_gpu_environment(void);  // do the variables that a device looks at mean something? (limits.c)
// The driver's devices, with the rules for products that apply.
bpt_status_t bpt_gpu_enumerate(const bpt_backend_t *backend, const struct bpt_gpu_driver *driver, bpt_device_info_t *infos, int capacity,
                               int *count);
// The driver's targets for compiling (none where it has none).
bpt_status_t bpt_gpu_targets(const struct bpt_gpu_driver *driver, bpt_device_info_t *infos, int capacity, int *count);
bpt_status_t bpt_gpu_open(const bpt_backend_t *backend, const struct bpt_gpu_driver *driver, int index, const bpt_device_options_t *options,
                          bpt_device_t **out);
void bpt_gpu_close(bpt_device_t *device);
bpt_status_t bpt_gpu_buffer_create(bpt_device_t *device, size_t bytes, bpt_buffer_t **out);
void bpt_gpu_buffer_destroy(bpt_device_t *device, bpt_buffer_t *buffer);
bpt_status_t bpt_gpu_write(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, const void *source, size_t bytes);
bpt_status_t bpt_gpu_read(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *target, size_t bytes);
bpt_status_t bpt_gpu_op(bpt_device_t *device, const bpt_op_call_t *call, bpt_list_t *list, size_t *scratch_bytes);
bpt_status_t bpt_gpu_list_create(bpt_device_t *device, bpt_list_t **out);
void bpt_gpu_list_destroy(bpt_device_t *device, bpt_list_t *list);
bpt_status_t bpt_gpu_list_barrier(bpt_list_t *list);
bpt_status_t bpt_gpu_list_seal(bpt_list_t *list);
bpt_status_t bpt_gpu_submit(bpt_device_t *device, bpt_list_t *list, bpt_ticket_t *ticket);
bpt_status_t bpt_gpu_wait(bpt_device_t *device, bpt_ticket_t ticket, uint64_t timeout_ns);
bpt_status_t bpt_gpu_timings_enable(bpt_list_t *list, bpt_timing_t what);
bpt_status_t bpt_gpu_timings(bpt_list_t *list, double *seconds, int capacity, int *count);
bpt_status_t bpt_gpu_events(bpt_list_t *list, bpt_list_event_t *events, int capacity, int *count);

extern const bpt_links_t bpt_gpu_links;  // by the driver's (links.c); a device whose driver has none says that it cannot

// Defines bpt_<name>_backend on bpt_<name>_driver and bpt_<name>_loader. `library_` as in bpt_backend_t, NULL where the driver has no
// products; `lacks_` likewise, NULL where nothing is left out.
#define BPT_GPU_BACKEND(api_name, text, library_, lacks_)                                                      \
    extern const bpt_backend_t bpt_##api_name##_backend;                                                       \
    static bpt_status_t enumerate_devices(bpt_device_info_t *infos, int capacity, int *count) {                \
        return bpt_gpu_enumerate(&bpt_##api_name##_backend, &bpt_##api_name##_driver, infos, capacity, count); \
    }                                                                                                          \
    static bpt_status_t list_targets(bpt_device_info_t *infos, int capacity, int *count) {                     \
        return bpt_gpu_targets(&bpt_##api_name##_driver, infos, capacity, count);                              \
    }                                                                                                          \
    static bpt_status_t open_device(int index, const bpt_device_options_t *options, bpt_device_t **out) {      \
        return bpt_gpu_open(&bpt_##api_name##_backend, &bpt_##api_name##_driver, index, options, out);         \
    }                                                                                                          \
    const bpt_backend_t bpt_##api_name##_backend = {                                                           \
        .version = BPT_BACKEND_VERSION,                                                                        \
        .name = #api_name,                                                                                     \
        .description = text,                                                                                   \
        .gpu = true,                                                                                           \
        .environment = bpt_gpu_environment,                                                                    \
        .loader = &bpt_##api_name##_loader,                                                                    \
        .enumerate = enumerate_devices,                                                                        \
        .open = open_device,                                                                                   \
        .close = bpt_gpu_close,                                                                                \
        .lacks = lacks_,                                                                                       \
        .library = library_,                                                                                   \
        .targets = list_targets,                                                                               \
        .buffer_create = bpt_gpu_buffer_create,                                                                \
        .buffer_destroy = bpt_gpu_buffer_destroy,                                                              \
        .write = bpt_gpu_write,                                                                                \
        .read = bpt_gpu_read,                                                                                  \
        .op = bpt_gpu_op,                                                                                      \
        .list_create = bpt_gpu_list_create,                                                                    \
        .list_destroy = bpt_gpu_list_destroy,                                                                  \
        .list_barrier = bpt_gpu_list_barrier,                                                                  \
        .list_seal = bpt_gpu_list_seal,                                                                        \
        .submit = bpt_gpu_submit,                                                                              \
        .wait = bpt_gpu_wait,                                                                                  \
        .timings_enable = bpt_gpu_timings_enable,                                                              \
        .timings = bpt_gpu_timings,                                                                            \
        .events = bpt_gpu_events,                                                                              \
        .links = &bpt_gpu_links,                                                                               \
    }

#endif
