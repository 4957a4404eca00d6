// What a block leaves for the gradient of keys and values. The kernel has the bindings of key_sums.h; blocks of its dispatch are those from
// first_list on, and the first one has rows from first_row on, each list_rows of them.
#include "cl/attention/key_sums.h"

// The row of a place of the list.
FUNCTION uint key_sum_row(CONTEXT, block_t block, int place) {
    OPEN
    return p.first_row + (block.sequence * p.n_tiles + TO_UINT(block.number)) * p.list_rows + TO_UINT(place);
}
// Writes down a union of the block's list, which begins with a node at a place; behind the last one the end of the list.
FUNCTION void put_key_range(CONTEXT, block_t block, int r, int first_node, int place) {
    OPEN
    const uint to = key_list_place(p.first_list + block.sequence * p.n_tiles + TO_UINT(block.number), RANGES) + 2u * TO_UINT(r);
    AT(key_lists, to) = TO_UINT(first_node);
    AT(key_lists, to + 1u) = key_sum_row(PASS, block, place);
}
