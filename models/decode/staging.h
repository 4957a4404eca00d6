// The rows that a program of a decoder computes, on the host: new leaves and the spans that they complete, with the keys that each reads,
// and which of them need logits. Begun, filled a node at a time, written to a program. Inside of a decoder (decode_graph.h).
#ifndef BPT_MODELS_DECODE_STAGING_H
#define BPT_MODELS_DECODE_STAGING_H

#include "models/decode/late_spans.h"
#include "models/decode/memory.h"

typedef struct {
    const decode_shape_t *shape;  // the decoder's, as the next three are
    int64_t capacity;
    bpt_late_spans_t *late;
    const decode_memory_t *memory;  // NULL: the stack reads none
    int64_t rows;                   // so far; there is room for those of the largest program
    uint32_t *tokens, *positions, *leaf, *nodes, *table, *memory_table;
    float *rotations;                                 // [rows, head_dim] with rotary positions, else NULL
    uint32_t *last, *last_table, *last_memory_table;  // of the rows whose logits are wanted
    uint32_t *asked;                                  // [sequences]: where these logits go, in the order of `last`
    int64_t n_asked;
    float *logits;  // [sequences, vocab], where they do not lie in the memory of the host
    bool copies;    // also where they do
    bpt_sinusoids_t sinusoids;
} decode_staging_t;

// `most_rows`: of the largest program. The members above are set; after a failure it is freed like a whole one.
bpt_status_t bpt_decode_staging_create(decode_staging_t *staging, int64_t most_rows) BPT_MUST_USE;
void bpt_decode_staging_free(decode_staging_t *staging);

void bpt_decode_staging_begin(decode_staging_t *staging);
// The next `count` leaves of a sequence, which has `length` of them.
bpt_status_t bpt_decode_stage_leaves(decode_staging_t *staging, int64_t sequence, int64_t length, const uint32_t *tokens,
                                     int64_t count) BPT_MUST_USE;
// The spans whose last leaf is among the next `count` leaves, but for late ones and those that no leaf of the capacity reads.
bpt_status_t bpt_decode_stage_spans(decode_staging_t *staging, int64_t sequence, int64_t length, int64_t count) BPT_MUST_USE;
// The logits of this row are wanted, as row `to` of what is read.
void bpt_decode_stage_asked(decode_staging_t *staging, int64_t to, int64_t row);

bpt_status_t bpt_decode_staging_write(decode_staging_t *staging, const decode_program_t *program) BPT_MUST_USE;
// After the program has run: rows[s] f32 [vocab] of each sequence whose logits were asked for, until a program runs again; others stay.
bpt_status_t bpt_decode_staging_read(decode_staging_t *staging, const decode_program_t *program, const float **rows) BPT_MUST_USE;

#endif
