// Local arrays of the tile kernels of attention: their .inc files include this, so C reads it too.
#include "cl/attention/attention_locals.h"
#define TILE_PARTS (WG / (ROWS_PER_TILE / ROWS_PER_ITEM))                // groups of items, each with other keys of a step
#define MOST_ENTRIES (KEYS_PER_STEP + 2u * ROWS_PER_TILE + 8u)           // rows of the table of positions that a step uses, at most
#define TILE_VECTORS(count) ((count) * ROWS_PER_TILE / 4u)               // a number for each row, by fours

// What attention_tile has for its running softmax.
#define TILE_SOFTMAX_LOCALS(L)                                                         \
    L(float4, top, TILE_VECTORS(1u)) L(float4, factor, TILE_VECTORS(1u))               \
    L(float4, part_top, TILE_VECTORS(TILE_PARTS)) L(float4, part_total, TILE_VECTORS(TILE_PARTS))

// Of a row: its node's row in a tensor of all rows, NO_ROW: it has no node; and the same where the node exists and is stored.
#define LANE_LOCALS(L) L(uint, lane_row, ROWS_PER_TILE) L(uint, lane_source, ROWS_PER_TILE)

#define TILE_LOCALS(L)                                                                                                \
    RANGE_LOCALS_OF(L, RANGES)                                                                                        \
    L(int, low, RANGES * ROWS_PER_TILE) L(int, high, RANGES * ROWS_PER_TILE) L(int, base, RANGES * ROWS_PER_TILE)     \
    L(int, range_step, RANGES) L(int, range_row, RANGES) L(int, range_rows, RANGES) L(int, range_entry, RANGES)       \
    LANE_LOCALS(L)                                                                                                    \
    L(int, list_node, KEYS_PER_STEP) L(int, list_range, KEYS_PER_STEP) L(uint, list_row, KEYS_PER_STEP)               \
    L(uint, list_code, KEYS_PER_STEP) L(int, entry_row, MOST_ENTRIES) L(int, entry_range, MOST_ENTRIES)               \
    L(uint, dropped, TILE_VECTORS(KEYS_PER_STEP))
