// Parameters and moments of a runner: initial values, files, single parameters (see runner.h).
#include <math.h>
#include <stdint.h>

#include "bpt/alloc.h"
#include "models/config/config_json.h"
#include "models/run/runner_internal.h"

// A host copy of a state; zero where `read` is false.
static bpt_status_t fetch(bpt_runner_t *r, bpt_step_state_t state, bool read, float **out) {
    BPT_TRY(bpt_runner_need_state(r, state));
    BPT_TRY(bpt_alloc(bpt_runner_state_bytes(r, state), 1, out));
    if (!read) return BPT_OK;
    const bpt_status_t status = bpt_buffer_read(r->device, r->states[state], 0, *out, bpt_runner_state_bytes(r, state));
    if (status != BPT_OK) bpt_free(*out);
    return status;
}

static bpt_status_t store(bpt_runner_t *r, bpt_step_state_t state, const float *values) {
    return bpt_buffer_write(r->device, r->states[state], 0, values, bpt_runner_state_bytes(r, state));
}

// In the form that the weights are used in.
static bpt_status_t store_weights(bpt_runner_t *r, float *arena) {
    if (r->options.weights == BPT_WEIGHTS_Q8) BPT_TRY(bpt_params_round(&r->params, arena));
    r->rounded |= r->options.weights == BPT_WEIGHTS_Q8;
    return store(r, BPT_STATE_PARAMS, arena);
}

static bpt_status_t find_form(bpt_runner_t *r, const char *path) {
    bpt_safetensors_t *file;
    BPT_TRY(bpt_safetensors_open(path, &file));
    r->rounded = bpt_params_are_packed(file);
    bpt_safetensors_close(file);
    return BPT_OK;
}

bpt_status_t bpt_runner_init(bpt_runner_t *r, uint64_t seed) {
    float *arena;
    BPT_TRY(fetch(r, BPT_STATE_PARAMS, false, &arena));
    for (size_t i = 0; i < r->params.count; ++i) bpt_param_init_values(&r->params.items[i], seed, arena + r->params.items[i].offset);
    const bpt_status_t status = store_weights(r, arena);
    bpt_free(arena);
    return status;
}

bpt_status_t bpt_runner_load(bpt_runner_t *r, const char *path, bool non_finite, bpt_checksum_t *sum) {
    float *arena;
    BPT_TRY(fetch(r, BPT_STATE_PARAMS, false, &arena));
    const bpt_param_set_t set = {.prefix = "", .arena = arena};
    bpt_status_t status = bpt_params_read(&r->params, path, &set, 1, non_finite, sum);
    if (status == BPT_OK) status = find_form(r, path);
    if (status == BPT_OK) status = store_weights(r, arena);
    bpt_free(arena);
    return status;
}

bpt_status_t bpt_runner_save_to(bpt_runner_t *r, bpt_safetensors_writer_t *writer) {
    float *arena;
    char *config = NULL;
    BPT_TRY(fetch(r, BPT_STATE_PARAMS, true, &arena));
    const bpt_param_set_t set = {.prefix = "", .arena = arena};
    bpt_status_t status = bpt_model_config_format(&r->config, &config);
    if (status == BPT_OK) status = bpt_params_write_to(&r->params, writer, config, &set, 1);
    bpt_free(config);
    bpt_free(arena);
    return status;
}

bpt_status_t bpt_runner_save(bpt_runner_t *r, const char *path, bpt_checksum_t *sum) {
    bpt_safetensors_writer_t *writer;
    BPT_TRY(bpt_safetensors_writer_create(path, &writer));
    const bpt_status_t status = bpt_runner_save_to(r, writer);
    if (status == BPT_OK && sum) *sum = bpt_safetensors_writer_checksum(writer);
    bpt_safetensors_writer_destroy(writer);
    return status;
}

// Both moments of all ranks on the host, m before v; zero where `read` is false.
static bpt_status_t fetch_moments(bpt_runner_t *r, bool read, float **out) {
    BPT_TRY(bpt_runner_need_state(r, BPT_STATE_M));
    BPT_TRY(bpt_runner_need_state(r, BPT_STATE_V));
    BPT_TRY(bpt_alloc((size_t)(2 * r->params.trained_elements), sizeof **out, out));
    bpt_status_t status = read ? bpt_runner_collect(r, BPT_STATE_M, *out) : BPT_OK;
    if (status == BPT_OK && read) status = bpt_runner_collect(r, BPT_STATE_V, *out + r->params.trained_elements);
    if (status != BPT_OK) bpt_free(*out);
    return status;
}

// Matrices that are updated as wholes have first moments alone.
static bpt_param_set_t set_of_moments(const bpt_runner_t *r, bpt_step_state_t state, float *moments) {
    const bool second = state == BPT_STATE_V;
    return (bpt_param_set_t){.prefix = second ? "v." : "m.",
                             .arena = moments + (second ? r->params.trained_elements : 0),
                             .trained_only = true,
                             .no_matrices = second};
}

