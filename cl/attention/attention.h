// What the attention kernels share: rows of nodes, and walking the nodes of several ranges as one list.
#include "core/intervals/rules/intervals.h"
#include "cl/attention/calls.h"
#define NO_ROW 0xFFFFFFFFu
#define LOWEST (-3.0e38f)

FUNCTION float abs_float(float x) { return x < 0.0f ? -x : x; }

// Row of a node in a tensor of all rows.
FUNCTION uint row_of_node(int4 g, uint leaf_rows, uint other, uint sequence, int node) {
    return node < g.y ? sequence * TO_UINT(g.y) + TO_UINT(node) : leaf_rows + sequence * other + TO_UINT(node - g.y);
}
// The same where q, k and v of other nodes are zero and not stored: NO_ROW.
FUNCTION uint stored_row(int4 g, uint calls, uint row, int node) { return node >= g.y && (calls & CALL_ZERO_SPANS) != 0u ? NO_ROW : row; }

// total += sum of term(c) over c < count, in four sums, which is quicker and rounds less than one.
#define ADD_TERMS(total, count, term)                             \
    {                                                             \
        float sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f; \
        uint c = 0u;                                              \
        for (; c + 4u <= count; c += 4u) {                        \
            sum0 += term(c);                                      \
            sum1 += term(c + 1u);                                 \
            sum2 += term(c + 2u);                                 \
            sum3 += term(c + 3u);                                 \
        }                                                         \
        for (; c < count; ++c) sum0 += term(c);                   \
        total += (sum0 + sum1) + (sum2 + sum3);                   \
    }

// Ranges in local memory: range_begin[r] .. range_end[r] - 1 are nodes, range_start[r] is the place of the first one in the list of all
// ranges' nodes; one more start is the length of the list.
#define RANGE_LOCALS_OF(L, most) L(int, range_begin, most) L(int, range_end, most) L(int, range_start, most + 1)
#define RANGE_LOCALS(L) RANGE_LOCALS_OF(L, MOST_RANGES)
// Starts from lengths: every item adds up those before its own ranges. (A loop inside of if (LOCAL_ID == 0u) miscompiles in PoCL 3.1.)
#define START_RANGES(n_ranges)                                                                       \
    for (int r = TO_INT(LOCAL_ID); r <= n_ranges; r += TO_INT(WG)) {                                 \
        int start = 0;                                                                               \
        for (int before = 0; before < r; ++before) start += range_end[before] - range_begin[before]; \
        range_start[r] = start;                                                                      \
    }
// A part of a list that goes on over several sets of ranges: where it begins among `count` nodes, before which `passed` have been.
#define PART_BEGIN(begin, passed, count) min(max((begin) - (passed), 0), count)
// Sets r to the range that holds place t.
#define FIND_RANGE(r, n_ranges, t)               \
    int r = 0;                                   \
    for (int above = n_ranges; above - r > 1;) { \
        const int middle = (r + above) / 2;      \
        if (range_start[middle] <= t)            \
            r = middle;                          \
        else                                     \
            above = middle;                      \
    }
