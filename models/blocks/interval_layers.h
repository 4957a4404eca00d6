// The layers of models whose attention graph is a rule (bpt/intervals.h): self-attention of the nodes of a tree over each sequence, or of
// its leaves alone.
//
// Work that no output needs is left out: causal models have no spans that no leaf reads, roots apart; spans are zero before the first
// layer. Where states of tokens are wanted or pooled, only leaves are queries in the last layer. Where those of roots are wanted, only
// leaves and roots are in the last layer but one, and only roots in the last. Both may be wanted.
#ifndef BPT_MODELS_BLOCKS_INTERVAL_LAYERS_H
#define BPT_MODELS_BLOCKS_INTERVAL_LAYERS_H

#include "models/kinds/kind.h"

extern const bpt_layers_spec_t bpt_interval_layers;

#endif
