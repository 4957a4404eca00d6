// Arrays of the host as the rows that a backend's op has, and back (see arrays.c).
#ifndef BPT_CORE_ATTENTION_ARRAYS_H
#define BPT_CORE_ATTENTION_ARRAYS_H

#include "bpt/attention.h"
#include "bpt/backend.h"

// Where row i of sequence s lies among the rows of an op: first the leaves of sequence 0, 1, .., then the other rows of sequence 0, 1, ..
typedef struct {
    int64_t batch, leaves, rows;  // rows: of a sequence; leaves = rows: one sequence behind the other
} bpt_attention_rows_t;

// One array beside rows of `width` numbers each, where its heads x head_dim numbers begin at `column`.
typedef struct {
    const char *name;  // in messages
    bpt_attention_array_t array;
    bpt_attention_rows_t rows;
    bpt_dtype_t dtype;
    int32_t heads, head_dim;
    int64_t width, column;
    char *packed;
} bpt_attention_copy_t;

// On the threads of the device where it has some. BPT_ERR_NUMERIC: a number is not finite.
bpt_status_t bpt_attention_pack(bpt_device_t *device, const bpt_attention_copy_t *copy) BPT_MUST_USE;
bpt_status_t bpt_attention_unpack(bpt_device_t *device, const bpt_attention_copy_t *copy) BPT_MUST_USE;
bool bpt_attention_all_finite(bpt_dtype_t dtype, const void *numbers, int64_t count);

#endif
