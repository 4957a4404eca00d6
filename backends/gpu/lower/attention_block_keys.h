// The gradient of keys by blocks of 16 of them (cl/attention/attention_block_keys.cl).
#ifndef BPT_GPU_LOWER_ATTENTION_BLOCK_KEYS_H
#define BPT_GPU_LOWER_ATTENTION_BLOCK_KEYS_H

#include "backends/gpu/lower/attention_problem.h"

typedef struct {
    uint32_t queries_per_item, ranges;
    int64_t part;  // queries that a group takes of what reads a key
} bpt_attention_block_keys_t;

// Refuses what no device has room for.
bpt_attention_block_keys_t bpt_lower_attention_block_keys(const bpt_attention_problem_t *a);
// Of a piece of keys by tiles of BPT_ATTENTION_BLOCK (bpt_lower_attention_keys).
void bpt_lower_attention_emit_block_keys(const bpt_attention_problem_t *a, const bpt_attention_block_keys_t *block,
                                         const bpt_attention_piece_t *piece, const bpt_view_t *dots);

#endif
