// What the gradients of a block of queries share (four_rows.h). EDGE_GRADIENT(i): of four rows, [key of the step][rows]; PUT_ENTRY(i, sum):
// takes the sum of those of an entry, [entry][rows].
#include "cl/attention/block_sums.h"

// What a group of a dispatch takes: up to MOST_COLUMNS columns of a head, and blocks or parts first_unit .. end_unit - 1. The head's sums of the
// table begin at `area`; a row of key_sums has `fours` for dk and for dv of `heads` heads.
STRUCT(grad_group_t) {
    uint heads, head, first_column, area, fours, first_unit, end_unit;
};
FUNCTION grad_group_t grad_group(CONTEXT) {
    OPEN
    const uint pieces = (p.head_dim + MOST_COLUMNS - 1u) / MOST_COLUMNS, number = GROUP_ID / pieces;
    grad_group_t group;
    group.heads = p.end_head - p.first_head;
    group.head = p.first_head + number % group.heads;
    group.first_column = (GROUP_ID - number * pieces) * MOST_COLUMNS;
    group.area = (number / group.heads * p.heads + group.head) * p.rel_rows * p.head_dim;
    group.fours = key_sum_four(p.head_dim, group.heads, 0u);
    group.first_unit = p.first_unit + number / group.heads * p.group_units;
    group.end_unit = min(group.first_unit + p.group_units, p.leaf_rows / TO_UINT(p.n) * p.n_tiles * p.parts);
    return group;
}
// Writes down the unions of the block's list, and its end.
FUNCTION void put_key_ranges(CONTEXT, block_t block) {
    OPEN
    for (int r = TO_INT(LOCAL_ID); r <= block.n_ranges; r += TO_INT(WG))
        put_key_range(PASS, block, r, r < block.n_ranges ? union_of[r].x : 0, list_length(PASS, r));
}
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
// The same of the item's four rows.
FUNCTION float4 lse_of_rows(CONTEXT, uint head) {
    return FLOAT4(lse_of(PASS, 0u, head), lse_of(PASS, 1u, head), lse_of(PASS, 2u, head), lse_of(PASS, 3u, head));
}
FUNCTION float4 dots_of_rows(CONTEXT, uint head) {
    return FLOAT4(dots_of(PASS, 0u, head), dots_of(PASS, 1u, head), dots_of(PASS, 2u, head), dots_of(PASS, 3u, head));
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
// The four columns c .. c + 3 of a head of dq, or of a part of it.
FUNCTION void put_four(CONTEXT, uint head_place, uint c, float4 x) {
    OPEN
    const uint place = head_place + c;
    UNROLL for (uint j = 0u; j < 4u; ++j) {
        if (HEAD_REST != 0u && c + j >= p.head_dim) continue;
        if (p.parts > 1u)
            AT(partial, place + j) = number_of(x, j);
        else
            STORE(dq, place + j, number_of(x, j));
    }
}
