// Products of a block of queries in the registers of its items, without matrix units (four_rows.h).
#include "cl/attention/four_rows.h"

// Where a head of the item's row i begins in the queries: a row that is not stored is zero, and reads the first one meanwhile.
FUNCTION uint query_place(CONTEXT, uint i, uint head) {
    OPEN
    const uint row = own_source[4u * FOUR + i];
    return (row == NO_ROW ? 0u : row) * query_stride(PASS) + head * p.head_dim;
}
// 1 for each of the item's rows that is stored, else 0.
FUNCTION float4 stored_rows(CONTEXT) {
    OPEN
    const uint row = 4u * FOUR;
    return FLOAT4(own_source[row] == NO_ROW ? 0.0f : 1.0f, own_source[row + 1u] == NO_ROW ? 0.0f : 1.0f,
                  own_source[row + 2u] == NO_ROW ? 0.0f : 1.0f, own_source[row + 3u] == NO_ROW ? 0.0f : 1.0f);
}
// place[j]: where a head of the item's key j of a step begins; absent: a bit for each key that is zero and not stored. (No function: in GLSL an array
// whose size is a constant of the kernel cannot be part of a result.)
#define FIND_OWN_KEYS(place, absent, n_keys, head)                  \
    UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {              \
        const uint row = row_of_key(PASS, j, n_keys);               \
        place[j] = node_place(PASS, row, 0u, head);                 \
        if (row == NO_ROW) absent |= 1u << j;                       \
    }
// by_fours [entry][rows] = q . r of the step's entries.
#ifdef TABLES
FUNCTION void mix_entries(CONTEXT, place_t at, int n_ranges, int first, int end, uint head) {}
#else
FUNCTION void mix_entries(CONTEXT, place_t at, int n_ranges, int first, int end, uint head) {
    OPEN
    if (!HAS_REL) return;
    int count = TO_INT(ENTRIES);
    for (int e = 4 * TO_INT(SIXTEENTH); e < count; e += 64) {
        const entries_t entries = four_entries(PASS, at, n_ranges, first, end, e);
        count = entries.count;
        if (e >= count) continue;
        uint query[4], place[4];
        float4 sum[4];
        UNROLL for (uint j = 0u; j < 4u; ++j) {
            query[j] = query_place(PASS, j, head);
            place[j] = TO_UINT(part_of(entries.row, j)) * p.head_dim;
            sum[j] = zero4();
        }
        ADD_DOTS(sum, 4u, p.head_dim, q, query, rel, place)
        UNROLL for (uint j = 0u; j < 4u; ++j)
            if (e + TO_INT(j) < count) by_fours[(TO_UINT(e) + j) * 4u + FOUR] = sum[j];
    }
}
#endif
