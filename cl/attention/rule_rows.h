// The rows of a block of a graph that a rule makes, for four_rows.h.
#define HAS_REL ((p.calls & CALL_REL) != 0u)

// The nodes that row u of the block reads by a range.
FUNCTION int4 range_of_row(CONTEXT, int4 g, block_t block, int u, int r) {
    OPEN
    const int4 position = tile_position(TO_INT(ROWS_PER_TILE), p.level, block.number, u);
    if (!is_in_bucket(g, position) || !node_exists(g, block.n_true, position)) return EMPTY_RANGE;
    return tile_range(g, block.n_true, p.level, position, r);
}
// The block's rows in the tensors, NO_ROW where there is none: own_row of all nodes, own_existing of those that exist, own_source of these
// where q is stored; of each range the union {begin, end, lowest, highest row of the table} and {lowest, highest base, step, 0}.
FUNCTION void set_block(CONTEXT, int4 g, block_t block) {
    OPEN
    for (uint u = LOCAL_ID; u < ROWS_PER_TILE; u += WG) {
        const int4 position = tile_position(TO_INT(ROWS_PER_TILE), p.level, block.number, TO_INT(u));
        uint row = NO_ROW, existing = NO_ROW, source = NO_ROW;
        if (is_in_bucket(g, position)) {
            const int node = position.x == 0 ? position.y : node_number(g, position);
            row = row_of_node(g, p.leaf_rows, p.other, block.sequence, node);
            if (node_exists(g, block.n_true, position)) {
                existing = row;
                source = stored_row(g, p.calls, row, node);
            }
        }
        own_row[u] = row;
        own_existing[u] = existing;
        own_source[u] = source;
    }
    for (int r = TO_INT(LOCAL_ID); r < block.n_ranges; r += TO_INT(WG)) {
        int4 nodes = INT4(0x7FFFFFFF, 0, 0x7FFFFFFF, -1), bases = INT4(0x7FFFFFFF, -0x7FFFFFFF, 0, 0);
        for (int u = 0; u < TO_INT(ROWS_PER_TILE); ++u) {
            const int4 range = range_of_row(PASS, g, block, u, r);
            if (range.x >= range.y) continue;
            const int last_row = range.z + (range.y - 1 - range.x) * range.w, base = range.z - range.x * range.w;
            nodes = INT4(min(nodes.x, range.x), max(nodes.y, range.y), min(nodes.z, min(range.z, last_row)),
                         max(nodes.w, max(range.z, last_row)));
            bases = INT4(min(bases.x, base), max(bases.y, base), range.w, 0);
        }
        if (nodes.y == 0) nodes = INT4(0, 0, 0, -1);
        union_of[r] = nodes;
        base_of[r] = bases;
    }
}
// The entries of a range with nodes `nodes` in the step with places first .. end - 1: {first row of the table, number of rows, from one to the
// next, 0}.
FUNCTION int4 entries_of(CONTEXT, int r, int4 nodes, int start, int first, int end) {
    OPEN
    const int from = nodes.x + max(first - start, 0), to = min(nodes.y, nodes.x + end - start);
    if (from >= to) return INT4(0, 0, 1, 0);
    const int4 bases = base_of[r];
    const int near = from * bases.z, far = (to - 1) * bases.z, stride = bases.z == 2 || bases.z == -2 ? 2 : 1;
    const int lowest = max(nodes.z, bases.x + min(near, far)), highest = min(nodes.w, bases.y + max(near, far));
    return INT4(lowest, max((highest - lowest) / stride + 1, 0), stride, 0);
}
// The code of a node for dropout, by its row.
FUNCTION uint code_of_node(CONTEXT, uint row) {
    OPEN
    return AT(row_keys, 2u * row);
}
// q . r of an edge of the item's row i: 0 without a row of the table.
FUNCTION float entry_product(CONTEXT, int code, uint i) {
    OPEN
    if (code == PLAIN_EDGE) return 0.0f;
    return number_of(by_fours[TO_UINT(code - FIRST_ENTRY) * 4u + FOUR], i);
}
