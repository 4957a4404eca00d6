// The same work on every GPU backend as on the cpu: training gives the same losses (in bf16 and f16 those of ref) and, repeated, the same
// bits; a run that was begun on the cpu goes on elsewhere; eval, generate and classify agree. BPT_CASE=cuda/ asks for one of them.
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

#include "bpt/backend.h"
#include "support/conformance.h"
#include "support/process.h"
#include "support/support.h"

enum { STEPS = 12, HALF = 6 };
static const char *const backends[] = {"opencl", "vulkan", "cuda"};

static char text[512], examples[512];

static bool is_tested(const char *backend) {
    char name[32];
    snprintf(name, sizeof name, "%s/", backend);
    return test_selected(name) && test_backend_usable(backend);
}

static test_process_t bpt(const char *format, ...) BPT_PRINTF(1, 2);
static test_process_t bpt(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    return p;
}

static int write_texts(void **state) {
    (void)state;
    static char bytes[6001], lines[8192];
    size_t used = 0;
    for (int i = 0; i < 6000; ++i) bytes[i] = (char)('a' + (i * 7 + i / 11 + i * i / 97) % 26);
    for (int i = 0; i < 60; ++i)
        used += (size_t)snprintf(lines + used, sizeof lines - used, i % 2 ? "bad\tawful dull film %d\n" : "good\tfine warm play of %d\n",
                                 i % 10);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    snprintf(examples, sizeof examples, "%s", test_file("examples.tsv", lines));
    return 0;
}

// A language model with every kind of dropout, tied embeddings and relative positions.
static void train(const char *backend, const char *run, const char *more) {
    test_process_t p =
        bpt("train --backend %s --data %s --out %s --layers 2 --d-model 24 --heads 2 --k 2 --context 32 --batch-tokens 96 --steps %d "
            "--warmup 4 --lr 0.003 --save-every %d --eval-every %d --log-every 1 --quiet %s",
            backend, text, run, STEPS, HALF, STEPS, more);
    test_process_free(&p);
}

static const char *cpu_run(void) {
    static char run[512];
    if (*run) return run;
    snprintf(run, sizeof run, "%s", test_path("cpu"));
    train("cpu", run, "");
    return run;
}

// The losses of the training lines; a run that stops on the way has more evaluations.
static int losses(const char *run, double *loss, int capacity) {
    char path[600], *rest = NULL;
    size_t length;
    int n = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    char *lines = test_read_file(path, &length);
    if (!lines) fail_msg("%s is missing", path);
    for (char *line = strtok_r(lines, "\n", &rest); line && n < capacity; line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, 0, NULL);
        if (!json_object_get(object, "eval")) loss[n++] = json_number_value(json_object_get(object, "loss"));
        json_decref(object);
    }
    free(lines);
    return n;
}

static void expect_losses_of(const char *other, const char *run) {
    double wanted[64], got[64];
    const int n = losses(other, wanted, 64), m = losses(run, got, 64);
    assert_int_equal(n, STEPS);
    assert_int_equal(m, n);
    for (int i = 0; i < n; ++i)
        if (!(fabs(got[i] - wanted[i]) <= 1e-3 * wanted[i]))
            fail_msg("line %d of %s: loss %g, in %s %g", i + 1, run, got[i], other, wanted[i]);
}

static void expect_same_weights(const char *a, const char *b) {
    char path[600];
    size_t n, m;
    snprintf(path, sizeof path, "%s/latest/model.safetensors", a);
    char *x = test_read_file(path, &n);
    snprintf(path, sizeof path, "%s/latest/model.safetensors", b);
    char *y = test_read_file(path, &m);
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x), free(y);
}

static void training_gives_the_losses_of_the_cpu_and_the_same_bits_again(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        char run[512], again[512];
        if (!is_tested(backends[b])) continue;
        snprintf(run, sizeof run, "%s", test_path("%s", backends[b]));
        snprintf(again, sizeof again, "%s", test_path("%s-again", backends[b]));
        train(backends[b], run, "");
        expect_losses_of(cpu_run(), run);
        train(backends[b], again, "--stop-at 6");
        test_process_t p = bpt("train --resume --out %s --stop-at %d --quiet", again, STEPS);
        test_process_free(&p);
        expect_same_weights(run, again);
    }
}

