// The op-level boundary (backends/backend.h) on top of any driver (driver.h): buffers, lists, submits and the lowering of ops to dispatches.
// Knows no API. A backend is made from its driver by BPT_GPU_BACKEND.
#ifndef BPT_GPU_H
#define BPT_GPU_H

#include "backends/gpu/driver.h"

typedef struct {
    bpt_gpu_variant_t variant;
    bpt_gpu_program_t *program;
} bpt_gpu_cached_program_t;

typedef struct {
    bpt_device_t base;
    bpt_gpu_api_t *api;
    bpt_gpu_cached_program_t *programs;
    size_t n_programs, programs_capacity;
    bpt_gpu_memory_t *canary;  // u32: submissions that ran to their end
    uint32_t canary_expected;
    uint64_t last_ticket;
    double budget_s;        // longest submission; INFINITY where nothing kills long ones
    double flops, bytes_s;  // assumed rates of the device, corrected by what submissions took
    double wait_s;          // longest wait before the device counts as lost
} bpt_gpu_device_t;

struct bpt_buffer {
    bpt_gpu_memory_t *memory;
    size_t bytes;
};

// ---- Lowering --------------------------------------------------------------------------------------------------------
// One function per op runs twice: in the dry run it counts scratch and checks limits, when recording it emits dispatches. A failure is
// remembered in `status`; what follows it does nothing, so that lowerings read like formulas.

typedef struct {
    bpt_gpu_device_t *device;
    const bpt_op_call_t *call;
    bpt_list_t *list;  // NULL in the dry run
    size_t scratch_bytes;
    bpt_status_t status;
} bpt_lower_t;

// A tensor or a part of one, as a kernel sees it. Not present: the kernel never touches it.
typedef struct {
    bpt_buffer_t *buffer;  // NULL in the dry run
    size_t offset_bytes;
    size_t bytes;
    bpt_dtype_t dtype;
    bool present;
} bpt_view_t;

bpt_view_t bpt_lower_view(const bpt_operand_t *operand);
static inline bpt_view_t bpt_lower_in(const bpt_lower_t *l, int slot) { return bpt_lower_view(&l->call->in[slot]); }
static inline bpt_view_t bpt_lower_out(const bpt_lower_t *l, int slot) { return bpt_lower_view(&l->call->out[slot]); }
// Elements [first, first + count) of a view.
bpt_view_t bpt_lower_part(const bpt_view_t *view, int64_t first, int64_t count);
// New scratch of the op, aligned for every device, NaN or anything inside.
bpt_view_t bpt_lower_scratch(bpt_lower_t *l, bpt_dtype_t dtype, int64_t count);

// A kernel with its constants and bindings set by number (kernel.h): k.constants[fill_X] = 1; k.bindings[fill_result] = view.
typedef struct {
    bpt_gpu_kernel_t kernel;
    uint32_t group_size;
    uint32_t constants[BPT_GPU_MAX_CONSTANTS];
    bpt_view_t bindings[BPT_GPU_MAX_BINDINGS];
    double flops, bytes;  // work of all groups together; bytes 0: as many as the bindings hold
} bpt_kernel_call_t;

bpt_kernel_call_t bpt_lower_kernel(const bpt_lower_t *l, bpt_gpu_kernel_t kernel);  // with the device's usual group size
// Runs work-groups 0 .. groups - 1. `params` is the kernel's parameter block, whose head is filled in here.
void bpt_lower_emit(bpt_lower_t *l, const bpt_kernel_call_t *k, void *params, int64_t groups);
// One work-item per element of 0 .. count - 1, rounded up to groups.
void bpt_lower_emit_items(bpt_lower_t *l, const bpt_kernel_call_t *k, void *params, int64_t count);
void bpt_lower_barrier(bpt_lower_t *l);  // between dispatches of one op
void bpt_lower_refuse(bpt_lower_t *l, const char *format, ...) BPT_PRINTF(2, 3);  // BPT_ERR_UNSUPPORTED

