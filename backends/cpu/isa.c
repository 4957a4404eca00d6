// The choice of the instruction set (kernels/isa.h).
#include "backends/cpu/kernels/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern const bpt_cpu_kernels_t bpt_kernel_table_baseline;

static bool always(void) { return true; }
#if defined(__x86_64__)
extern const bpt_cpu_kernels_t bpt_kernel_table_avx2, bpt_kernel_table_avx512, bpt_kernel_table_avx512dots;
static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
static bool has_avx512dots(void) { return has_avx512() && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni"); }
#endif

static const struct {
    const bpt_cpu_kernels_t *kernels;
    bool (*usable)(void);
} sets[] = {
// the best first; every CPU with AVX2 has F16C
#if defined(__x86_64__)
    {&bpt_kernel_table_avx512dots, has_avx512dots},
    {&bpt_kernel_table_avx512, has_avx512},
    {&bpt_kernel_table_avx2, has_avx2},
#endif
    {&bpt_kernel_table_baseline, always},
};

static _Atomic(const bpt_cpu_kernels_t *) selected = &bpt_kernel_table_baseline;

const bpt_cpu_kernels_t *bpt_cpu_kernels(void) { return atomic_load_explicit(&selected, memory_order_relaxed); }

bpt_status_t bpt_cpu_kernels_select(void) {
    const char *wanted = getenv("BPT_CPU_ISA");
    if (wanted && !*wanted) wanted = NULL;
    for (size_t i = 0; i < BPT_COUNT(sets); ++i) {
        const bpt_cpu_kernels_t *kernels = sets[i].kernels;
        if (wanted && strcmp(wanted, kernels->isa)) continue;
        if (sets[i].usable()) {
            atomic_store_explicit(&selected, kernels, memory_order_relaxed);
            return BPT_OK;
        }
        if (wanted)
            return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_CPU_ISA=%s: this machine lacks these instructions; unset the variable", wanted);
    }
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_CPU_ISA=%s is not an instruction set of this build (baseline%s)", wanted,
                    BPT_COUNT(sets) > 1 ? ", avx2, avx512, avx512dots" : "");
}
