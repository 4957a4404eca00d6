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
} cases[] = {
    {"golden", "lm-causal"},
    {"golden", "lm-clamped-levels"},
    {"golden", "lm-reference-rule"},
    {"golden", "classify-causal"},
    {"golden", "classify-root"},
    {"golden", "classify-n1"},
    {"golden", "classify-n16"},
    {"golden", "classify-reference-both"},
    {"golden-more", "sparse-lm"},
    {"golden-more", "star-classify"},
    {"golden-more", "star-classify-mlp"},
    {"golden-more", "star-no-ring"},
    {"golden-more", "star-no-radical"},
    {"golden-more", "star-three-cycles"},
    {"golden-more", "star-baseline-mean"},
    {"golden-more", "tag-star"},
    {"golden-more", "tag-star-crf"},
    {"golden-more", "tag-crf-two-tags"},
    {"golden-more", "pair-star"},
    {"golden-more", "pair-bpt"},
    {"golden-more", "regress-star"},
    {"golden-more", "tree-binary"},
    {"golden-more", "tree-nary-clamped"},
    {"golden-more", "tree-no-mask"},
    {"golden-more", "translate-bpt"},
    {"golden-more", "translate-bpt-shared-all"},
    {"golden-more", "translate-transformer"},
};

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
        // A gradient that is zero but for rounding (keys of a single leaf, biases of keys) is measured against the loss's scale.
        if (!(off <= 1e-4 * largest + (strstr(a->name, "k_proj.bias") ? 1e-6 : 1e-7)))
            fail_msg("gradient of %s: off by %g, largest %g", a->name, off, largest);
        free(x), free(y);
    }
    bpt_safetensors_close(wanted), bpt_safetensors_close(got);
}

// The file to be evaluated.
static void write_data(const json_t *golden, const char *golden_path, bool lm, char *path, size_t bytes) {
    static char line[65536];
    const json_t *tokens = json_object_get(golden, "tokens"), *data = json_object_get(golden, "data");
    if (json_object_get(golden, "file")) {
        snprintf(path, bytes, "%s.data.safetensors", golden_path);
        return;
    }
    size_t used = lm || data ? 0 : (size_t)snprintf(line, sizeof line, "%d\t", (int)json_integer_value(json_object_get(golden, "label")));
    for (size_t i = 0; !data && i < json_array_size(tokens); ++i)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%d", i ? " " : "", (int)json_integer_value(json_array_get(tokens, i)));
    snprintf(path, bytes, "%s", test_file("tokens.txt", data ? json_string_value(data) : line));
}

static void flatten(const json_t *list, json_t *out) {
    for (size_t i = 0; i < json_array_size(list); ++i) {
        if (json_is_array(json_array_get(list, i)))
            flatten(json_array_get(list, i), out);
        else
            json_array_append(out, json_array_get(list, i));
    }
}

// A list under `key` of every line of JSON, all as one flat list; texts of numbers as numbers.
static json_t *collect(const char *lines, const char *key) {
    json_t *all = json_array(), *line;
    for (size_t used; *lines; lines += used) {
        used = strcspn(lines, "\n") + (lines[strcspn(lines, "\n")] != 0);
        line = json_loadb(lines, used, 0, NULL);
        assert_non_null(line);
        flatten(json_object_get(line, key), all);
        json_decref(line);
    }
    for (size_t i = 0; i < json_array_size(all); ++i)
        if (json_is_string(json_array_get(all, i)))
            json_array_set_new(all, i, json_integer(atoi(json_string_value(json_array_get(all, i)))));
    return all;
}

static void compare_flat(const char *what, const json_t *wanted, const json_t *got, double tolerance) {
    json_t *flat = json_array();
    flatten(wanted, flat);
    compare_lists(what, flat, got, tolerance);
    json_decref(flat);
}

// What the program answers line by line, or predicts.
static void check_answers(const json_t *golden, const char *task, const char *run, const char *data, const char *backend) {
    char line[4096];
    if (!strcmp(task, "lm") || !strcmp(task, "translate")) return;
    if (!strcmp(task, "regress")) {
        snprintf(line, sizeof line, "eval %s --data %s --predictions-out %s --quiet --backend %s", run, data, test_path("y.json"), backend);
        test_process_t p = bpt(line);
        json_t *predictions = json_load_file(test_path("y.json"), 0, NULL), *flat = json_array();
        flatten(predictions, flat);
        compare_flat("prediction", json_object_get(golden, "logits"), flat, 3e-5);
        json_decref(predictions), json_decref(flat);
        test_process_free(&p);
        return;
    }
    const bool tag = !strcmp(task, "tag");
    snprintf(line, sizeof line, "%s %s %s --unit ids --json --quiet --backend %s", tag ? "tag" : "classify", run, data, backend);
    test_process_t p = bpt(line);
    json_t *logits = collect(p.out, "logits");
    compare_flat("logit", json_object_get(golden, "logits"), logits, 3e-5);
    json_decref(logits);
    if (tag) {
        json_t *tags = collect(p.out, "tags");
        compare_flat("tag", json_object_get(golden, "predicted"), tags, 0);
        json_decref(tags);
    }
    test_process_free(&p);
}

static void check(const char *backend, const char *folder, const char *name) {
    char golden_path[512], run[512], data[600], nll_path[512], grad_path[512], line[4096];
    snprintf(golden_path, sizeof golden_path, "%s/%s/%s", test_shared_dir(), folder, name);
    snprintf(run, sizeof run, "%s", test_path("%s-%s", backend, name));
    snprintf(nll_path, sizeof nll_path, "%s", test_path("nll.json"));
    snprintf(grad_path, sizeof grad_path, "%s", test_path("grad.safetensors"));
    snprintf(line, sizeof line, "%s.json", golden_path);
    json_t *golden = json_load_file(line, 0, NULL);
    assert_non_null(golden);
    const char *task = json_string_value(json_object_get(json_object_get(golden, "config"), "task"));
    write_data(golden, golden_path, !strcmp(task, "lm"), data, sizeof data);

    snprintf(line, sizeof line, "import %s.safetensors --out %s --quiet", golden_path, run);
    test_process_t p = bpt(line);
    test_process_free(&p);
    snprintf(line, sizeof line, "eval %s --data %s --unit ids --nll-out %s --grad-out %s --json --quiet --backend %s", run, data, nll_path,
             grad_path, backend);
    p = bpt(line);
    json_t *result = json_loads(p.out, 0, NULL), *nll = json_load_file(nll_path, 0, NULL);
    const double loss = json_number_value(json_object_get(golden, "loss"));
    assert_true(fabs(json_number_value(json_object_get(result, "loss")) - loss) <= 1e-5 * fmax(1, loss));
    compare_lists("nll", json_object_get(golden, "nll"), nll, 1e-4);
    test_process_free(&p);
    snprintf(line, sizeof line, "%s.grad.safetensors", golden_path);
    compare_gradients(line, grad_path);
    check_answers(golden, task, run, data, backend);
    json_decref(result), json_decref(nll), json_decref(golden);
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
