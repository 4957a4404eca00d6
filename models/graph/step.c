// Builds, compiles and feeds the programs of a model (see step.h).
#include "models/graph/step.h"

#include <string.h>

#include "bpt/alloc.h"
#include "models/graph/update.h"
#include "models/run/batch_check.h"

const bpt_step_traits_t bpt_step_traits[BPT_N_STEP_KINDS] = {
    [BPT_STEP_TRAIN] = {.model = true, .grads = true, .dropout = true, .moments = true},
    [BPT_STEP_MICRO] = {.model = true, .grads = true, .dropout = true, .sums = true},
    [BPT_STEP_APPLY] = {.sums = true, .moments = true},
    [BPT_STEP_MATRICES] = {.sums = true},
    [BPT_STEP_NORM] = {.sums = true},
    [BPT_STEP_GRADIENT] = {.model = true, .grads = true, .sums = true},
    [BPT_STEP_EVALUATE] = {.model = true},
    [BPT_STEP_LOGITS] = {.model = true},
    [BPT_STEP_STATES] = {.model = true},
};

// ---- graphs

typedef struct {
    const bpt_model_config_t *config;
    const bpt_params_t *params;
    const bpt_step_options_t *options;
    bpt_graph_t *g;
    bpt_model_step_t *step;
    bpt_value_t state[BPT_N_STATES];  // whole arenas
} build_t;

static bpt_value_t elements(const build_t *b, bpt_value_t arena, int64_t begin, int64_t end) {
    return bpt_view(b->g, arena, (size_t)begin * sizeof(float), bpt_shape1(end - begin));
}

static bool is_sharded(const build_t *b) { return b->options->shard.size > 1; }

static bpt_update_nodes_t make_update(const build_t *b, bpt_value_t grads) {
    return (bpt_update_nodes_t){.g = b->g,
                                .options = &b->options->optimizer,
                                .precision = b->options->precision,
                                .params = b->state[BPT_STATE_PARAMS],
                                .grads = grads,
                                .m = b->state[BPT_STATE_M],
                                .v = b->state[BPT_STATE_V],
                                .hyper = b->step->hyper,
                                .square_sum = b->step->square_sum};
}

static void add_hyper(const build_t *b) { b->step->hyper = bpt_input(b->g, "hyper", BPT_F32, bpt_shape1(8)); }

// Of a sharded optimizer: the own part of the update, and what follows when all ranks have done theirs. The sum of squares is that of all.
static void update_own(const build_t *b, bpt_value_t grads, bool matrices) {
    add_hyper(b);
    b->step->square_sum = bpt_input(b->g, "square_sum", BPT_F32, bpt_shape1(1));
    const bpt_update_nodes_t u = make_update(b, grads);
    if (matrices)
        bpt_update_matrices(&u, b->params);
    else
        bpt_update_numbers(&u, b->params, &b->options->shard);
}

static void norm_of_own(const build_t *b, bpt_value_t grads) {
    const int64_t count = b->params->trained_elements;
    bpt_value_t sum = BPT_NO_VALUE;
    for (int64_t i = 0; i < bpt_buckets(count); ++i) {
        const bpt_elements_t own = bpt_own_slice(&b->options->shard, count, i);
        if (own.begin == own.end) continue;
        const bpt_value_t of_slice = bpt_square_sum(b->g, elements(b, grads, own.begin, own.end));
        sum = sum == BPT_NO_VALUE ? of_slice : bpt_add(b->g, sum, of_slice);
    }
    b->step->square_sum = sum;
    bpt_graph_keep(b->g, sum);
}

static void accumulate(const build_t *b, int64_t begin, int64_t end) {
    bpt_accumulate(b->g, elements(b, b->state[BPT_STATE_SUMS], begin, end), elements(b, b->state[BPT_STATE_GRADS], begin, end),
                   b->step->keep);
}

