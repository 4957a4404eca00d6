// The op-level boundary (backends/backend.h) on top of any driver (driver.h): buffers, lists, submits and the lowering of ops to
// dispatches. Knows no API.
#ifndef BPT_GPU_H
#define BPT_GPU_H

#include "backends/gpu/backend.h"
#include "backends/gpu/driver.h"
#include "backends/gpu/tuning.h"

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
void bpt_lower_barrier(bpt_lower_t *l);                                           // between dispatches of one op
void bpt_lower_refuse(bpt_lower_t *l, const char *format, ...) BPT_PRINTF(2, 3);  // BPT_ERR_UNSUPPORTED

// Rows of `row_bytes` that one binding holds, at most `rows`; lowerings of ops that work row by row go window by window.
int64_t bpt_lower_window(const bpt_lower_t *l, int64_t rows, size_t row_bytes);
static inline int64_t bpt_min(int64_t a, int64_t b) { return a < b ? a : b; }
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
    bpt_view_t a, b, acc, bias, extras[2], row_keys, rng, c;  // c and acc may be the same place
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    const bpt_pointwise_attrs_t *steps;
    const bpt_product_rule_t *rule;  // filled in by bpt_lower_gemm
} bpt_gemm_t;
void bpt_lower_gemm(bpt_lower_t *l, const bpt_gemm_t *g);
// What a product can take in of its steps: a relu that comes first, or the gradient of a relu, where the product is neither added to nor has
// a bias: `scale` times it where `mask`, with elements like c's, is not 0.
typedef struct {
    bool relu, masked;
    bpt_view_t mask;
    float scale;
    bpt_pointwise_attrs_t rest;  // the steps behind it
} bpt_epilogue_t;
bpt_epilogue_t bpt_lower_epilogue(const bpt_gemm_t *g);
// A part of a product by the driver's library (lower/matmul_library.c), with the steps of g, which may be NULL. False: nothing was emitted.
bool bpt_lower_library(bpt_lower_t *l, const bpt_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc);
// Whether the gradients of a product of two bf16 matrices are the library's, once their other operand is bf16 too.
bool bpt_lower_has_bf16_library(const bpt_lower_t *l);
// A chain of steps, or an added bias where `bias` is present, by itself: y = steps(x) on m rows of ldc columns, extras as of g.
void bpt_lower_steps_alone(bpt_lower_t *l, const bpt_gemm_t *g, const bpt_pointwise_attrs_t *steps, const bpt_view_t *x,
                           const bpt_view_t *y, int64_t ldc);
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
// Sets the constants and parameters of a chain of steps (cl/include/steps.h): STEP0 is constants[first + 1], N_STEPS constants[first].
void bpt_lower_steps(const bpt_pointwise_attrs_t *steps, uint32_t *constants, float *c, uint32_t *uid);
// The constant of a dropout: its threshold (bpt/rng.h), and the factor 1 / (1 - p) of what is kept.
uint32_t bpt_lower_threshold(float p);

// ---- Inside ----------------------------------------------------------------------------------------------------------

// BPT_ERR_NO_MEMORY, with what is needed, what there is and what to lower (room.c).
bpt_status_t bpt_gpu_room(const bpt_gpu_device_t *device, size_t bytes);
bpt_status_t bpt_gpu_no_room(const bpt_gpu_device_t *device, size_t bytes, const char *why);
bpt_status_t bpt_gpu_program(bpt_gpu_device_t *device, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
// Records one dispatch of a list (list.c). `seconds`: its estimated time. `groups` may be any number.
bpt_status_t bpt_gpu_list_dispatch(bpt_list_t *list, const bpt_gpu_dispatch_t *dispatch, int64_t groups, double seconds);
// Records a product by the driver's library in pieces of `rows` rows of c, which the bits of the result may depend on, so that they follow
// from the shape alone; a submission takes whole pieces.
bpt_status_t bpt_gpu_list_product(bpt_list_t *list, const bpt_gpu_product_t *product, int64_t rows, double seconds);
bpt_status_t bpt_gpu_list_op(bpt_list_t *list);  // the next dispatches belong to a new op (timings)
// Where a rule names the library: is it there, and does it compute what our own kernels do? A file's rule gives way to the shipped one, and
// that one to our own kernels, with a note; what was asked for is an error (library.c).
bpt_status_t bpt_gpu_library_check(bpt_gpu_device_t *device, bpt_gpu_rule_t *rule);
// BPT_LIMITS lowers what the device reports, BPT_DISABLE switches features off (limits.c); the same for a text like that of BPT_LIMITS.
bpt_status_t bpt_gpu_limits_fake(bpt_gpu_limits_t *limits);
bpt_status_t bpt_gpu_limits_lower(bpt_gpu_limits_t *limits, const char *text);
// Known faults of drivers, as limits (quirks.c); describing them appends to info->features.
bpt_status_t bpt_gpu_quirks_apply(const char *backend, const bpt_device_info_t *info, bpt_gpu_limits_t *limits);
void bpt_gpu_quirks_describe(const char *backend, bpt_device_info_t *info);

#endif
