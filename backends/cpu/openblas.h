// f32 products by OpenBLAS, opened when the first device of the cpu backend is: its constructor and every product take address space, and
// where there is none left it tries for ever. So a program that computes nothing never opens it, and a device that opens takes all that
// its products will need, or says what is missing. The environment variable BPT_OPENBLAS_LIBRARY names another file than libopenblas.so.0.
#ifndef BPT_CPU_OPENBLAS_H
#define BPT_CPU_OPENBLAS_H

#include <cblas.h>
#include <stdbool.h>

#include "bpt/status.h"

// X(name): the functions that every OpenBLAS has.
#define BPT_OPENBLAS_FUNCTIONS(X) X(cblas_sgemm) X(cblas_sgemv) X(openblas_set_num_threads) X(openblas_get_corename)

typedef struct {
#define BPT_OPENBLAS_MEMBER(name) __typeof__(name) *name;
    BPT_OPENBLAS_FUNCTIONS(BPT_OPENBLAS_MEMBER)
#undef BPT_OPENBLAS_MEMBER
} bpt_openblas_t;

// The functions; set once bpt_openblas_open has succeeded.
extern bpt_openblas_t bpt_openblas;

// Whether there is room for OpenBLAS, oneDNN and one thread, and OpenBLAS can be opened: BPT_ERR_NO_MEMORY, BPT_ERR_UNAVAILABLE. To be
// called before oneDNN is opened.
bpt_status_t bpt_openblas_load(void) BPT_MUST_USE;
// Memory for the products of `threads` more threads, each until it is given back, and room for their stacks.
bpt_status_t bpt_openblas_open(int threads) BPT_MUST_USE;
// For where oneDNN is missing: own products stand in for an OpenBLAS that multiplies without AVX on a processor with AVX2, unless
// BPT_OPENBLAS_LIBRARY names it: a training takes a third of the time. After bpt_openblas_load, before a device opens.
void bpt_openblas_replace_if_too_old(void);
// Whether this project's own products (own_product.h) stand in for it: by BPT_OPENBLAS_LIBRARY=none, because none was found on a system that
// has no package of it, or by the function above. Known after bpt_openblas_load.
bool bpt_openblas_is_replaced(void);
// What multiplies, for people: "OpenBLAS (Zen kernels)".
void bpt_openblas_describe(char *text, size_t bytes);
// Whether its kernels suit the processor. For one that is newer than itself it takes kernels of 2004 (Prescott), without AVX: OpenBLAS 0.3.21
// of Debian 12 on an Intel Emerald Rapids multiplies at an eighth of the speed. OPENBLAS_CORETYPE names other kernels. Its kernels with
// AVX-512 are made for Intel's processors: on AMD's Zen 4 they reach 190 GFLOP/s in weight gradients, and oneDNN's 218.
bool bpt_openblas_suits_processor(void);
void bpt_openblas_close(int threads);

#endif
