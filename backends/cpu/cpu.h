// The cpu backend's own boundary: the op table and what the families of ops/ share. Not seen outside backends/cpu.
#ifndef BPT_CPU_H
#define BPT_CPU_H

#include "backends/cpu/kernels/isa.h"
#include "backends/host/host.h"

extern const bpt_host_op_t *const bpt_cpu_ops[BPT_OP_COUNT];

// ops/<family>.c defines its ops: `run`, and `plan` where an op needs scratch or can be refused (bpt_host_op has already held the call
// against the contract).
#define BPT_OP(id, name, family) extern const bpt_host_op_t bpt_cpu_op_##id;
#include "bpt/ops.def"
#undef BPT_OP

static inline int64_t bpt_cpu_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t bpt_cpu_blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }
// Elements 0 .. count - 1 in pieces, side by side on the threads; a piece is elements begin .. begin + count - 1 (pieces.c).
typedef void (*bpt_cpu_piece_t)(const void *context, int64_t begin, int64_t count);
void bpt_cpu_in_pieces(const bpt_host_run_t *run, int64_t count, bpt_cpu_piece_t piece, const void *context);
// What gradients are multiplied by: the inverse loss scale, and less where their norm passes the bound (adam.c).
double bpt_cpu_gradient_scale(const float *hyper, double square_sum);

// True when the machine has instructions for products of bf16 numbers, and a library that uses them.
bool bpt_cpu_multiplies_bf16(void);

// out = x, n elements from any type to any float type (or to the same type).
void bpt_cpu_convert_piece(void *out, bpt_dtype_t to, const void *x, bpt_dtype_t from, int64_t n);

// Sums over rows are cut into at most 64 blocks, by the number of rows alone; the blocks' sums are added in order.
static inline int64_t bpt_cpu_sum_rows(int64_t rows) { return rows <= 64 * 32 ? 32 : (rows + 63) / 64; }
// out[0 .. n) = the sum of `count` vectors that lie `stride` floats apart, in order.
void bpt_cpu_sum_partials(const float *partials, int64_t count, int64_t stride, int64_t n, float *out);

#endif
