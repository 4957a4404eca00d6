// A node an item, for the attention kernels that include this: what an item has of its node and of a running sum is in registers, and nothing
// is in local memory, of which some devices pay for every item's access. Neighbouring nodes, or parts of what a node reads, are neighbours in
// a work-group. Constants: HEAD4 (float4s of a head), REL (edges have rows of the table), DROPOUT. Rows are counted in float4s.
#include "cl/attention/attention.h"
#include "cl/software/fours.h"
#define LOCALS(L)

// Unit: part of a node of a sequence. A group takes WG units of those from first_unit on, and a head.
#define ITEM_UNIT                                                                                                \
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);                                                    \
    const uint head = GROUP_ID / p.n_tiles, columns4 = p.heads * HEAD4;                                          \
    const uint unit = p.first_unit + GROUP_ID % p.n_tiles * WG + LOCAL_ID;                                       \
    const bool is_unit = unit < p.units;                                                                         \
    const uint safe_unit = is_unit ? unit : p.units - 1u, part = safe_unit % p.parts;                            \
    const uint sequence = safe_unit / p.parts / p.n_nodes;                                                       \
    const int node = p.first_node + TO_INT(safe_unit / p.parts % p.n_nodes), n_true = TO_INT(AT(lengths, sequence));\
    const int4 position = node_position(g, node);                                                                \
    const uint all_row = row_of_node(g, p.leaf_rows, p.other, sequence, node), row = stored_row(g, p.calls, all_row, node);\
    const bool exists = is_unit && node_exists(g, n_true, position);                                             \
    const int first_place = TO_INT(part) * p.part_nodes, end_place = part + 1u == p.parts ? 0x7FFFFFFF : first_place + p.part_nodes;

// A row that is not stored counts as zero. Instead of it one is read that the node reads anyway, its own or that of its first leaf.
#define SAFE_ROW(its_row) ((its_row) != NO_ROW ? (its_row) : row != NO_ROW ? row : sequence * TO_UINT(g.y) + TO_UINT(first_leaf(g, position)))
FUNCTION int first_leaf(int4 g, int4 position) { return graph_has(g, GRAPH_TREE) ? position.y << position.x : min(position.y, g.y - 1); }

// Walks the places of the part among a range's nodes, `start` being the place of its first one.
#define FOR_PLACES(node, range, start)                                                                           \
    for (int node = range.x + max(first_place - start, 0), node##_end = range.x + min(range.y - range.x, end_place - start);\
         node < node##_end; ++node)

// Four elements of a binding of floats, which partial results are: their rows need not begin at a multiple of four.
#define PUT4(to, at, v)                                                                                           \
    {                                                                                                            \
        AT(to, at) = (v).x;                                                                                       \
        AT(to, (at) + 1u) = (v).y;                                                                                \
        AT(to, (at) + 2u) = (v).z;                                                                                \
        AT(to, (at) + 3u) = (v).w;                                                                                \
    }

// Is the edge's weight dropped?
#define IS_DROPPED(key_row, query_row)                                                                           \
    (DROPOUT != 0u && dropout_bits(AT(row_keys, 2u * (key_row)), AT(row_keys, 2u * (query_row)), AT(row_keys, 2u * (query_row) + 1u),\
                                   p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold)
