// Builds a model's graph (see encoder.h).
#include "models/graph/encoder.h"

#include "bpt/alloc.h"

// ---- Tokens

// Section 3 of the paper.
bpt_stream_t bpt_encoder_embed(const bpt_builder_t *b, const bpt_encoder_t *e) {
    const bpt_place_t leaves = bpt_place_first(b, e->in.row_keys, e->leaf_rows);
    const bpt_value_t tokens = b->config->d_input ? e->in.numbers : e->in.tokens;
    return bpt_embed(b, tokens, &e->in.ngrams, e->in.positions, bpt_build_random(b, leaves));
}

// ---- Heads

bool bpt_encoder_wants(const bpt_encoder_t *e, int32_t layer) {
    const int32_t last = bpt_model_layers(e->options.config), first = e->options.first_head ? e->options.first_head : last;
    return layer + 1 >= first;
}

void bpt_encoder_emit(const bpt_builder_t *b, bpt_encoder_t *e, int32_t layer, const bpt_encoded_t *encoded) {
    if (!bpt_encoder_wants(e, layer)) return;
    if (e->is_source) {
        e->encoded = *encoded;
        return;
    }
    if (!e->options.states) {
        e->task->build(b, e, encoded);
        return;
    }
    e->tokens = encoded->tokens.x.full;
    e->relay = encoded->relay.x.full;
    e->pooled = encoded->pooled.x.full;
}

void bpt_encoder_classify(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_states_t *states) {
    if (e->options.logits) {
        e->logits = bpt_head_logits(b, states);
        return;
    }
    const bpt_xent_t out = bpt_head_loss(b, states, e->in.targets, e->in.weights);
    e->nll = out.nll;
    e->loss = e->loss == BPT_NO_VALUE ? out.loss : bpt_add(b->g, e->loss, out.loss);
}

// ---- Inputs

void bpt_encoder_add_input(bpt_graph_t *g, bpt_encoder_t *e, int which, const char *name, bpt_shape_t shape) {
    e->own[which] = (bpt_own_input_t){.value = bpt_input(g, name, BPT_U32, shape), .count = (size_t)bpt_shape_count(&shape)};
}

void bpt_encoder_add_rotations(bpt_graph_t *g, bpt_encoder_t *e, int which, int64_t rows) {
    const bpt_model_config_t *c = e->options.config;
    const size_t count = (size_t)(rows * (c->d_model / c->heads));
    e->own[which] = (bpt_own_input_t){.value = bpt_rotations_input(g, c, "rotations", rows), .count = count, .constant = true};
}

void bpt_encoder_put_rotation(const bpt_encoder_t *e, int which, int64_t row, int64_t node) {
    const int64_t head_dim = e->options.config->d_model / e->options.config->heads;
    if (e->own[which].numbers) bpt_rotary_angles(bpt_rotary_position(&e->graph, node), head_dim, e->own[which].numbers + row * head_dim);
}

void bpt_encoder_add_task_input(bpt_graph_t *g, bpt_encoder_t *e, int which, const char *name, bpt_dtype_t dtype, bpt_shape_t shape) {
    e->task_own[which] = (bpt_own_input_t){.value = bpt_input(g, name, dtype, shape), .count = (size_t)bpt_shape_count(&shape)};
}

static bpt_value_t input_if(bpt_graph_t *g, bool wanted, const char *name, bpt_dtype_t dtype, bpt_shape_t shape) {
    return wanted ? bpt_input(g, name, dtype, shape) : BPT_NO_VALUE;
}

