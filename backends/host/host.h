// What the two backends in host memory (ref and cpu) share: buffers, recorded lists and their replay. An op is a pair of
// functions in a table; this file knows nothing of what they compute.
#ifndef BPT_HOST_H
#define BPT_HOST_H

#include "backends/host/team.h"
#include "bpt/backend.h"

// A call with its operands resolved to pointers (NULL = absent; scratch is never NULL).
typedef struct {
    const bpt_op_call_t *call;
    const bpt_attrs_t *attrs;
    void *in[BPT_MAX_INPUTS], *out[BPT_MAX_OUTPUTS], *scratch;
    bpt_team_t *team;
} bpt_host_run_t;

typedef struct {
    // Says whether the call can be done (BPT_ERR_UNSUPPORTED with the reason) and how much scratch it needs.
    bpt_status_t (*plan)(const bpt_op_call_t *call, int threads, size_t *scratch_bytes);
    void (*run)(const bpt_host_run_t *run);
} bpt_host_op_t;

typedef struct {
    bpt_device_t base;
    const bpt_host_op_t *const *ops;  // BPT_OP_COUNT entries
    bpt_team_t *team;
    size_t live_bytes, peak_bytes;
} bpt_host_device_t;

// A device with a team of threads, for `open` of a backend.
bpt_status_t bpt_host_open(const bpt_backend_t *backend, const bpt_host_op_t *const *ops, int threads, bpt_device_t **out) BPT_MUST_USE;

// The operations of bpt_backend_t, to be put into a backend's table (`close` may have more to do, so it is not in the macro).
void bpt_host_close(bpt_device_t *device);
bpt_status_t bpt_host_buffer_create(bpt_device_t *device, size_t bytes, bpt_buffer_t **out);
void bpt_host_buffer_destroy(bpt_device_t *device, bpt_buffer_t *buffer);
bpt_status_t bpt_host_write(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, const void *source, size_t bytes);
bpt_status_t bpt_host_read(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *target, size_t bytes);
bpt_status_t bpt_host_op(bpt_device_t *device, const bpt_op_call_t *call, bpt_list_t *list, size_t *scratch_bytes);
bpt_status_t bpt_host_list_create(bpt_device_t *device, bpt_list_t **out);
void bpt_host_list_destroy(bpt_device_t *device, bpt_list_t *list);
bpt_status_t bpt_host_list_barrier(bpt_list_t *list);
bpt_status_t bpt_host_list_seal(bpt_list_t *list);
bpt_status_t bpt_host_submit(bpt_device_t *device, bpt_list_t *list, bpt_ticket_t *ticket);
bpt_status_t bpt_host_wait(bpt_device_t *device, bpt_ticket_t ticket, uint64_t timeout_ns);
bpt_status_t bpt_host_timings_enable(bpt_list_t *list, bpt_timing_t what);
bpt_status_t bpt_host_timings(bpt_list_t *list, double *seconds, int capacity, int *count);
bpt_status_t bpt_host_events(bpt_list_t *list, bpt_list_event_t *events, int capacity, int *count);
const char *bpt_host_address(const bpt_buffer_t *buffer);
void bpt_host_side_by_side(bpt_device_t *device, int n, void (*work)(void *user, int i), void *user);

#define BPT_HOST_BACKEND_FUNCTIONS                                                                                                        \
    .buffer_create = bpt_host_buffer_create, .buffer_destroy = bpt_host_buffer_destroy, .write = bpt_host_write, .read = bpt_host_read,   \
    .op = bpt_host_op, .list_create = bpt_host_list_create, .list_destroy = bpt_host_list_destroy, .list_barrier = bpt_host_list_barrier, \
    .list_seal = bpt_host_list_seal, .submit = bpt_host_submit, .wait = bpt_host_wait, .timings_enable = bpt_host_timings_enable,         \
    .timings = bpt_host_timings, .events = bpt_host_events, .address = bpt_host_address, .side_by_side = bpt_host_side_by_side

#endif
