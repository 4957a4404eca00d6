// Numbers of 8 bits in blocks with a scale (see bpt/q8.h).
#include "bpt/q8.h"

#include <math.h>
#include <string.h>

enum { MOST = 127 };

// The scale is rounded down, so that the largest number becomes 127 and the numbers that a block stands for give the same block again.
static bool quantise_block(const float *x, int64_t n, int8_t *bytes, uint16_t *scale) {
    float most = 0;
    for (int64_t i = 0; i < n; ++i) most = fmaxf(most, fabsf(x[i]));
    *scale = bpt_to_f16(most / MOST);
    if (bpt_from_f16(*scale) > most / MOST) --*scale;
    const float step = bpt_from_f16(*scale);
    if (most / MOST > 65504) return false;
    for (int64_t i = 0; i < n; ++i) bytes[i] = step > 0 ? (int8_t)fmaxf(-MOST, fminf(MOST, rintf(x[i] / step))) : 0;
    return true;
}

bool bpt_q8_quantise(const float *x, int64_t columns, int8_t *bytes, uint16_t *scales) {
    for (int64_t at = 0; at < columns; at += BPT_Q8_BLOCK) {
        const int64_t n = columns - at < BPT_Q8_BLOCK ? columns - at : BPT_Q8_BLOCK;
        if (!quantise_block(x + at, n, bytes + at, scales + at / BPT_Q8_BLOCK)) return false;
    }
    return true;
}

void bpt_q8_widen(const int8_t *bytes, const uint16_t *scales, int64_t columns, float *x) {
    for (int64_t i = 0; i < columns; ++i) x[i] = bpt_from_f16(scales[i / BPT_Q8_BLOCK]) * bytes[i];
}

void bpt_q8_pack(const int8_t *bytes, const uint16_t *scales, int64_t columns, uint32_t *row) {
    memset(row, 0, (size_t)bpt_q8_words(columns) * sizeof *row);
    memcpy(row, scales, (size_t)bpt_q8_blocks(columns) * sizeof *scales);
    memcpy(row + bpt_q8_units(columns), bytes, (size_t)columns);
}