// Bucket by bucket, so that each can go to the other ranks while the backward pass goes on.
static void accumulate_marked(const build_t *b) {
    const int64_t count = b->params->trained_elements;
    for (int64_t i = 0; i < bpt_buckets(count); ++i) {
        const bpt_elements_t all = bpt_bucket(count, i);
        accumulate(b, all.begin, all.end);
        bpt_graph_mark(b->g, elements(b, b->state[BPT_STATE_SUMS], all.begin, all.end));
    }
}

static void add_to_sums(const build_t *b) {
    b->step->keep = bpt_input(b->g, "keep", BPT_F32, bpt_shape1(1));
    if (b->options->marked && b->step->key.kind == BPT_STEP_MICRO)
        accumulate_marked(b);
    else
        accumulate(b, 0, b->params->trained_elements);
}

// Clipping and the optimizer over the flat arenas.
static void update(const build_t *b, bpt_value_t grads) {
    add_hyper(b);
    b->step->square_sum = bpt_square_sum(b->g, grads);
    // A loss that is not finite must not change the parameters either: 0 * loss is 0 or NaN.
    const bpt_value_t loss = b->step->encoder.loss;
    if (b->step->key.kind == BPT_STEP_TRAIN) b->step->square_sum = bpt_add(b->g, b->step->square_sum, bpt_scale(b->g, loss, 0));
    bpt_graph_keep(b->g, b->step->square_sum);
    const bpt_update_nodes_t u = make_update(b, grads);
    bpt_update_numbers(&u, b->params, &b->options->shard);
    bpt_update_matrices(&u, b->params);
}

static bpt_status_t build_model(const build_t *b) {
    const bpt_step_key_t *key = &b->step->key;
    const bpt_step_traits_t *t = &bpt_step_traits[key->kind];
    bpt_encoder_t *e = &b->step->encoder;
    bpt_batch_shape_t shape;
    BPT_TRY(bpt_split_shape(&key->shape, &b->options->split, &shape));
    const bpt_encoder_options_t options = {
        .config = b->config,
        .shape = shape,
        .split = b->options->split,
        .precision = b->options->precision,
        .dropout = t->dropout,
        .logits = key->kind == BPT_STEP_LOGITS,
        .states = key->kind == BPT_STEP_STATES,
        .gradients = t->grads,
        .recompute = t->grads && b->options->recompute,
        .offload = b->options->offload,
        .half_inputs = b->options->half_inputs && b->options->precision != BPT_F32,
        .chunk_rows = b->options->chunk_rows,
        .head_groups = b->options->head_groups,
        .first_head = t->dropout ? key->first_head : 0,
    };
    bpt_weights_t weights;
    bpt_weights_init(&weights, b->g, b->params, b->state[BPT_STATE_PARAMS], b->options->precision);
    bpt_status_t status;
    // The states of a translator are those of the texts that it reads.
    const bool reads = key->kind == BPT_STEP_STATES && bpt_model_stacks(b->config) == 2;
    BPT_TRY_GOTO(reads ? bpt_encoder_build_source(&weights, &options, e) : bpt_encoder_build(&weights, &options, e), done);
    if (reads) e->tokens = e->encoded.tokens.x.full;
    bpt_graph_keep(b->g, e->loss);
    bpt_graph_keep(b->g, e->logits);
    bpt_graph_keep(b->g, e->tokens);
    bpt_graph_keep(b->g, e->relay);
    bpt_graph_keep(b->g, e->pooled);
    if (key->kind == BPT_STEP_EVALUATE) bpt_graph_keep(b->g, e->nll);
    BPT_TRY_GOTO(bpt_graph_fuse(b->g), done);
    if (t->grads) BPT_TRY_GOTO(bpt_weights_gradients(&weights, e->loss, b->state[BPT_STATE_GRADS]), done);
done:
    bpt_weights_free(&weights);
    return status;
}

