// Parameters as numbers of 8 bits (see packed.h).
#include "models/nn/packed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/q8.h"

// A row of less than a block has more scales than it saves.
bool bpt_param_packs(const bpt_param_t *p) { return p->rank == 2 && p->group != BPT_GROUP_NO_DECAY && p->shape[1] >= BPT_Q8_BLOCK; }

bool bpt_params_are_packed(const bpt_safetensors_t *file) {
    for (size_t i = 0; i < bpt_safetensors_count(file); ++i)
        if (bpt_safetensors_at(file, i)->dtype == BPT_ST_I8) return true;
    return false;
}

typedef struct {
    int8_t *bytes;     // [rows, columns]
    uint16_t *scales;  // [rows, blocks]
    int64_t blocks;    // of a row
} packed_t;

static bpt_status_t make_room(const bpt_param_t *p, packed_t *out) {
    *out = (packed_t){.blocks = bpt_q8_blocks(p->shape[1])};
    BPT_TRY(bpt_alloc((size_t)p->count, 1, &out->bytes));
    const bpt_status_t status = bpt_alloc((size_t)(p->shape[0] * out->blocks), sizeof *out->scales, &out->scales);
    if (status != BPT_OK) bpt_free(out->bytes);
    return status;
}

static void release(packed_t *t) {
    bpt_free(t->bytes);
    bpt_free(t->scales);
}

static bpt_status_t quantise(const bpt_param_t *p, const char *name, const float *values, packed_t *out) {
    BPT_TRY(make_room(p, out));
    for (int64_t row = 0; row < p->shape[0]; ++row) {
        if (bpt_q8_quantise(values + row * p->shape[1], p->shape[1], out->bytes + row * p->shape[1], out->scales + row * out->blocks))
            continue;
        release(out);
        return bpt_fail(BPT_ERR_USAGE,
                        "row %" PRId64 " of \"%s\" has numbers that 8 bits cannot stand for: they are beyond %g; leave out --weights q8",
                        row, name, 127 * 65504.0);
    }
    return BPT_OK;
}

static void widen(const bpt_param_t *p, const packed_t *t, float *values) {
    for (int64_t row = 0; row < p->shape[0]; ++row)
        bpt_q8_widen(t->bytes + row * p->shape[1], t->scales + row * t->blocks, p->shape[1], values + row * p->shape[1]);
}

bpt_status_t bpt_params_round(const bpt_params_t *params, float *arena) {
    for (size_t i = 0; i < params->count; ++i) {
        const bpt_param_t *p = &params->items[i];
        packed_t t;
        if (!bpt_param_packs(p)) continue;
        BPT_TRY(quantise(p, p->name, arena + p->offset, &t));
        widen(p, &t, arena + p->offset);
        release(&t);
    }
    return BPT_OK;
}

int64_t bpt_params_packed_place(const bpt_params_t *params, const bpt_param_t *param) {
    int64_t words = 0;
    for (size_t i = 0; i < params->count && &params->items[i] != param; ++i) {
        const bpt_param_t *p = &params->items[i];
        if (bpt_param_packs(p)) words += p->shape[0] * bpt_q8_words(p->shape[1]);
    }
    return words;
}

bpt_status_t bpt_params_pack(const bpt_params_t *params, const float *arena, uint32_t *out) {
    for (size_t i = 0; i < params->count; ++i) {
        const bpt_param_t *p = &params->items[i];
        packed_t t;
        if (!bpt_param_packs(p)) continue;
        BPT_TRY(quantise(p, p->name, arena + p->offset, &t));
        for (int64_t row = 0; row < p->shape[0]; ++row, out += bpt_q8_words(p->shape[1]))
            bpt_q8_pack(t.bytes + row * p->shape[1], t.scales + row * t.blocks, p->shape[1], out);
        release(&t);
    }
    return BPT_OK;
}

static void name_scales(const char *name, char scales[96]) { snprintf(scales, 96, "%s" BPT_SCALES, name); }

