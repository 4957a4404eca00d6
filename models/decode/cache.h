// The cache of keys and values of a decoder: making one, and moving what it holds into a larger one.
#ifndef BPT_MODELS_DECODE_CACHE_H
#define BPT_MODELS_DECODE_CACHE_H

#include "models/decode/decode_internal.h"

size_t bpt_decode_cache_bytes(const decode_shape_t *shape);
bpt_status_t bpt_decode_cache_create(struct bpt_device *device, const decode_shape_t *shape, struct bpt_buffer **out) BPT_MUST_USE;
// Copies the nodes of the first lengths[s] leaves of every sequence s, bit by bit.
bpt_status_t bpt_decode_cache_move(bpt_workspace_t *workspace, const decode_shape_t *from, struct bpt_buffer *old, const decode_shape_t *to,
                                   struct bpt_buffer *new, const int64_t *lengths) BPT_MUST_USE;

#endif