static bpt_status_t build(const build_t *b) {
    const bpt_step_kind_t kind = b->step->key.kind;
    const bpt_step_traits_t *t = &bpt_step_traits[kind];
    if (t->model) BPT_TRY(build_model(b));
    if (kind == BPT_STEP_TRAIN) update(b, b->state[BPT_STATE_GRADS]);
    if (kind == BPT_STEP_APPLY && !is_sharded(b)) update(b, b->state[BPT_STATE_SUMS]);
    if (kind == BPT_STEP_MATRICES || (kind == BPT_STEP_APPLY && is_sharded(b)))
        update_own(b, b->state[BPT_STATE_SUMS], kind == BPT_STEP_MATRICES);
    if (kind == BPT_STEP_NORM) norm_of_own(b, b->state[BPT_STATE_SUMS]);
    if (t->grads && t->sums) add_to_sums(b);
    if (t->grads || !t->model) BPT_TRY(bpt_graph_fuse(b->g));
    if (t->grads && b->options->recompute) BPT_TRY(bpt_graph_recompute(b->g));
    if (t->grads && b->options->offload) BPT_TRY(bpt_graph_offload_marked(b->g));
    BPT_TRY(bpt_graph_eliminate(b->g));
    return bpt_graph_place_joins(b->g);
}

int64_t bpt_step_state_elements(const bpt_params_t *params, const bpt_shard_t *shard, bpt_step_state_t state) {
    switch (state) {
    case BPT_STATE_PARAMS: return params->elements;
    case BPT_STATE_M: return bpt_own_elements(shard, params->trained_elements, 0);
    case BPT_STATE_V: return bpt_own_elements(shard, params->trained_elements, params->matrix_elements);
    default: return params->trained_elements;
    }
}

bpt_status_t bpt_step_graph(const bpt_model_config_t *config, const bpt_params_t *params, const bpt_step_options_t *options,
                            const bpt_step_key_t *key, bpt_model_step_t *step, bpt_graph_t **graph) {
    static const char *const names[] = {"parameters", "gradients", "gradient sums", "first moments", "second moments"};
    build_t b = {.config = config, .params = params, .options = options, .step = step};
    *step = (bpt_model_step_t){.key = *key, .hyper = BPT_NO_VALUE, .keep = BPT_NO_VALUE, .square_sum = BPT_NO_VALUE};
    BPT_TRY(bpt_graph_create(&b.g));
    for (int i = 0; i < BPT_N_STATES; ++i)
        b.state[i] =
            bpt_state(b.g, names[i], i, BPT_F32, bpt_shape1(bpt_step_state_elements(params, &options->shard, (bpt_step_state_t)i)));
    const bpt_status_t status = build(&b);
    if (status == BPT_OK)
        *graph = b.g;
    else
        bpt_graph_destroy(b.g);
    if (status != BPT_OK) bpt_encoder_free(&step->encoder);
    return status;
}

// ---- programs

static bpt_status_t prepare_inputs(bpt_model_step_t *step) {
    bpt_encoder_t *e = &step->encoder;
    BPT_TRY(bpt_encoder_allocate(e));
    if (e->in.weights != BPT_NO_VALUE) BPT_TRY(bpt_alloc((size_t)e->targets, sizeof(float), &step->weights));
    return bpt_encoder_write_constants(e, step->program, &step->sinusoids);
}

bpt_status_t bpt_step_create(const bpt_model_config_t *config, const bpt_params_t *params, const bpt_step_options_t *options,
                             const bpt_step_key_t *key, bpt_workspace_t *workspace, struct bpt_buffer *const states[BPT_N_STATES],
                             bpt_model_step_t **out) {
    bpt_model_step_t *step;
    bpt_graph_t *graph;
    BPT_TRY(bpt_alloc(1, sizeof *step, &step));
    bpt_status_t status = bpt_step_graph(config, params, options, key, step, &graph);
    if (status == BPT_OK) status = bpt_program_compile(graph, workspace, states, BPT_N_STATES, &step->program);
    if (status == BPT_OK && bpt_step_traits[key->kind].model) status = prepare_inputs(step);
    if (status == BPT_OK)
        *out = step;
    else
        bpt_step_destroy(step);
    return status;
}

