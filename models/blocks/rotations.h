// Rotary positions (Su et al. 2021): before attention, queries and keys of a node at position p are rotated, column pair i of each head by
// the angle p / 10000^(2i / head_dim), so that a score depends on the distance of the two nodes. The pairs are columns i and
// i + head_dim / 2, as in GPT-NeoX and LLaMA. A token is at its index in its text; a span at the mean of its tokens' indices, whether all
// of them are there or not; a virtual root, which reads a whole text and is none of its tokens, at 0. Values, and queries and keys of
// cross-attention, are not rotated. Nothing is trained, and no length is too long. Angles are worked out on the host, so that all devices
// have the same.
#ifndef BPT_MODELS_BLOCKS_ROTATIONS_H
#define BPT_MODELS_BLOCKS_ROTATIONS_H

#include "models/blocks/builder.h"

// The position of a node; of a tree, its number need not exist in a text of some length.
double bpt_rotary_position(const bpt_intervals_t *graph, int64_t node);
// out [head_dim]: cosines of the angles of a position's pairs, then sines (bpt/ops.h, rotary).
void bpt_rotary_angles(double position, int64_t head_dim, float *out);

// An input f32 [rows, head_dim] for the angles of so many rows; BPT_NO_VALUE: the model has other positions.
bpt_value_t bpt_rotations_input(bpt_graph_t *g, const bpt_model_config_t *config, const char *name, int64_t rows);
// Rows x that begin with `turned` parts, queries or keys of the builder's heads, which are rotated by the first of the
// rotations, a row each. rotations BPT_NO_VALUE: x.
bpt_value_t bpt_rotate(const bpt_builder_t *b, bpt_value_t x, bpt_value_t rotations, int turned);

#endif
