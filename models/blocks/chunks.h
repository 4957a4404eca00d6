// Rows that a part of a layer computes chunk after chunk, so that what it makes in between exists for one chunk only: in the forward pass,
// and where layers are computed again, in the backward pass as well. Knows no layer.
#ifndef BPT_MODELS_BLOCKS_CHUNKS_H
#define BPT_MODELS_BLOCKS_CHUNKS_H

#include "models/blocks/builder.h"

// Computes rows [row, row + rows). Rows must not depend on each other.
typedef bpt_stream_t (*bpt_chunk_fn_t)(const void *part, int64_t row, int64_t rows);

// All rows of `part`. No chunk has rows on both sides of `border`. The f32 rows are put into `into`; BPT_NO_VALUE: into a new tensor.
bpt_stream_t bpt_chunks(const bpt_builder_t *b, int64_t rows, int64_t border, bpt_value_t into, bpt_chunk_fn_t compute, const void *part);

#endif
