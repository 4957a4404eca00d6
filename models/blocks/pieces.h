// A layer of self-attention by pieces, for batches so large that all at once would not fit: heads by groups, so that only one group's
// queries, keys and values exist, and the rows behind attention by chunks, so that no more than a chunk of the hidden layer exists, which
// is four times as wide as all else. The results are those of bpt_self_layer up to rounding. With gradients it is for layers that are
// computed again in the backward pass, which then goes chunk by chunk and group by group as well.
#ifndef BPT_MODELS_BLOCKS_PIECES_H
#define BPT_MODELS_BLOCKS_PIECES_H

#include "models/blocks/self.h"

enum { BPT_MOST_HEAD_GROUPS = 16 };

typedef struct {
    bool gradients;
    int64_t chunk_rows;   // 0: all at once
    int32_t head_groups;  // a divisor of the heads; 1: all at once
    // u32 [head_groups, d]: where in W_o [d, d], seen as [d head_groups, d / head_groups], the columns of a group lie (head_groups > 1)
    bpt_value_t group_columns;
} bpt_pieces_t;

// Rows of a chunk for so many rows: large enough to keep a device busy, and not many chunks, as each is some nodes of the graph.
int64_t bpt_pieces_chunk_rows(int64_t rows);
// Groups of heads for so many rows: more than one where all heads' queries, keys and values would be larger than all else.
int32_t bpt_pieces_head_groups(int64_t rows, int32_t heads);
// The same with gradients: smaller pieces, as there is more of everything, and none of what fits anyway.
int64_t bpt_pieces_gradient_chunk_rows(int64_t rows);
int32_t bpt_pieces_gradient_head_groups(int64_t rows, int32_t heads);
// What group_columns holds, for the host to write.
void bpt_pieces_columns(const bpt_pieces_t *pieces, int64_t d, uint32_t *columns);

// As bpt_self_layer.
void bpt_pieces_layer(const bpt_builder_t *b, const bpt_pieces_t *pieces, bpt_self_t *sets, int count, const char *prefix,
                      bpt_stream_t *out);

#endif
