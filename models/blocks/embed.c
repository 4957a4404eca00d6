// The embedding of tokens and positions (see builder.h).
#include <math.h>

#include "models/config/params_of.h"
#include "models/tasks/task.h"

static void token_params(bpt_param_table_t *t, const bpt_stack_t *stack, bool frozen) {
    const bpt_model_config_t *c = &stack->config;
    const char *scope = stack->embed_scope;
    const int64_t d = c->d_model;
    const bool small = c->tied || stack->scaled_embedding;
    bpt_param_sort_t embed = small ? bpt_param_linear(d) : bpt_param_normal();  // a tied matrix has the initial values of the head
    embed.rows = BPT_ROWS_OF_TOKENS;
    if (frozen) embed.group = BPT_GROUP_FROZEN;
    bpt_param_table_matrix(t, embed, c->vocab, c->d_embed, scope, BPT_NAME_EMBED);
    if (c->ngram_max) {
        bpt_param_table_matrix(t, bpt_param_linear(c->ngram_dim), c->ngram_rows, c->ngram_dim, scope, BPT_NAME_NGRAM);
        bpt_param_table_matrix(t, bpt_param_linear(c->ngram_dim), d, c->ngram_dim, scope, BPT_NAME_NGRAM_PROJ);
    }
    if (c->d_embed == d) return;
    bpt_param_table_matrix(t, bpt_param_linear(c->d_embed), d, c->d_embed, scope, BPT_NAME_EMBED_PROJ);
    bpt_param_table_vector(t, bpt_param_bias(c->d_embed), d, scope, BPT_NAME_EMBED_PROJ_BIAS);
}

void bpt_embed_params(bpt_param_table_t *t, const bpt_stack_t *stack, bool frozen) {
    const bpt_model_config_t *c = &stack->config;
    const char *scope = stack->embed_scope;
    const int64_t d = c->d_model;
    if (c->d_input) {
        bpt_param_table_matrix(t, bpt_param_linear(c->d_input), d, c->d_input, scope, BPT_NAME_INPUT_PROJ);
        bpt_param_table_vector(t, bpt_param_bias(c->d_input), d, scope, BPT_NAME_INPUT_PROJ_BIAS);
    } else {
        token_params(t, stack, frozen);
    }
    // Positions must not drown the tokens: where no LayerNorm follows, positions that training has hardly seen stay as they are; word
    // vectors, which examples are read with, are much smaller than N(0, 1), and so is an embedding that is the head's as well.
    const bool small = stack->plain_embedding || bpt_task_of(c)->reads == BPT_READS_EXAMPLES || (c->tied && !c->embed_scale);
    const bpt_param_sort_t place = small ? bpt_param_linear(d) : bpt_param_normal();
    if (c->positions == BPT_POSITIONS_ABSOLUTE) bpt_param_table_matrix(t, place, c->max_positions, d, scope, BPT_NAME_POSITIONS);
    if (!stack->plain_embedding) bpt_norm_params(t, c, scope, BPT_NAME_EMBED_NORM);
}
// x W^T + bias in f32.
static bpt_value_t project(const bpt_builder_t *b, bpt_value_t x, const char *weight, const char *bias) {
    const bpt_matmul_options_t options = {
        .transpose_b = true, .acc = BPT_NO_VALUE, .bias = bpt_weight(b->w, b->embed_scope, bias), .dtype = BPT_F32};
    return bpt_matmul(b->g, bpt_cast(b->g, x, b->precision), bpt_weight_factor(b->w, b->embed_scope, weight, 1), options);
}

// The inputs of the first layer, without position: of vectors or of tokens.
static bpt_value_t input_rows(const bpt_builder_t *b, bpt_value_t tokens) {
    if (b->config->d_input) return project(b, tokens, BPT_NAME_INPUT_PROJ, BPT_NAME_INPUT_PROJ_BIAS);
    const bpt_value_t x = bpt_gather(b->g, bpt_weight(b->w, b->embed_scope, BPT_NAME_EMBED), tokens);
    return b->config->d_embed == b->config->d_model ? x : project(b, x, BPT_NAME_EMBED_PROJ, BPT_NAME_EMBED_PROJ_BIAS);
}

bpt_value_t bpt_embed_rows(const bpt_builder_t *b, bpt_value_t tokens, bpt_value_t positions) {
    bpt_value_t x = input_rows(b, tokens);
    if (b->config->embed_scale || b->scaled_embedding) x = bpt_scale(b->g, x, sqrtf((float)b->config->d_model));
    if (positions == BPT_NO_VALUE) return x;
    if (b->config->positions == BPT_POSITIONS_SINUSOIDAL) return bpt_add(b->g, x, positions);
    return bpt_add(b->g, x, bpt_gather(b->g, bpt_weight(b->w, b->embed_scope, BPT_NAME_POSITIONS), positions));
}

// The mean of the embeddings of a token's n-grams, projected; added to that of the token.
static bpt_value_t add_ngrams(const bpt_builder_t *b, bpt_value_t x, const bpt_ngrams_t *ngrams) {
    if (!ngrams || ngrams->bag == BPT_NO_VALUE) return x;
    const bpt_value_t rows = bpt_gather(b->g, bpt_weight(b->w, b->embed_scope, BPT_NAME_NGRAM), ngrams->bag);
    const bpt_value_t mean = bpt_cast(b->g, bpt_segment(b->g, BPT_SEGMENT_MEAN, rows, ngrams->ranges), b->precision);
    const bpt_matmul_options_t options = {.transpose_b = true, .acc = x, .bias = BPT_NO_VALUE, .dtype = BPT_F32};
    return bpt_matmul(b->g, mean, bpt_weight_factor(b->w, b->embed_scope, BPT_NAME_NGRAM_PROJ, 1), options);
}

bpt_stream_t bpt_embed(const bpt_builder_t *b, bpt_value_t tokens, const bpt_ngrams_t *ngrams, bpt_value_t positions, bpt_random_t random) {
    const bpt_value_t x = add_ngrams(b, bpt_embed_rows(b, tokens, positions), ngrams);
    if (!b->plain_embedding) return bpt_build_norm(b, x, BPT_NO_VALUE, b->p_input, random, b->embed_scope, BPT_NAME_EMBED_NORM);
    const bpt_value_t dropped = bpt_dropout(b->g, x, b->p_input, random);
    return (bpt_stream_t){dropped, bpt_cast(b->g, dropped, b->precision)};
}