bpt_status_t bpt_runner_load_moments(bpt_runner_t *r, const char *path, bool non_finite, bpt_checksum_t *sum) {
    float *moments;
    BPT_TRY(fetch_moments(r, false, &moments));
    const bpt_param_set_t sets[] = {set_of_moments(r, BPT_STATE_M, moments), set_of_moments(r, BPT_STATE_V, moments)};
    bpt_status_t status = bpt_params_read(&r->params, path, sets, 2, non_finite, sum);
    if (status == BPT_OK) status = bpt_runner_store_own(r, BPT_STATE_M, sets[0].arena);
    if (status == BPT_OK) status = bpt_runner_store_own(r, BPT_STATE_V, sets[1].arena);
    bpt_free(moments);
    return status;
}

bpt_status_t bpt_runner_save_moments(bpt_runner_t *r, const char *path, bpt_checksum_t *sum) {
    float *moments;
    if (!path) {  // another rank writes them
        if (r->options.step.shard.size <= 1) return BPT_OK;
        BPT_TRY(bpt_runner_collect(r, BPT_STATE_M, NULL));
        return bpt_runner_collect(r, BPT_STATE_V, NULL);
    }
    BPT_TRY(fetch_moments(r, true, &moments));
    const bpt_param_set_t sets[] = {set_of_moments(r, BPT_STATE_M, moments), set_of_moments(r, BPT_STATE_V, moments)};
    const bpt_status_t status = bpt_params_write(&r->params, path, NULL, sets, 2, sum);
    bpt_free(moments);
    return status;
}

bpt_status_t bpt_runner_save_gradient(bpt_runner_t *r, double scale, const char *path) {
    float *sums;
    BPT_TRY(fetch(r, BPT_STATE_SUMS, true, &sums));
    bool finite = true;
    for (int64_t i = 0; i < r->params.trained_elements; ++i) {
        sums[i] = (float)((double)sums[i] * scale);
        finite &= isfinite(sums[i]) != 0;
    }
    const bpt_param_set_t set = {.prefix = "", .arena = sums, .trained_only = true};
    const bpt_status_t status = finite ? bpt_params_write(&r->params, path, NULL, &set, 1, NULL)
                                       : bpt_fail(BPT_ERR_NUMERIC, "the gradient is not finite, so %s is not written", path);
    bpt_free(sums);
    return status;
}

static bpt_status_t find(bpt_runner_t *r, const char *name, const bpt_param_t **out) {
    *out = bpt_params_find(&r->params, name);
    if (!*out) return bpt_fail(BPT_ERR_USAGE, "the model has no parameter \"%s\"", name);
    return bpt_runner_need_state(r, BPT_STATE_PARAMS);
}

bpt_status_t bpt_runner_set(bpt_runner_t *r, const char *name, const float *values) {
    const bpt_param_t *p;
    BPT_TRY(find(r, name, &p));
    return bpt_buffer_write(r->device, r->states[BPT_STATE_PARAMS], (size_t)p->offset * sizeof *values, values,
                            (size_t)p->count * sizeof *values);
}

bpt_status_t bpt_runner_get(bpt_runner_t *r, const char *name, float *values) {
    const bpt_param_t *p;
    BPT_TRY(find(r, name, &p));
    return bpt_buffer_read(r->device, r->states[BPT_STATE_PARAMS], (size_t)p->offset * sizeof *values, values,
                           (size_t)p->count * sizeof *values);
}

static bpt_status_t count_all(bpt_runner_t *r, const char *const *names, int64_t *total) {
    *total = 0;
    for (const bpt_param_t *p; *names; ++names, *total += p->count) BPT_TRY(find(r, *names, &p));
    return BPT_OK;
}

static bpt_status_t get_all(bpt_runner_t *r, const char *const *names, float *values) {
    for (const bpt_param_t *p; *names; ++names, values += p->count) {
        BPT_TRY(find(r, *names, &p));
        BPT_TRY(bpt_runner_get(r, *names, values));
    }
    return BPT_OK;
}

bpt_status_t bpt_runner_task_model(bpt_runner_t *r, bpt_task_model_t *out) {
    const char *const *names = bpt_task_decodes_with(&r->config);
    int64_t total;
    *out = (bpt_task_model_t){.config = &r->config, .labels = r->labels};
    if (!names) return BPT_OK;
    BPT_TRY(count_all(r, names, &total));
    BPT_TRY(bpt_alloc((size_t)total, sizeof *out->weights, &out->weights));
    const bpt_status_t status = get_all(r, names, out->weights);
    if (status != BPT_OK) bpt_free(out->weights);
    return status;
}
