// Table, layout and initial values of parameters (see params.h).
#include "models/nn/params.h"

#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/ops.h"
#include "bpt/rng.h"

enum { ALIGNMENT = BPT_TENSOR_ALIGNMENT / sizeof(float) };  // elements

bpt_status_t bpt_params_add(bpt_params_t *params, const bpt_param_t *param) {
    BPT_TRY(bpt_grow(&params->items, params->count, &params->capacity, sizeof *params->items));
    bpt_param_t *p = &params->items[params->count++];
    *p = *param;
    p->count = 1;
    for (int32_t i = 0; i < p->rank; ++i) p->count *= p->shape[i];
    return BPT_OK;
}

static int64_t aligned(int64_t elements) { return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

void bpt_params_layout(bpt_params_t *params) {
    static const bpt_param_group_t order[BPT_N_GROUPS] = {BPT_GROUP_MATRIX, BPT_GROUP_DECAY, BPT_GROUP_NO_DECAY, BPT_GROUP_FROZEN};
    int64_t end = 0, ends[BPT_N_GROUPS];
    for (int place = 0; place < BPT_N_GROUPS; ++place) {
        const bpt_param_group_t group = order[place];
        for (size_t i = 0; i < params->count; ++i) {
            bpt_param_t *p = &params->items[i];
            if (p->group != group) continue;
            p->offset = p->joined ? end : aligned(end);
            end = p->offset + p->count;
        }
        ends[group] = end = aligned(end);
    }
    params->matrix_elements = ends[BPT_GROUP_MATRIX];
    params->decay_elements = ends[BPT_GROUP_DECAY];
    params->trained_elements = ends[BPT_GROUP_NO_DECAY];
    params->elements = ends[BPT_GROUP_FROZEN];
}

void bpt_params_set_matrices(bpt_params_t *params) {
    for (size_t i = 0; i < params->count; ++i)
        if (params->items[i].hidden && params->items[i].group == BPT_GROUP_DECAY) params->items[i].group = BPT_GROUP_MATRIX;
    bpt_params_layout(params);
}

void bpt_params_free(bpt_params_t *params) {
    bpt_free(params->items);
    *params = (bpt_params_t){0};
}

const bpt_param_t *bpt_params_find(const bpt_params_t *params, const char *name) {
    for (size_t i = 0; i < params->count; ++i)
        if (!strcmp(params->items[i].name, name)) return &params->items[i];
    return NULL;
}

// Four words for elements 4 b .. 4 b + 3.
static void block_words(uint64_t block, uint64_t key, uint32_t words[4]) {
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    const uint32_t keys[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    bpt_philox(counter, keys, words);
}

static double unit(uint32_t word) { return ((double)word + 0.5) * 0x1p-32; }  // (0, 1)

// Box and Muller 1958: two normal numbers from two words.
static void normal_pair(uint32_t a, uint32_t b, double out[2]) {
    const double radius = sqrt(-2 * log(unit(a))), angle = 6.283185307179586 * unit(b);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

void bpt_param_init_values(const bpt_param_t *param, uint64_t seed, float *out) {
    const uint64_t key = bpt_mix64(bpt_mix64(seed) ^ bpt_hash_string(param->name));
    for (int64_t i = 0; i < param->count; i += 4) {
        double value[4] = {0, 0, 0, 0};
        uint32_t words[4];
        block_words((uint64_t)i / 4, key, words);
        for (int c = 0; c < 4; ++c) {
            if (param->init == BPT_INIT_ONE) value[c] = 1;
            if (param->init == BPT_INIT_UNIFORM) value[c] = (2 * unit(words[c]) - 1) * param->bound;
            if (param->init == BPT_INIT_NORMAL && c % 2 == 0) normal_pair(words[c], words[c + 1], value + c);
        }
        for (int c = 0; c < 4 && i + c < param->count; ++c) out[i + c] = (float)value[c];
    }
}
