// Attention by blocks of queries, in the registers of items (cl/attention/attention_block.cl) or by fragments of matrices that a subgroup
// shares (attention_fragment.cl).
#ifndef BPT_GPU_LOWER_ATTENTION_BLOCK_H
#define BPT_GPU_LOWER_ATTENTION_BLOCK_H

#include "backends/gpu/lower/attention_key_sums.h"

enum { BPT_ATTENTION_BLOCK_ITEMS = 64 };  // of a group

// Work-groups for a block of BPT_ATTENTION_BLOCK queries and a head. keys_per_item 0: there is no room, or no block can be made.
typedef struct {
    bool by_fragments;
    uint32_t keys_per_item, ranges, most_columns, entries;
    int64_t part;    // nodes of a part of what spans read
    int64_t rounds;  // of all loops of an item for a block, about
} bpt_attention_block_t;

bpt_attention_block_t bpt_lower_attention_block(const bpt_attention_problem_t *a, bool backward);
// By fragments; whether that can be depends on where operands lie (bpt_lower_attention_either).
bpt_attention_block_t bpt_lower_attention_fragments(const bpt_attention_problem_t *a, bool backward);
// Of rows of either side, for attention_fragment_table, _side or _keys, which take at most so many of an item's keys at a time.
bpt_attention_block_t bpt_lower_attention_side_fragments(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel, uint32_t ranges,
                                                         uint32_t most_keys);
// Constants and group of a call.
void bpt_lower_attention_set_block(const bpt_attention_problem_t *a, const bpt_attention_block_t *block, bpt_kernel_call_t *k);
void bpt_lower_attention_emit_block(const bpt_attention_problem_t *a, const bpt_attention_block_t *block,
                                    const bpt_attention_piece_t *piece);
// The gradient of queries first_head .. of piece number `index`, and what its blocks leave for that of keys.
void bpt_lower_attention_emit_block_grad(const bpt_attention_problem_t *a, const bpt_attention_block_t *block,
                                         const bpt_attention_piece_t *piece, const bpt_attention_shares_t *shares,
                                         const bpt_attention_key_sums_t *keys, int index, int64_t first_head);

#endif
