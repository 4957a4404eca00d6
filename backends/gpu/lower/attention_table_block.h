// Attention over tables of ranges by blocks of 16 neighbouring rows (cl/attention/table_rows.h), in the registers of items or on matrix
// units: which rows can, and the dispatches.
#ifndef BPT_GPU_LOWER_ATTENTION_TABLE_BLOCK_H
#define BPT_GPU_LOWER_ATTENTION_TABLE_BLOCK_H

#include "backends/gpu/lower/attention_block.h"
#include "backends/gpu/lower/attention_warp.h"

typedef struct {
    int64_t rows;  // of the side, from the first on, that go by blocks; 0: none
    uint32_t keys_per_item, slots;
    bpt_attention_warps_t warps;      // on CUDA's matrix units,
    bpt_attention_block_t fragments;  // or on those that a subgroup shares; else in registers
} bpt_attention_table_block_t;

// Of the queries, forward; of either side, for its gradient.
bpt_attention_table_block_t bpt_lower_attention_table_block(const bpt_attention_problem_t *a);
bpt_attention_table_block_t bpt_lower_attention_table_side(const bpt_attention_problem_t *a, bool of_key);

void bpt_lower_attention_emit_table_block(const bpt_attention_problem_t *a, const bpt_attention_table_block_t *block);
void bpt_lower_attention_emit_table_side(const bpt_attention_problem_t *a, bool of_key, const bpt_attention_table_block_t *block,
                                         const bpt_view_t *dots);

#endif