void bpt_step_destroy(bpt_model_step_t *step) {
    if (!step) return;
    bpt_program_destroy(step->program);
    bpt_encoder_free(&step->encoder);
    bpt_free(step->weights);
    bpt_split_batch_free(&step->own);
    bpt_free(step->sinusoids.rows);
    bpt_free(step);
}

// ---- feeding

// A sequence may not be longer than the table of absolute positions.
static bpt_status_t check_lengths(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    if (e->source) BPT_TRY(check_lengths(e->source, batch));
    const bpt_side_t *side = &batch->side[e->stack.side];
    const uint32_t *lengths = side->whole_lengths ? side->whole_lengths : side->lengths;
    for (int64_t s = 0; e->in.positions != BPT_NO_VALUE && s < e->batch; ++s)
        BPT_TRY(bpt_model_check_length(e->options.config, lengths[s]));
    return BPT_OK;
}

// A source of another task would be read beyond its arrays, or give a number that means nothing.
static bpt_status_t check_batch(const bpt_model_step_t *step, const bpt_batch_t *batch) {
    const bpt_encoder_t *e = &step->encoder;
    if (!bpt_batch_shape_same(&e->options.shape, &batch->shape))
        return bpt_fail(BPT_ERR_INTERNAL, "a batch of %lld sequences is given to a program for %lld", (long long)batch->shape.batch,
                        (long long)e->batch);
    if (e->options.config->ngram_max && !batch->shape.side[0].bag)
        return bpt_fail(
            BPT_ERR_USAGE,
            "the model reads character n-grams of words beside the words, and the batch has none: give it texts, not numbers of tokens");
    const bool ids = e->in.targets != BPT_NO_VALUE;
    if (e->loss == BPT_NO_VALUE || (batch->n_targets == e->targets && batch->weights && (!ids || batch->targets)))
        return check_lengths(e, batch);
    return bpt_fail(BPT_ERR_USAGE, "the batch has %lld targets; %s (task %s) with these sequences has %lld: it was made for another task",
                    (long long)batch->n_targets, e->task->model, e->task->name, (long long)e->targets);
}

static bpt_status_t write_batch(bpt_model_step_t *step, const bpt_batch_t *batch, float weight_scale, uint64_t rng) {
    const bpt_encoder_t *e = &step->encoder;
    const uint32_t key[2] = {(uint32_t)rng, (uint32_t)(rng >> 32)};
    BPT_TRY(check_batch(step, batch));
    BPT_TRY(bpt_encoder_write(e, step->program, &step->sinusoids, batch, key));
    if (e->task->stage && !e->is_source) BPT_TRY(e->task->stage(e, batch, weight_scale));
    for (int64_t i = 0; step->weights && i < e->targets; ++i) step->weights[i] = batch->weights[i] * weight_scale;
    BPT_TRY(bpt_program_write(step->program, e->in.targets, batch->targets));
    BPT_TRY(bpt_program_write(step->program, e->in.weights, step->weights));
    for (int i = 0; i < BPT_TASK_INPUTS; ++i) BPT_TRY(bpt_program_write(step->program, e->task_own[i].value, e->task_own[i].data));
    return BPT_OK;
}

bpt_status_t bpt_step_write(bpt_model_step_t *step, const bpt_batch_t *batch, float weight_scale, uint64_t rng) {
    const bpt_encoder_t *e = &step->encoder;
    bpt_batch_t own;
    BPT_TRY(bpt_batch_check(e->options.config, batch));
    if (e->options.split.size <= 1) return write_batch(step, batch, weight_scale, rng);
    for (int64_t s = 0; s < e->batch; ++s) BPT_TRY(bpt_model_check_length(e->options.config, batch->side[e->stack.side].lengths[s]));
    BPT_TRY(bpt_split_batch(batch, &e->options.split, &step->own, &own));
    return write_batch(step, &own, weight_scale, rng);
}
