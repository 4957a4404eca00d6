// Blocks of queries, and where their tensors lie: what the kernels share that take a block by warps (block.h) or by items of four rows
// (four_rows.h). Their parameters are BLOCK_PARAMS.
#include "cl/attention/attention.h"

// Are the queries spans whose q is zero and not stored?
FUNCTION bool has_zero_queries(CONTEXT) {
    OPEN
    return p.level > 0 && (p.calls & CALL_ZERO_SPANS) != 0u;
}
// Elements from row to row of q, and of k and v; where k begins in its row.
FUNCTION uint query_stride(CONTEXT) {
    OPEN
    return ((p.calls & CALL_PACKED) != 0u ? 3u : 1u) * p.heads * p.head_dim;
}
FUNCTION uint key_stride(CONTEXT) {
    OPEN
    return ((p.calls & CALL_PACKED) != 0u ? 3u : 2u) * p.heads * p.head_dim;
}
FUNCTION uint key_offset(CONTEXT) {
    OPEN
    return (p.calls & CALL_PACKED) != 0u ? p.heads * p.head_dim : 0u;
}

// Nodes of a level, and the first one.
FUNCTION int keys_of_level(int4 g, uint other, int level) {
    return level == 0 ? g.y : graph_has(g, GRAPH_TREE) ? bucket_nodes(g, level) : TO_INT(other);
}
FUNCTION int first_of_level(int4 g, int level) { return graph_has(g, GRAPH_TREE) ? bucket_offset(g, level) : level * g.y; }

// Of work unit `unit`: a block of a sequence, or a part of its list. Of keys: number `number` of a level.
STRUCT(block_t) {
    uint sequence, part;
    int number, n_true, n_ranges;
    int level;
};
FUNCTION block_t block_of(CONTEXT, uint unit) {
    OPEN
    block_t block;
    block.part = unit % p.parts;
    block.sequence = unit / p.parts / p.n_tiles;
    block.number = TO_INT(unit / p.parts % p.n_tiles);
    block.level = p.level;
#if defined(KEY_RULES)
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const int rows = TO_INT(ROWS_PER_TILE);
    while (block.number * rows >= keys_of_level(g, p.other, block.level)) {
        block.number -= (keys_of_level(g, p.other, block.level) + rows - 1) / rows;
        ++block.level;
    }
    block.n_true = TO_INT(AT(lengths, block.sequence));
    block.n_ranges = key_ranges(g, block.n_true, block.level);
#elif defined(TABLES)
    block.n_true = p.n;
    block.n_ranges = TO_INT(p.slots * ROWS_PER_TILE);
#else
    block.n_true = TO_INT(AT(lengths, block.sequence));
    block.n_ranges = tile_ranges(INT4(p.graph, p.n, p.reach, p.rel_levels), block.n_true, TO_INT(ROWS_PER_TILE), p.level);
#endif
    return block;
}
// The first place of the list that the part has.
FUNCTION int first_place(CONTEXT, block_t block) {
    OPEN
    return p.parts > 1u ? TO_INT(block.part) * p.part_nodes : 0;
}

// Where the partial results of a row of the block lie, of a list in several parts: `size` elements for each node and part. The nodes are those
// of the block's levels.
FUNCTION uint partial_place(CONTEXT, int4 g, block_t block, uint row, uint size) {
    OPEN
    const int first = bucket_offset(g, p.level);
    const int nodes = bucket_offset(g, min(p.level + tile_levels(TO_INT(ROWS_PER_TILE)), bucket_levels(g))) - first;
    const uint node = row - p.leaf_rows - block.sequence * p.other - TO_UINT(first - g.y);
    return ((node + block.sequence * TO_UINT(nodes)) * p.parts + block.part) * size;
}
