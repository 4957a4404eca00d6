// Layers that are computed again for their gradients, by chunks of rows and groups of heads: the gradients of the whole, in less memory.
#include "model_fixture.h"

enum { MOST_PARAMETERS = 1 << 15 };

typedef struct {
    const char *name;
    bpt_task_t task;
    bpt_model_kind_t model;
    bpt_pool_t pool;
    int32_t layers, match_layers;
    bool absolute, untied, reference_rule, modern;
} variant_t;

static const variant_t variants[] = {
    {.name = "bpt", .layers = 3},
    {.name = "bpt, one layer", .layers = 1},
    {.name = "bpt, two layers, untied", .layers = 2, .untied = true, .reference_rule = true},
    {.name = "bpt, roots", .task = BPT_TASK_CLASSIFY, .layers = 3},
    {.name = "bpt, roots of one layer", .task = BPT_TASK_CLASSIFY, .layers = 1},
    {.name = "bpt, mean of tokens", .task = BPT_TASK_CLASSIFY, .pool = BPT_POOL_MEAN, .layers = 2},
    {.name = "segtree", .model = BPT_MODEL_SEGTREE, .layers = 2},
    {.name = "bpt, rotary, RMSNorm, SwiGLU", .layers = 3, .modern = true},
    {.name = "bpt, the same, roots", .task = BPT_TASK_CLASSIFY, .layers = 3, .modern = true},
    {.name = "dense", .model = BPT_MODEL_TRANSFORMER, .layers = 2, .absolute = true},
};

static bpt_model_config_t config_of(const variant_t *v) {
    bpt_model_config_t c = v->task == BPT_TASK_CLASSIFY ? fixture_classifier() : fixture_lm();
    c.model = v->model;
    c.layers = v->layers;
    c.pool = v->pool;
    c.reference_rule = v->reference_rule;
    c.heads = 4;
    if (v->untied) c.tied = false;
    if (v->absolute) c.positions = BPT_POSITIONS_ABSOLUTE;
    if (v->modern) c.positions = BPT_POSITIONS_ROTARY, c.norm = BPT_NORM_RMS, c.ffn = BPT_FFN_SWIGLU;
    c.dropout_input = c.dropout_hidden = c.dropout_head = 0.2f;
    return c;
}

static fixture_batch_t b;
static float whole[MOST_PARAMETERS], pieces[MOST_PARAMETERS];

// The loss and the gradients of a micro-batch.
static double gradients(bpt_device_t *device, const bpt_model_config_t *c, bpt_step_options_t step, float *out) {
    const bpt_update_t update = {.rng = 3, .lr = 1e-3f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
    bpt_update_result_t result;
    bpt_runner_t *r = fixture_runner(c, device, (bpt_runner_options_t){.step = step});
    assert_in_range(bpt_runner_params(r)->trained_elements, 1, MOST_PARAMETERS);
    memset(out, 0, MOST_PARAMETERS * sizeof *out);
    bpt_batch_t part = b.batch;
    part.last = false;
    assert_ok(bpt_runner_train(r, &part, &update, &result));
    assert_ok(bpt_runner_read_gradient(r, out));
    bpt_runner_destroy(r);
    return result.loss;
}

static void compare(double loss, double loss_of_pieces, double tolerance, const char *what) {
    double largest = 0, off = 0;
    for (int i = 0; i < MOST_PARAMETERS; ++i) {
        largest = fmax(largest, fabs((double)whole[i]));
        off = fmax(off, fabs((double)whole[i] - (double)pieces[i]));
    }
    if (!(largest > 0) || !(off <= tolerance * largest)) fail_msg("%s: off by %g of %g", what, off, largest);
    if (!(fabs(loss - loss_of_pieces) <= tolerance * fabs(loss))) fail_msg("%s: loss %.9g, by pieces %.9g", what, loss, loss_of_pieces);
}

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan"};

static void gradients_by_pieces_are_those_of_the_whole(void **state) {
    (void)state;
    const uint32_t lengths[] = {21, 9, 32};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        if (!test_backend_usable(backends[d])) continue;
        bpt_device_t *device = fixture_open(backends[d]);
        for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
            const bpt_model_config_t c = config_of(&variants[v]);
            fixture_fill(&b, &c, 32, 3, lengths, 5);
            const double loss = gradients(device, &c, (bpt_step_options_t){0}, whole);
            for (int i = 0; i < 6; ++i) {
                const bpt_step_options_t step = {.recompute = true, .chunk_rows = 7 + 25 * (i % 3), .head_groups = 1 << i / 3};
                char what[96];
                snprintf(what, sizeof what, "%s on %s, chunks of %lld rows, %d groups", variants[v].name, backends[d],
                         (long long)step.chunk_rows, step.head_groups);
                const double by_pieces = gradients(device, &c, step, pieces);
                compare(loss, by_pieces, 1e-5, what);
                if (d == 0 && i < 3) assert_true(loss == by_pieces);  // chunks alone change no bit of the forward pass
            }
        }
        fixture_close(device);
    }
}

// One group of heads, as the numbers of groups differ.
static void dropout_of_attention_by_chunks_is_that_of_the_whole(void **state) {
    (void)state;
    const uint32_t lengths[] = {21, 9, 32};
    bpt_device_t *device = fixture_open("cpu");
    bpt_model_config_t c = config_of(&variants[0]);
    c.dropout_attention = 0.3f;
    fixture_fill(&b, &c, 32, 3, lengths, 5);
    const double loss = gradients(device, &c, (bpt_step_options_t){0}, whole);
    compare(loss, gradients(device, &c, (bpt_step_options_t){.recompute = true, .chunk_rows = 7, .head_groups = 1}, pieces), 1e-5, "cpu");
    const bpt_step_options_t groups = {.recompute = true, .chunk_rows = 7, .head_groups = 2};
    const double first = gradients(device, &c, groups, whole);
    assert_true(first == gradients(device, &c, groups, pieces) && memcmp(whole, pieces, sizeof whole) == 0);
    fixture_close(device);
}

