#include "cl/attention/attention.h"
#include "cl/attention/key_sums.h"

STRUCT(key_sum_t) {
    float4 key, value;
};
// With what block `list` gives to a node, which may be in several of its ranges first .. end - 1: its columns by fours, number `four`.
FUNCTION key_sum_t with_block(CONTEXT, key_sum_t sum, uint list, int first, int end, int node, uint four) {
    OPEN
    const uint fours = key_sum_four(p.head_dim, p.heads, 0u), entry = key_list_place(list, p.ranges);
    key_sum_t with = sum;
    for (int r = first; r < end; ++r) {
        const uint at = entry + 2u * TO_UINT(r), place = TO_UINT(node) - AT(key_lists, at), row = AT(key_lists, at + 1u);
        if (place < AT(key_lists, at + 3u) - row) {
            with.key += AT(key_sums, 2u * (row + place) * fours + four);
            with.value += AT(key_sums, (2u * (row + place) + 1u) * fours + four);
        }
    }
    return with;
}
FUNCTION void put_number(CONTEXT, uint place, float v) {
    OPEN
    if (p.parts > 1u)
        AT(partial, place) = v;
    else
        STORE(dkv, place, v);
}
FUNCTION void put_numbers(CONTEXT, uint place, float4 sum, uint count) {
    put_number(PASS, place, sum.x);
    if (count > 1u) put_number(PASS, place + 1u, sum.y);
    if (count > 2u) put_number(PASS, place + 2u, sum.z);
    if (count > 3u) put_number(PASS, place + 3u, sum.w);
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const int lanes = TO_INT(ROWS_PER_TILE);
    const uint fours = key_sum_four(p.head_dim, p.heads, 0u), head_fours = key_sum_four(p.head_dim, 1u, 0u);
    if (GLOBAL_ID < p.count) {
        const uint unit = GLOBAL_ID / fours, four = GLOBAL_ID - unit * fours, sequence = unit / p.parts / p.n_nodes;
        const int part = TO_INT(unit % p.parts), node = p.first_node + TO_INT(unit / p.parts % p.n_nodes);
        const int n_true = TO_INT(AT(lengths, sequence));
        const int4 position = node_position(g, node);
        key_sum_t sum;
        sum.key = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
        sum.value = sum.key;
        if (node_exists(g, n_true, position)) {
            const int4 leaves = reading_leaves(g, n_true, position), ranges = level_ranges(g, position.x);
            const int first = leaves.x / lanes + part * p.part_blocks, all = leaves.x < leaves.y ? (leaves.y - 1) / lanes + 1 : 0;
            const int end = part + 1 < TO_INT(p.parts) ? min(first + p.part_blocks, all) : all;
            const uint batch = p.leaf_rows / TO_UINT(p.n);
            uint tiles = TO_UINT(tile_count(g, lanes, 0)), lists = 0u;
            for (int block = first; block < end; ++block)
                sum = with_block(PASS, sum, sequence * tiles + TO_UINT(block), ranges.x, ranges.y, node, four);
            // Of spans' ranges number 0 has leaves, each further one the spans of a level.
            for (int level = 1; level < p.end_level && part == 0; level += tile_levels(lanes)) {
                const int above = position.x - level;
                lists += batch * tiles;
                tiles = TO_UINT(tile_count(g, lanes, level));
                if (position.x > 0 && !(graph_has(g, GRAPH_SPAN_SELF) && above >= 0 && above < tile_levels(lanes))) continue;
                // The last leaves of a trimmed tree may have no spans above them, and so no tile.
                const uint tile = TO_UINT(tile_of(lanes, level, position));
                const int range = position.x == 0 ? 0 : above + 1;
                if (tile < tiles) sum = with_block(PASS, sum, lists + sequence * tiles + tile, range, range + 1, node, four);
            }
        }
        const uint head = four / head_fours, c = 4u * (four - head * head_fours), columns = min(p.head_dim - c, 4u);
        const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, node);
        const uint place = (p.parts > 1u ? unit * 2u * p.d : row * p.kv_stride + p.k_offset) + (p.first_head + head) * p.head_dim + c;
        put_numbers(PASS, place, sum.key, columns);
        put_numbers(PASS, place + p.d, sum.value, columns);
    }
KERNEL_END
