// A device against the reference backend (see selftest.h).
#include "tools/bpt/devices/selftest.h"

#include <math.h>
#include <stdio.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "data/examples/trees.h"
#include "models/kinds/kind.h"
#include "models/run/runner.h"
#include "models/tasks/task.h"
#include "tools/bpt/devices/selftest_ops.h"

enum { LEAVES = 48, SEQUENCES = 2, VOCAB = 37, CLASSES = 3 };

#define SMALL \
    .layers = 2, .d_model = 24, .d_embed = 24, .d_ff = 40, .heads = 2, .vocab = VOCAB, .dropout_hidden = 0.1f, .dropout_attention = 0.1f
static const struct {
    const char *name;
    bpt_model_config_t config;
} cases[] = {
    {"bpt lm", {SMALL, .model = BPT_MODEL_BPT, .causal = true, .tied = true, .k = 2, .rel_levels = 5}},
    {"bpt lm, reference rule", {SMALL, .model = BPT_MODEL_BPT, .causal = true, .reference_rule = true, .k = 3, .rel_levels = 3}},
    {"bpt classify", {SMALL, .task = BPT_TASK_CLASSIFY, .model = BPT_MODEL_BPT, .k = 1, .rel_levels = 6, .classes = CLASSES}},
    {"segtree lm", {SMALL, .model = BPT_MODEL_SEGTREE, .causal = true, .tied = true, .rel_levels = 6}},
    {"transformer lm, dense",
     {SMALL, .model = BPT_MODEL_TRANSFORMER, .causal = true, .tied = true, .positions = BPT_POSITIONS_ABSOLUTE, .max_positions = LEAVES}},
    {"transformer lm, rotary, RMSNorm, SwiGLU",
     {SMALL, .model = BPT_MODEL_TRANSFORMER, .causal = true, .tied = true, .positions = BPT_POSITIONS_ROTARY, .norm = BPT_NORM_RMS,
      .ffn = BPT_FFN_SWIGLU}},
    {"transformer classify, window",
     {SMALL, .task = BPT_TASK_CLASSIFY, .model = BPT_MODEL_TRANSFORMER, .attention = BPT_ATTENTION_WINDOW, .window = 7, .rel_levels = 7,
      .classes = CLASSES}},
    {"star classify",
     {SMALL, .task = BPT_TASK_CLASSIFY, .model = BPT_MODEL_STAR, .head_dim = 9, .ring = true, .radical = true, .pool = BPT_POOL_RELAY_MAX,
      .positions = BPT_POSITIONS_ABSOLUTE, .max_positions = LEAVES, .classes = CLASSES}},
    {"tree classify",
     {SMALL, .task = BPT_TASK_CLASSIFY, .model = BPT_MODEL_TREE, .head_dim = 10, .hier_embed = true, .subtree_mask = true,
      .vertical_max = 4, .horizontal_max = 20, .positions = BPT_POSITIONS_SINUSOIDAL, .classes = CLASSES}},
    {"bpt translate",
     {SMALL, .task = BPT_TASK_TRANSLATE, .model = BPT_MODEL_BPT, .head_dim = 12, .dec_layers = 1, .shared = BPT_SHARED_TARGET, .k = 2,
      .rel_levels = 5, .source_vocab = VOCAB}},
    {"tree translate",
     {SMALL, .task = BPT_TASK_TRANSLATE, .model = BPT_MODEL_TREE, .head_dim = 12, .dec_layers = 1, .shared = BPT_SHARED_ALL,
      .hier_embed = true, .subtree_mask = true, .vertical_max = 4, .horizontal_max = 20, .positions = BPT_POSITIONS_SINUSOIDAL,
      .source_vocab = VOCAB}},
};

typedef struct {
    bpt_batch_t batch;
    uint32_t tokens[SEQUENCES * LEAVES], targets[SEQUENCES * LEAVES], start[SEQUENCES], lengths[SEQUENCES], sequences[SEQUENCES];
    float weights[SEQUENCES * LEAVES];
} sample_t;

