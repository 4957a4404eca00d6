// The rows of a block of keys of a graph that a rule makes, for block_side.h: ROWS_PER_TILE neighbouring nodes of one level, of which range_of_row
// has the queries that read them. Rows of the table of positions are looked up edge by edge.
#define HAS_REL false

FUNCTION int4 position_of_key(CONTEXT, int4 g, block_t block, int u) {
    OPEN
    return INT4(block.level, (block.number * TO_INT(ROWS_PER_TILE) + u) << span_shift(g, block.level), 0, 0);
}
// Of the queries that read row u of the block by a range, those that this call asks for.
FUNCTION int4 range_of_row(CONTEXT, int4 g, block_t block, int u, int r) {
    OPEN
    const int4 position = position_of_key(PASS, g, block, u);
    if (own_row[u] == NO_ROW || !node_exists(g, block.n_true, position)) return EMPTY_RANGE;
    const bool roots = (p.calls & CALL_ROOTS) != 0u;
    const int4 range = tile_key_range(g, block.n_true, position, r);
    const int first = roots ? root_node(g, block.n_true) : 0;
    const int begin = max(range.x, first), end = min(range.y, roots ? first + 1 : (p.calls & CALL_LEAVES) != 0u ? g.y : range.y);
    return begin < end ? INT4(begin, end, -1, 0) : EMPTY_RANGE;
}
// The block's rows in the tensors, NO_ROW where there is none.
FUNCTION void set_row_ranges(CONTEXT, int4 g, block_t block) {
    OPEN
    const int first = block.number * TO_INT(ROWS_PER_TILE);
    for (uint u = LOCAL_ID; u < ROWS_PER_TILE; u += WG) {
        const int place = first + TO_INT(u);
        own_row[u] = place >= keys_of_level(g, p.other, block.level)
                         ? NO_ROW
                         : row_of_node(g, p.leaf_rows, p.other, block.sequence, first_of_level(g, block.level) + place);
    }
}
// Of each range number the union of the rows' ranges.
FUNCTION void set_block(CONTEXT, int4 g, block_t block) {
    OPEN
    for (int r = TO_INT(LOCAL_ID); r < block.n_ranges; r += TO_INT(WG)) {
        int4 nodes = INT4(0x7FFFFFFF, 0, 0, 0);
        for (int u = 0; u < TO_INT(ROWS_PER_TILE); ++u) {
            const int4 range = range_of_row(PASS, g, block, u, r);
            if (range.x < range.y) nodes = INT4(min(nodes.x, range.x), max(nodes.y, range.y), 0, 0);
        }
        union_of[r] = nodes.y == 0 ? INT4(0, 0, 0, 0) : nodes;
    }
}
FUNCTION int4 entries_of(CONTEXT, int r, int4 nodes, int start, int first, int end) { return INT4(0, 0, 1, 0); }
FUNCTION float entry_product(CONTEXT, int code, uint i) { return 0.0f; }
// The code of a node for dropout, by its row.
FUNCTION uint code_of_node(CONTEXT, uint row) {
    OPEN
    return AT(row_keys, 2u * row);
}
FUNCTION int node_of_row(CONTEXT, block_t block, uint row) {
    OPEN
    return row < p.leaf_rows ? TO_INT(row) - TO_INT(block.sequence) * p.n : p.n + TO_INT(row - p.leaf_rows - block.sequence * p.other);
}
// Where a head of the partial sums of a row of the block begins, of a list in several parts: [key and part][dk, dv][d].
FUNCTION uint key_part_place(CONTEXT, block_t block, uint row, uint head) {
    OPEN
    const uint node = TO_UINT(node_of_row(PASS, block, row) - p.first_node);
    return ((block.sequence * p.n_nodes + node) * p.parts + block.part) * 2u * p.heads * p.head_dim + head * p.head_dim;
}
