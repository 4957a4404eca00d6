// Attention on CUDA's matrix units: blocks of 16 queries, a warp for each head.
#ifndef BPT_GPU_LOWER_ATTENTION_WARP_H
#define BPT_GPU_LOWER_ATTENTION_WARP_H

#include "backends/gpu/lower/attention_key_sums.h"

typedef struct {
    uint32_t warps;  // of a group; 0: the call cannot go this way
    uint32_t ranges, most_columns, keys_per_step, entries;
    int64_t part;  // nodes of a part of what spans read
} bpt_attention_warps_t;

// For attention_warp or attention_warp_grad.
bpt_attention_warps_t bpt_lower_attention_warps(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel);
// Over a table of so many slots, for attention_warp_table or attention_warp_side, and what they write.
bpt_attention_warps_t bpt_lower_attention_table_warps(const bpt_attention_problem_t *a, const bpt_view_t *result, bpt_gpu_kernel_t kernel,
                                                      uint32_t slots);
// For attention_warp_keys, of keys that by each of so many ranges are read by some queries.
bpt_attention_warps_t bpt_lower_attention_key_warps(const bpt_attention_problem_t *a, uint32_t ranges);
// Constants and group of a call.
void bpt_lower_attention_set_warps(const bpt_attention_warps_t *w, bpt_kernel_call_t *k);
// The queries of a piece, by blocks.
void bpt_lower_attention_emit_warps(const bpt_attention_problem_t *a, const bpt_attention_warps_t *w, const bpt_attention_piece_t *piece);

// The gradient of queries first_head .. end_head - 1 of piece number `index`, and what its blocks leave for that of keys.
void bpt_lower_attention_emit_warps_grad(const bpt_attention_problem_t *a, const bpt_attention_warps_t *w,
                                         const bpt_attention_piece_t *piece, const bpt_attention_shares_t *shares,
                                         const bpt_attention_key_sums_t *keys, int index, int64_t first_head);

#endif
