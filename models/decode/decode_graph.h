// The programs of a decoder: what their graphs compute, and the shape of the cache that they read and write. Inside of a decoder.
#ifndef BPT_MODELS_DECODE_GRAPH_H
#define BPT_MODELS_DECODE_GRAPH_H

#include "bpt/program.h"
#include "models/blocks/rotations.h"
#include "models/blocks/sinusoids.h"
#include "models/graph/encoder.h"

typedef enum { DECODE_PARAMS, DECODE_LOW, DECODE_PACKED, DECODE_CACHE, DECODE_MEMORY, DECODE_N_STATES } decode_state_t;

// One program: up to `rows` new nodes, leaves first.
typedef struct {
    int64_t rows, asked;  // asked: rows whose logits are wanted, one of a sequence at most
    bpt_program_t *program;
    bpt_value_t tokens;      // u32 [rows], BPT_NO_ROW for spans
    bpt_value_t positions;   // u32 [rows], likewise (absolute), or f32 [rows, d_model] (sinusoidal)
    bpt_value_t rotations;   // f32 [rows, head_dim] (rotary)
    bpt_value_t leaf;        // u32 [rows]: its own number for a leaf, BPT_NO_ROW: the row starts as zero
    bpt_value_t nodes;       // u32 [rows]: row of the cache, BPT_NO_ROW: none
    bpt_value_t table;       // u32 [rows, slots, 4]
    bpt_value_t last;        // u32 [asked]: the rows whose logits are wanted, BPT_NO_ROW: none
    bpt_value_t last_table;  // u32 [asked, slots, 4]
    bpt_value_t logits;      // f32 [asked, vocab]
    // Where the model reads a memory: the rows of it that each row, and each row whose logits are wanted, reads.
    bpt_value_t memory_table;       // u32 [rows, memory_slots, 4]
    bpt_value_t last_memory_table;  // u32 [asked, memory_slots, 4]
} decode_program_t;

typedef struct {
    const bpt_stack_t *stack;          // whose layers these are
    const bpt_model_config_t *config;  // of the stack
    const bpt_params_t *params;
    bpt_dtype_t precision;
    bool packed;               // products read the matrices as numbers of 8 bits (DECODE_PACKED)
    bpt_intervals_t graph;     // of the whole capacity: the numbers of nodes, and which of them there are
    int64_t sequences, slots;  // slots of a query
    // The cache has room for the nodes of the first `room` leaves of each sequence, level by level, and grows. A layer has sequences *
    // rows.
    int64_t room, rows, first_row[BPT_MAX_LEVELS];
    // A stack that reads a memory: so many rows of keys and values a layer, the most that one sequence reads; the ranges of these: that
    // of the tokens of its text and, where there are trees, that of their nodes.
    int64_t memory_rows, memory_longest, memory_slots;
} decode_shape_t;

// Late spans of one layer read leaves: up to `rows` chunks of them.
typedef struct {
    int64_t rows;
    bpt_program_t *program;
    bpt_value_t q;      // [rows, d]
    bpt_value_t table;  // u32 [rows, 1, 4]
    bpt_value_t out;    // [rows, d]: what the chunk alone would give
    bpt_value_t lse;    // f32 [rows, heads]: its weight
} decode_reading_t;

// Up to `rows` late spans leave a layer and enter the next one: their keys and values go to the cache.
typedef struct {
    int64_t rows;
    bpt_program_t *program;
    bpt_value_t x;          // f32 [rows, d]: what they entered the layer before with; the first layer: zero
    bpt_value_t attention;  // [rows, d] of the layer before; the first layer: none
    bpt_value_t nodes;      // u32 [rows]: row of the cache, BPT_NO_ROW: none
    bpt_value_t rotations;  // f32 [rows, head_dim] (rotary)
    bpt_value_t entered;    // f32 [rows, d]; the last layer: none
    bpt_value_t q;          // [rows, d], likewise
} decode_entry_t;

// Keys and values of a memory, for all layers that read it: the encoder of a batch of one shape, whose rows are those of the memory.
typedef struct {
    bpt_batch_shape_t shape;
    bpt_encoder_t encoder;
    bpt_program_t *program;
    bpt_sinusoids_t sinusoids;
} decode_encoder_t;

// Copies up to `rows` rows, the same in each layer, from one cache to another; states 0 and 1.
typedef struct {
    int64_t rows;
    bpt_program_t *program;
    bpt_value_t from, to;  // u32 [rows]: rows of a layer, BPT_NO_ROW: none
} decode_copy_t;

// The graphs of programs of `program->rows` rows; the values are set. The caller owns *graph. layer: the one that is read in or entered.
bpt_status_t bpt_decode_graph(const decode_shape_t *shape, decode_program_t *program, bpt_graph_t **graph) BPT_MUST_USE;
bpt_status_t bpt_decode_reading_graph(const decode_shape_t *shape, int32_t layer, decode_reading_t *program,
                                      bpt_graph_t **graph) BPT_MUST_USE;
bpt_status_t bpt_decode_entry_graph(const decode_shape_t *shape, int32_t layer, decode_entry_t *program, bpt_graph_t **graph) BPT_MUST_USE;
bpt_status_t bpt_decode_copy_graph(const decode_shape_t *from, const decode_shape_t *to, decode_copy_t *program,
                                   bpt_graph_t **graph) BPT_MUST_USE;
// Copies inside of the cache: all rows are read before any is written. State DECODE_CACHE.
bpt_status_t bpt_decode_fork_graph(const decode_shape_t *shape, decode_copy_t *program, bpt_graph_t **graph) BPT_MUST_USE;
// `config` is that of the whole model. The encoder's memory is the caller's to free, also after an error (bpt_encoder_free).
bpt_status_t bpt_decode_encoder_graph(const decode_shape_t *shape, const bpt_model_config_t *config, decode_encoder_t *program,
                                      bpt_graph_t **graph) BPT_MUST_USE;
// Casts the parameters once into DECODE_LOW.
bpt_status_t bpt_decode_cast_graph(const decode_shape_t *shape, bpt_graph_t **graph) BPT_MUST_USE;

#endif
