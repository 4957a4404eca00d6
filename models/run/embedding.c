// Vectors of whole texts (see embedding.h).
#include "models/run/embedding.h"

#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"

const char *const bpt_embedding_names[] = {
    [BPT_EMBED_TEXT] = "text", [BPT_EMBED_MEAN] = "mean", [BPT_EMBED_MAX] = "max",     [BPT_EMBED_FIRST] = "first",
    [BPT_EMBED_LAST] = "last", [BPT_EMBED_ROOT] = "root", [BPT_EMBED_RELAY] = "relay", NULL};

static bool has(const bpt_model_config_t *config, bpt_embedding_t which) {
    const bpt_task_spec_t *task = bpt_task_of(config);
    const bool texts = task->wants & BPT_WANT_POOLED;
    switch (which) {
    case BPT_EMBED_TEXT: return texts;
    case BPT_EMBED_ROOT: return texts && config->pool == BPT_POOL_ROOT;
    case BPT_EMBED_RELAY: return (bpt_kind_of(config)->gives & BPT_WANT_RELAY) && bpt_task_sides(task) == 1;
    default: return bpt_kind_of(config)->gives & BPT_WANT_TOKENS;
    }
}

// Why one that a model of this kind could have is not there.
static const char *reason(const bpt_model_config_t *config, bpt_embedding_t which) {
    const bpt_kind_spec_t *kind = bpt_kind_of(config);
    const bool texts = bpt_task_of(config)->wants & BPT_WANT_POOLED;
    if (which == BPT_EMBED_RELAY && !(kind->gives & BPT_WANT_RELAY)) return "has no relay node";
    if (which == BPT_EMBED_ROOT && !(kind->pools >> BPT_POOL_ROOT & 1)) return "has no root";
    return !texts ? "learns no state of whole texts for its task" : "makes the state of a text of other states than a root";
}

bpt_status_t bpt_embedding_check(const bpt_model_config_t *config, bpt_embedding_t which) {
    char choices[100] = "";
    if (has(config, which)) return BPT_OK;
    for (int i = 0; i < BPT_N_EMBEDDINGS; ++i)
        if (has(config, (bpt_embedding_t)i))
            snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", *choices ? ", " : "", bpt_embedding_names[i]);
    return bpt_fail(BPT_ERR_USAGE, "the model (%s, %s) %s, so there is no pool %s; choose one of %s", bpt_kind_of(config)->name,
                    bpt_task_of(config)->model, reason(config, which), bpt_embedding_names[which], choices);
}

bpt_embedding_t bpt_embedding_usual(const bpt_model_config_t *config) {
    return has(config, BPT_EMBED_TEXT) ? BPT_EMBED_TEXT : BPT_EMBED_MEAN;
}

static void mean(const float *rows, int64_t count, int64_t d, float *out) {
    for (int64_t i = 0; i < d; ++i) {
        double sum = 0;
        for (int64_t t = 0; t < count; ++t) sum += (double)rows[t * d + i];
        out[i] = (float)(sum / (double)count);
    }
}

// A number that is not finite stays one that is not.
static void largest(const float *rows, int64_t count, int64_t d, float *out) {
    for (int64_t i = 0; i < d; ++i) {
        out[i] = rows[i];
        for (int64_t t = 1; t < count; ++t)
            if (!(rows[t * d + i] <= out[i])) out[i] = rows[t * d + i];
    }
}

static void from_tokens(bpt_embedding_t which, const float *rows, int64_t count, int64_t d, float *out) {
    if (which == BPT_EMBED_MEAN)
        mean(rows, count, d, out);
    else if (which == BPT_EMBED_MAX)
        largest(rows, count, d, out);
    else
        memcpy(out, rows + (which == BPT_EMBED_LAST ? count - 1 : 0) * d, (size_t)d * sizeof *out);
}

bpt_status_t bpt_runner_embed(bpt_runner_t *r, const bpt_batch_t *batch, bpt_embedding_t which, float *states, float *vectors) {
    const int64_t d = bpt_runner_config(r)->d_model, all = batch->shape.batch;
    const bool of_texts = which == BPT_EMBED_TEXT || which == BPT_EMBED_ROOT, of_relays = which == BPT_EMBED_RELAY;
    float *made;
    if (!of_texts && !of_relays) {
        BPT_TRY(bpt_runner_states(r, batch, &(bpt_runner_states_t){.tokens = states}));
        for (int64_t s = 0; s < batch->n_real; ++s)
            from_tokens(which, states + (int64_t)batch->side[0].start[s] * d, batch->side[0].lengths[s], d, vectors + s * d);
        return BPT_OK;
    }
    BPT_TRY(bpt_alloc((size_t)(all * d), sizeof *made, &made));
    const bpt_runner_states_t out = {.pooled = of_texts ? made : NULL, .relay = of_relays ? made : NULL};
    const bpt_status_t status = bpt_runner_states(r, batch, &out);
    if (status == BPT_OK) memcpy(vectors, made, (size_t)(batch->n_real * d) * sizeof *vectors);
    bpt_free(made);
    return status;
}
