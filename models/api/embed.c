// Vectors of sequences for callers outside (see model.h).
#include "bpt/alloc.h"
#include "models/api/embed_texts.h"
#include "models/api/model_internal.h"

_Static_assert((int)BPT_POOLED_TEXT == (int)BPT_EMBED_TEXT && (int)BPT_POOLED_RELAY == (int)BPT_EMBED_RELAY &&
                   (int)BPT_POOLED_RELAY + 1 == (int)BPT_N_EMBEDDINGS,
               "the numbers that the header promises");

bpt_status_t bpt_model_embed(bpt_model_t *m, const bpt_sequences_t *s, bpt_pooled_t which, float *vectors) {
    int64_t total;
    uint64_t *offsets;
    BPT_TRY(bpt_model_ready(m));
    if ((int)which < 0 || (int)which >= BPT_N_EMBEDDINGS) return bpt_fail(BPT_ERR_USAGE, "%d is no way to make a vector", (int)which);
    BPT_TRY(bpt_embedding_check(&m->config, (bpt_embedding_t)which));
    BPT_TRY(bpt_model_check_read(m, s, false, &total));
    if (!vectors) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(bpt_alloc((size_t)s->count + 1, sizeof *offsets, &offsets));
    for (int64_t i = 0; i < s->count; ++i) offsets[i + 1] = offsets[i] + (uint64_t)s->lengths[i];
    const int texts = bpt_task_texts(bpt_model_task(m));
    const bpt_examples_t examples = {.texts = texts,
                                     .tokens = (uint32_t *)s->tokens,
                                     .vectors = {.has = s->vectors != NULL, .of = (float *)s->vectors, .columns = m->config.d_input},
                                     .offsets = offsets,
                                     .count = (uint64_t)(s->count / texts),
                                     .n_tokens = (uint64_t)total};
    const bpt_status_t status = bpt_embed_texts(m->runner, &examples, m->options.batch_tokens, (bpt_embedding_t)which, vectors);
    bpt_free(offsets);
    return status;
}
