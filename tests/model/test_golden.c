// Loss, nll, logits and gradients of the golden cases (computed in double precision by an independent program), on ref and cpu.
#include "golden_gradients.h"
#include "support/support.h"

#include <jansson.h>

#include "bpt/file.h"
#include "bpt/json.h"
#include "models/config/config_json.h"

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan", "cuda"};
static const char *const cases[] = {"lm-causal",     "lm-clamped-levels", "lm-reference-rule", "classify-causal",
                                    "classify-root", "classify-n1",       "classify-n16",      "classify-reference-both"};

typedef struct {
    json_t *json;
    bpt_model_config_t config;
    fixture_batch_t batch;
    char path[512];
} golden_t;

static double number(const json_t *list, size_t i) { return json_number_value(json_array_get(list, i)); }

// A bucket of `extra` more leaves than the sequence has: results must not depend on it.
static golden_t *load(const char *name, int64_t extra) {
    static golden_t g;
    snprintf(g.path, sizeof g.path, "%s/golden/%s", test_shared_dir(), name);
    assert_ok(bpt_json_read(strcat(strcpy((char[600]){0}, g.path), ".json"), &g.json));
    assert_ok(bpt_model_config_from_json(json_object_get(g.json, "config"), name, &g.config));
    const json_t *tokens = json_object_get(g.json, "tokens");
    const bool lm = g.config.task == BPT_TASK_LM;
    const uint32_t length = (uint32_t)json_array_size(tokens) - lm;
    fixture_fill(&g.batch, &g.config, length + extra, 1, &length, 0);
    for (uint32_t i = 0; i < length; ++i) {
        g.batch.tokens[i] = (uint32_t)number(tokens, i);
        if (lm) g.batch.targets[i] = (uint32_t)number(tokens, i + 1);
    }
    if (!lm) g.batch.targets[0] = (uint32_t)json_integer_value(json_object_get(g.json, "label"));
    return &g;
}

static void check_case(const char *backend, const char *name, int64_t extra) {
    golden_t *g = load(name, extra);
    char weights[600];
    snprintf(weights, sizeof weights, "%s.safetensors", g->path);
    bpt_device_t *device = fixture_open(backend);
    bpt_runner_t *runner = fixture_runner(&g->config, device, (bpt_runner_options_t){0});
    assert_ok(bpt_runner_load(runner, weights, false, NULL));
    const double wanted = json_number_value(json_object_get(g->json, "loss"));
    const json_t *nlls = json_object_get(g->json, "nll"), *logits = json_object_get(g->json, "logits");
    const double scored = (double)g->batch.batch.n_scored;
    static float nll[4096], out[4096];
    double loss;
    assert_ok(bpt_runner_evaluate(runner, &g->batch.batch, nll, &loss));
    if (fabs(loss / scored - wanted) > 1e-5) fail_msg("%s %s: loss %.9g, wanted %.9g", backend, name, loss / scored, wanted);
    for (size_t i = 0; i < json_array_size(nlls); ++i) assert_true(fabs((double)nll[i] - number(nlls, i)) < 3e-5);
    assert_ok(bpt_runner_logits(runner, &g->batch.batch, out));
    for (size_t i = 0; i < json_array_size(logits); ++i) assert_true(fabs((double)out[i] - number(logits, i)) < 3e-5);
    assert_ok(bpt_runner_gradient(runner, &g->batch.batch, true, &loss));
    assert_true(fabs(loss / scored - wanted) <= 1e-5);
    golden_check_gradients(runner, g->path, 1 / scored);
    bpt_runner_destroy(runner);
    fixture_close(device);
    json_decref(g->json);
}

static void loss_logits_and_gradients_agree_with_the_golden_cases(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t c = 0; test_backend_usable(backends[b]) && c < BPT_COUNT(cases); ++c) check_case(backends[b], cases[c], 0);
}

static void they_agree_in_a_larger_bucket(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t c = 0; test_backend_usable(backends[b]) && c < BPT_COUNT(cases); ++c) check_case(backends[b], cases[c], 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_logits_and_gradients_agree_with_the_golden_cases),
        cmocka_unit_test(they_agree_in_a_larger_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
