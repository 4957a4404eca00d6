// A model on a device (see runner.h): states, programs by shape, one micro-batch at a time. Files are in runner_file.c.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "models/run/runner_internal.h"

static bpt_status_t check_inputs(const bpt_step_options_t *step) {
    if (step->offload && !step->recompute)
        return bpt_fail(BPT_ERR_USAGE, "only inputs of layers that are computed again can wait on disk (--offload): --recompute");
    if (!step->half_inputs || (step->recompute && step->precision != BPT_F32)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "inputs of layers in 16 bits (--half-inputs) are for layers that are computed again in bf16 or f16: "
                                   "--recompute --precision bf16");
}

// Of an optimizer that updates matrices as wholes.
static bpt_status_t set_matrices(bpt_runner_t *r) {
    const bpt_optimizer_t optimizer = r->options.step.optimizer.kind;
    if (!bpt_optimizer_has_matrices(optimizer)) return BPT_OK;
    bpt_params_set_matrices(&r->params);
    if (r->params.matrix_elements) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is for the weight matrices of layers, and this model has none that is trained; choose adamw",
                    bpt_optimizers[optimizer]->name);
}

bpt_status_t bpt_runner_create(const bpt_model_config_t *config, const bpt_runner_options_t *options, struct bpt_device *device,
                               bpt_runner_t **out) {
    bpt_runner_t *r;
    BPT_TRY(bpt_alloc(1, sizeof *r, &r));
    r->config = *config;
    r->options = *options;
    if (options->shard_optimizer) r->options.step.shard = (bpt_shard_t){bpt_ranks_rank(options->ranks), bpt_ranks_size(options->ranks)};
    r->options.step.marked |= bpt_ranks_size(options->ranks) > 1;
    r->device = device;
    bpt_status_t status = check_inputs(&options->step);
    if (status == BPT_OK) status = bpt_runner_split(r);
    if (status == BPT_OK) status = bpt_model_params(config, options->frozen, &r->params);
    if (status == BPT_OK) status = set_matrices(r);
    if (status == BPT_OK) status = bpt_workspace_create(device, &r->workspace);
    if (status == BPT_OK && options->offload) status = bpt_spill_create(options->offload, &r->spill);
    status = bpt_ranks_agree(options->ranks, status);  // connecting takes all ranks
    if (status == BPT_OK) status = bpt_runner_link_create(r);
    if (status == BPT_OK)
        *out = r;
    else
        bpt_runner_destroy(r);
    return status;
}

void bpt_runner_destroy(bpt_runner_t *r) {
    if (!r) return;
    bpt_runner_link_destroy(r);
    for (size_t i = 0; i < r->n_steps; ++i) bpt_step_destroy(r->steps[i]);
    bpt_free(r->steps);
    bpt_free(r->others);
    bpt_spill_destroy(r->spill);
    bpt_workspace_destroy(r->workspace);
    for (int i = 0; i < BPT_N_STATES; ++i) bpt_buffer_destroy(r->device, r->states[i]);
    bpt_runner_free_exchange(r);
    bpt_params_free(&r->params);
    bpt_free(r);
}

const bpt_model_config_t *bpt_runner_config(const bpt_runner_t *r) { return &r->config; }
const bpt_params_t *bpt_runner_params(const bpt_runner_t *r) { return &r->params; }
bpt_weights_form_t bpt_runner_weights(const bpt_runner_t *r) { return r->options.weights; }
bpt_dtype_t bpt_runner_precision(const bpt_runner_t *r) { return r->options.step.precision; }
struct bpt_device *bpt_runner_device(const bpt_runner_t *r) {
    return r->device;
}
bool bpt_runner_is_linked(const bpt_runner_t *r) { return r->link != NULL; }
bpt_ranks_t *bpt_runner_ranks(const bpt_runner_t *r) { return r->options.ranks; }
struct bpt_buffer *bpt_runner_state(const bpt_runner_t *r, bpt_step_state_t state) {
    return r->states[state];
}

size_t bpt_runner_state_bytes(const bpt_runner_t *r, bpt_step_state_t state) {
    return (size_t)bpt_step_state_elements(&r->params, &r->options.step.shard, state) * sizeof(float);
}

