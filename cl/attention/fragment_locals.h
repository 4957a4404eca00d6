// Local arrays of the kernels that multiply a block of queries by fragments (fragment_products.h): their .inc files include this, so C reads it
// too. A stored row of a head has a vector more than it needs, which spreads rows over the banks of local memory.
#include "cl/attention/four_rows_locals.h"
#define FRAGMENT_LINE(columns) ((columns) / 8u + 1u)

// staged: rows of the other side, or entries. by_fours [entry, row of the other side or column][rows of the block by fours]; weight likewise.
#define FRAGMENT_PRODUCT_LOCALS(L)                                                                                    \
    L(uint4, staged, 16u * KEYS_PER_ITEM * FRAGMENT_LINE(MOST_COLUMNS))                                               \
    L(float4, by_fours, MOST_OF(ENTRIES + 16u * KEYS_PER_ITEM, MOST_COLUMNS) * 4u) L(uint4, weight, 32u * KEYS_PER_ITEM)
// query, and backward upper (rows of dout): the block's rows.
#define FRAGMENT_LOCALS(L)                                                                                            \
    FOUR_ROWS_LOCALS(L) FRAGMENT_PRODUCT_LOCALS(L) L(int4, entry_rows, ENTRIES / 4u + 1u)                             \
    L(uint4, query, 16u * FRAGMENT_LINE(MOST_COLUMNS))
// The block's rows of a side, x and y (fragment_side.h).
#define FRAGMENT_SIDE_LOCALS(L)                                                                                       \
    FRAGMENT_PRODUCT_LOCALS(L) L(uint4, gradient, 32u * KEYS_PER_ITEM)                                                \
    L(uint4, own_first, 16u * FRAGMENT_LINE(MOST_COLUMNS)) L(uint4, own_next, 16u * FRAGMENT_LINE(MOST_COLUMNS))
