// `bpt bench op`: an op of every family by its line, as text and as JSON; lines that are refused, and those for which there is no room.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/line.h"
#include "support/process.h"
#include "support/scratch.h"

#define QUICK "--backend cpu --threads 1 --quiet --repeat 3"

static const char *const lines[] = {
    "pointwise steps=scale:0.5,relu x=bf16[64,32]",
    "matmul transpose_b steps=relu,dropout:0.1 a=bf16[64,32] b=bf16[48,32] bias",
    "matmul a=f32[64,32] b=f32[32,16] acc in_place=acc",
    "layernorm p=0.1 x=f32[64,32] residual z stats low=bf16",
    "layernorm_grad dy=f32[64,32]",
    "rmsnorm x=f32[64,32]",
    "rmsnorm_grad dy=f32[64,32]",
    "gather table=f32[100,32] ids=u32[64]",
    "gather_grad dy=f32 ids=u32[64] dtable=f32[100,32] indices=zipf",
    "scatter destination=f32[100,32] ids=u32[64]",
    "add_rows row=3 rows=64 b=f32[10,32]",
    "rotary head_dim=16 columns=64 x=f32[10,96]",
    "segment kind=max rows=64 x=f32[64,32] ranges=u32[3,2] place",
    "segment_grad kind=mean rows=64 dy=f32[3,32] ranges=u32[3,2]",
    "tree_values heads=2 head_dim=8 kv=f32[31,32] weight=f32[16,2] vertical=f32[4,4] horizontal=f32[4,4] trees=u32[1,4]",
    "tree_values_grad heads=2 head_dim=8 kv=f32[31,32] weight=f32[16,2] trees=u32[2,4]",
    "column_sum x=f32[64,32]",
    "square_sum x=f32[64,32]",
    "attention graph=bpt n=64 k=2 causal trimmed rel_levels=3 heads=2 head_dim=8 packed p=0.1 qkv=bf16 rel lse",
    "attention graph=table heads=2 head_dim=8 q=f32[30,16] kv=f32[40,32] table=u32[30,2,4] edges=10",
    "attention_grad graph=window n=64 window=5 batch=2 heads=2 head_dim=8 queries=leaves q=f32",
    "attention_grad graph=table heads=2 head_dim=8 q=f32[30,16] kv=f32[40,32] table=u32[30,2,4] back=u32[40,2,2] edges=10",
    "crf x=f32[64,5] ranges=u32[4,2]",
    "crf_grad x=f32[64,5] ranges=u32[4,2]",
    "xent smoothing=0.1 h=bf16[64,32] w=bf16[100,32] b",
    "xent_grad h=f32[64,32] w=f32[100,32]",
    "adam decoupled p=f32[1000]",
    "momentum nesterov g=f32[1000]",
    "normalize x=f32[64,32] out=bf16",
    "descend p=f32[1000] u=f32",
    "accumulate acc=f32[1000]",
    "cast x=f32[1000] out=bf16",
    "fill value=2 out=f32[1000]",
    "copy source=u32[1000]",
};

static void every_op_is_measured(void **state) {
    (void)state;
    for (int op = 0; op < BPT_OP_COUNT; ++op) {
        const char *name = bpt_op_name((bpt_op_t)op);
        size_t i = 0;
        while (i < sizeof lines / sizeof lines[0] && (strncmp(lines[i], name, strlen(name)) || lines[i][strlen(name)] != ' ')) ++i;
        if (i == sizeof lines / sizeof lines[0]) fail_msg("no line of %s", name);
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        test_process_t p = test_run_to(0, "bench op %s --json " QUICK, lines[i]);
        json_t *object = json_loads(p.out, JSON_REJECT_DUPLICATES, NULL);
        if (!object) fail_msg("%s: not JSON: %s", lines[i], p.out);
        assert_string_equal(json_string_value(json_object_get(object, "bench")), "op");
        const char *line = json_string_value(json_object_get(object, "line"));
        if (!line || strcmp(line, lines[i])) fail_msg("%s: printed as %s", lines[i], line);
        assert_string_equal(json_string_value(json_object_get(object, "backend")), "cpu");
        const double seconds = json_number_value(json_object_get(object, "s_per_step"));
        assert_true(seconds > 0 && seconds >= json_number_value(json_object_get(object, "s_per_step_fastest")));
        assert_true(json_number_value(json_object_get(object, "gbytes_per_s")) > 0);
        assert_true(json_integer_value(json_object_get(object, "device_bytes")) > 0);
        json_decref(object);
        test_process_free(&p);
    }
}

