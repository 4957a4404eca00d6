// The types of safetensors files, and the size of a tensor (see bpt/safetensors.h).
#include <inttypes.h>
#include <string.h>

#include "core/io/safetensors_layout.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors data are little-endian; a big-endian machine needs byte swaps here");

static const struct {
    const char *name;
    uint32_t bits;
} dtypes[] = {
    [BPT_ST_F32] = {"F32", 32},
    [BPT_ST_F16] = {"F16", 16},
    [BPT_ST_BF16] = {"BF16", 16},
    [BPT_ST_F64] = {"F64", 64},
    [BPT_ST_U8] = {"U8", 8},
    [BPT_ST_U16] = {"U16", 16},
    [BPT_ST_U32] = {"U32", 32},
    [BPT_ST_U64] = {"U64", 64},
    [BPT_ST_I8] = {"I8", 8},
    [BPT_ST_I16] = {"I16", 16},
    [BPT_ST_I32] = {"I32", 32},
    [BPT_ST_I64] = {"I64", 64},
    [BPT_ST_BOOL] = {"BOOL", 8},
    [BPT_ST_C64] = {"C64", 64},
    [BPT_ST_F8_E4M3] = {"F8_E4M3", 8},
    [BPT_ST_F8_E5M2] = {"F8_E5M2", 8},
    [BPT_ST_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8},
    [BPT_ST_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8},
    [BPT_ST_F8_E8M0] = {"F8_E8M0", 8},
    [BPT_ST_F6_E2M3] = {"F6_E2M3", 6},
    [BPT_ST_F6_E3M2] = {"F6_E3M2", 6},
    [BPT_ST_F4] = {"F4", 4},
};

const char *bpt_safetensors_dtype_name(bpt_safetensors_dtype_t dtype) { return dtypes[dtype].name; }
uint32_t bpt_safetensors_dtype_bits(bpt_safetensors_dtype_t dtype) { return dtypes[dtype].bits; }

bool bpt_safetensors_dtype_find(const char *name, bpt_safetensors_dtype_t *out) {
    for (size_t i = 0; i < BPT_COUNT(dtypes); ++i) {
        if (strcmp(dtypes[i].name, name)) continue;
        *out = (bpt_safetensors_dtype_t)i;
        return true;
    }
    return false;
}

bpt_status_t bpt_safetensors_size(bpt_safetensors_tensor_t *tensor) {
    const uint32_t size = dtypes[tensor->dtype].bits;
    bool empty = false;
    int64_t bits;
    tensor->count = 1;
    for (int32_t i = 0; i < tensor->rank; ++i) {
        const int64_t n = tensor->shape[i];
        if (n < 0) return bpt_fail(BPT_ERR_INPUT, "dimension %d of \"shape\" is negative", i);
        empty |= n == 0;
        if (n && __builtin_mul_overflow(tensor->count, n, &tensor->count)) return bpt_fail(BPT_ERR_INPUT, "\"shape\" is too large");
    }
    if (__builtin_mul_overflow(tensor->count, (int64_t)size, &bits)) return bpt_fail(BPT_ERR_INPUT, "\"shape\" is too large");
    if (empty) tensor->count = bits = 0;
    if (bits % 8)
        return bpt_fail(BPT_ERR_INPUT, "its %" PRId64 " elements of %" PRIu32 " bits do not fill whole bytes", tensor->count, size);
    tensor->bytes = (uint64_t)bits / 8;
    return BPT_OK;
}
