// Parameters as values of one graph, and their gradients placed into the flat gradient arena. Knows no model.
//
// With a low precision the whole arena is cast once; products read views of the cast arena, all else the f32 master weights.
#ifndef BPT_MODELS_NN_WEIGHTS_H
#define BPT_MODELS_NN_WEIGHTS_H

#include "bpt/graph.h"
#include "models/nn/params.h"

typedef struct {
    bpt_value_t value;
    int64_t offset, count;  // elements of the arena
    bool trained;
} bpt_weight_t;

typedef struct {
    bpt_graph_t *graph;
    const bpt_params_t *params;
    bpt_value_t arena, low;
    bpt_value_t packed;   // u32, the matrices of the arena as numbers of 8 bits (bpt_params_pack); BPT_NO_VALUE: none
    bpt_weight_t *items;  // handed out so far
    size_t count, capacity;
    bpt_status_t status;
} bpt_weights_t;

// `arena`: f32 value of params->elements elements.
void bpt_weights_init(bpt_weights_t *weights, bpt_graph_t *graph, const bpt_params_t *params, bpt_value_t arena, bpt_dtype_t precision);
void bpt_weights_free(bpt_weights_t *weights);

// The parameter of this name in f32; for products in the low precision; the same for `joined` parameters as one matrix or vector.
bpt_value_t bpt_weight(bpt_weights_t *weights, const char *prefix, const char *name);
// So many rows, f32, from the beginning of this parameter on: it and what is joined to it.
bpt_value_t bpt_weight_rows(bpt_weights_t *weights, const char *prefix, const char *name, int64_t rows);
bpt_value_t bpt_weight_joined(bpt_weights_t *weights, const char *prefix, const char *name, int joined);
bpt_value_t bpt_weight_low(bpt_weights_t *weights, const char *prefix, const char *name, int joined);
// The same as the W of a product x W^T: packed, where the graph has it so.
bpt_value_t bpt_weight_factor(bpt_weights_t *weights, const char *prefix, const char *name, int joined);

// Appends the backward pass of `loss`; the gradient of every trained parameter handed out lies in `gradients` (f32, the layout of
// the trained part of the arena).
bpt_status_t bpt_weights_gradients(bpt_weights_t *weights, bpt_value_t loss, bpt_value_t gradients) BPT_MUST_USE;

#endif
