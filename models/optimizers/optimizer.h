// What an optimizer is: the nodes that it appends to the graph of a step. Other code asks its properties and never which optimizer it is.
#ifndef BPT_MODELS_OPTIMIZER_H
#define BPT_MODELS_OPTIMIZER_H

#include "bpt/graph.h"
#include "models/config/config.h"
#include "models/nn/params.h"

typedef struct {
    bpt_optimizer_t kind;
    float beta1, beta2, eps;  // of Adam
    float weight_decay;
    float momentum;  // of what is updated as whole matrices
} bpt_optimizer_options_t;

// What the nodes of an update read and change.
typedef struct {
    bpt_graph_t *g;
    const bpt_optimizer_options_t *options;
    bpt_dtype_t precision;          // of the step's products
    bpt_value_t params, grads;      // arenas (models/nn/params.h)
    bpt_value_t m, v;               // first moments of what is updated here; second moments of its numbers that have one
    bpt_value_t hyper, square_sum;  // bpt/ops.h, adam
} bpt_update_nodes_t;

// Elements begin .. end - 1 of the arenas of parameters and gradients; their moments begin at these elements of `m` and `v`.
typedef struct {
    int64_t begin, end, m, v;
} bpt_update_part_t;

typedef struct {
    const char *name;  // "adam"
    bool decoupled;    // weights decay by themselves, and not by the gradient (Loshchilov & Hutter 2019)
    // Parameters that are updated number by number. `decay`: the weight decay of this part.
    void (*numbers)(const bpt_update_nodes_t *u, const bpt_update_part_t *part, float decay);
    // Weights of the products inside of layers (bpt_param_t.hidden), each updated as a whole; NULL: number by number like the others. They
    // have first moments alone. `direction` is done first, on any part of all of them, by whoever has the moments of this part: each
    // gradient becomes the direction in which its matrix is to go. `matrix` then makes the step of a matrix from all of its direction.
    void (*direction)(const bpt_update_nodes_t *u, const bpt_update_part_t *part);
    void (*matrix)(const bpt_update_nodes_t *u, const bpt_param_t *param);
} bpt_optimizer_spec_t;

// All optimizers, indexed by bpt_optimizer_t.
extern const bpt_optimizer_spec_t *const bpt_optimizers[];

// The one of a name; BPT_ERR_USAGE lists them all.
bpt_status_t bpt_optimizer_named(const char *name, bpt_optimizer_t *out) BPT_MUST_USE;

static inline bool bpt_optimizer_has_matrices(bpt_optimizer_t kind) { return bpt_optimizers[kind]->matrix != NULL; }

// ---- For optimizers
// The elements of an arena as a vector.
bpt_value_t bpt_update_elements(const bpt_update_nodes_t *u, bpt_value_t arena, int64_t begin, int64_t end);
// Adam (Kingma & Ba 2015), with the decay that suits the optimizer.
void bpt_update_by_adam(const bpt_update_nodes_t *u, const bpt_update_part_t *part, float decay);

#endif
