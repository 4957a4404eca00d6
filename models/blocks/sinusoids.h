// Sinusoidal positions (Vaswani et al. 2017, 3.5): position p adds sin(p / 10000^(2i / d)) to column 2i and cos of the same to column
// 2i + 1. Nothing is trained, and no length is too long. Worked out on the host, so that all devices have the same.
#ifndef BPT_MODELS_BLOCKS_SINUSOIDS_H
#define BPT_MODELS_BLOCKS_SINUSOIDS_H

#include "bpt/program.h"
#include "models/config/config.h"

// Rows that were worked out once, the first `count` ones. Begins as zeros; release with bpt_free(rows).
typedef struct {
    int64_t width, count;
    float *rows;  // [count, width]
} bpt_sinusoids_t;

// Fills out [n, width]: the row of each position, zeros for BPT_NO_ROW.
bpt_status_t bpt_sinusoids_write(bpt_sinusoids_t *sinusoids, const uint32_t *positions, int64_t n, float *out) BPT_MUST_USE;

// A model's input of positions for `rows` rows of tokens: u32 [rows], or f32 [rows, d_model] where they are sinusoids; BPT_NO_VALUE: it
// has none.
bpt_value_t bpt_positions_input(bpt_graph_t *g, const bpt_model_config_t *config, int64_t rows);
// Writes a model's input of positions for `rows` rows of tokens: the positions, or what they add where they are sinusoids. input
// BPT_NO_VALUE: nothing.
bpt_status_t bpt_positions_write(bpt_program_t *program, bpt_value_t input, const bpt_model_config_t *config, bpt_sinusoids_t *sinusoids,
                                 const uint32_t *positions, int64_t rows) BPT_MUST_USE;

#endif