uint64_t bpt_runner_device_bytes(const bpt_runner_t *r) {
    uint64_t bytes = bpt_workspace_bytes(r->workspace);
    for (int i = 0; i < BPT_N_STATES; ++i)
        if (r->states[i]) bytes += bpt_runner_state_bytes(r, (bpt_step_state_t)i);
    return bytes;
}

bpt_status_t bpt_runner_need_state(bpt_runner_t *r, bpt_step_state_t state) {
    if (r->states[state]) return BPT_OK;
    return bpt_context(bpt_buffer_create(r->device, bpt_runner_state_bytes(r, state), &r->states[state]), "memory for the model");
}

static bpt_status_t need_states(bpt_runner_t *r, bpt_step_kind_t kind) {
    const bpt_step_traits_t *t = &bpt_step_traits[kind];
    if (t->grads && r->rounded)
        return bpt_fail(BPT_ERR_USAGE, "weights of 8 bits are for use, not for training; train from the run, or from an export in f32");
    BPT_TRY(bpt_runner_need_state(r, BPT_STATE_PARAMS));
    if (t->grads) BPT_TRY(bpt_runner_need_state(r, BPT_STATE_GRADS));
    if (t->sums) BPT_TRY(bpt_runner_need_state(r, BPT_STATE_SUMS));
    if (t->moments) BPT_TRY(bpt_runner_need_state(r, BPT_STATE_M));
    return t->moments ? bpt_runner_need_state(r, BPT_STATE_V) : BPT_OK;
}

void bpt_runner_set_labels(bpt_runner_t *r, const char *const *labels) { r->labels = labels; }
const char *const *bpt_runner_labels(const bpt_runner_t *r) { return r->labels; }

// ---- programs

static bool same_key(const bpt_step_key_t *a, const bpt_step_key_t *b) {
    return a->kind == b->kind && a->first_head == b->first_head && bpt_batch_shape_same(&a->shape, &b->shape);
}

bpt_status_t bpt_runner_step(bpt_runner_t *r, const bpt_step_key_t *key, bpt_model_step_t **out) {
    for (size_t i = 0; i < r->n_steps; ++i) {
        if (!same_key(&r->steps[i]->key, key)) continue;
        *out = r->steps[i];
        return BPT_OK;
    }
    BPT_TRY(need_states(r, key->kind));
    BPT_TRY(bpt_grow(&r->steps, r->n_steps, &r->step_capacity, sizeof *r->steps));
    BPT_TRY(bpt_step_create(&r->config, &r->params, &r->options.step, key, r->workspace, r->states, out));
    const bpt_status_t status = r->spill ? bpt_program_on_offload((*out)->program, r->spill) : BPT_OK;
    if (status != BPT_OK) bpt_step_destroy(*out);
    BPT_TRY(status);
    bpt_runner_connect(r, *out);
    r->steps[r->n_steps++] = *out;
    return BPT_OK;
}

// Deep supervision moves on: programs of other active layers are not needed again.
static void forget_other_heads(bpt_runner_t *r, int32_t first_head) {
    size_t kept = 0;
    for (size_t i = 0; i < r->n_steps; ++i) {
        bpt_model_step_t *step = r->steps[i];
        if (bpt_step_traits[step->key.kind].dropout && step->key.first_head != first_head)
            bpt_step_destroy(step);
        else
            r->steps[kept++] = step;
    }
    r->n_steps = kept;
}

static bpt_step_key_t training_key(const bpt_runner_t *r, const bpt_batch_shape_t *shape, int32_t first_head, bool alone) {
    const bool deep = first_head > 0 && first_head < bpt_model_layers(&r->config);
    return (bpt_step_key_t){alone ? BPT_STEP_TRAIN : BPT_STEP_MICRO, *shape, deep ? first_head : 0};
}

const bpt_step_key_t bpt_runner_apply_key = {.kind = BPT_STEP_APPLY};

bpt_status_t bpt_runner_prepare(bpt_runner_t *r, const bpt_batch_shape_t *shape, int32_t first_head, bool alone) {
    const bpt_step_key_t key = training_key(r, shape, first_head, alone);
    bpt_model_step_t *step;
    forget_other_heads(r, key.first_head);
    BPT_TRY(bpt_runner_step(r, &key, &step));
    return alone ? BPT_OK : bpt_runner_step(r, &bpt_runner_apply_key, &step);
}

