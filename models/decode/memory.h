// What a decoder that translates reads: keys and values of the states that its encoder gives to the texts of a batch, one copy for all
// sequences that translate the same text. Inside of a decoder (decode_graph.h).
#ifndef BPT_MODELS_DECODE_MEMORY_H
#define BPT_MODELS_DECODE_MEMORY_H

#include "models/decode/decode_graph.h"

typedef struct {
    const bpt_model_config_t *config;  // of the whole model
    struct bpt_device *device;
    bpt_workspace_t *workspace;
    struct bpt_buffer **states;  // of the decoder; DECODE_MEMORY is made here
    decode_encoder_t **programs;
    size_t count, capacity;
    uint32_t *ranges;  // [sequences, slots, 2]: the rows that each sequence reads
} decode_memory_t;

// Encodes the first side of the batch; sequence i of the decoder reads text i / (sequences / texts), texts of padding apart. *moved: the
// programs that read the memory must be made anew, since it has more room now (shape->memory_rows, memory_longest).
bpt_status_t bpt_decode_memory_read(decode_memory_t *memory, decode_shape_t *shape, const bpt_batch_t *batch, int64_t sequences_per_text,
                                    bool *moved) BPT_MUST_USE;
// A row of a table for a query of this sequence: `slots` entries.
void bpt_decode_memory_entry(const decode_memory_t *memory, const decode_shape_t *shape, int64_t sequence, uint32_t *entries);
size_t bpt_decode_memory_bytes(const decode_shape_t *shape);
void bpt_decode_memory_destroy(decode_memory_t *memory);

#endif
