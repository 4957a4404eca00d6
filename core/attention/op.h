// An op of bpt/attention.h: what op.c makes and run.c runs.
#ifndef BPT_CORE_ATTENTION_OP_H
#define BPT_CORE_ATTENTION_OP_H

#include "bpt/graph.h"
#include "core/attention/arrays.h"

typedef enum { Q, KV, REL, LENGTHS, TABLE, BACK, OUT, LSE, DOUT, DQ, DKV, DREL, SCRATCH, GRAD_SCRATCH, OPERANDS } operand_id_t;

struct bpt_attention_op {
    bpt_device_t *device;
    bpt_dtype_t dtype;
    bpt_attention_attrs_t attrs;
    bpt_attention_rows_t queries, keys;  // of the caller's arrays
    int64_t rel_rows;
    bpt_operand_t operand[OPERANDS];
    bpt_list_t *forward, *backward;
    void *staging;  // for devices whose memory the host cannot reach; as large as the largest operand
    size_t staging_bytes;
};

size_t bpt_attention_bytes(const bpt_operand_t *operand);
bpt_status_t bpt_attention_add(bpt_attention_op_t *op, operand_id_t id, bpt_dtype_t dtype, bpt_shape_t shape) BPT_MUST_USE;
bpt_status_t bpt_attention_write(bpt_attention_op_t *op, operand_id_t id, const void *source) BPT_MUST_USE;  // a whole operand
// Records one of the two calls, with the operands that there are.
bpt_status_t bpt_attention_record(bpt_attention_op_t *op, bpt_op_t which, operand_id_t scratch, bpt_list_t **list) BPT_MUST_USE;

#endif
