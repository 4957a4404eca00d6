// What the reader and the writer of safetensors share. Internal to core/io.
#ifndef BPT_IO_SAFETENSORS_LAYOUT_H
#define BPT_IO_SAFETENSORS_LAYOUT_H

#include "bpt/safetensors.h"

enum { BPT_ST_MAX_HEADER = 100000000 };  // bytes, as in the format's own library

bool bpt_safetensors_dtype_find(const char *name, bpt_safetensors_dtype_t *out);
// Fills count and bytes from rank, shape and dtype. BPT_ERR_INPUT: they do not fit 63 bits, a dimension is negative, or elements of fewer
// than 8 bits do not fill whole bytes.
bpt_status_t bpt_safetensors_size(bpt_safetensors_tensor_t *tensor) BPT_MUST_USE;

#endif
