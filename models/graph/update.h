// The nodes by which a step updates parameters: those of its optimizer on the parts of the arena that are updated here.
#ifndef BPT_MODELS_UPDATE_H
#define BPT_MODELS_UPDATE_H

#include "models/nn/shard.h"
#include "models/optimizers/optimizer.h"

// All that is updated number by number, and the directions of matrices; of a sharded optimizer on the own slices alone.
void bpt_update_numbers(const bpt_update_nodes_t *u, const bpt_params_t *params, const bpt_shard_t *shard);
// The steps of all matrices, from their whole directions; nothing where the optimizer has none.
void bpt_update_matrices(const bpt_update_nodes_t *u, const bpt_params_t *params);

#endif
