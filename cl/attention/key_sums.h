// The gradient of keys and values by blocks of queries (block.h). For each place of its list, which is a node, a block writes what its rows give
// to dk and dv of the node: key_sums [row][dk, dv][columns of the dispatch's heads, rounded up to fours]. attention_key_sum adds up the rows
// of each node, in the order of blocks, so that every run gives the same bits. To find them it has the unions of each block's list: key_lists
// [block][range number][2], the range's first node and the row of this node; behind the last range the row behind the list. Blocks are numbered
// piece by piece, those of leaves and then those of spans from low levels to high ones, in each sequence by sequence.

// Elements of half a row: dk or dv of so many columns.
FUNCTION uint key_sum_stride(uint columns) { return (columns + 3u) / 4u * 4u; }
// Where a block's unions begin, of up to `ranges` ranges.
FUNCTION uint key_list_place(uint block, uint ranges) { return block * (ranges + 1u) * 2u; }
