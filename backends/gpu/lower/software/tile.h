// Sizes of a tile of attention (attention_tile.h).
#ifndef BPT_GPU_LOWER_SOFTWARE_TILE_H
#define BPT_GPU_LOWER_SOFTWARE_TILE_H

#include "backends/gpu/lower/attention_problem.h"

// Work-groups for tiles of neighbouring nodes (cl/software/tiles.h), in the words of tiles of queries: of tiles of keys, rows are keys and
// keys are queries. rows_per_tile 0: there is no room for any.
typedef struct {
    uint32_t group_size, rows_per_tile, rows_per_item, keys_per_item, columns_per_item, keys_per_step;
    uint32_t simd_width;            // rows of a vector in registers
    uint32_t ranges, most_columns;  // sizes of local arrays
    int64_t rounds;       // of all loops of an item for one tile, or part of a tile of spans, at most; set where a driver limits them
    int64_t part;         // nodes of a part of what spans read
    uint32_t turn_heads;  // that a group takes one after the other
} bpt_gpu_attention_tile_t;

// Groups of items that have all rows of the tile together, each with other keys.
static inline int64_t bpt_attention_tile_parts(const bpt_gpu_attention_tile_t *t) {
    return t->group_size / (t->rows_per_tile / t->rows_per_item);
}

// The blueprint of tiles (backends/gpu/blueprint.h).
typedef struct {
    uint32_t rows_per_tile, group_size, rows_per_item, sums, keys_per_step, heads;
} bpt_attention_tile_rule_t;

#endif
