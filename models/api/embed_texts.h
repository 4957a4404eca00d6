// Examples through a model for their states: vectors of texts, or the states of all tokens. For <bpt/model.h> and `bpt embed`.
#ifndef BPT_MODELS_API_EMBED_TEXTS_H
#define BPT_MODELS_API_EMBED_TEXTS_H

#include "data/examples/examples.h"
#include "models/run/embedding.h"

// vectors [texts, d], in the order of the texts, which are count * texts of the examples; their labels are not looked at. Texts of like
// length go together, up to `batch_tokens` tokens. BPT_ERR_NUMERIC names the text whose numbers are not finite (counted from 0).
bpt_status_t bpt_embed_texts(bpt_runner_t *runner, const bpt_examples_t *examples, int64_t batch_tokens, bpt_embedding_t which,
                             float *vectors) BPT_MUST_USE;
// states [n_tokens, d]: those of text t are rows offsets[t] .. offsets[t + 1] - 1 of the examples.
bpt_status_t bpt_embed_tokens(bpt_runner_t *runner, const bpt_examples_t *examples, int64_t batch_tokens, float *states) BPT_MUST_USE;

#endif
