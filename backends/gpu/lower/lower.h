// Lowering: ops to dispatches of kernels. Every lower/<family>.c is written with the words of this header. Knows no API.
#ifndef BPT_GPU_LOWER_H
#define BPT_GPU_LOWER_H

#include "backends/gpu/device.h"

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

// Does the driver run kernels on the processor? The one question that leads to lower/software.
static inline bool bpt_lower_in_software(const bpt_lower_t *l) { return l->device->api->limits.software; }

bpt_kernel_call_t bpt_lower_kernel(const bpt_lower_t *l, bpt_gpu_kernel_t kernel);  // with the device's usual group size
// Runs work-groups 0 .. groups - 1. `params` is the kernel's parameter block, whose head is filled in here.
void bpt_lower_emit(bpt_lower_t *l, const bpt_kernel_call_t *k, void *params, int64_t groups);
// One work-item per element of 0 .. count - 1, rounded up to groups.
void bpt_lower_emit_items(bpt_lower_t *l, const bpt_kernel_call_t *k, void *params, int64_t count);
// A product by the driver's library, in pieces whose size follows from the shape. The bindings are filled in here.
void bpt_lower_product(bpt_lower_t *l, const bpt_view_t *a, const bpt_view_t *b, const bpt_view_t *bias, const bpt_view_t *mask,
                       const bpt_view_t *c, bpt_gpu_product_t *product);
void bpt_lower_barrier(bpt_lower_t *l);  // between dispatches of one op
// The same between dispatches that write different rows of one binding, for drivers that see bindings only.
void bpt_lower_barrier_of_rows(bpt_lower_t *l);
void bpt_lower_refuse(bpt_lower_t *l, const char *format, ...) BPT_PRINTF(2, 3);  // BPT_ERR_UNSUPPORTED

// Rows of `row_bytes` that one binding holds, at most `rows`; lowerings of ops that work row by row go window by window.
int64_t bpt_lower_window(const bpt_lower_t *l, int64_t rows, size_t row_bytes);

typedef void (*bpt_lowering_t)(bpt_lower_t *l);
#define BPT_OP(id, name, family) void bpt_lower_##id(bpt_lower_t *l);
#include "bpt/ops.def"
#undef BPT_OP

// ---- What several lowerings use (each in the file of its op) -----------------------------------------------------------
// to[i] = from[i], i < count, views of the same type.
void bpt_lower_copy(bpt_lower_t *l, const bpt_view_t *from, const bpt_view_t *to, int64_t count);
// to[i] = value, i < count, a view of numbers of 4 bytes.
void bpt_lower_fill(bpt_lower_t *l, const bpt_view_t *to, int64_t count, float value);
// The same as copy between float types.
void bpt_lower_convert(bpt_lower_t *l, const bpt_view_t *from, const bpt_view_t *to, int64_t count);
// result[columns] = sums over the rows of x [rows, columns] (any float type), in a fixed order.
// With `add` they are added to what is there.
void bpt_lower_sum_rows(bpt_lower_t *l, const bpt_view_t *x, int64_t rows, int64_t columns, const bpt_view_t *result, bool add);
// result[0] = sum of x[i], or of x[i]^2.
void bpt_lower_sum_all(bpt_lower_t *l, const bpt_view_t *x, int64_t count, bool square, const bpt_view_t *result);
// Sets the constants and parameters of a chain of steps (cl/dialect/steps.h): STEP0 is constants[first + 1], N_STEPS constants[first].
void bpt_lower_steps(const bpt_pointwise_attrs_t *steps, uint32_t *constants, float *c, uint32_t *uid);
// What the steps read through slot `slot`; NONE: nothing, or x itself. A slot is read in one form.
bpt_pointwise_operand_t bpt_lower_operand(const bpt_pointwise_attrs_t *steps, int slot);
// The constant of a dropout: its threshold (bpt/rng.h), and the factor 1 / (1 - p) of what is kept.
uint32_t bpt_lower_threshold(float p);

#endif