// The numbers of the text are those of the line: 2 m n k operations, and the bytes of the operands.
static void rates_are_those_of_the_call(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "bench op matmul a=f32[100,200] b=f32[200,300] --json " QUICK);
    json_t *object = json_loads(p.out, 0, NULL);
    assert_non_null(object);
    const double seconds = json_number_value(json_object_get(object, "s_per_step"));
    const double flops = json_number_value(json_object_get(object, "gflops")) * 1e9 * seconds;
    const double bytes = json_number_value(json_object_get(object, "gbytes_per_s")) * 1e9 * seconds;
    assert_true(flops > 0.999 * 2 * 100 * 200 * 300 && flops < 1.001 * 2 * 100 * 200 * 300);
    assert_true(bytes > 0.999 * 4 * (20000 + 60000 + 30000) && bytes < 1.001 * 4 * (20000 + 60000 + 30000));
    json_decref(object);
    test_process_free(&p);
}

static void text_says_line_device_and_rates(void **state) {
    (void)state;
    const char *const arguments[] = {"bench", "op", " matmul  a=[100,200] b=[200,300] type=f32", "--backend", "cpu", "--threads",
                                     "1",     NULL};
    test_process_t p = test_run(arguments);
    assert_int_equal(p.exit_status, 0);
    assert_memory_equal(p.out, "matmul a=f32[100,200] b=f32[200,300]\n  cpu, ", 44);
    assert_true(strstr(p.out, " ms (fastest ") && strstr(p.out, " GFLOP/s") && strstr(p.out, " GB/s") && strstr(p.out, " MiB\n"));
    test_process_free(&p);
}

static void bad_lines_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "the line is empty; it begins with the name of an op"},
        {"matmul", "matmul needs the shape of a, such as a=bf16[8192,512]"},
        {"flash q=f32", "'flash' is not an op; a line begins with one of pointwise, matmul"},
        {"matmul a=f32[10,20] b=f32[20,30] colour=red", "matmul has no 'colour' here; it may have transpose_a"},
        {"matmul a=f32[10,20] b=f32[21,30]", "matmul input 1 (b) has shape [21,30]; it must be [20,any]"},
        {"attention graph=bpt n=64 heads=2 head_dim=8 q=f32", "attention needs k=.."},
        {"copy source=f32[1000000,1000000]", "copy on cpu: the line needs "},
        {"matmul a=f32[10,20] b=f32[20,30] --team mpi", "--team is for bench train, not for bench op; leave it out"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = test_run_to(2, "bench op %s " QUICK, cases[i][0]);
        if (!strstr(p.err, cases[i][1])) fail_msg("bench op %s: %s", cases[i][0], p.err);
        assert_int_equal(strlen(p.out), 0);
        test_process_free(&p);
    }
    test_process_t p = test_run_to(2, "bench ops matmul " QUICK);
    assert_non_null(strstr(p.err, "bpt bench ops: unexpected argument 'matmul'"));
    test_process_free(&p);
}

// ---- train --ops