static inline int64_t bpt_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t bpt_rows(const bpt_operand_t *operand) { return bpt_shape_rows(&operand->shape); }
static inline int64_t bpt_columns(const bpt_operand_t *operand) { return bpt_shape_columns(&operand->shape); }
static inline int64_t bpt_count(const bpt_operand_t *operand) { return bpt_shape_count(&operand->shape); }

typedef void (*bpt_lowering_t)(bpt_lower_t *l);
#define BPT_OP(id, name, family) void bpt_lower_##id(bpt_lower_t *l);
#include "bpt/ops.def"
#undef BPT_OP

// Shared parts of lowerings (lower/<family>.c).
// c = steps(op(a) op(b) + acc + bias) on views; m, n, k as in bpt/ops.h. Steps may be NULL; extras[0..1] are their slots 4 and 5.
typedef struct {
    bpt_view_t a, b, acc, bias, extras[2], row_keys, rng, c;
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    const bpt_pointwise_attrs_t *steps;
} bpt_gemm_t;
void bpt_lower_gemm(bpt_lower_t *l, const bpt_gemm_t *g);
// result[columns] = sums over the rows of x [rows, columns] (any float type), in a fixed order.
void bpt_lower_sum_rows(bpt_lower_t *l, const bpt_view_t *x, int64_t rows, int64_t columns, const bpt_view_t *result);
// The constant of a dropout: its threshold (bpt/rng.h), and the factor 1 / (1 - p) of what is kept.
uint32_t bpt_lower_threshold(float p);

// ---- The backend -----------------------------------------------------------------------------------------------------

bpt_status_t bpt_gpu_open(const bpt_backend_t *backend, const bpt_gpu_driver_t *driver, int index, bpt_device_t **out);
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
bpt_status_t bpt_gpu_timings_enable(bpt_list_t *list, bool on);
bpt_status_t bpt_gpu_timings(bpt_list_t *list, double *seconds, int capacity, int *count);

// Defines bpt_<name>_backend on bpt_<name>_driver.
#define BPT_GPU_BACKEND(api_name, text)                                                                                       \
    extern const bpt_backend_t bpt_##api_name##_backend;                                                                      \
    static bpt_status_t enumerate_devices(bpt_device_info_t *infos, int capacity, int *count) {                               \
        return bpt_##api_name##_driver.enumerate(infos, capacity, count);                                                     \
    }                                                                                                                         \
    static bpt_status_t open_device(int index, const bpt_device_options_t *options, bpt_device_t **out) {                     \
        (void)options;                                                                                                        \
        return bpt_gpu_open(&bpt_##api_name##_backend, &bpt_##api_name##_driver, index, out);                                 \
    }                                                                                                                         \
    const bpt_backend_t bpt_##api_name##_backend = {                                                                          \
        .name = #api_name, .description = text, .enumerate = enumerate_devices, .open = open_device, .close = bpt_gpu_close,  \
        .buffer_create = bpt_gpu_buffer_create, .buffer_destroy = bpt_gpu_buffer_destroy, .write = bpt_gpu_write,             \
        .read = bpt_gpu_read, .op = bpt_gpu_op, .list_create = bpt_gpu_list_create, .list_destroy = bpt_gpu_list_destroy,     \
        .list_barrier = bpt_gpu_list_barrier, .list_seal = bpt_gpu_list_seal, .submit = bpt_gpu_submit, .wait = bpt_gpu_wait, \
        .timings_enable = bpt_gpu_timings_enable, .timings = bpt_gpu_timings,                                                 \
    }

// ---- Inside ----------------------------------------------------------------------------------------------------------

bpt_status_t bpt_gpu_program(bpt_gpu_device_t *device, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
// Records one dispatch of a list (list.c). `seconds`: its estimated time. `groups` may be any number.
bpt_status_t bpt_gpu_list_dispatch(bpt_list_t *list, const bpt_gpu_dispatch_t *dispatch, int64_t groups, double seconds);
bpt_status_t bpt_gpu_list_op(bpt_list_t *list);  // the next dispatches belong to a new op (timings)
// BPT_LIMITS lowers what the device reports, BPT_DISABLE switches features off (limits.c).
bpt_status_t bpt_gpu_limits_fake(bpt_gpu_limits_t *limits);

#endif
