// Numbers of 8 bits: blocks of 32 neighbours of a row that share a scale, which is an f16. Number i of a block stands for scale * byte i,
// with bytes from -127 to 127. A row's last block may be shorter.
//
// Packed, a matrix is u32 [rows, bpt_q8_words(columns)]: what products read (bpt/ops.h). A row is cut into units of 64 numbers, 17 words
// each: first the scales of all blocks of the row, two in a word, then the bytes of all blocks. What a row lacks to whole units is zero.
#ifndef BPT_Q8_H
#define BPT_Q8_H

#include "bpt/dtype.h"
#include "bpt/status.h"

BPT_BEGIN_DECLS

enum { BPT_Q8_BLOCK = 32, BPT_Q8_UNIT = 2 * BPT_Q8_BLOCK, BPT_Q8_UNIT_WORDS = 1 + BPT_Q8_UNIT / 4 };

static inline int64_t bpt_q8_blocks(int64_t columns) { return (columns + BPT_Q8_BLOCK - 1) / BPT_Q8_BLOCK; }
static inline int64_t bpt_q8_units(int64_t columns) { return (columns + BPT_Q8_UNIT - 1) / BPT_Q8_UNIT; }
static inline int64_t bpt_q8_words(int64_t columns) { return bpt_q8_units(columns) * BPT_Q8_UNIT_WORDS; }

// A row of finite numbers as bytes [columns] and scales [blocks], f16. False when a scale would be beyond f16.
BPT_API bool bpt_q8_quantise(const float *x, int64_t columns, int8_t *bytes, uint16_t *scales);
// And back: exact in f32.
BPT_API void bpt_q8_widen(const int8_t *bytes, const uint16_t *scales, int64_t columns, float *x);
// A row [bpt_q8_words(columns)] from its bytes and scales.
BPT_API void bpt_q8_pack(const int8_t *bytes, const uint16_t *scales, int64_t columns, uint32_t *row);
// The parts of a packed row.
static inline const uint16_t *bpt_q8_scales(const uint32_t *row) { return (const uint16_t *)(const void *)row; }
static inline const int8_t *bpt_q8_bytes(const uint32_t *row, int64_t columns) {
    return (const int8_t *)(const void *)(row + bpt_q8_units(columns));
}

BPT_END_DECLS

#endif