// Calls `see` with each line of JSON.
static void each_line(const char *arguments, void (*see)(const char *line, json_t *object, void *user), void *user) {
    test_process_t p = test_run_to(0, "%s", arguments);
    char *rest = NULL;
    int count = 0;
    for (char *one = strtok_r(p.out, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest), ++count) {
        json_t *object = json_loads(one, JSON_REJECT_DUPLICATES, NULL);
        if (!object) fail_msg("bpt %s: not JSON: %s", arguments, one);
        const char *line = json_string_value(json_object_get(object, "line"));
        if (!line) fail_msg("bpt %s: no line: %s", arguments, one);
        see(line, object, user);
        json_decref(object);
    }
    assert_true(count > 10);
    test_process_free(&p);
}

typedef struct {
    double share;
    int calls, attention;
    char longest[BPT_LINE_MOST_BYTES];  // line of attention
} seen_t;

// Whoever has the line has the op: it is parsed, and printed as it was.
static void parses(const char *text, json_t *object, void *user) {
    seen_t *seen = user;
    bpt_op_line_t line;
    bpt_strbuf_t again = {.data = NULL};
    if (bpt_line_parse(text, &line) != BPT_OK) fail_msg("%s: %s", text, bpt_error_message());
    assert_int_equal(bpt_line_print(&line, &again), BPT_OK);
    assert_string_equal(again.data, text);
    bpt_strbuf_free(&again);
    seen->share += json_number_value(json_object_get(object, "share"));
    seen->calls += (int)json_integer_value(json_object_get(object, "calls"));
    if (strncmp(text, "attention", 9) != 0) return;
    seen->attention++;
    if (strlen(text) > strlen(seen->longest)) snprintf(seen->longest, sizeof seen->longest, "%s", text);
}

#define TINY "--layers 2 --d-model 16 --heads 2 --n 32 --tokens 64 "

static void steps_are_printed_as_lines(void **state) {
    (void)state;
    static const char *const models[] = {"bpt", "star", "segtree", "transformer", "tree"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        char line[512];
        seen_t seen = {0};
        snprintf(line, sizeof line, "bench train --ops --json --model %s " TINY QUICK, models[i]);
        each_line(line, parses, &seen);
        assert_true(seen.share > 0.999 && seen.share < 1.001 && seen.calls > 30 && seen.attention > 1);
        test_process_t p = test_run_to(0, "bench op %s " QUICK, seen.longest);
        test_process_free(&p);
    }
    test_process_t p = test_run_to(0, "bench train --ops " TINY QUICK);
    assert_non_null(strstr(p.out, "attention_grad graph=bpt n=32 k=4 causal trimmed "));
    assert_non_null(strstr(p.out, "  in all\n"));
    test_process_free(&p);
}

// A relay of a star reads its 32 tokens and itself; a token's satellite five rows.
static void edges_are_those_of_the_tables(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "bench train --ops --model star " TINY QUICK);
    assert_non_null(strstr(p.out, " q=f32[2,16] kv=f32[66,32] table=u32[2,2,4] back=u32[66,1,2] lse edges=33\n"));
    assert_non_null(strstr(p.out, " q=f32[64,16] kv=f32[130,32] table=u32[64,5,4] back=u32[130,3,2] lse edges=5\n"));
    test_process_free(&p);
}

static void steps_of_presets_are_printed_as_lines(void **state) {
    (void)state;
    static const char *const presets[] = {"small",    "star-sst5",          "tree-sst",    "star-ner-crf",
                                          "bpt-snli", "bpt-multi30k-small", "imdb-4-small"};
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; ++i) {
        char line[512];
        seen_t seen = {0};
        snprintf(line, sizeof line, "bench train --ops --json --tokens 512 --preset %s --backend cpu --quiet", presets[i]);
        each_line(line, parses, &seen);
        assert_true(seen.calls > 30 && seen.attention > 1);
    }
    static const char *const refused[][2] = {
        {"train --preset small", "--preset is for bench train --ops"},
        {"ops --preset small --ops", "--preset is for bench train --ops"},
        {"infer --ops", "--ops is for bench train, not for bench infer"},
        {"train --ops --preset small --layers 3", "--layers has no meaning beside --preset"},
        {"train --ops --preset smal", "did you mean small?"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        test_process_t p = test_run_to(2, "bench %s --backend cpu --quiet", refused[i][0]);
        if (!strstr(p.err, refused[i][1])) fail_msg("bench %s: %s", refused[i][0], p.err);
        test_process_free(&p);
    }
}

