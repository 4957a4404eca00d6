// Layers over the nodes of an attention graph where the ranks of a team share each sequence (docs/cluster.md): a rank computes the states
// of the nodes that it owns (halo.h). Before each layer it takes those of its halo from the others; attention is over tables. For kinds
// whose graph is a rule, and tasks that want the states of tokens alone. The parameters are those of interval_layers.h.
#ifndef BPT_MODELS_BLOCKS_SPLIT_LAYERS_H
#define BPT_MODELS_BLOCKS_SPLIT_LAYERS_H

#include "models/kinds/kind.h"

extern const bpt_layers_spec_t bpt_split_layers;

// BPT_ERR_USAGE where the sequences of a model cannot be shared by `ranks`, with the reason.
bpt_status_t bpt_split_check(const bpt_model_config_t *config, int ranks) BPT_MUST_USE;

#endif
