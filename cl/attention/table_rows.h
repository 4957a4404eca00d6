// The rows of a block over a table of ranges, for four_rows.h: ROWS_PER_TILE neighbouring rows, from row 0 on, of p.slots ranges each. An entry of
// the table has SLOT_WORDS words, of which the first two are begin and end.
//
// Of a slot, rows whose ranges touch one another, each that of the row before, make a *run*, whose union is a range of the block's list: queries of
// one sentence, document or window, which share most of what they read. Where the next text begins, and far from here what it reads, the next run
// does. All nodes of a run are read, so a list is at most as long as those of its rows one after the other: where rows share nothing the block
// loads as much as 16 groups with a row each, and masks the other rows' scores. row_range: [slot][row of the block]{begin, end}. union_of of a run:
// {begin, end, slot, its first row + 256 times the row behind its last one}. Runs are numbered slot by slot; behind the last one they are empty.
#define HAS_REL false

FUNCTION void set_row_ranges(CONTEXT, int4 g, block_t block) {
    OPEN
    for (uint i = LOCAL_ID; i < p.slots * ROWS_PER_TILE; i += WG) {
        const uint row = TO_UINT(block.number) * ROWS_PER_TILE + i % ROWS_PER_TILE;
        const uint entry = (min(row, p.leaf_rows - 1u) * p.slots + i / ROWS_PER_TILE) * SLOT_WORDS;
        const int begin = TO_INT(AT(table, entry)), end = TO_INT(AT(table, entry + 1u));
        row_range[2u * i] = begin;
        row_range[2u * i + 1u] = row < p.leaf_rows ? max(begin, end) : begin;
    }
}
// The nodes that row u of the block reads by a run.
FUNCTION int4 range_of_row(CONTEXT, int4 g, block_t block, int u, int r) {
    OPEN
    const int4 run = union_of[r];
    const int at = 2 * (run.z * TO_INT(ROWS_PER_TILE) + u);
    if (u < (run.w & 255) || u >= run.w >> 8) return EMPTY_RANGE;
    return INT4(row_range[at], row_range[at + 1], -1, 0);
}
// An item goes over all ranges until it has found the run of its number.
FUNCTION void set_runs(CONTEXT) {
    OPEN
    const int pairs = TO_INT(p.slots * ROWS_PER_TILE);
    for (int run = TO_INT(LOCAL_ID); run < pairs; run += TO_INT(WG)) {
        int4 nodes = INT4(0, 0, 0, 0);
        int number = -1, near_begin = 0, near_end = -1;  // of the row before; before the first one, no range touches it
        for (int i = 0; i < pairs && number <= run; ++i) {
            const int u = i % TO_INT(ROWS_PER_TILE), begin = row_range[2 * i], end = row_range[2 * i + 1];
            if (u == 0) near_end = -1;
            if (begin < end) {
                if (begin > near_end || end < near_begin) ++number;
                near_begin = begin;
                near_end = end;
                if (number == run)
                    nodes = nodes.y == 0 ? INT4(begin, end, i / TO_INT(ROWS_PER_TILE), u + 256 * (u + 1))
                                         : INT4(min(nodes.x, begin), max(nodes.y, end), nodes.z, (nodes.w & 255) + 256 * (u + 1));
            }
        }
        union_of[run] = nodes;
    }
}
// The block's rows, NO_ROW where there is none, and its runs.
FUNCTION void set_block(CONTEXT, int4 g, block_t block) {
    OPEN
    for (uint u = LOCAL_ID; u < ROWS_PER_TILE; u += WG) {
        const uint row = TO_UINT(block.number) * ROWS_PER_TILE + u;
        own_row[u] = row < p.leaf_rows ? row : NO_ROW;
        own_source[u] = own_row[u];
    }
    set_runs(PASS);
}
FUNCTION int4 entries_of(CONTEXT, int r, int4 nodes, int start, int first, int end) { return INT4(0, 0, 1, 0); }
FUNCTION uint code_of_node(CONTEXT, uint row) {
    OPEN
    return AT(key_codes, row);
}
FUNCTION float entry_product(CONTEXT, int code, uint i) { return 0.0f; }
