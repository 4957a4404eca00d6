// Inside of a decoder, shared by decode.c, late_spans.c and decode_graph.c.
#ifndef BPT_MODELS_DECODE_INTERNAL_H
#define BPT_MODELS_DECODE_INTERNAL_H

#include "models/decode/decode.h"

typedef enum { DECODE_PARAMS, DECODE_LOW, DECODE_CACHE, DECODE_N_STATES } decode_state_t;

// One program: up to `rows` new nodes, leaves first.
typedef struct {
    int64_t rows;
    bpt_program_t *program;
    bpt_value_t tokens;      // u32 [rows], BPT_NO_ROW for spans
    bpt_value_t positions;   // u32 [rows], likewise; only absolute positions
    bpt_value_t leaf;        // u32 [rows]: its own number for a leaf, BPT_NO_ROW: the row starts as zero
    bpt_value_t nodes;       // u32 [rows]: row of the cache, BPT_NO_ROW: none
    bpt_value_t table;       // u32 [rows, slots, 4]
    bpt_value_t last;        // u32 [sequences]: the row of each sequence whose logits are wanted, BPT_NO_ROW: none
    bpt_value_t last_table;  // u32 [sequences, slots, 4]
    bpt_value_t logits;      // f32 [sequences, vocab]
} decode_program_t;

typedef struct {
    const bpt_model_config_t *config;
    const bpt_params_t *params;
    bpt_dtype_t precision;
    int64_t sequences, nodes, slots;  // nodes of a sequence; slots of a query. A layer's cache has sequences * nodes rows
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
    bpt_value_t entered;    // f32 [rows, d]; the last layer: none
    bpt_value_t q;          // [rows, d], likewise
} decode_entry_t;

// The graphs of programs of `program->rows` rows; the values are set. The caller owns *graph. layer: the one that is read in or entered.
bpt_status_t bpt_decode_graph(const decode_shape_t *shape, decode_program_t *program, bpt_graph_t **graph) BPT_MUST_USE;
bpt_status_t bpt_decode_reading_graph(const decode_shape_t *shape, int32_t layer, decode_reading_t *program,
                                      bpt_graph_t **graph) BPT_MUST_USE;
bpt_status_t bpt_decode_entry_graph(const decode_shape_t *shape, int32_t layer, decode_entry_t *program, bpt_graph_t **graph) BPT_MUST_USE;
// Casts the parameters once into DECODE_LOW.
bpt_status_t bpt_decode_cast_graph(const decode_shape_t *shape, bpt_graph_t **graph) BPT_MUST_USE;

#endif
