// What a block leaves for the gradient of keys and values. The kernel has the bindings of key_sums.h; blocks of its dispatch are those from
// first_list on, and the first one has rows from first_row on, each list_rows of them.
#include "cl/attention/key_sums.h"

// The row of a place of the list.
FUNCTION uint key_sum_row(CONTEXT, block_t block, int place) {
    OPEN
    return p.first_row + (block.sequence * p.n_tiles + TO_UINT(block.number)) * p.list_rows + TO_UINT(place);
}
// Writes down the unions; behind start_ranges.
FUNCTION void put_key_list(CONTEXT, block_t block) {
    OPEN
    const uint to = key_list_place(p.first_list + block.sequence * p.n_tiles + TO_UINT(block.number), RANGES);
    for (int r = TO_INT(LOCAL_ID); r <= block.n_ranges; r += TO_INT(WG)) {
        AT(key_lists, to + 2u * TO_UINT(r)) = r < block.n_ranges ? TO_UINT(range_begin[r]) : 0u;
        AT(key_lists, to + 2u * TO_UINT(r) + 1u) = key_sum_row(PASS, block, range_start[r]);
    }
}
