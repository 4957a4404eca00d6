// Arrays of the host as the rows that a backend's op has, and back: copied row by row, and looked at for numbers that are not finite.
#include "core/attention/arrays.h"

#include <inttypes.h>
#include <string.h>

static bool finite_16(const uint16_t *x, int64_t count, uint16_t exponent) {
    unsigned bad = 0;
    for (int64_t i = 0; i < count; ++i) bad |= (unsigned)((x[i] & exponent) == exponent);
    return !bad;
}
static bool finite_32(const uint32_t *x, int64_t count) {
    unsigned bad = 0;
    for (int64_t i = 0; i < count; ++i) bad |= (unsigned)((x[i] & 0x7F800000u) == 0x7F800000u);
    return !bad;
}

// Exponents whose bits are all ones are those of infinities and of what is no number.
bool bpt_attention_all_finite(bpt_dtype_t dtype, const void *numbers, int64_t count) {
    return dtype == BPT_F32 ? finite_32(numbers, count) : finite_16(numbers, count, dtype == BPT_F16 ? 0x7C00 : 0x7F80);
}

typedef struct {
    const bpt_attention_copy_t *copy;
    bool back;
    int shares;
    int64_t *bad;  // [shares]: the first row of the share with a number that is not finite, -1: none
} work_t;

// Row `row` of the op, sequence and row of the array.
static void place_of(const bpt_attention_rows_t *r, int64_t row, int64_t *sequence, int64_t *i) {
    const int64_t leaves = r->batch * r->leaves, others = r->rows - r->leaves;
    if (row < leaves)
        *sequence = row / r->leaves, *i = row % r->leaves;
    else
        *sequence = (row - leaves) / others, *i = r->leaves + (row - leaves) % others;
}

static void copy_row(const work_t *w, int64_t row, int share) {
    const bpt_attention_copy_t *c = w->copy;
    const size_t size = bpt_dtype_size(c->dtype);
    const int64_t width = (int64_t)c->heads * c->head_dim;
    int64_t sequence, i;
    place_of(&c->rows, row, &sequence, &i);
    char *packed = c->packed + (size_t)(row * c->width + c->column) * size;
    char *array = (char *)c->array.data + (sequence * c->array.stride[0] + i * c->array.stride[1]) * (int64_t)size;
    const bool joined = c->heads == 1 || c->array.stride[2] == c->head_dim;  // the heads lie one behind the other
    const int64_t pieces = joined ? 1 : c->heads;
    const size_t bytes = (size_t)(width / pieces) * size;
    for (int64_t p = 0; p < pieces; ++p) {
        char *to = packed + (size_t)p * bytes, *from = array + p * c->array.stride[2] * (int64_t)size;
        memcpy(w->back ? from : to, w->back ? to : from, bytes);
    }
    if (w->bad[share] < 0 && !bpt_attention_all_finite(c->dtype, packed, width)) w->bad[share] = row;
}

static void copy_share(void *user, int share) {
    const work_t *w = user;
    const int64_t rows = w->copy->rows.batch * w->copy->rows.rows, end = rows * (share + 1) / w->shares;
    w->bad[share] = -1;
    for (int64_t row = rows * share / w->shares; row < end; ++row) copy_row(w, row, share);
}

static bpt_status_t copy(bpt_device_t *device, const bpt_attention_copy_t *c, bool back) {
    enum { MOST = 64 };
    int64_t bad[MOST];
    const bool beside = device->backend->side_by_side && device->info.units > 1;
    work_t w = {c, back, !beside ? 1 : device->info.units < MOST ? device->info.units : MOST, bad};
    if (beside)
        device->backend->side_by_side(device, w.shares, copy_share, &w);
    else
        copy_share(&w, 0);
    for (int share = 0; share < w.shares; ++share) {
        if (bad[share] < 0) continue;
        int64_t sequence, i;
        place_of(&c->rows, bad[share], &sequence, &i);
        return bpt_fail(BPT_ERR_NUMERIC, "%s holds a number that is not finite, in row %" PRId64 " of sequence %" PRId64, c->name, i,
                        sequence);
    }
    return BPT_OK;
}

bpt_status_t bpt_attention_pack(bpt_device_t *device, const bpt_attention_copy_t *c) { return copy(device, c, false); }
bpt_status_t bpt_attention_unpack(bpt_device_t *device, const bpt_attention_copy_t *c) { return copy(device, c, true); }