// ---- train --trace

static void a_step_is_a_trace(void **state) {
    (void)state;
    const char *path = test_path("new/folder/step.json");
    test_process_t p = test_run_to(0, "bench train --trace %s --json " TINY QUICK, path);
    assert_non_null(strstr(p.out, "\"tokens_per_s\""));  // and the step is timed as ever
    test_process_free(&p);
    json_t *trace = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *event;
    assert_non_null(trace);
    assert_string_equal(json_string_value(json_object_get(trace, "displayTimeUnit")), "ms");
    size_t i;
    int ops = 0, threads = 0, processes = 0;
    double end = 0;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
        const char *phase = json_string_value(json_object_get(event, "ph")), *name = json_string_value(json_object_get(event, "name"));
        assert_int_equal(json_integer_value(json_object_get(event, "pid")), 1);
        if (!strcmp(phase, "M")) {
            threads += !strcmp(name, "thread_name"), processes += !strcmp(name, "process_name");
            assert_true(json_string_length(json_object_get(json_object_get(event, "args"), "name")) > 2);
            continue;
        }
        assert_string_equal(phase, "X");
        const char *text = json_string_value(json_object_get(json_object_get(event, "args"), "line"));
        bpt_op_line_t line;
        if (!text || bpt_line_parse(text, &line) != BPT_OK) fail_msg("no line: %s", text ? bpt_error_message() : name);
        assert_string_equal(name, bpt_op_name(line.call.op));
        const double begin = json_number_value(json_object_get(event, "ts")), seconds = json_number_value(json_object_get(event, "dur"));
        assert_true(begin >= end - 1e-3 && seconds >= 0);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(event, "args"), "number")), ops++);
        end = begin + seconds;
    }
    assert_true(threads == 1 && processes == 1 && ops > 30 && end > 10);
    json_decref(trace);
}

static void traces_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"infer --trace %s " TINY, "--trace is for bench train, not for bench infer; leave it out"},
        {"op --trace %s matmul a=f32[2,2] b=f32[2,2]", "--trace is for bench train, not for bench op; leave it out"},
        {"train --n 16,32 --trace %s", "--trace writes the trace of one step; give one --n and one --k"},
        {"train --k 1,2 --trace %s", "--trace writes the trace of one step; give one --n and one --k"},
        {"train --ops --preset small --trace %s", "has no meaning beside --preset"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char arguments[256], line[1024];
        snprintf(arguments, sizeof arguments, cases[i][0], test_path("refused.json"));
        snprintf(line, sizeof line, "bench %s " QUICK, arguments);
        test_process_t p = test_run_to(2, "%s", line);
        if (!strstr(p.err, cases[i][1])) fail_msg("%s: %s", line, p.err);
        test_process_free(&p);
    }
    assert_int_not_equal(access(test_path("refused.json"), F_OK), 0);
    test_process_t p = test_run_line("bench train --trace /dev/null/step.json " TINY QUICK);
    assert_true(p.exit_status == 1 && strstr(p.err, "cannot create folder /dev/null"));
    test_process_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_measured),
        cmocka_unit_test(rates_are_those_of_the_call),
        cmocka_unit_test(text_says_line_device_and_rates),
        cmocka_unit_test(bad_lines_are_refused),
        cmocka_unit_test(steps_are_printed_as_lines),
        cmocka_unit_test(edges_are_those_of_the_tables),
        cmocka_unit_test(steps_of_presets_are_printed_as_lines),
        cmocka_unit_test(a_step_is_a_trace),
        cmocka_unit_test(traces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
