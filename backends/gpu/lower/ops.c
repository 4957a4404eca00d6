// The entry of ops: checks a call and hands it to the lowering of its op.
#include "backends/gpu/list.h"
#include "backends/gpu/lower/lower.h"

static const bpt_lowering_t lowerings[BPT_OP_COUNT] = {
#define BPT_OP(id, name, family) [BPT_OP_##id] = bpt_lower_##id,
#include "bpt/ops.def"
#undef BPT_OP
};

static bpt_status_t check_types(const bpt_gpu_device_t *g, const bpt_op_call_t *call) {
    for (int i = 0; i < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++i) {
        const bpt_operand_t *o = i < BPT_MAX_INPUTS ? &call->in[i] : &call->out[i - BPT_MAX_INPUTS];
        if (!o->present) continue;
        if ((o->dtype == BPT_BF16 && !g->base.info.bf16) || (o->dtype == BPT_F16 && !g->base.info.f16))
            return bpt_fail(BPT_ERR_UNSUPPORTED, "device '%s' has no %s", g->base.info.name, bpt_dtype_name(o->dtype));
        if (bpt_count(o) > UINT32_MAX)
            return bpt_fail(BPT_ERR_UNSUPPORTED, "%s: a tensor of %lld elements; GPU kernels count to 2^32", bpt_op_name(call->op),
                            (long long)bpt_count(o));
    }
    return BPT_OK;
}

static bpt_status_t check_operands(const bpt_op_call_t *call) {
    for (int i = 0; i < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++i) {
        const bpt_operand_t *o = i < BPT_MAX_INPUTS ? &call->in[i] : &call->out[i - BPT_MAX_INPUTS];
        if (o->present && o->buffer)
            BPT_TRY(bpt_context(bpt_gpu_buffer_check(o->buffer, o->offset_bytes, (size_t)bpt_count(o) * bpt_dtype_size(o->dtype)),
                                "%s operand %d", bpt_op_name(call->op), i));
    }
    return BPT_OK;
}

bpt_status_t bpt_gpu_op(bpt_device_t *device, const bpt_op_call_t *call, bpt_list_t *list, size_t *scratch_bytes) {
    bpt_lower_t l = {.device = (bpt_gpu_device_t *)device, .call = call, .list = list};
    BPT_TRY(bpt_call_check(call));
    BPT_TRY(check_types(l.device, call));
    if (list) {
        BPT_TRY(check_operands(call));
        BPT_TRY(bpt_gpu_list_op(list));
    }
    lowerings[call->op](&l);
    if (scratch_bytes) *scratch_bytes = l.scratch_bytes;
    return l.status;
}
