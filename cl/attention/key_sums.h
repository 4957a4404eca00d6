// The gradient of keys and values by blocks of queries (block.h). For each place of its list, which is a node, a block writes what its rows give
// to dk and dv of the node: key_sums [row][dk, dv][heads of the dispatch][columns of a head, rounded up to fours]. attention_key_sum adds up the rows
// of each node, in the order of blocks, so that every run gives the same bits. To find them it has the unions of each block's list: key_lists
// [block][range number][2], the range's first node and the row of this node; behind the last range the row behind the list. Blocks are numbered
// piece by piece, those of leaves and then those of spans from low levels to high ones, in each sequence by sequence.

// The place of columns c .. c + 3 of a head in dk or dv of a row, by fours; of the first column of a head more than there are, their number.
FUNCTION uint key_sum_four(uint head_dim, uint head, uint c) { return head * ((head_dim + 3u) / 4u) + c / 4u; }
// Where a block's unions begin, of up to `ranges` ranges.
FUNCTION uint key_list_place(uint block, uint ranges) { return block * (ranges + 1u) * 2u; }
