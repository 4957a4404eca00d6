// Local arrays of the kernels that take a block of queries by items of four rows (four_rows.h): their .inc files include this, so C reads it too.
#include "cl/attention/block_params.h"
#define MOST_OF(a, b) ((a) > (b) ? (a) : (b))
#define FOUR_ROWS_LOCALS(L)                                                                                          \
    L(int4, union_of, RANGES) L(int4, base_of, RANGES) L(uint, own_row, ROWS_PER_TILE) L(uint, own_existing, ROWS_PER_TILE) \
    L(uint, own_source, ROWS_PER_TILE) L(int4, list_row, 4u * KEYS_PER_ITEM)
// The same over tables of ranges (table_rows.h).
#define TABLE_ROWS_LOCALS(L)                                                                                         \
    L(int4, union_of, RANGES) L(int, row_range, 2 * RANGES) L(uint, own_row, ROWS_PER_TILE) L(uint, own_source, ROWS_PER_TILE) \
    L(int4, list_row, 4u * KEYS_PER_ITEM)