static bool has_type(const char *backend, bpt_dtype_t dtype) {
    bpt_device_info_t infos[8];
    int count = 0;
    assert_int_equal(bpt_backend_find(backend)->enumerate(infos, (int)BPT_COUNT(infos), &count), BPT_OK);
    for (int i = 0; i < count && i < (int)BPT_COUNT(infos); ++i)
        if (infos[i].usable) return dtype == BPT_BF16 ? infos[i].bf16 : infos[i].f16;
    return false;
}

static void training_in_16_bits_gives_the_losses_of_ref(void **state) {
    static const struct {
        const char *name;
        bpt_dtype_t dtype;
    } precisions[] = {{"bf16", BPT_BF16}, {"f16", BPT_F16}};
    (void)state;
    for (size_t p = 0; p < BPT_COUNT(precisions); ++p) {
        char ref[512] = "", run[512], option[64];
        snprintf(option, sizeof option, "--precision %s", precisions[p].name);
        for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
            if (!is_tested(backends[b]) || !has_type(backends[b], precisions[p].dtype)) continue;
            if (!*ref) {
                snprintf(ref, sizeof ref, "%s", test_path("ref-%s", precisions[p].name));
                train("ref", ref, option);
            }
            snprintf(run, sizeof run, "%s", test_path("%s-%s", backends[b], precisions[p].name));
            train(backends[b], run, option);
            expect_losses_of(ref, run);
        }
    }
}

static void a_run_begun_on_the_cpu_goes_on_elsewhere_and_back(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        char run[512];
        if (!is_tested(backends[b])) continue;
        snprintf(run, sizeof run, "%s", test_path("from-cpu-to-%s", backends[b]));
        train("cpu", run, "--stop-at 6");
        test_process_t p = bpt("train --resume --out %s --stop-at 9 --quiet --backend %s", run, backends[b]);
        test_process_free(&p);
        p = bpt("train --resume --out %s --stop-at %d --quiet --backend cpu", run, STEPS);
        test_process_free(&p);
        expect_losses_of(cpu_run(), run);
    }
}

static double evaluate(const char *run, const char *backend) {
    test_process_t p = bpt("eval %s --json --quiet --backend %s", run, backend);
    json_t *result = json_loads(p.out, 0, NULL);
    const double loss = json_number_value(json_object_get(result, "loss"));
    assert_true(loss > 0);
    json_decref(result);
    test_process_free(&p);
    return loss;
}

static void eval_and_generate_agree_with_the_cpu(void **state) {
    (void)state;
    const double wanted = evaluate(cpu_run(), "cpu");
    test_process_t cpu = bpt("generate %s --prompt abcdefgh --max-tokens 40 --temperature 0 --quiet --backend cpu", cpu_run());
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!is_tested(backends[b])) continue;
        const double got = evaluate(cpu_run(), backends[b]);
        if (!(fabs(got - wanted) <= 1e-5 * wanted)) fail_msg("eval on %s: %.9g, on the cpu %.9g", backends[b], got, wanted);
        test_process_t p =
            bpt("generate %s --prompt abcdefgh --max-tokens 40 --temperature 0 --quiet --backend %s", cpu_run(), backends[b]);
        assert_string_equal(p.out, cpu.out);
        test_process_free(&p);
    }
    test_process_free(&cpu);
}

// Far enough that tokens read spans of 512 leaves, which decoding completes by themselves.
static json_t *logits_behind_a_long_prompt(const char *backend) {
    enum { PROMPT = 1600 };
    char file[512], prompt[PROMPT + 1];
    for (int i = 0; i < PROMPT; ++i) prompt[i] = (char)('a' + (i * 5 + i / 13) % 26);
    prompt[PROMPT] = '\0';
    snprintf(file, sizeof file, "%s", test_path("logits-%s.json", backend));
    test_process_t p = bpt("generate %s --prompt %s --max-tokens 3 --temperature 0 --quiet --logits-out %s --backend %s", cpu_run(), prompt,
                           file, backend);
    json_t *rows = json_load_file(file, 0, NULL);
    assert_int_equal(json_array_size(rows), 3);
    test_process_free(&p);
    return rows;
}

