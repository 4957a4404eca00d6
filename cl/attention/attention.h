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
