// A block of rows: ROWS_PER_TILE neighbouring leaves, the spans below one node (tile_position), or rows of a table. What they read together is one
// list of nodes: per range number the union of the rows' ranges, one after the other. A kernel walks it in steps of KEYS_PER_STEP nodes; of each
// node and row of the block `edges` says whether the row reads the node, and where to find q . r of the edge.
//
// Rows of the table of relative positions that a step uses are its entries: a row of the block reads node m of range r with table row
// base + m * range_step, so those of a range in a step are few and evenly spaced, and a kernel multiplies each by the queries once.
//
// Everything here is index arithmetic that all heads share. The functions write the arrays of block_locals.h; all items of a group call each,
// with a barrier behind it. RANGES: ranges of a row, at most; ENTRIES: entries of a step, at most.
#include "cl/attention/blocks.h"
#include "cl/attention/ranges.h"

#define NO_EDGE 0u         // the row does not read the node
#define PLAIN_EDGE 1u      // it does, without a row of the table
#define FIRST_ENTRY 2u     // it does, with entry 0; one more for each further entry
#define ROW_STRIDE(step) ((step) == 2 || (step) == -2 ? 2 : 1)  // between the table rows of neighbouring nodes

// Before which place of the list the part ends.
FUNCTION int end_place(CONTEXT, block_t block) {
    OPEN
    const int end = range_start[block.n_ranges];
    return p.parts > 1u ? min(TO_INT(block.part + 1u) * p.part_nodes, end) : end;
}

// What the block's rows read: queries by index arithmetic; rows of a table, or keys of a rule.
#if defined(TABLES) || defined(KEY_RULES)
#include "cl/attention/range_block.h"
#else
#include "cl/attention/rule_block.h"
#endif
FUNCTION uint edge_at(CONTEXT, uint t, uint u) {
    OPEN
    return edges[t * (ROWS_PER_TILE / 4u) + u / 4u] >> 8u * (u % 4u) & 255u;
}
