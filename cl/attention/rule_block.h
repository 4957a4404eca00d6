// The rows of a block of a graph that a rule makes, for block.h: what each reads of every range is in `low`, `high` and `base`.
// The tensor rows of the block's rows, and which nodes each reads by every range.
FUNCTION void set_rows(CONTEXT, int4 g, block_t block) {
    OPEN
    for (uint u = LOCAL_ID; u < ROWS_PER_TILE; u += WG) {
        const int4 position = tile_position(TO_INT(ROWS_PER_TILE), p.level, block.number, TO_INT(u));
        uint row = NO_ROW, source = NO_ROW;
        if (is_in_bucket(g, position)) {
            const int node = position.x == 0 ? position.y : node_number(g, position);
            row = row_of_node(g, p.leaf_rows, p.other, block.sequence, node);
            if (node_exists(g, block.n_true, position)) source = stored_row(g, p.calls, row, node);
        }
        own_row[u] = row;
        own_source[u] = source;
    }
    for (uint u = LOCAL_ID; u < TO_UINT(block.n_ranges) * ROWS_PER_TILE; u += WG) {
        const int4 position = tile_position(TO_INT(ROWS_PER_TILE), p.level, block.number, TO_INT(u % ROWS_PER_TILE));
        int4 range = INT4(0, 0, -1, 0);
        if (is_in_bucket(g, position) && node_exists(g, block.n_true, position))
            range = tile_range(g, block.n_true, p.level, position, TO_INT(u / ROWS_PER_TILE));
        low[u] = range.x;
        high[u] = range.y;
        base[u] = range.z - range.x * range.w;
        if (range.x < range.y) range_step[u / ROWS_PER_TILE] = range.w;  // of all rows the same
    }
}

// The row of dout, lse and dots, NO_ROW: the node does not exist. Spans have one even where their q is zero and not stored.
FUNCTION uint upper_row(CONTEXT, uint u) {
    OPEN
    return p.level == 0 || own_source[u] != NO_ROW ? own_source[u] : low[u] < high[u] ? own_row[u] : NO_ROW;
}

// Of each range the union of the rows' ranges.
FUNCTION void set_unions(CONTEXT, int4 g, block_t block) {
    OPEN
    for (int r = TO_INT(LOCAL_ID); r < block.n_ranges; r += TO_INT(WG)) {
        int begin = 0x7FFFFFFF, end = 0;
        for (uint u = TO_UINT(r) * ROWS_PER_TILE; u < TO_UINT(r + 1) * ROWS_PER_TILE; ++u)
            if (low[u] < high[u]) {
                begin = min(begin, low[u]);
                end = max(end, high[u]);
            }
        range_begin[r] = min(begin, end);
        range_end[r] = end;
    }
}

// The nodes of the list from place `first` on: n_nodes of them, and up to n_filled nodes that nobody reads. And of each range the table rows
// that the step uses.
FUNCTION void set_list(CONTEXT, int4 g, block_t block, int first, uint n_nodes, uint n_filled) {
    OPEN
    for (uint t = LOCAL_ID; t < n_filled; t += WG) {
        const int place = first + TO_INT(min(t, n_nodes - 1u)), r = range_of_place(PASS, block.n_ranges, place);
        const int node = range_begin[r] + place - range_start[r];
        const uint row = row_of_node(g, p.leaf_rows, p.other, block.sequence, node);
        list_range[t] = r;
        list_row[t] = t < n_nodes ? stored_row(g, p.calls, row, node) : NO_ROW;
        list_code[t] = p.threshold > 0u ? AT(row_keys, 2u * row) : 0u;
    }
    if ((p.calls & CALL_REL) == 0u) return;
    for (int r = TO_INT(LOCAL_ID); r < block.n_ranges; r += TO_INT(WG)) {
        const int from = range_begin[r] + max(first - range_start[r], 0), step = range_step[r];
        const int to = range_begin[r] + min(first + TO_INT(n_nodes), range_start[r + 1]) - range_start[r];
        int first_row = 0x7FFFFFFF, last_row = -1;
        for (uint u = TO_UINT(r) * ROWS_PER_TILE; u < TO_UINT(r + 1) * ROWS_PER_TILE; ++u) {
            const int begin = max(from, low[u]), end = min(to, high[u]);
            if (begin < end) {
                const int row0 = base[u] + begin * step, row1 = base[u] + (end - 1) * step;
                first_row = min(first_row, min(row0, row1));
                last_row = max(last_row, max(row0, row1));
            }
        }
        range_row[r] = first_row;
        range_rows[r] = last_row < first_row ? 0 : (last_row - first_row) / ROW_STRIDE(step) + 1;
    }
}

// The number of entries of the ranges before one.
FUNCTION int entries_before(CONTEXT, int range) {
    OPEN
    int entry = 0;
    for (int r = 0; r < range; ++r) entry += range_rows[r];
    return entry;
}
FUNCTION uint count_entries(CONTEXT, int n_ranges) {
    OPEN
    return (p.calls & CALL_REL) != 0u ? TO_UINT(entries_before(PASS, n_ranges)) : 0u;
}
// Numbers the entries.
FUNCTION void set_entries(CONTEXT, int n_ranges) {
    OPEN
    if ((p.calls & CALL_REL) == 0u) return;
    for (int r = TO_INT(LOCAL_ID); r < n_ranges; r += TO_INT(WG)) {
        const int entry = entries_before(PASS, r), stride = ROW_STRIDE(range_step[r]);
        range_entry[r] = entry;
        for (int e = 0; e < range_rows[r]; ++e) entry_row[entry + e] = range_row[r] + e * stride;
    }
}

// One row's edge to node m of range r, whose table row is base[at] + m * step.
FUNCTION uint edge_of(CONTEXT, int r, int m, uint at) {
    OPEN
    if (m < low[at] || m >= high[at]) return NO_EDGE;
    if ((p.calls & CALL_REL) == 0u) return PLAIN_EDGE;
    return FIRST_ENTRY + TO_UINT(range_entry[r] + (base[at] + m * range_step[r] - range_row[r]) / ROW_STRIDE(range_step[r]));
}
FUNCTION void set_edges(CONTEXT, int4 g, block_t block, int first, uint n_nodes, uint n_filled) {
    OPEN
    for (uint i = LOCAL_ID; i < n_filled * (ROWS_PER_TILE / 4u); i += WG) {
        const uint t = i / (ROWS_PER_TILE / 4u);
        const int r = list_range[t], m = range_begin[r] + first + TO_INT(t) - range_start[r];
        const uint at = TO_UINT(r) * ROWS_PER_TILE + i % (ROWS_PER_TILE / 4u) * 4u;
        uint four = 0u;
        if (t < n_nodes)
            four = edge_of(PASS, r, m, at) | edge_of(PASS, r, m, at + 1u) << 8 | edge_of(PASS, r, m, at + 2u) << 16 |
                   edge_of(PASS, r, m, at + 3u) << 24;
        edges[i] = four;
    }
}
