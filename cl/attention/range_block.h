// The rows of a block of either side of a table (table_rows.h), or of keys of a graph that a rule makes (key_rows.h), for block.h: of each of the
// block's ranges, which nodes a row reads is in `row_range`. No relative positions, so no entries.
#define WITHOUT_ENTRIES
#if defined(KEY_RULES)
#include "cl/attention/key_rows.h"

// The tensor row of a node of the other side; the nodes that row u of the block reads by a range.
FUNCTION uint row_of_other(CONTEXT, int4 g, block_t block, int node) {
    OPEN
    return row_of_node(g, p.leaf_rows, p.other, block.sequence, node);
}
FUNCTION int4 nodes_of_row(CONTEXT, int4 g, block_t block, int u, int r) {
    OPEN
    const int at = 2 * (r * TO_INT(ROWS_PER_TILE) + u);
    return INT4(row_range[at], row_range[at + 1], -1, 0);
}
FUNCTION void set_ranges_of_rows(CONTEXT, int4 g, block_t block) {
    OPEN
    for (int i = TO_INT(LOCAL_ID); i < block.n_ranges * TO_INT(ROWS_PER_TILE); i += TO_INT(WG)) {
        const int4 range = range_of_row(PASS, g, block, i % TO_INT(ROWS_PER_TILE), i / TO_INT(ROWS_PER_TILE));
        row_range[2 * i] = range.x;
        row_range[2 * i + 1] = range.y;
    }
}
#else
#include "cl/attention/table_rows.h"

FUNCTION uint row_of_other(CONTEXT, int4 g, block_t block, int node) { return TO_UINT(node); }
FUNCTION int4 nodes_of_row(CONTEXT, int4 g, block_t block, int u, int r) { return range_of_row(PASS, g, block, u, r); }
FUNCTION void set_ranges_of_rows(CONTEXT, int4 g, block_t block) {}  // set_row_ranges has done it
#endif

FUNCTION void set_rows(CONTEXT, int4 g, block_t block) { set_row_ranges(PASS, g, block); }
FUNCTION void set_unions(CONTEXT, int4 g, block_t block) {
    OPEN
    set_ranges_of_rows(PASS, g, block);
    set_block(PASS, g, block);
    for (int r = TO_INT(LOCAL_ID); r < block.n_ranges; r += TO_INT(WG)) {  // those that this item has just written
        range_begin[r] = union_of[r].x;
        range_end[r] = union_of[r].y;
    }
}
// list_code: of keys, and of queries their row.
FUNCTION void set_list(CONTEXT, int4 g, block_t block, int first, uint n_nodes, uint n_filled) {
    OPEN
    for (uint t = LOCAL_ID; t < n_filled; t += WG) {
        const int place = first + TO_INT(min(t, n_nodes - 1u)), r = range_of_place(PASS, block.n_ranges, place);
        const uint row = row_of_other(PASS, g, block, range_begin[r] + place - range_start[r]);
        list_range[t] = r;
        list_row[t] = t < n_nodes ? row : NO_ROW;
        list_code[t] = p.threshold == 0u ? 0u : LIST_OF_QUERIES ? row : code_of_node(PASS, row);
    }
}
FUNCTION uint count_entries(CONTEXT, int n_ranges) { return 0u; }
FUNCTION uint edge_of(CONTEXT, int4 g, block_t block, int r, int node, uint u) {
    const int4 range = nodes_of_row(PASS, g, block, TO_INT(u), r);
    return node >= range.x && node < range.y ? PLAIN_EDGE : NO_EDGE;
}
FUNCTION void set_edges(CONTEXT, int4 g, block_t block, int first, uint n_nodes, uint n_filled) {
    OPEN
    for (uint i = LOCAL_ID; i < n_filled * (ROWS_PER_TILE / 4u); i += WG) {
        const uint t = i / (ROWS_PER_TILE / 4u), u = i % (ROWS_PER_TILE / 4u) * 4u;
        const int r = list_range[t], node = range_begin[r] + first + TO_INT(t) - range_start[r];
        uint four = 0u;
        if (t < n_nodes)
            four = edge_of(PASS, g, block, r, node, u) | edge_of(PASS, g, block, r, node, u + 1u) << 8 |
                   edge_of(PASS, g, block, r, node, u + 2u) << 16 | edge_of(PASS, g, block, r, node, u + 3u) << 24;
        edges[i] = four;
    }
}
FUNCTION uint upper_row(CONTEXT, uint u) {
    OPEN
    return own_source[u];
}