static void add_inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    const bool targets_wanted = !o->logits && !o->states && !e->is_source;
    const bpt_shape_t leaves = bpt_shape1(e->leaf_rows), targets = bpt_shape1(e->targets);
    for (int i = 0; i < BPT_OWN_INPUTS; ++i) e->own[i].value = BPT_NO_VALUE;
    for (int i = 0; i < BPT_TASK_INPUTS; ++i) e->task_own[i].value = BPT_NO_VALUE;
    e->in.tokens = input_if(g, !o->config->d_input, "tokens", BPT_U32, leaves);
    e->in.numbers = input_if(g, o->config->d_input, "numbers", BPT_F32, bpt_shape2(e->leaf_rows, o->config->d_input));
    const int64_t bag = o->shape.side[e->stack.side].bag;
    e->in.ngrams.bag = input_if(g, bag, "ngrams", BPT_U32, bpt_shape1(bag));
    e->in.ngrams.ranges = input_if(g, bag, "ngram_ranges", BPT_U32, bpt_shape2(e->leaf_rows, 2));
    e->in.positions = bpt_positions_input(g, o->config, e->leaf_rows);
    e->in.lengths = bpt_input(g, "lengths", BPT_U32, bpt_shape1(e->batch));
    e->in.targets = input_if(g, targets_wanted && !e->task->values, "targets", BPT_U32, targets);
    e->in.weights = input_if(g, targets_wanted && !e->task->values, "weights", BPT_F32, targets);
    if (e->task->inputs && !e->is_source) e->task->inputs(g, e);
    e->in.row_keys = BPT_NO_VALUE;
    e->layers->inputs(g, e);
    e->in.rng = input_if(g, o->dropout, "rng", BPT_U32, bpt_shape1(2));
    const bpt_shape_t columns = bpt_shape2(e->pieces.head_groups, o->config->d_model);
    e->pieces.group_columns = input_if(g, e->pieces.head_groups > 1, "group_columns", BPT_U32, columns);
}

static bpt_status_t allocate(bpt_own_input_t *own, int count) {
    for (int i = 0; i < count; ++i)
        if (own[i].value != BPT_NO_VALUE) BPT_TRY(bpt_alloc(own[i].count, sizeof *own[i].data, &own[i].data));
    return BPT_OK;
}

bpt_status_t bpt_encoder_allocate(bpt_encoder_t *e) {
    if (e->source) BPT_TRY(bpt_encoder_allocate(e->source));
    BPT_TRY(allocate(e->own, BPT_OWN_INPUTS));
    BPT_TRY(allocate(e->task_own, BPT_TASK_INPUTS));
    if (e->layers->stage_constants) e->layers->stage_constants(e);
    return BPT_OK;
}

void bpt_encoder_free(bpt_encoder_t *e) {
    if (e->source) bpt_encoder_free(e->source);
    bpt_free(e->source);
    bpt_halo_destroy(e->halo);
    for (int i = 0; i < BPT_OWN_INPUTS; ++i) bpt_free(e->own[i].data);
    for (int i = 0; i < BPT_TASK_INPUTS; ++i) bpt_free(e->task_own[i].data);
}

// ---- The whole

static bpt_pieces_t choose_pieces(const bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    const int32_t heads = o->config->heads;
    if (o->gradients && !o->recompute) return (bpt_pieces_t){.gradients = true, .head_groups = 1, .group_columns = BPT_NO_VALUE};
    if (o->gradients)
        return (bpt_pieces_t){.gradients = true,
                              .chunk_rows = o->chunk_rows ? o->chunk_rows : bpt_pieces_gradient_chunk_rows(e->rows),
                              .head_groups = o->head_groups ? o->head_groups : bpt_pieces_gradient_head_groups(e->rows, heads),
                              .group_columns = BPT_NO_VALUE};
    return (bpt_pieces_t){.chunk_rows = o->chunk_rows ? o->chunk_rows : bpt_pieces_chunk_rows(e->rows),
                          .head_groups = o->head_groups ? o->head_groups : bpt_pieces_head_groups(e->rows, heads),
                          .group_columns = BPT_NO_VALUE};
}