static float exact[MOST_PARAMETERS];

static double distance(const float *found) {
    double sum = 0;
    for (int i = 0; i < MOST_PARAMETERS; ++i) sum += pow((double)found[i] - (double)exact[i], 2);
    return sqrt(sum);
}

static void pieces_in_half_precision(void **state) {
    (void)state;
    const bpt_step_options_t step = {.precision = BPT_BF16, .recompute = true, .chunk_rows = 7, .head_groups = 2};
    const uint32_t lengths[] = {21, 9, 32};
    bpt_device_t *device = fixture_open("cpu");
    const bpt_model_config_t c = config_of(&variants[0]);
    fixture_fill(&b, &c, 32, 3, lengths, 5);
    const double loss = gradients(device, &c, (bpt_step_options_t){.precision = BPT_BF16}, whole);
    const double again = gradients(device, &c, (bpt_step_options_t){.precision = BPT_BF16, .recompute = true}, pieces);
    assert_true(loss == again && memcmp(whole, pieces, sizeof whole) == 0);  // without pieces no bit differs
    // Rounded elsewhere, pieces are about as far from f32 as the whole is.
    gradients(device, &c, (bpt_step_options_t){0}, exact);
    const double off = distance(pieces), by_pieces = gradients(device, &c, step, pieces);
    if (!(distance(pieces) <= 1.5 * off)) fail_msg("off by %g by pieces, %g without", distance(pieces), off);
    assert_true(fabs(loss - by_pieces) <= 0.01 * fabs(loss));
    fixture_close(device);
}

// Inputs of layers in 16 bits: near the whole in bf16, with pieces and without, and refused where they mean nothing.
static void inputs_of_layers_in_half_precision(void **state) {
    (void)state;
    const uint32_t lengths[] = {21, 9, 32};
    bpt_device_t *device = fixture_open("cpu");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        const bpt_model_config_t c = config_of(&variants[v]);
        fixture_fill(&b, &c, 32, 3, lengths, 5);
        gradients(device, &c, (bpt_step_options_t){0}, exact);
        const double loss = gradients(device, &c, (bpt_step_options_t){.precision = BPT_BF16}, whole), off = distance(whole);
        for (int chunk = 0; chunk < 2; ++chunk) {
            const bpt_step_options_t step = {
                .precision = BPT_BF16, .recompute = true, .half_inputs = true, .chunk_rows = 7 * chunk, .head_groups = 1 + chunk};
            const double half = gradients(device, &c, step, pieces);
            if (!(distance(pieces) <= 3 * off) || !(fabs(loss - half) <= 0.01 * fabs(loss)))
                fail_msg("%s: off by %g, %g in f32 between layers; loss %g, %g", variants[v].name, distance(pieces), off, half, loss);
            // With one layer there is no state between layers.
            if (!chunk && variants[v].layers == 1 && memcmp(whole, pieces, sizeof whole)) fail_msg("%s differs", variants[v].name);
            if (!chunk && variants[v].layers > 1 && !memcmp(whole, pieces, sizeof whole)) fail_msg("%s is the same", variants[v].name);
        }
    }
    const bpt_model_config_t c = config_of(&variants[0]);
    bpt_runner_t *runner;
    const bpt_runner_options_t wrong[] = {{.step = {.half_inputs = true, .precision = BPT_BF16}},
                                          {.step = {.half_inputs = true, .recompute = true}}};
    for (size_t i = 0; i < BPT_COUNT(wrong); ++i) {
        assert_int_equal(bpt_runner_create(&c, &wrong[i], device, &runner), BPT_ERR_USAGE);
        assert_non_null(strstr(bpt_error_message(), "--half-inputs"));
    }
    fixture_close(device);
}

static double kib_a_token(bpt_device_t *device, bpt_step_options_t step) {
    bpt_model_config_t c = fixture_lm();
    c.layers = 3;
    c.d_model = c.d_embed = 64;
    c.d_ff = 256;
    c.heads = 8;
    enum { N = 16384 };
    const bpt_step_key_t key = {.kind = BPT_STEP_TRAIN, .shape = bpt_batch_buckets(N, 1)};
    bpt_plan_summary_t plan;
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step = step});
    assert_ok(bpt_runner_plan(r, &key, &plan, NULL));
    bpt_runner_destroy(r);
    return (double)plan.workspace_bytes / 1024 / N;
}

static void pieces_take_less_memory(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    const double all = kib_a_token(device, (bpt_step_options_t){.precision = BPT_BF16, .recompute = true});
    const double some =
        kib_a_token(device, (bpt_step_options_t){.precision = BPT_BF16, .recompute = true, .chunk_rows = 512, .head_groups = 4});
    if (!(some < 0.5 * all)) fail_msg("%g KiB a token by pieces, %g without", some, all);
    const double half = kib_a_token(
        device, (bpt_step_options_t){.precision = BPT_BF16, .recompute = true, .half_inputs = true, .chunk_rows = 512, .head_groups = 4});
    if (!(half < 0.9 * some)) fail_msg("%g KiB a token with inputs in 16 bits, %g in f32", half, some);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_by_pieces_are_those_of_the_whole),
        cmocka_unit_test(dropout_of_attention_by_chunks_is_that_of_the_whole),
        cmocka_unit_test(pieces_in_half_precision),
        cmocka_unit_test(inputs_of_layers_in_half_precision),
        cmocka_unit_test(pieces_take_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
