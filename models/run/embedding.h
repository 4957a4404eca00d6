// Vectors of whole texts, from the states that a model has of them.
#ifndef BPT_MODELS_RUN_EMBEDDING_H
#define BPT_MODELS_RUN_EMBEDDING_H

#include "models/run/runner.h"

typedef enum {
    BPT_EMBED_TEXT,   // what the model's head reads of a text (its pool)
    BPT_EMBED_MEAN,   // of the states of its tokens
    BPT_EMBED_MAX,    // the largest of each number
    BPT_EMBED_FIRST,  // the state of its first token
    BPT_EMBED_LAST,   // and of its last one: in a causal model the only one that knows all of the text
    BPT_EMBED_ROOT,   // of the node over the whole text
    BPT_EMBED_RELAY,  // of the node that reads all tokens
    BPT_N_EMBEDDINGS
} bpt_embedding_t;
extern const char *const bpt_embedding_names[];  // "text", ..; ended by NULL

// BPT_ERR_USAGE, with those that it has, unless a model has such a vector. A translator has those of the texts that it reads.
bpt_status_t bpt_embedding_check(const bpt_model_config_t *config, bpt_embedding_t which) BPT_MUST_USE;
// TEXT, or MEAN where the model has no state of whole texts.
bpt_embedding_t bpt_embedding_usual(const bpt_model_config_t *config);

// Of every sequence of a batch below n_real: vectors [n_real, d]. `states`: room for the states of all rows of tokens, f32 [rows, d]; sums
// are in double. States are those of this runner alone (bpt_runner_join).
bpt_status_t bpt_runner_embed(bpt_runner_t *runner, const bpt_batch_t *batch, bpt_embedding_t which, float *states,
                              float *vectors) BPT_MUST_USE;

#endif
