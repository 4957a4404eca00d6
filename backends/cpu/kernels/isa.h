// The inner loops of the cpu backend, compiled once per instruction set (tools/cmake/bpt_kernels.cmake defines BPT_ISA while it
// compiles kernels/*.c) and chosen once at run time. One line in kernels.def declares a kernel for all instruction sets; its
// definition is `void BPT_KERNEL_NAME(steps)(...) {...}` in kernels/<family>.c, and callers write bpt_cpu_kernels()->steps(...).
// Kernels use one thread, know nothing of devices, lists and threads, and never fail.
#ifndef BPT_CPU_ISA_H
#define BPT_CPU_ISA_H

#include "backends/cpu/kernels/attention.h"
#include "bpt/backend.h"

// A pointwise chain (ops.h) with its operands resolved; `arg` and the keys point to whole tensors.
typedef struct {
    const bpt_pointwise_attrs_t *attrs;
    const void *arg[BPT_MAX_STEPS];    // operand of each step, NULL when it has none
    bpt_dtype_t dtype[BPT_MAX_STEPS];  // and its element type
    const float *bias;                 // [columns], added before the first step; NULL = none
    const uint32_t *row_keys, *rng;
    int64_t columns;  // row length of the tensor
} bpt_cpu_steps_t;

// A call with its operands in memory; NULL = absent.
typedef struct {
    const bpt_op_call_t *call;
    void *const *in, *const *out;
} bpt_cpu_call_t;

// The factors of one update: rate = lr / (1 - beta1^t), inverse_bias2 = 1 / (1 - beta2^t), rest = 1 - beta.
typedef struct {
    float gradient_scale, coupled_decay, decoupled_decay, beta1, rest1, beta2, rest2, rate, inverse_bias2, eps;
} bpt_cpu_adam_t;

// What gradients are multiplied by; the shares of the old mean and of the gradient (1 - momentum) in the new mean; those of the new mean
// and of the gradient in the direction: the same two, or 1 and 0 where the direction is the mean itself.
typedef struct {
    float gradient_scale, momentum, rest, ahead, here;
} bpt_cpu_momentum_t;

// What is left of a parameter, and the length of the step.
typedef struct {
    float decay, rate;
} bpt_cpu_descend_t;

// tree_values and tree_values_grad; pointers to values go to the first column of the values of row 0.
typedef struct {
    const bpt_tree_values_attrs_t *attrs;
    int64_t rows, leaves, depth;
    const uint32_t *links;
    const float *values, *dout, *weight;
    int64_t values_stride, dout_stride, sums_stride;
    const float *table[2];  // vertical, horizontal; NULL: none
    int64_t table_rows[2];
    float *sums;     // [rows] of sums of nodes, or of gradients of values
    float *dweight;  // [leaves, heads]
} bpt_cpu_tree_t;

enum { BPT_CPU_FEWEST_PANEL_ROWS = 9 };  // of a product by panels of its matrix (bpt_cpu_few_rows_t): with fewer the other way is faster
// c [m, n] = x b (+ c): x is [m, k], b [k, n], or [n, k] where transposed, of any float type, or of
// numbers of 8 bits (u32, bpt/q8.h; transposed). x is f32; or bf16, as b is, where the
// instruction set has products of it. `panels`: by the way for more rows, of x in f32.
typedef struct {
    const void *x, *b;
    float *c;
    int64_t m, n, k, ldx, ldb, ldc;
    bpt_dtype_t x_dtype, dtype;
    bool transposed, accumulate, panels;
} bpt_cpu_few_rows_t;

typedef struct {
    const char *isa;       // "baseline", "avx2", "avx512", "avx512dots"
    bool multiplies_bf16;  // few_rows takes x as bf16
#define BPT_KERNEL(type, name, args) type(*name) args;
#include "backends/cpu/kernels/kernels.def"
#undef BPT_KERNEL
} bpt_cpu_kernels_t;

#ifdef BPT_ISA  // inside a kernel file
#define BPT_KERNEL_PASTE(name, isa) bpt_kernel_##name##_##isa
#define BPT_KERNEL_EXPAND(name, isa) BPT_KERNEL_PASTE(name, isa)
#define BPT_KERNEL_NAME(name) BPT_KERNEL_EXPAND(name, BPT_ISA)
#ifndef BPT_ISA_BASE  // whose other kernels an instruction set has that only those of BPT_DOT_KERNEL are compiled for
#define BPT_ISA_BASE BPT_ISA
#endif
#define BPT_KERNEL_BASE_NAME(name) BPT_KERNEL_EXPAND(name, BPT_ISA_BASE)
#define BPT_KERNEL(type, name, args) type BPT_KERNEL_BASE_NAME(name) args;
#define BPT_DOT_KERNEL(type, name, args) type BPT_KERNEL_NAME(name) args;
#include "backends/cpu/kernels/kernels.def"
#undef BPT_DOT_KERNEL
#undef BPT_KERNEL
#else
// The instruction set in use: the best one of this machine, or what the environment variable BPT_CPU_ISA names
// (baseline, avx2, avx512, avx512dots). BPT_ERR_UNAVAILABLE when it is unknown or the machine lacks it. Called when a device is opened.
bpt_status_t bpt_cpu_kernels_select(void) BPT_MUST_USE;
const bpt_cpu_kernels_t *bpt_cpu_kernels(void);
#endif

#endif
