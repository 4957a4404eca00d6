// Attention on devices in software (see software.h): one node per work-item on Mesa's rasterizer, tiles for processors, and work-groups
// that keep within the loops that a driver allows.
#ifndef BPT_GPU_LOWER_SOFTWARE_ATTENTION_H
#define BPT_GPU_LOWER_SOFTWARE_ATTENTION_H

#include "backends/gpu/lower/software/software.h"
#include "backends/gpu/lower/software/tile.h"

// Lower a call, or its gradient, with one node per work-item where that can be, else by `others`.
void bpt_software_attention(const bpt_attention_problem_t *a, bool first, bpt_attention_lowering_t others);
void bpt_software_attention_gradient(const bpt_attention_problem_t *a, bool first, bpt_attention_lowering_t others);

// ---- Where a driver ends the loops of a work-item (loops.c); asked where limits.max_loops is not 0 ---------------------
// Keys that a group may take of a single query (attention_rows, or attention_dq for the gradient).
int64_t bpt_software_most_keys(const bpt_attention_problem_t *a, bool gradient);
// Rows of the other side that a group may take of a single row of a table (attention_table_grad).
int64_t bpt_software_most_table_edges(const bpt_attention_problem_t *a);
// Queries, or tiles of queries where `tile` is not NULL, that a group of the gradient may take one after the other.
int64_t bpt_software_most_queries(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece,
                                  const bpt_gpu_attention_tile_t *tile);
// Heads that a group takes one after the other, and the parts of spans, for a tile of queries that read at most `nodes` nodes; turn_heads
// 0: no head fits.
void bpt_software_fit_tile(const bpt_attention_problem_t *a, bpt_gpu_attention_tile_t *tile, int64_t nodes);
// The same for tiles of keys, and the queries of a part, of which there may be fewer than *part_nodes.
void bpt_software_fit_key_tile(const bpt_attention_problem_t *a, bpt_gpu_attention_tile_t *tile, int64_t *part_nodes);

#endif