// Two sequences of unequal length; the shorter one ends in padding.
static void fill(sample_t *s, const bpt_model_config_t *c) {
    const bool per_token = bpt_task_of(c)->per_token;
    *s = (sample_t){.start = {0, LEAVES}, .lengths = {LEAVES, LEAVES - 11}, .sequences = {0, 1}};
    for (int b = 0; b < SEQUENCES; ++b) {
        for (uint32_t i = 0; i < s->lengths[b]; ++i) {
            s->tokens[b * LEAVES + (int)i] = (uint32_t)(bpt_mix64((uint64_t)b << 32 | i) % VOCAB);
            if (per_token)
                s->targets[b * LEAVES + (int)i] = (uint32_t)(bpt_mix64((uint64_t)b << 32 | (i + 1)) % VOCAB),
                                        s->weights[b * LEAVES + (int)i] = 1;
        }
        if (!per_token) s->targets[b] = (uint32_t)b, s->weights[b] = 1;
    }
    const int64_t tokens = 2 * LEAVES - 11, scored = per_token ? tokens : SEQUENCES;
    s->batch = (bpt_batch_t){.shape = bpt_batch_buckets(LEAVES, SEQUENCES),
                             .n_real = SEQUENCES,
                             .side = {{.tokens = s->tokens, .start = s->start, .lengths = s->lengths}},
                             .targets = s->targets,
                             .weights = s->weights,
                             .sequences = s->sequences,
                             .n_targets = per_token ? SEQUENCES * LEAVES : SEQUENCES,
                             .n_scored = scored,
                             .n_tokens = tokens,
                             .window_scored = scored,
                             .first = true,
                             .last = true};
    if (bpt_task_sides(bpt_task_of(c)) < 2) return;  // else a translation is its own text
    s->batch.shape.side[1] = s->batch.shape.side[0];
    s->batch.side[1] = s->batch.side[0];
}

typedef struct {
    bpt_runner_t *runner;
    float *gradients, *params;  // after the step
    double loss;
} side_t;

