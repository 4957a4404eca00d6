// `bpt bench op`: an op of every family by its line, as text and as JSON; lines that are refused, and those for which there is no room.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/ops.h"
#include "support/process.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_measured),
        cmocka_unit_test(rates_are_those_of_the_call),
        cmocka_unit_test(text_says_line_device_and_rates),
        cmocka_unit_test(bad_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