static bpt_builder_t make_builder(bpt_weights_t *weights, const bpt_encoder_t *e) {
    const bpt_model_config_t *c = e->options.config;
    const float on = e->options.dropout ? 1 : 0;
    return (bpt_builder_t){.g = weights->graph,
                           .w = weights,
                           .config = c,
                           .scope = e->stack.scope,
                           .embed_scope = e->stack.embed_scope,
                           .plain_embedding = e->stack.plain_embedding,
                           .scaled_embedding = e->stack.scaled_embedding,
                           .precision = e->options.precision,
                           .recompute = e->options.recompute,
                           .half_inputs = e->options.half_inputs,
                           .offload = e->options.offload,
                           .chunk_rows = e->pieces.chunk_rows,
                           .p_input = on * c->dropout_input,
                           .p_hidden = on * c->dropout_hidden,
                           .p_attention = on * c->dropout_attention,
                           .p_head = on * c->dropout_head,
                           .smoothing = on * c->smoothing,
                           .rng = e->in.rng};
}

// Embedded tokens, layers, and the task's head on what the last layer gives.
static void build(const bpt_builder_t *b, bpt_encoder_t *e) {
    e->layers->build(b, e);
    const int32_t layers = bpt_model_layers(b->config), first = e->options.first_head;
    if (e->loss != BPT_NO_VALUE && first && first < layers) e->loss = bpt_scale(b->g, e->loss, 1 / (float)(layers - first + 1));
}

// A stack with what stands before it.
static bpt_status_t build_stack(bpt_weights_t *weights, const bpt_encoder_options_t *options, int side, bpt_encoder_t *e) {
    e->stack = bpt_model_stack(options->config, side);
    e->options = *options;
    const bpt_model_config_t *c = e->options.config = &e->stack.config;
    e->kind = bpt_kind_of(c);
    e->layers = options->split.size > 1 ? e->kind->split_layers : e->kind->layers;
    e->task = bpt_task_of(c);
    if (!options->shape.side[side].rows)
        return bpt_fail(BPT_ERR_USAGE, "%s reads texts and their translations, and the batch has only one of them", e->task->model);
    if (e->kind->tree_table && !options->shape.side[side].nodes)
        return bpt_fail(BPT_ERR_USAGE, "model %s reads trees over texts, and this batch has none", e->kind->name);
    if (e->stack.reads_memory) {
        BPT_TRY(bpt_alloc(1, sizeof *e->source, &e->source));
        e->source->is_source = true;
        BPT_TRY(build_stack(weights, options, side - 1, e->source));
    }
    e->n = options->shape.side[side].n;
    e->batch = options->shape.batch;
    if (e->kind->intervals) {
        e->graph = bpt_model_needed_intervals(c, e->n * (options->split.size > 1 ? options->split.size : 1));
        BPT_TRY(bpt_intervals_check(&e->graph));
    }
    e->wants = e->is_source ? BPT_WANT_TOKENS : e->task->wants | (options->states ? BPT_WANT_TOKENS : 0);
    e->loss = e->nll = e->logits = e->tokens = e->relay = e->pooled = BPT_NO_VALUE;
    e->leaf_rows = options->shape.side[side].rows;
    e->rows = e->kind->intervals ? e->batch * bpt_node_count(&e->graph) : e->leaf_rows;
    e->targets = bpt_task_targets(e->task, &options->shape);
    e->pieces = choose_pieces(e);
    add_inputs(weights->graph, e);
    const bpt_builder_t b = make_builder(weights, e);
    build(&b, e);
    BPT_TRY(weights->status);
    return bpt_graph_status(weights->graph);
}

bpt_status_t bpt_encoder_build(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *encoder) {
    *encoder = (bpt_encoder_t){0};
    return build_stack(weights, options, bpt_model_stacks(options->config) - 1, encoder);
}

bpt_status_t bpt_encoder_build_source(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *encoder) {
    *encoder = (bpt_encoder_t){.is_source = true};
    return build_stack(weights, options, 0, encoder);
}