static void logits_behind_a_long_prompt_are_those_of_the_cpu(void **state) {
    (void)state;
    json_t *cpu = logits_behind_a_long_prompt("cpu");
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!is_tested(backends[b])) continue;
        json_t *rows = logits_behind_a_long_prompt(backends[b]);
        for (size_t i = 0; i < 3 * 256; ++i) {
            const double wanted = json_number_value(json_array_get(json_array_get(cpu, i / 256), i % 256));
            const double got = json_number_value(json_array_get(json_array_get(rows, i / 256), i % 256));
            if (!(fabs(got - wanted) <= 1e-5)) fail_msg("%s, logit %zu: %.9g, on the cpu %.9g", backends[b], i, got, wanted);
        }
        json_decref(rows);
    }
    json_decref(cpu);
}

static void classifiers_train_and_agree_with_the_cpu(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        char run[512];
        if (!is_tested(backends[b])) continue;
        snprintf(run, sizeof run, "%s", test_path("classify-%s", backends[b]));
        test_process_t p =
            bpt("train --task classify --backend %s --data %s --out %s --layers 1 --d-model 16 --heads 2 --batch-examples 12 --steps 20 "
                "--warmup 2 --lr 0.01 --quiet",
                backends[b], examples, run);
        test_process_free(&p);
        p = bpt("classify %s %s --quiet --backend %s", run, examples, backends[b]);
        test_process_t cpu = bpt("classify %s %s --quiet --backend cpu", run, examples);
        assert_true(p.out_length > 0);
        assert_int_equal(p.out[0], cpu.out[0]);
        assert_true(fabs(evaluate(run, backends[b]) - evaluate(run, "cpu")) < 1e-4);
        test_process_free(&p);
        test_process_free(&cpu);
    }
}

// A trace of a step has the kernels of GPUs: each within its op, one after the other.
static void traces_have_kernels(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!is_tested(backends[b])) continue;
        const char *path = test_path("trace-%s.json", backends[b]);
        test_process_t p =
            bpt("bench train --n 32 --tokens 64 --layers 1 --d-model 16 --heads 2 --repeat 1 --quiet --backend %s --trace %s", backends[b],
                path);
        test_process_free(&p);
        json_t *trace = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *event;
        size_t i;
        int ops = 0, kernels = 0;
        double begin = 0, end = 0, last = 0;
        json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
            const double ts = json_number_value(json_object_get(event, "ts")), dur = json_number_value(json_object_get(event, "dur"));
            const char *category = json_string_value(json_object_get(event, "cat"));
            if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0) continue;
            assert_true(dur >= 0 && json_string_length(json_object_get(event, "name")) > 0);
            if (!strcmp(category, "op")) {
                assert_true(ts >= end - 1e-3);
                begin = ts, end = ts + dur, ++ops;
            } else {
                assert_string_equal(category, "kernel");
                assert_true(ts >= begin - 1e-3 && ts >= last - 1e-3 && ts + dur <= end + 1e-3);
                last = ts + dur, ++kernels;
            }
        }
        assert_true(ops > 20 && kernels > ops);
        json_decref(trace);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_gives_the_losses_of_the_cpu_and_the_same_bits_again),
        cmocka_unit_test(training_in_16_bits_gives_the_losses_of_ref),
        cmocka_unit_test(a_run_begun_on_the_cpu_goes_on_elsewhere_and_back),
        cmocka_unit_test(eval_and_generate_agree_with_the_cpu),
        cmocka_unit_test(logits_behind_a_long_prompt_are_those_of_the_cpu),
        cmocka_unit_test(classifiers_train_and_agree_with_the_cpu),
        cmocka_unit_test(traces_have_kernels),
    };
    return cmocka_run_group_tests(tests, write_texts, NULL);
}
