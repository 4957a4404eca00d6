// Products of a block of queries by fragments of the device's matrix units (cl/README.md), of f16. Which item holds which number of a fragment is
// the device's own affair, so operands and results go through local memory; what an item does between two products is that of four_rows.h.
//
// All products have the block's 16 rows as columns: keys, values or entries are staged by STEP_KEYS rows, and
//   staged times the block's rows gives by_fours [staged row][row of the block], the dots of a step;
//   staged, transposed, times weights [staged row][row of the block] gives by_fours [column][row of the block], weighted sums.
#define HEAD_REST 0u  // heads are of multiples of 16 columns
#include "cl/attention/four_rows.h"
#define EIGHTS (MOST_COLUMNS / 8u)  // vectors of a head of a row
#define LINE FRAGMENT_LINE(MOST_COLUMNS)
#define ACROSS (ROWS_PER_TILE / FRAGMENT_N)               // fragments beside each other: rows of the block,
#define SUM_TILES (MOST_COLUMNS / FRAGMENT_M * ACROSS)    // of weighted sums,
#define OWN_TILES ((SUM_TILES + SUBGROUPS - 1u) / SUBGROUPS)  // and of those a subgroup's, each SUBGROUPS-th one
#define KEY_FOURS (ENTRIES * 4u)                          // where the step's keys begin in by_fours, behind its entries

// Four numbers as f16 to place i of [staged row][rows of the block by fours].
#define PUT_FOUR_HALVES(array, i, four)                          \
    {                                                           \
        const float4 number = four;                             \
        array[(i) / 2u][(i) % 2u * 2u] = HALVES(number.x, number.y);      \
        array[(i) / 2u][(i) % 2u * 2u + 1u] = HALVES(number.z, number.w); \
    }

#if defined(TABLES) || defined(KEY_RULES)
FUNCTION void set_entries(CONTEXT, place_t at, int n_ranges, int first, int end) {}
FUNCTION uint count_entries() { return 0u; }
FUNCTION void stage_entries(CONTEXT, uint first, uint n_entries) {}
#else
// The table rows of the step's entries; behind them their number.
FUNCTION void set_entries(CONTEXT, place_t at, int n_ranges, int first, int end) {
    OPEN
    for (uint e = 4u * LOCAL_ID; e < ENTRIES; e += 4u * WG)
        entry_rows[e / 4u] = four_entries(PASS, at, n_ranges, first, end, TO_INT(e)).row;
    if (LOCAL_ID == WG - 1u) {
        const entries_t all = four_entries(PASS, at, n_ranges, first, end, 0);
        entry_rows[ENTRIES / 4u] = INT4((p.calls & CALL_REL) != 0u ? all.count : 0, 0, 0, 0);
    }
}
FUNCTION uint entry_row(uint e) { return TO_UINT(part_of(entry_rows[e / 4u], e % 4u)); }
FUNCTION uint count_entries() { return TO_UINT(entry_rows[ENTRIES / 4u].x); }
// The step's entries from one on.
FUNCTION void stage_entries(CONTEXT, uint first, uint n_entries) {
    OPEN
    for (uint i = LOCAL_ID; i < STEP_KEYS * EIGHTS; i += WG) {
        const uint t = i / EIGHTS, e = i % EIGHTS;
        uint4 x = UINT4(0u, 0u, 0u, 0u);
        if (first + t < n_entries) x = EIGHT(rel, entry_row(first + t) * p.head_dim + 8u * e);
        staged[t * LINE + e] = x;
    }
}
#endif

// to [row][row of the block by fours], from `first` on, = the first `count` staged rows times the block's rows.
#define MULTIPLY_STAGED(to, staged, rows, first, count)                                                          \
    for (uint tile = SUBGROUP_ID; tile < ((count) + FRAGMENT_M - 1u) / FRAGMENT_M * ACROSS; tile += SUBGROUPS) { \
        const uint t = tile / ACROSS * FRAGMENT_M;                                                               \
        const uint u = tile % ACROSS * FRAGMENT_N;                                                               \
        FRAGMENT_SUM dots;                                                                                       \
        FRAGMENT_ZERO(dots);                                                                                     \
        for (uint c = 0u; c < MOST_COLUMNS; c += FRAGMENT_K) {                                                   \
            FRAGMENT_LEFT left;                                                                                  \
            FRAGMENT_RIGHT right;                                                                                \
            FRAGMENT_LOAD(left, staged, t * LINE + c / 8u, LINE);                                                \
            FRAGMENT_LOAD_ACROSS(right, rows, u * LINE + c / 8u, LINE);                                          \
            FRAGMENT_MULTIPLY_ADD(dots, left, right);                                                            \
        }                                                                                                        \
        FRAGMENT_STORE(dots, to, (first) + t * 4u + u / 4u, 4u);                                                 \
    }
// The subgroup's tiles of sums += the first `count` staged rows, transposed, times the weights of rows from `first` on.
#define ADD_STAGED(sums, staged, weights, first, count)                              \
    for (uint t = 0u; t < (count); t += FRAGMENT_K) {                                \
        UNROLL for (uint i = 0u; i < OWN_TILES; ++i) {                               \
            const uint tile = i * SUBGROUPS + SUBGROUP_ID;                           \
            const uint c = tile / ACROSS * FRAGMENT_M;                               \
            const uint u = tile % ACROSS * FRAGMENT_N;                               \
            if (tile < SUM_TILES) {                                                  \
                FRAGMENT_LEFT left;                                                  \
                FRAGMENT_RIGHT right;                                                \
                FRAGMENT_LOAD_ACROSS(left, staged, t * LINE + c / 8u, LINE);         \
                FRAGMENT_LOAD(right, weights, ((first) + t) * 2u + u / 8u, 2u);      \
                FRAGMENT_MULTIPLY_ADD(sums[i], left, right);                         \
            }                                                                        \
        }                                                                            \
    }
// to [column][row of the block by fours] = the sums.
#define STORE_SUMS(to, sums)                                                                                                \
    UNROLL for (uint i = 0u; i < OWN_TILES; ++i) {                                                                          \
        const uint tile = i * SUBGROUPS + SUBGROUP_ID;                                                                      \
        if (tile < SUM_TILES) FRAGMENT_STORE(sums[i], to, tile / ACROSS * FRAGMENT_M * 4u + tile % ACROSS * FRAGMENT_N / 4u, 4u); \
    }
// There, columns c .. c + 3 of the item's row i.
FUNCTION float4 stored_columns(CONTEXT, uint c, uint i) {
    OPEN
    return FLOAT4(number_of(by_fours[c * 4u + FOUR], i), number_of(by_fours[c * 4u + 4u + FOUR], i),
                  number_of(by_fours[c * 4u + 8u + FOUR], i), number_of(by_fours[c * 4u + 12u + FOUR], i));
}
