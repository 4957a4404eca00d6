// What the gradients of a block of queries share (four_rows.h). EDGE_GRADIENT(i): of four rows, [key of the step][rows]; PUT_ENTRY(i, sum):
// takes the sum of those of an entry, [entry][rows].
#include "cl/attention/block_sums.h"

FUNCTION float lse_of(CONTEXT, uint i, uint head) {
    OPEN
    const uint row = own_existing[4u * FOUR + i];
    return row == NO_ROW ? 0.0f : AT(lse, row * p.heads + head);
}
FUNCTION float dots_of(CONTEXT, uint i, uint head) {
    OPEN
    const uint row = own_existing[4u * FOUR + i];
    return row == NO_ROW ? 0.0f : AT(dots, row * p.heads + head);
}
// The sum of the gradients of row u's edges with table row `row` to the nodes of a range in the step.
FUNCTION float sum_of_edges(CONTEXT, int4 range, int row, int4 nodes, int start, int first, int end, uint u) {
    OPEN
    const int from = max(range.x, nodes.x + first - start), to = min(range.y, nodes.x + end - start);
    int node = from, last = to;
    if (range.w == 0) {
        if (row != range.z) return 0.0f;  // all nodes of the range have one row
    } else {
        const int step = range.w, far = row - range.z;
        node = range.x + far / step;
        if (far / step * step != far || node < from || node >= to) return 0.0f;
        last = node + 1;
    }
    float sum = 0.0f;
    for (int m = node; m < last; ++m) sum += number_of(EDGE_GRADIENT(TO_UINT(start + m - nodes.x - first) * 4u + u / 4u), u % 4u);
    return sum;
}
// Gives each entry the sums of its edges, by four rows of the block.
FUNCTION void pull_entries(CONTEXT, int4 g, block_t block, place_t at, int first, int end) {
    OPEN
    const uint four = LOCAL_ID % 4u;
    int before = 0;  // entries of the ranges before
    for (int r = at.range; r < block.n_ranges && at.start < end; ++r) {
        const int4 nodes = union_of[r], entries = entries_of(PASS, r, nodes, at.start, first, end);
        // Entries that come to this item by turns.
        for (int i = (TO_INT(LOCAL_ID / 4u) + 16 - before % 16) % 16; i < entries.y; i += 16) {
            float4 sum = zero4();
            for (uint u = 0u; u < 4u; ++u) {
                const int4 range = range_of_row(PASS, g, block, TO_INT(4u * four + u), r);
                const float x = sum_of_edges(PASS, range, entries.x + i * entries.z, nodes, at.start, first, end, 4u * four + u);
                sum = FLOAT4(u == 0u ? x : sum.x, u == 1u ? x : sum.y, u == 2u ? x : sum.z, u == 3u ? x : sum.w);
            }
            PUT_ENTRY(TO_UINT(before + i) * 4u + four, sum);
        }
        before += entries.y;
        at.start += nodes.y - nodes.x;
    }
}
// Four columns of dq, or of a part of it.
FUNCTION void put_four(CONTEXT, uint place, float4 x) {
    OPEN
    UNROLL for (uint j = 0u; j < 4u; ++j) {
        if (p.parts > 1u)
            AT(partial, place + j) = number_of(x, j);
        else
            STORE(dq, place + j, number_of(x, j));
    }
}