bpt_status_t bpt_packed_declare(const bpt_param_t *p, const char *name, bpt_safetensors_writer_t *writer) {
    const int64_t shape[2] = {p->shape[0], bpt_q8_blocks(p->shape[1])};
    char scales[96];
    name_scales(name, scales);
    BPT_TRY(bpt_safetensors_writer_declare(writer, name, BPT_ST_I8, 2, p->shape));
    return bpt_safetensors_writer_declare(writer, scales, BPT_ST_F16, 2, shape);
}

bpt_status_t bpt_packed_write(const bpt_param_t *p, const char *name, const float *values, bpt_safetensors_writer_t *writer) {
    packed_t t;
    BPT_TRY(quantise(p, name, values, &t));
    bpt_status_t status = bpt_safetensors_writer_data(writer, t.bytes, (size_t)p->count);
    if (status == BPT_OK) status = bpt_safetensors_writer_data(writer, t.scales, (size_t)(p->shape[0] * t.blocks) * sizeof *t.scales);
    release(&t);
    return status;
}

void bpt_packed_owner(const bpt_safetensors_t *file, char *name) {
    const size_t length = strlen(name), suffix = strlen(BPT_SCALES);
    if (length <= suffix || strcmp(name + length - suffix, BPT_SCALES) != 0) return;
    name[length - suffix] = 0;
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(file, name);
    if (!tensor || tensor->dtype != BPT_ST_I8) name[length - suffix] = BPT_SCALES[0];
}

bpt_status_t bpt_packed_check(const bpt_param_t *p, const char *name, const bpt_safetensors_t *file) {
    const char *path = bpt_safetensors_path(file);
    char scales[96];
    name_scales(name, scales);
    if (p->rank != 2) return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" is I8, but numbers of 8 bits are for matrices only", path, name);
    const bpt_safetensors_tensor_t *s = bpt_safetensors_find(file, scales);
    if (!s)
        return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" is I8, and its scales are missing (\"%s\"); export the model again", path, name,
                        scales);
    const int64_t blocks = bpt_q8_blocks(p->shape[1]);
    if (s->dtype == BPT_ST_F16 && s->rank == 2 && s->shape[0] == p->shape[0] && s->shape[1] == blocks) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: tensor \"%s\" is not F16 [%" PRId64 ",%" PRId64
                    "], a scale for each block of %d numbers of \"%s\"; export the model again",
                    path, scales, p->shape[0], blocks, BPT_Q8_BLOCK, name);
}

// What no export writes would give other numbers than were meant.
static bpt_status_t check_values(const bpt_param_t *p, const char *name, const char *path, const packed_t *t) {
    for (int64_t i = 0; i < p->shape[0] * t->blocks; ++i) {
        const float scale = bpt_from_f16(t->scales[i]);
        if (!isfinite(scale) || signbit(scale))
            return bpt_fail(BPT_ERR_INPUT,
                            "%s: number %" PRId64 " of \"%s" BPT_SCALES
                            "\" is %g, but a scale is finite and not negative: the file is damaged; export the model again",
                            path, i, name, (double)scale);
    }
    for (int64_t i = 0; i < p->count; ++i)
        if (t->bytes[i] == INT8_MIN)
            return bpt_fail(BPT_ERR_INPUT,
                            "%s: number %" PRId64
                            " of \"%s\" is -128, but bytes go from -127 to 127: the file is damaged; export the model again",
                            path, i, name);
    return BPT_OK;
}

bpt_status_t bpt_packed_read(const bpt_param_t *p, const char *name, const bpt_safetensors_t *file, float *values) {
    char scales[96];
    packed_t t;
    name_scales(name, scales);
    BPT_TRY(make_room(p, &t));
    bpt_status_t status = bpt_safetensors_read(file, bpt_safetensors_find(file, name), 0, p->count, t.bytes);
    if (status == BPT_OK) status = bpt_safetensors_read(file, bpt_safetensors_find(file, scales), 0, p->shape[0] * t.blocks, t.scales);
    if (status == BPT_OK) status = check_values(p, name, bpt_safetensors_path(file), &t);
    if (status == BPT_OK) widen(p, &t, values);
    release(&t);
    return status;
}
