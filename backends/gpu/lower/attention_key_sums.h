// The gradient of keys and values by blocks of queries (cl/attention/key_sums.h): scratch for what blocks leave, and the dispatches that
// add it up.
#ifndef BPT_GPU_LOWER_ATTENTION_KEY_SUMS_H
#define BPT_GPU_LOWER_ATTENTION_KEY_SUMS_H

#include "backends/gpu/lower/attention_problem.h"

typedef struct {
    int64_t heads;  // that the blocks take before all is added up; 0: this way there is no room, or too much to add
    uint32_t block_rows, ranges;
    bpt_view_t sums, lists;
    struct {
        int64_t list_rows, first_row, first_list;
    } of[BPT_ATTENTION_MAX_PIECES];
} bpt_attention_key_sums_t;

// For queries that go by blocks of so many rows with so many ranges at most. Kernels take `together` heads at a time, where possible.
bpt_attention_key_sums_t bpt_lower_attention_key_sums(const bpt_attention_problem_t *a, const bpt_attention_pieces_t *queries,
                                                      int64_t block_rows, int64_t ranges, int64_t together);
// The keys, in parts of several blocks that read them.
bpt_attention_pieces_t bpt_lower_attention_summed_keys(const bpt_attention_problem_t *a, const bpt_attention_key_sums_t *s);
// Adds up what blocks have left for heads first_head .. end_head - 1.
void bpt_lower_attention_emit_key_sums(const bpt_attention_problem_t *a, const bpt_attention_key_sums_t *s,
                                       const bpt_attention_pieces_t *keys, int64_t first_head, int64_t end_head);

#endif
