// Ranges of the sequences of a batch (see split_batch.h).
#include "models/run/split_batch.h"

#include <inttypes.h>

#include "bpt/alloc.h"

void bpt_split_batch_free(bpt_split_batch_t *room) {
    bpt_free(room->words);
    bpt_free(room->weights);
    *room = (bpt_split_batch_t){0};
}

bpt_status_t bpt_split_shape(const bpt_batch_shape_t *whole, const bpt_shard_t *place, bpt_batch_shape_t *own) {
    const int64_t n = whole->side[0].n;
    *own = *whole;
    if (place->size <= 1) return BPT_OK;
    if (n == 0 || whole->side[1].rows) return bpt_fail(BPT_ERR_INTERNAL, "only buckets of one side can be shared among ranks");
    if (n % place->size)
        return bpt_fail(BPT_ERR_USAGE,
                        "sequences of %" PRId64 " tokens cannot be shared evenly by %d ranks; give a --context that is a "
                        "multiple of their number",
                        n, place->size);
    *own = bpt_batch_buckets(n / place->size, whole->batch);
    return BPT_OK;
}

static bpt_status_t need_room(bpt_split_batch_t *room, size_t rows, size_t sequences) {
    if (rows == room->rows && sequences == room->sequences) return BPT_OK;
    bpt_split_batch_free(room);
    BPT_TRY(bpt_alloc(2 * rows + 2 * sequences, sizeof *room->words, &room->words));
    BPT_TRY(bpt_alloc(rows, sizeof *room->weights, &room->weights));
    room->rows = rows;
    room->sequences = sequences;
    return BPT_OK;
}

bpt_status_t bpt_split_batch(const bpt_batch_t *whole, const bpt_shard_t *place, bpt_split_batch_t *room, bpt_batch_t *own) {
    const bpt_side_t *side = &whole->side[0];
    bpt_batch_shape_t shape;
    BPT_TRY(bpt_split_shape(&whole->shape, place, &shape));
    const int64_t n = whole->shape.side[0].n, w = shape.side[0].n, rows = shape.side[0].rows, first = place->rank * w;
    if (whole->n_targets != whole->shape.side[0].rows || !whole->targets || !side->tokens)
        return bpt_fail(BPT_ERR_INTERNAL, "only batches with a token and a target in each row can be shared among ranks");
    BPT_TRY(need_room(room, (size_t)rows, (size_t)shape.batch));
    uint32_t *tokens = room->words, *targets = tokens + rows, *start = targets + rows, *lengths = start + shape.batch;
    for (int64_t s = 0; s < shape.batch; ++s) {
        const int64_t behind = (int64_t)side->lengths[s] - first;
        start[s] = (uint32_t)(s * w);
        lengths[s] = behind <= 0 ? 0 : behind < w ? (uint32_t)behind : (uint32_t)w;
        for (int64_t i = 0; i < w; ++i) {
            const int64_t from = s * n + first + i, to = s * w + i;
            tokens[to] = side->tokens[from];
            targets[to] = whole->targets[from];
            room->weights[to] = whole->weights[from];
        }
    }
    *own = *whole;
    own->shape = shape;
    own->side[0] = (bpt_side_t){.tokens = tokens, .start = start, .lengths = lengths, .whole_lengths = side->lengths};
    own->targets = targets;
    own->weights = room->weights;
    own->n_targets = rows;
    return BPT_OK;
}
