// The C preprocessor as far as kernels use it: what a kernel's compiler compiles once macros are expanded, and comments, layout and what
// #if leaves out are gone. So two texts can be told apart by what they say. Knows no kernel.
#ifndef BPT_GPU_PREPROCESS_H
#define BPT_GPU_PREPROCESS_H

#include "bpt/status.h"

// `options` are words -DNAME=VALUE; others are passed over. *out has its tokens with a blank between them, from bpt_alloc. There is no #
// that makes strings, no macro with "..." and no #include: what is not known stays in the text. BPT_ERR_INPUT: a conditional has no end, or
// a condition is none.
bpt_status_t bpt_gpu_preprocess(const char *text, const char *options, char **out) BPT_MUST_USE;

#endif
