// A stack of layers and what it reads (params_of.h makes it of a configuration).
#ifndef BPT_MODELS_CONFIG_STACK_H
#define BPT_MODELS_CONFIG_STACK_H

#include "models/config/config.h"

// What a model is made of: the encoder, or the only stack of layers that there is; and the decoder behind it, of tasks with two sides.
typedef struct {
    bpt_model_config_t config;  // of this stack alone: its layers, its vocabulary, whether it is causal
    const char *scope;          // in front of the names of its layers' parameters: "", "decoder."
    const char *embed_scope;    // and of its embedding's
    int side;                   // of a batch: whose texts it reads
    bool owns_embedding;        // else it is that of the stack before it
    bool reads_memory;          // each of its layers also reads the states of the stack before it (cross-attention)
    bool reads_trees;           // which are those of tokens and of the nodes of trees over them
    // Of the whole model (kinds/kind.h), whatever kind the stack is.
    bool plain_embedding, scaled_embedding;
} bpt_stack_t;

#endif