bpt_status_t bpt_runner_program(bpt_runner_t *r, const bpt_step_key_t *key, bpt_program_t **out) {
    bpt_model_step_t *step;
    BPT_TRY(bpt_runner_step(r, key, &step));
    *out = step->program;
    return BPT_OK;
}

bpt_status_t bpt_runner_plan(bpt_runner_t *r, const bpt_step_key_t *key, bpt_plan_summary_t *summary, FILE *map) {
    bpt_model_step_t step;
    bpt_graph_t *graph;
    bpt_plan_t *plan = NULL;
    BPT_TRY(bpt_step_graph(&r->config, &r->params, &r->options.step, key, &step, &graph));
    bpt_status_t status = bpt_plan_create(r->device, graph, &plan);
    if (status == BPT_OK) *summary = bpt_plan_summary(plan);
    if (status == BPT_OK && map) status = bpt_plan_print(plan, graph, map);
    bpt_plan_destroy(plan);
    bpt_graph_destroy(graph);
    bpt_encoder_free(&step.encoder);
    return status;
}

// ---- training

bpt_status_t bpt_runner_read_scalar(bpt_program_t *program, bpt_value_t value, double *out) {
    float x = 0;
    BPT_TRY(bpt_program_read(program, value, &x));
    *out = (double)x;
    return BPT_OK;
}

bpt_status_t bpt_runner_write_hyper(bpt_model_step_t *step, const bpt_update_t *u) {
    const float hyper[8] = {u->lr, u->bias1, u->bias2, u->clip, 1 / u->loss_scale};
    return bpt_program_write(step->program, step->hyper, hyper);
}

void bpt_runner_note_norm(double square_sum, const bpt_update_t *u, bpt_update_result_t *result) {
    result->grad_norm = sqrt(square_sum) / (double)u->loss_scale;
    result->updated = isfinite((float)square_sum);
}

static bpt_status_t finish_update(bpt_model_step_t *step, const bpt_update_t *u, bpt_update_result_t *result) {
    double square_sum;
    BPT_TRY(bpt_runner_read_scalar(step->program, step->square_sum, &square_sum));
    bpt_runner_note_norm(square_sum, u, result);
    return BPT_OK;
}

bpt_status_t bpt_runner_apply(bpt_runner_t *r, const bpt_update_t *u, bpt_update_result_t *result) {
    bpt_model_step_t *step;
    BPT_TRY(bpt_runner_step(r, &bpt_runner_apply_key, &step));
    BPT_TRY(bpt_runner_write_hyper(step, u));
    BPT_TRY(bpt_program_run(step->program));
    return finish_update(step, u, result);
}

bpt_status_t bpt_runner_train(bpt_runner_t *r, const bpt_batch_t *batch, const bpt_update_t *u, bpt_update_result_t *result) {
    const bool alone = batch->first && batch->last;
    const bpt_step_key_t key = training_key(r, &batch->shape, u->first_head, alone);
    const float weight = batch->window_scored > 0 ? u->loss_scale / (float)batch->window_scored : 0;
    const float keep = batch->first ? 0 : 1;
    bpt_model_step_t *step;
    *result = (bpt_update_result_t){0};
    BPT_TRY(bpt_runner_step(r, &key, &step));
    BPT_TRY(bpt_step_write(step, batch, weight, u->rng));
    if (alone) BPT_TRY(bpt_runner_write_hyper(step, u));
    BPT_TRY(bpt_program_write(step->program, step->keep, &keep));
    BPT_TRY(u->sends ? bpt_runner_run_sending(r, step->program) : bpt_program_run(step->program));
    BPT_TRY(bpt_runner_read_scalar(step->program, step->encoder.loss, &result->loss));
    result->loss /= (double)u->loss_scale;
    r->summed = !alone;
    r->finite = (batch->first || r->finite) && isfinite(result->loss);
    if (alone) return finish_update(step, u, result);
    return batch->last && r->finite ? bpt_runner_apply(r, u, result) : BPT_OK;
}

