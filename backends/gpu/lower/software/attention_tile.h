// Attention by tiles of neighbouring nodes (cl/software/tiles.h), for OpenCL on processors and what one node per work-item cannot do on
// Mesa's rasterizer: which tiles fit a device, and their dispatches. GPUs have blocks of queries and of keys instead.
#ifndef BPT_GPU_LOWER_SOFTWARE_ATTENTION_TILE_H
#define BPT_GPU_LOWER_SOFTWARE_ATTENTION_TILE_H

#include "backends/gpu/lower/software/tile.h"

// Whether the blueprint of the device is that of tiles.
static inline bool bpt_lower_attention_tiles_chosen(const bpt_attention_problem_t *a) {
    return a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_ROWS].kind == BPT_BLUEPRINT_ROWS;
}

// The tile of attention_tile, or of attention_tile_dq.
bpt_gpu_attention_tile_t bpt_lower_attention_tile(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel);
// The same for tiles of keys, and how many queries of the `part` that are wished for one group may take. Refuses what has no room.
bpt_gpu_attention_tile_t bpt_lower_attention_key_tile(const bpt_attention_problem_t *a, int64_t part, int64_t *part_nodes);

// The constants that all kernels of tiles have.
void bpt_lower_attention_tile_constants(const bpt_gpu_attention_tile_t *tile, uint32_t *constants);

// Queries of a piece by tiles; their gradient; that of keys by tiles of them.
void bpt_lower_attention_emit_tiles(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *tile,
                                    const bpt_attention_piece_t *piece);
void bpt_lower_attention_emit_tile_dq(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *tile,
                                      const bpt_attention_piece_t *piece, const bpt_attention_shares_t *shares);
void bpt_lower_attention_emit_dkv(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *tile,
                                  const bpt_attention_piece_t *piece, const bpt_view_t *dots);

// (attention.c) The queries of a call, or of its gradient, and the tile of those that go by tiles.
bpt_attention_pieces_t bpt_lower_attention_rows_or_tiles(const bpt_attention_problem_t *a, bool gradient, bpt_gpu_attention_tile_t *tile);

#endif
