// A blueprint: the choices that a kernel is compiled with, where several compute the same (sizes of tiles, what a work-item holds). It is
// plain numbers, so that it can be compared and hashed; with the constants that follow from a problem it makes a variant, the key of the
// cache of compiled kernels (bpt_gpu_variant_t). As text it is one word: in BPT_TUNING, `bpt devices`, `bpt doctor --compile`, the file
// that `bpt tune` writes and a run's config.json. Which one a device takes says selector.def. Knows no API and no op.
#ifndef BPT_GPU_BLUEPRINT_H
#define BPT_GPU_BLUEPRINT_H

#include "bpt/base.h"

typedef enum {
    BPT_BLUEPRINT_UNSET,      // what the selector says
    BPT_BLUEPRINT_NONE,       // the kernel is not used
    BPT_BLUEPRINT_TILES,      // products by tiles in local memory (cl/matmul/matmul.cl)
    BPT_BLUEPRINT_WIDE,       // products by blocks in registers (cl/software/matmul_wide.cl)
    BPT_BLUEPRINT_LIBRARY,    // products by the driver's library
    BPT_BLUEPRINT_MATRIX,     // products by the device's units for matrices (cl/matrix/matmul_matrix.cl)
    BPT_BLUEPRINT_ROWS,       // attention by tiles of rows (cl/software/tiles.h)
    BPT_BLUEPRINT_BLOCK,      // attention by blocks of queries in registers (cl/attention/attention_block.cl)
    BPT_BLUEPRINT_WARPS,      // attention by warps on matrix units (cl/attention/attention_warp.cl)
    BPT_BLUEPRINT_FRAGMENTS,  // attention by blocks of queries on matrix units that a subgroup shares (cl/attention/attention_fragment.cl)
} bpt_blueprint_kind_t;

enum { BPT_TILE_ROWS, BPT_TILE_COLUMNS, BPT_TILE_DEPTH, BPT_TILE_ITEM_ROWS, BPT_TILE_ITEM_COLUMNS };  // of a tile and of an item
enum { BPT_WIDE_ROWS, BPT_WIDE_COLUMNS, BPT_WIDE_GROUP, BPT_WIDE_LANES };                             // columns: vectors of LANES
enum { BPT_LIBRARY_TF32 };  // 1: f32 operands may be rounded to TF32
// Fragments that a subgroup holds, subgroups of a work-group, depth of tiles.
enum { BPT_MATRIX_ROWS, BPT_MATRIX_COLUMNS, BPT_MATRIX_GROUP_ROWS, BPT_MATRIX_GROUP_COLUMNS, BPT_MATRIX_DEPTH };
// Rows of a tile, at most; items of a group, rows of an item, sums by fours that it has in registers, keys of a step, heads that a group
// takes one after the other.
enum { BPT_ROWS_TILE, BPT_ROWS_GROUP, BPT_ROWS_ITEM, BPT_ROWS_SUMS, BPT_ROWS_KEYS, BPT_ROWS_HEADS };
enum { BPT_BLOCK_KEYS, BPT_BLOCK_KEYS_BACK };  // of an item in a step, at most, forward and backward; the same of fragments
enum { BPT_WARPS_GROUP, BPT_WARPS_KEYS };      // warps of a group, a head each; keys of a step, at most
enum { BPT_NONE_OF_FRAGMENTS };                // 1: which none is meant

enum { BPT_BLUEPRINT_SIZES = 6, BPT_BLUEPRINT_TEXT = 64 };

typedef struct {
    bpt_blueprint_kind_t kind;
    uint32_t size[BPT_BLUEPRINT_SIZES];
} bpt_blueprint_t;

// "tiles:64,64,16,8,8", "wide:8,2,8", "wide:8,2,1,16", "library", "library-tf32", "matrix:2,2,2,2,32", "rows:16,64,4,4,64,1",
// "block:5,3", "warps:4,128", "none" (no warps), "fragments:3,3", "no-fragments". Also names alone, for their usual sizes, and "8,2,8" and
// "0,0,0" for "wide:8,2,8" and "tiles". False: not such a text, or sizes that the kernel cannot have on any device.
bool bpt_blueprint_parse(const char *text, bpt_blueprint_t *out);
size_t bpt_blueprint_text(const bpt_blueprint_t *b, char *text, size_t bytes);  // how long it is
bool bpt_blueprint_same(const bpt_blueprint_t *a, const bpt_blueprint_t *b);

#endif
