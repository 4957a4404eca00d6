// An open device on top of any driver, its buffers and its compiled kernels: what the other files of this folder work on. Knows no API and
// no op.
#ifndef BPT_GPU_DEVICE_H
#define BPT_GPU_DEVICE_H

#include "backends/gpu/backend.h"
#include "backends/gpu/driver.h"
#include "backends/gpu/tuning.h"

static inline int64_t bpt_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t bpt_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t bpt_round_up(int64_t count, int64_t unit) { return bpt_ceil_div(count, unit) * unit; }
static inline int64_t bpt_rows(const bpt_operand_t *operand) { return bpt_shape_rows(&operand->shape); }
static inline int64_t bpt_columns(const bpt_operand_t *operand) { return bpt_shape_columns(&operand->shape); }
static inline int64_t bpt_count(const bpt_operand_t *operand) { return bpt_shape_count(&operand->shape); }

typedef struct {
    bpt_gpu_variant_t variant;
    bpt_gpu_program_t *program;
} bpt_gpu_cached_program_t;

typedef struct {
    bpt_device_t base;
    bpt_gpu_api_t *api;
    bpt_gpu_tuning_t tuning;
    bool library_masks;  // the driver's library passed its self-check of masked products
    bpt_gpu_cached_program_t *programs;
    size_t n_programs, programs_capacity;
    bpt_gpu_memory_t *canary;  // u32: submissions that ran to their end
    uint32_t canary_expected;
    bool ran;                // something that was submitted has run
    uint64_t last_ticket;    // 0: idle
    uint64_t waited_ticket;  // all up to it have finished
    double budget_s;         // longest submission; INFINITY where nothing kills long ones
    double flops, bytes_s;   // assumed rates of the device
    double slowdown;         // what dispatches really take is this many times their estimate; learnt from submissions (list.c)
    double wait_s;           // longest wait for a submission before the device counts as lost
    uint64_t memory_bytes;   // that buffers may use together
    uint64_t used_bytes;     // that they use
    bpt_list_t *running;     // whose submissions have not been looked at yet
} bpt_gpu_device_t;

struct bpt_buffer {
    bpt_gpu_memory_t *memory;
    size_t bytes;
};

// The kernel of a variant, compiled when it is asked for the first time.
bpt_status_t bpt_gpu_program(bpt_gpu_device_t *device, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
const char *bpt_gpu_program_name(const bpt_gpu_device_t *device, const bpt_gpu_program_t *program);  // its kernel's
// BPT_ERR_INTERNAL: bytes `offset` .. `offset + bytes` are not all in the buffer.
bpt_status_t bpt_gpu_buffer_check(const bpt_buffer_t *buffer, size_t offset, size_t bytes);
// BPT_ERR_NO_MEMORY, with what is needed, what there is and what to lower (room.c).
bpt_status_t bpt_gpu_room(const bpt_gpu_device_t *device, size_t bytes);
bpt_status_t bpt_gpu_no_room(const bpt_gpu_device_t *device, size_t bytes, const char *why);

#endif
