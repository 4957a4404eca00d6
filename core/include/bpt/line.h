// One op call as one printable line, and back:
//
//     matmul a=bf16[8192,512] b=bf16[2048,512] transpose_b bias steps=relu
//     attention graph=bpt n=8192 k=4 causal trimmed rel_levels=13 heads=8 head_dim=64 packed qkv=bf16 rel lse
//
// A line says all that decides how much work the call is: the op, its attributes, which operands it has, their element types and sizes.
// What follows from these is left out: an operand whose shape is known is a type alone, one that every call has and whose type is known is
// not there. The values of the inputs follow from the line too, so that whoever has the line can repeat the call, on any machine.
//
//     op        its name (bpt/ops.def), always the first word
//     key=value an attribute, as ops.h names it; flags have no value. Attributes at their usual value are left out.
//     name=f32[R,C]  an operand: type and shape. `name=f32` where the shape follows; `name` where the type does, too. A type that is not
//               said is that of the first operand that may have several types, or of `type=bf16`.
//     steps=relu,dropout:0.1,add@5  steps, their constants, the input that they read (named x5)
//     in_place=acc   the result is stored in the place of this input
//     indices=spread|ordered|zipf|one   inputs that are row numbers: all rows alike, one after the other, few rows often (the row of rank r
//               as often as 1/r, as words of a text), one row only
//     edges=N   attention over a table: keys that each query reads; neighbouring queries read neighbouring keys
//     seed=N    of the numbers
#ifndef BPT_LINE_H
#define BPT_LINE_H

#include "bpt/backend.h"
#include "bpt/strbuf.h"

BPT_BEGIN_DECLS

typedef enum { BPT_INDICES_SPREAD, BPT_INDICES_ORDERED, BPT_INDICES_ZIPF, BPT_INDICES_ONE } bpt_indices_t;

typedef struct {
    bpt_op_call_t call;  // without buffers and scratch
    int32_t in_place;    // the input in whose place output 0 is stored, -1: none
    bpt_indices_t indices;
    int64_t edges;  // 0: as many as the bounds of the table allow, else all keys
    int64_t seed;
} bpt_op_line_t;

enum { BPT_LINE_MOST_BYTES = 2048 };

// The line of a call that the contract allows. Buffers and scratch are not kept, but that output 0 is in the place of an input.
BPT_API bpt_op_line_t bpt_line_of(const bpt_op_call_t *call);
// Appends it, without a line end. Fails where the contract does not allow the call.
BPT_API bpt_status_t bpt_line_print(const bpt_op_line_t *line, bpt_strbuf_t *out) BPT_MUST_USE;
// BPT_ERR_USAGE with a sentence that names the word and says what it may be.
BPT_API bpt_status_t bpt_line_parse(const char *text, bpt_op_line_t *out) BPT_MUST_USE;
// Whether a text begins with the name of an op and a blank: it is meant to be a line.
BPT_API bool bpt_line_is_meant(const char *text);

// Fills one input, which is present, with its values. Numbers are a function of the line's seed, the input and their place in it.
BPT_API bpt_status_t bpt_line_fill(const bpt_op_line_t *line, int input, void *data) BPT_MUST_USE;
// The input that this one is the same tensor as, or its own number: attention reads q, k and v from one.
BPT_API int bpt_line_same_tensor(const bpt_op_line_t *line, int input);
// The input that is a table of what queries read, -1: there is none; and takes over how many keys a query reads in it on average.
BPT_API int bpt_line_table(const bpt_op_line_t *line);
BPT_API void bpt_line_measure(bpt_op_line_t *line, const uint32_t *table);
BPT_API uint32_t bpt_line_changes(const bpt_op_line_t *line);  // bit i: the op changes input i
// Floating-point operations, 0 where none are counted, and the bytes of all operands. BPT_ERR_NO_MEMORY.
BPT_API bpt_status_t bpt_line_work(const bpt_op_line_t *line, double *flops, double *bytes) BPT_MUST_USE;

BPT_END_DECLS

#endif
