// A node an item, for the attention kernels that include this: what an item has of its node and of a running sum is in registers, and nothing
// is in local memory, of which some devices pay for every item's access. Neighbouring nodes, or parts of what a node reads, are neighbours in
// a work-group. Constants: HEAD4 (float4s of a head), REL (edges have rows of the table), DROPOUT. Rows are counted in float4s.
#include "cl/attention/attention.h"
#include "cl/software/fours.h"

// A part of a node of a sequence, of one head. A group takes WG units of those from first_unit on.
STRUCT(unit_t) {
    int4 g, position;                      // the graph; the node in it
    uint number, head, columns4, sequence; // columns4: float4s of a row of all heads
    uint all_row, row;                     // of the node in a tensor of all rows, and as it is stored (NO_ROW: it is zero)
    int n_true, first_place, end_place;    // the places of the part in the list of what the node reads
    bool is_unit, exists;                  // is there such a unit; is its node one of the sequence
};
FUNCTION unit_t unit_of_item(CONTEXT) {
    OPEN
    unit_t u;
    u.g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    u.head = GROUP_ID / p.n_tiles;
    u.columns4 = p.heads * HEAD4;
    u.number = p.first_unit + GROUP_ID % p.n_tiles * WG + LOCAL_ID;
    u.is_unit = u.number < p.units;
    const uint safe_unit = u.is_unit ? u.number : p.units - 1u, part = safe_unit % p.parts;
    u.sequence = safe_unit / p.parts / p.n_nodes;
    const int node = p.first_node + TO_INT(safe_unit / p.parts % p.n_nodes);
    u.n_true = TO_INT(AT(lengths, u.sequence));
    u.position = node_position(u.g, node);
    u.all_row = row_of_node(u.g, p.leaf_rows, p.other, u.sequence, node);
    u.row = stored_row(u.g, p.calls, u.all_row, node);
    u.exists = u.is_unit && node_exists(u.g, u.n_true, u.position);
    u.first_place = TO_INT(part) * p.part_nodes;
    u.end_place = part + 1u == p.parts ? 0x7FFFFFFF : u.first_place + p.part_nodes;
    return u;
}

// A row that is not stored counts as zero. Instead of it one is read that the node reads anyway, its own or that of its first leaf.
FUNCTION int first_leaf(int4 g, int4 position) { return graph_has(g, GRAPH_TREE) ? position.y << position.x : min(position.y, g.y - 1); }
FUNCTION uint safe_row(unit_t u, uint row) {
    return row != NO_ROW ? row : u.row != NO_ROW ? u.row : u.sequence * TO_UINT(u.g.y) + TO_UINT(first_leaf(u.g, u.position));
}

// The nodes of a range that belong to the part, `start` being the place of the range's first one.
FUNCTION int first_of_part(unit_t u, int4 range, int start) { return range.x + max(u.first_place - start, 0); }
FUNCTION int end_of_part(unit_t u, int4 range, int start) { return range.x + min(range.y - range.x, u.end_place - start); }

// Four elements of partial results: their rows need not begin at a multiple of four.
FUNCTION void put_partial(CONTEXT, uint at, float4 v) {
    OPEN
    AT(partial, at) = v.x;
    AT(partial, at + 1u) = v.y;
    AT(partial, at + 2u) = v.z;
    AT(partial, at + 3u) = v.w;
}

// Is the edge's weight dropped?
FUNCTION bool is_dropped(CONTEXT, uint head, uint key_row, uint query_row) {
    OPEN
    return DROPOUT != 0u && dropout_bits(AT(row_keys, 2u * key_row), AT(row_keys, 2u * query_row), AT(row_keys, 2u * query_row + 1u),
                                         p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold;
}
