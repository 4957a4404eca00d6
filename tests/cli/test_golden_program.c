// The golden cases through the program: import, eval with every nll and the gradient, classify. Needs BPT_SHARED.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/safetensors.h"
#include "support/process.h"
#include "support/support.h"

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan", "cuda"};
static const struct {
    const char *folder, *name;
} cases[] = {{"golden", "lm-causal"},       {"golden", "lm-clamped-levels"},       {"golden", "lm-reference-rule"},
             {"golden", "classify-causal"}, {"golden", "classify-root"},           {"golden", "classify-n1"},
             {"golden", "classify-n16"},    {"golden", "classify-reference-both"}, {"golden-more", "sparse-lm"}};

static test_process_t bpt(const char *line) {
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    return p;
}

static void compare_lists(const char *what, const json_t *wanted, const json_t *got, double tolerance) {
    assert_int_equal(json_array_size(wanted), json_array_size(got));
    for (size_t i = 0; i < json_array_size(wanted); ++i) {
        const double a = json_number_value(json_array_get(wanted, i)), b = json_number_value(json_array_get(got, i));
        if (!(fabs(a - b) <= tolerance)) fail_msg("%s %zu: %g, wanted %g", what, i, b, a);
    }
}

// Per tensor: the largest deviation within 1e-4 of the largest gradient.
static void compare_gradients(const char *wanted_path, const char *got_path) {
    bpt_safetensors_t *wanted, *got;
    assert_int_equal(bpt_safetensors_open(wanted_path, &wanted), BPT_OK);
    assert_int_equal(bpt_safetensors_open(got_path, &got), BPT_OK);
    assert_int_equal(bpt_safetensors_count(wanted), bpt_safetensors_count(got));
    for (size_t t = 0; t < bpt_safetensors_count(wanted); ++t) {
        const bpt_safetensors_tensor_t *a = bpt_safetensors_at(wanted, t), *b = bpt_safetensors_find(got, a->name);
        if (!b || a->count != b->count) fail_msg("no gradient of %s, or of another size", a->name);
        float *x = malloc((size_t)a->count * sizeof *x), *y = malloc((size_t)a->count * sizeof *y);
        assert_int_equal(bpt_safetensors_read_f32(wanted, a, 0, a->count, x), BPT_OK);
        assert_int_equal(bpt_safetensors_read_f32(got, b, 0, a->count, y), BPT_OK);
        double largest = 0, off = 0;
        for (int64_t i = 0; i < a->count; ++i)
            largest = fmax(largest, fabs((double)x[i])), off = fmax(off, fabs((double)x[i] - (double)y[i]));
        // A gradient that is zero but for rounding (keys of a single leaf) is measured against the loss's scale.
        if (!(off <= 1e-4 * largest + 1e-7)) fail_msg("gradient of %s: off by %g, largest %g", a->name, off, largest);
        free(x), free(y);
    }
    bpt_safetensors_close(wanted), bpt_safetensors_close(got);
}

static void write_tokens(const json_t *golden, bool lm, char *path, size_t bytes) {
    static char line[65536];
    const json_t *tokens = json_object_get(golden, "tokens");
    size_t used = lm ? 0 : (size_t)snprintf(line, sizeof line, "%d\t", (int)json_integer_value(json_object_get(golden, "label")));
    for (size_t i = 0; i < json_array_size(tokens); ++i)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%d", i ? " " : "", (int)json_integer_value(json_array_get(tokens, i)));
    snprintf(path, bytes, "%s", test_file("tokens.txt", line));
}

static void check(const char *backend, const char *folder, const char *name) {
    char golden_path[512], run[512], tokens[512], nll_path[512], grad_path[512], line[4096];
    snprintf(golden_path, sizeof golden_path, "%s/%s/%s", test_shared_dir(), folder, name);
    snprintf(run, sizeof run, "%s", test_path("%s-%s", backend, name));
    snprintf(nll_path, sizeof nll_path, "%s", test_path("nll.json"));
    snprintf(grad_path, sizeof grad_path, "%s", test_path("grad.safetensors"));
    snprintf(line, sizeof line, "%s.json", golden_path);
    json_t *golden = json_load_file(line, 0, NULL);
    assert_non_null(golden);
    const bool lm = !strcmp(json_string_value(json_object_get(json_object_get(golden, "config"), "task")), "lm");
    write_tokens(golden, lm, tokens, sizeof tokens);

    snprintf(line, sizeof line, "import %s.safetensors --out %s --quiet", golden_path, run);
    test_process_t p = bpt(line);
    test_process_free(&p);
    snprintf(line, sizeof line, "eval %s --data %s --unit ids --nll-out %s --grad-out %s --json --quiet --backend %s", run, tokens,
             nll_path, grad_path, backend);
    p = bpt(line);
    json_t *result = json_loads(p.out, 0, NULL), *nll = json_load_file(nll_path, 0, NULL);
    assert_true(fabs(json_number_value(json_object_get(result, "loss")) - json_number_value(json_object_get(golden, "loss"))) <= 1e-5);
    compare_lists("nll", json_object_get(golden, "nll"), nll, 3e-5);
    test_process_free(&p);
    snprintf(line, sizeof line, "%s.grad.safetensors", golden_path);
    compare_gradients(line, grad_path);
    json_decref(result), json_decref(nll);
    if (!lm) {
        snprintf(line, sizeof line, "classify %s %s --unit ids --json --quiet --backend %s", run, tokens, backend);
        p = bpt(line);
        result = json_loads(p.out, 0, NULL);
        compare_lists("logit", json_object_get(golden, "logits"), json_object_get(result, "logits"), 3e-5);
        json_decref(result);
        test_process_free(&p);
    }
    json_decref(golden);
}

static void loss_nll_gradient_and_logits_agree_with_the_golden_cases(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t c = 0; test_backend_usable(backends[b]) && c < BPT_COUNT(cases); ++c)
            check(backends[b], cases[c].folder, cases[c].name);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loss_nll_gradient_and_logits_agree_with_the_golden_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
