// Local arrays of the kernels that take a block of queries (block.h): their .inc files include this, so C reads it too.
#include "cl/attention/attention_locals.h"
#include "cl/attention/block_params.h"

// low, high, base [range][row of the block]: the nodes that a row reads, and base + node * range_step is their row of the table of positions.
// list_*: of the nodes of a step. edges [node][row], a byte each: EDGE_* of block.h.
#define BLOCK_LOCALS(L)                                                                                               \
    RANGE_LOCALS_OF(L, RANGES)                                                                                        \
    L(int, low, RANGES * ROWS_PER_TILE) L(int, high, RANGES * ROWS_PER_TILE) L(int, base, RANGES * ROWS_PER_TILE)     \
    L(int, range_step, RANGES) L(int, range_row, RANGES) L(int, range_rows, RANGES) L(int, range_entry, RANGES)       \
    L(uint, own_row, ROWS_PER_TILE) L(uint, own_source, ROWS_PER_TILE)                                            \
    L(int, list_range, KEYS_PER_STEP) L(uint, list_row, KEYS_PER_STEP) L(uint, list_code, KEYS_PER_STEP)              \
    L(uint, edges, KEYS_PER_STEP * ROWS_PER_TILE / 4u) L(int, entry_row, ENTRIES)
// The same of rows of either side (range_block.h), which have so many ranges.
#define RANGE_BLOCK_LOCALS(L, row_ranges)                                                                                        \
    RANGE_LOCALS_OF(L, RANGES) L(int4, union_of, RANGES) L(int, row_range, 2u * (row_ranges))                                \
    L(uint, own_row, ROWS_PER_TILE) L(uint, own_source, ROWS_PER_TILE)                                                \
    L(int, list_range, KEYS_PER_STEP) L(uint, list_row, KEYS_PER_STEP) L(uint, list_code, KEYS_PER_STEP)              \
    L(uint, edges, KEYS_PER_STEP * ROWS_PER_TILE / 4u)