bpt_status_t bpt_runner_explain(bpt_runner_t *r, int64_t step, double loss) {
    float *grads;
    const bpt_step_state_t state = r->summed ? BPT_STATE_SUMS : BPT_STATE_GRADS;
    BPT_TRY(bpt_alloc_aligned(bpt_runner_state_bytes(r, state), &grads));
    bpt_status_t status = bpt_buffer_read(r->device, r->states[state], 0, grads, bpt_runner_state_bytes(r, state));
    const char *first = NULL;
    for (size_t i = 0; i < r->params.count && status == BPT_OK && !first; ++i) {
        const bpt_param_t *p = &r->params.items[i];
        if (p->group == BPT_GROUP_FROZEN) continue;
        for (int64_t e = 0; e < p->count && !first; ++e)
            if (!isfinite(grads[p->offset + e])) first = p->name;
    }
    bpt_free_aligned(grads);
    BPT_TRY(status);
    static const char *const remedy = "the parameters were not changed; lower the learning rate or clip gradients";
    if (!isfinite(loss))
        return bpt_fail(BPT_ERR_NUMERIC, "step %" PRId64 ": the loss is not finite (first gradient that is not: %s); %s", step,
                        first ? first : "none", remedy);
    if (first) return bpt_fail(BPT_ERR_NUMERIC, "step %" PRId64 ": the gradient of %s is not finite; %s", step, first, remedy);
    return bpt_fail(BPT_ERR_NUMERIC, "step %" PRId64 ": the norm of the gradient overflows; %s", step, remedy);
}

// ---- evaluation

static bpt_status_t run_forward(bpt_runner_t *r, bpt_step_kind_t kind, const bpt_batch_t *batch, bpt_model_step_t **step) {
    const bpt_step_key_t key = {.kind = kind, .shape = batch->shape};
    const float keep = batch->first ? 0 : 1;
    BPT_TRY(bpt_runner_step(r, &key, step));
    BPT_TRY(bpt_step_write(*step, batch, 1, 0));
    BPT_TRY(bpt_program_write((*step)->program, (*step)->keep, &keep));
    return bpt_program_run((*step)->program);
}

bpt_status_t bpt_runner_evaluate_alone(bpt_runner_t *r, const bpt_batch_t *batch, float *nll, double *loss) {
    bpt_model_step_t *step;
    BPT_TRY(run_forward(r, BPT_STEP_EVALUATE, batch, &step));
    BPT_TRY(bpt_runner_read_scalar(step->program, step->encoder.loss, loss));
    if (bpt_runner_splits(r)) return bpt_runner_join_evaluation(r, step, nll, loss);
    return nll ? bpt_program_read(step->program, step->encoder.nll, nll) : BPT_OK;
}

bpt_status_t bpt_runner_evaluate(bpt_runner_t *r, const bpt_batch_t *batch, float *nll, double *loss) {
    return r->n_others ? bpt_together_evaluate(r, batch, nll, loss) : bpt_runner_evaluate_alone(r, batch, nll, loss);
}

bpt_status_t bpt_runner_logits(bpt_runner_t *r, const bpt_batch_t *batch, float *logits) {
    bpt_model_step_t *step;
    BPT_TRY(run_forward(r, BPT_STEP_LOGITS, batch, &step));
    BPT_TRY(bpt_program_read(step->program, step->encoder.logits, logits));
    return bpt_together_logits(r, batch, logits);
}

bpt_status_t bpt_runner_states(bpt_runner_t *r, const bpt_batch_t *batch, const bpt_runner_states_t *out) {
    bpt_model_step_t *step;
    BPT_TRY(run_forward(r, BPT_STEP_STATES, batch, &step));
    if (out->tokens) BPT_TRY(bpt_program_read(step->program, step->encoder.tokens, out->tokens));
    if (out->relay) BPT_TRY(bpt_program_read(step->program, step->encoder.relay, out->relay));
    return out->pooled ? bpt_program_read(step->program, step->encoder.pooled, out->pooled) : BPT_OK;
}

bpt_status_t bpt_runner_gradient(bpt_runner_t *r, const bpt_batch_t *batch, bool first, double *loss) {
    bpt_batch_t part = *batch;
    bpt_model_step_t *step;
    part.first = first;
    BPT_TRY(run_forward(r, BPT_STEP_GRADIENT, &part, &step));
    return bpt_runner_read_scalar(step->program, step->encoder.loss, loss);
}

bpt_status_t bpt_runner_read_gradient(bpt_runner_t *r, float *out) {
    return bpt_buffer_read(r->device, r->states[BPT_STATE_SUMS], 0, out, bpt_runner_state_bytes(r, BPT_STATE_SUMS));
}
