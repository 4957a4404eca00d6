// Preparation of a pointwise chain, for every op that has one.
#ifndef BPT_CPU_STEPS_H
#define BPT_CPU_STEPS_H

#include "backends/cpu/cpu.h"

// Resolves the operands of the chain. `columns` is the row length by which (row, column) address the tensor.
bpt_cpu_steps_t bpt_cpu_steps_bind(const bpt_host_run_t *run, const bpt_pointwise_attrs_t *attrs, int64_t columns);
// True when a step looks at the row or the column of an element, so that the tensor may not be walked as one long row.
bool bpt_cpu_steps_use_position(const bpt_pointwise_attrs_t *attrs);

// The chain on elements (row, column .. column + n - 1), from x to out, which may be the same memory where the types are.
void bpt_cpu_steps_run(const bpt_cpu_steps_t *s, void *out, bpt_dtype_t to, const void *x, bpt_dtype_t from, int64_t row, int64_t column,
                       int64_t n);

#endif