static bpt_status_t compute(bpt_device_t *device, const bpt_model_config_t *c, bpt_dtype_t precision, const sample_t *s, side_t *side) {
    const bpt_runner_options_t options = {.step = {.precision = precision, .optimizer = {.beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-8f}}};
    const bpt_update_t update = {.rng = 99, .lr = 1e-3f, .clip = 1, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
    bpt_update_result_t result;
    BPT_TRY(bpt_runner_create(c, &options, device, &side->runner));
    BPT_TRY(bpt_runner_init(side->runner, 1));
    const bpt_params_t *p = bpt_runner_params(side->runner);
    BPT_TRY(bpt_alloc((size_t)p->elements, sizeof *side->params, &side->params));
    BPT_TRY(bpt_alloc((size_t)p->elements, sizeof *side->gradients, &side->gradients));
    BPT_TRY(bpt_runner_gradient(side->runner, &s->batch, true, &side->loss));
    BPT_TRY(bpt_runner_read_gradient(side->runner, side->gradients));
    BPT_TRY(bpt_runner_train(side->runner, &s->batch, &update, &result));
    if (!result.updated) return bpt_fail(BPT_ERR_NUMERIC, "the training step was refused: a gradient is not finite");
    for (size_t i = 0; i < p->count; ++i) BPT_TRY(bpt_runner_get(side->runner, p->items[i].name, side->params + p->items[i].offset));
    return BPT_OK;
}

static void release(side_t *side) {
    bpt_runner_destroy(side->runner);
    bpt_free(side->gradients);
    bpt_free(side->params);
}

// A gradient that is zero but for rounding, as those of biases of keys, which cancel in a softmax, is measured by the largest of the model.
static double least_size(const side_t *side) {
    double largest = 0;
    for (int64_t i = 0; i < bpt_runner_params(side->runner)->trained_elements; ++i)
        largest = fmax(largest, fabs((double)side->gradients[i]));
    return 5e-3 * largest;
}

static void compare(const side_t *wanted, const side_t *got, double tolerance, cli_selftest_case_t *out) {
    const bpt_params_t *p = bpt_runner_params(wanted->runner);
    const double least = least_size(wanted);
    out->deviation = fabs(wanted->loss - got->loss) / fmax(1, fabs(wanted->loss));
    if (!(out->deviation <= tolerance)) snprintf(out->detail, sizeof out->detail, "the loss is %.6g, not %.6g", got->loss, wanted->loss);
    for (size_t i = 0; i < p->count; ++i) {
        const bpt_param_t *item = &p->items[i];
        const double gradient =
            cli_selftest_deviation(wanted->gradients + item->offset, got->gradients + item->offset, item->count, 0, least);
        // Adam's first step is the sign of the gradient where that is all rounding: such elements move by twice the learning rate.
        const double param = cli_selftest_deviation(wanted->params + item->offset, got->params + item->offset, item->count, 2.1e-3, 0);
        if (gradient > out->deviation) out->deviation = gradient;
        if (*out->detail) continue;
        if (!(gradient <= tolerance))
            snprintf(out->detail, sizeof out->detail, "the gradient of %s is off by %.1e of its size", item->name, gradient);
        else if (!(param <= tolerance))
            snprintf(out->detail, sizeof out->detail, "%s is off by %.1e of its size after a step", item->name, param);
    }
}

static void run_model(int c, bpt_device_t *reference, bpt_device_t *device, bpt_dtype_t precision, cli_selftest_case_t *out) {
    static sample_t sample;
    side_t wanted = {0}, got = {0};
    uint32_t *trees = NULL;
    fill(&sample, &cases[c].config);
    snprintf(out->name, sizeof out->name, "%s", cases[c].name);
    bpt_status_t status = bpt_kind_of(&cases[c].config)->trees ? bpt_trees_add(BPT_TREES_BALANCED, &sample.batch, &trees) : BPT_OK;
    if (status == BPT_OK) status = compute(reference, &cases[c].config, precision, &sample, &wanted);
    if (status == BPT_OK) status = compute(device, &cases[c].config, precision, &sample, &got);
    if (status == BPT_OK)
        compare(&wanted, &got, precision == BPT_F32 ? 2e-4 : 0.1, out);
    else
        snprintf(out->detail, sizeof out->detail, "%s", bpt_error_message());
    out->status = status;
    release(&wanted);
    release(&got);
    bpt_free(trees);
}

void cli_selftest(const bpt_backend_t *backend, int index, bpt_dtype_t precision, int32_t threads, const cli_selftest_shape_t *quick,
                  cli_selftest_t *out) {
    static const cli_selftest_shape_t small = {16, 2};
    *out = (cli_selftest_t){0};
    const bpt_backend_t *ref = bpt_backend_find("ref");
    const bpt_device_options_t options = {.threads = threads};
    bpt_device_t *reference = NULL, *device = NULL;
    bpt_status_t status = ref ? ref->open(0, NULL, &reference) : bpt_fail(BPT_ERR_UNAVAILABLE, "the reference backend is not built in");
    if (status == BPT_OK) status = backend->open(index, &options, &device);
    if (status != BPT_OK) snprintf(out->problem, sizeof out->problem, "%s", bpt_error_message());
    const int n_ops = cli_selftest_ops_count(), n_cases = n_ops + (int)BPT_COUNT(cases);
    for (int c = 0; c < n_cases && out->count < CLI_MAX_SELFTESTS && status == BPT_OK; ++c) {
        cli_selftest_case_t *result = &out->result[out->count];
        if (quick && (c >= n_ops || !cli_selftest_op_is_quick(c))) continue;
        if (c < n_ops)
            cli_selftest_op(c, reference, device, precision, quick ? quick : &small, result);
        else
            run_model(c - n_ops, reference, device, precision, result);
        ++out->count;
        out->failed += *result->detail != 0;
        if (result->status != BPT_ERR_UNAVAILABLE) continue;  // else no other case will do
        snprintf(out->problem, sizeof out->problem, "%s", result->detail);
        break;
    }
    if (device) backend->close(device);
    if (reference) ref->close(reference);
}

void cli_selftest_problem(const cli_selftest_t *t, const char *why, char *text, size_t bytes) {
    text[0] = '\0';
    if (*t->problem) snprintf(text, bytes, "%s", t->problem);
    for (int i = 0; i < t->count && !*text; ++i)
        if (*t->result[i].detail) snprintf(text, bytes, "%s: %s", t->result[i].name, t->result[i].detail);
    if (*text || !*why) return;
    const bool inside = t->count < CLI_MAX_SELFTESTS && *t->result[t->count].name;
    snprintf(text, bytes, "%s%sthe self-test %s", inside ? t->result[t->count].name : "", inside ? ": " : "", why);
}
