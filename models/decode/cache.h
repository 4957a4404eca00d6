// The cache of keys and values of a decoder: making one, and moving what it holds into a larger one, a piece per token.
#ifndef BPT_MODELS_DECODE_CACHE_H
#define BPT_MODELS_DECODE_CACHE_H

#include "models/decode/decode_graph.h"

// Leaves that a new decoder has room for.
enum { BPT_DECODE_FIRST_ROOM = 1024 };

// Lays out the cache for `room` leaves of each sequence.
void bpt_decode_lay_out(decode_shape_t *shape, int64_t room);
// Row of a layer's cache that holds a node of a sequence. Nodes of one level lie one behind the other.
int64_t bpt_decode_row(const decode_shape_t *shape, int64_t sequence, int64_t node);
size_t bpt_decode_cache_bytes(const decode_shape_t *shape);
bpt_status_t bpt_decode_cache_create(struct bpt_device *device, const decode_shape_t *shape, struct bpt_buffer **out) BPT_MUST_USE;
// Nodes of a level that end within the first `leaves` leaves.
int64_t bpt_decode_nodes_within(const bpt_intervals_t *graph, int level, int64_t leaves);

// A larger cache that is to take the place of the one so far. Nodes of one level are completed in order, so that it has the first so many
// of each.
typedef struct {
    decode_shape_t shape;
    struct bpt_buffer *buffer;  // NULL: no growth is under way
    int64_t begun;              // leaves of the longest sequence then
    uint64_t bytes;             // copied in every growth
    int64_t *copied;            // [sequences][BPT_MAX_LEVELS]: nodes
    decode_copy_t token, bulk;  // programs: a token's piece, and many rows (made when they are needed)
    bpt_workspace_t *workspace;
    struct bpt_buffer *old;
} decode_growth_t;

bpt_status_t bpt_decode_growth_create(const decode_shape_t *shape, decode_growth_t *growth) BPT_MUST_USE;
// What is under way is given up.
void bpt_decode_growth_abandon(struct bpt_device *device, decode_growth_t *growth);
void bpt_decode_growth_destroy(struct bpt_device *device, decode_growth_t *growth);

// Begins, from the cache `old` of `shape`, whose longest sequence has `leaves` leaves.
bpt_status_t bpt_decode_growth_begin(struct bpt_device *device, bpt_workspace_t *workspace, const decode_shape_t *shape,
                                     struct bpt_buffer *old, int64_t room, int64_t leaves, decode_growth_t *growth) BPT_MUST_USE;
// Copies, bit by bit, the piece that is due once the longest sequence has `leaves` leaves, so that nearly all is done when the room is
// full. ready [sequences][BPT_MAX_LEVELS]: nodes that are complete in the old cache.
bpt_status_t bpt_decode_growth_work(decode_growth_t *growth, const decode_shape_t *shape, int64_t leaves,
                                    const int64_t *ready) BPT_MUST_USE;
// Copies all the rest. The caller takes the buffer.
bpt_status_t bpt_decode_growth_finish(decode_growth_t *growth, const decode_shape_t *shape, const int64_t *ready,
                                      struct bpt_buffer **buffer) BPT_MUST_USE;
// Nodes from ready on are complete no longer.
void bpt_decode_growth_rewind(decode_growth_t *growth, const decode_shape_t *shape, const int64_t *ready);

#endif
