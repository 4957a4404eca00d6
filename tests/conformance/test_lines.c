// Lines of ops (bpt/line.h): what is printed of every case of every op is parsed as the same call and printed as the same line; what is
// refused, and by which sentence; that the values of a line are those that its op may have.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/line.h"
#include "bpt/lists.h"
#include "support/conformance.h"

static const test_family_t *const families[] = {
#define TEST_FAMILY(name) &test_##name##_cases,
#include "conformance/cases.def"
};

static const char *print(const bpt_op_line_t *line) {
    static char text[2][BPT_LINE_MOST_BYTES];
    static int turn;
    bpt_strbuf_t buffer = {.data = NULL};
    if (bpt_line_print(line, &buffer) != BPT_OK) fail_msg("%s", bpt_error_message());
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "%s", buffer.data);
    bpt_strbuf_free(&buffer);
    return text[turn];
}

static void parse(const char *text, bpt_op_line_t *line) {
    if (bpt_line_parse(text, line) != BPT_OK) fail_msg("%s: %s", text, bpt_error_message());
}

// The same presence, type, and sizes as the op sees them.
static void assert_same_operand(const char *text, const bpt_operand_t *a, const bpt_operand_t *b) {
    const bool same =
        a->present == b->present && (!a->present || (a->dtype == b->dtype && bpt_shape_count(&a->shape) == bpt_shape_count(&b->shape)));
    if (!same) fail_msg("%s: an operand is another one", text);
}

static void same_again(void **state) {
    (void)state;
    int lines = 0, ops[BPT_OP_COUNT] = {0};
    for (size_t f = 0; f < BPT_COUNT(families); ++f)
        for (size_t i = 0; i < families[f]->count(); ++i) {
            test_case_t c;
            bpt_op_line_t again;
            families[f]->make(i, &c);
            const bpt_op_line_t line = test_line_of_case(&c);
            char text[BPT_LINE_MOST_BYTES];
            snprintf(text, sizeof text, "%s", print(&line));
            parse(text, &again);
            assert_string_equal(print(&again), text);
            assert_int_equal(again.call.op, c.call.op);
            assert_int_equal(again.in_place, line.in_place);
            for (int j = 0; j < BPT_MAX_INPUTS; ++j) assert_same_operand(text, &c.call.in[j], &again.call.in[j]);
            for (int j = 0; j < BPT_MAX_OUTPUTS; ++j) assert_same_operand(text, &c.call.out[j], &again.call.out[j]);
            ++ops[c.call.op], ++lines;
            if (i < 2) print_message("%s\n", text);
        }
    for (int op = 0; op < BPT_OP_COUNT; ++op) assert_true(ops[op] > 0);
    print_message("%d lines\n", lines);
}

// ---- Refusals: the word and what it may be

static const struct {
    const char *line, *sentence;
} bad[] = {
    {"", "the line is empty"},
    {"matmull a=f32[2,3] b=f32[3,4]", "'matmull' is not an op; a line begins with one of pointwise, matmul, "},
    {"exchange x=f32[2,3]", "'exchange' is not an op"},
    {"matmul a=f32[2,3] b=f32[3,4] c=f32", "matmul has no 'c' here; it may have transpose_a, transpose_b, packed_b, steps, "},
    {"matmul a=f32[2,3] b=f32[3,4] =3", "matmul: '=3' has no key before it"},
    {"matmul a=f32[2,3] a=f32[2,3] b=f32[3,4]", "matmul: a is there twice"},
    {"matmul a=f32[2,3]", "matmul needs the shape of b, such as b=bf16[8192,512]"},
    {"matmul a=f32 b=f32[3,4]", "matmul needs the shape of a, such as a=bf16[8192,512]"},
    {"matmul a=[2,3] b=[3,4]", "matmul needs the type of a, such as a=bf16 or type=bf16; it is f32, bf16 or f16"},
    {"matmul a=f64[2,3] b=f32[3,4]", "matmul: a=f64[2,3] is not possible; it is a type (f32, bf16 or f16), a shape"},
    {"matmul a=u32[2,3] b=f32[3,4]", "matmul: a=u32[2,3] is not possible; it is a type (f32, bf16 or f16), a shape"},
    {"matmul a=f32[2,-3] b=f32[3,4]", "matmul: a=f32[2,-3] is not possible"},
    {"matmul a=f32[2,3 b=f32[3,4]", "matmul: a=f32[2,3 is not possible"},
    {"matmul a=f32[2,3]x b=f32[3,4]", "matmul: a=f32[2,3]x is not possible"},
    {"matmul a= b=f32[3,4]", "matmul: a= is not possible"},
    {"matmul a=f32[] b=f32[3,4]", "matmul: a=f32[] is not possible"},
    {"matmul a=f32[1,2,3,4,5] b=f32[3,4]", "a shape of at most 4 sizes"},
    {"matmul a=f32[99999999,99999999] b=f32[3,4]", "a shape of at most 4 sizes and 2^40 elements"},
    {"matmul a=f32[99999999999999999999,1] b=f32[3,4]", "matmul: a=f32[99999999999999999999,1] is not possible"},
    {"matmul a=f32[2,3] b=f32[4,5]", "matmul input 1 (b) has shape [4,5]; it must be [3,any]"},
    {"matmul a=f32[2,3] b=f32[3,4] bias=f16", "matmul: bias=f16 is not possible; it is a type (f32)"},
    {"matmul a=f32[2,3] b=f32[3,4] transpose_b=1", "matmul: transpose_b=1 is not possible; it is a word without a value"},
    {"matmul a=f32[2,3] b=f32[3,4] steps", "matmul: steps has no value; it is at most 6 steps"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=gelu", "matmul: steps=gelu is not possible; it is at most 6 steps with commas between them"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=add", "matmul: steps=add is not possible"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=relu@4", "matmul: steps=relu@4 is not possible"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=add@9", "matmul: steps=add@9 is not possible"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=add@1", "matmul: a step reads a slot that holds no extra operand"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=dropout:1", "matmul: steps=dropout:1 is not possible"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=relu,", "matmul: steps=relu, is not possible"},
    {"matmul a=f32[2,3] b=f32[3,4] steps=relu,relu,relu,relu,relu,relu,relu", "is not possible; it is at most 6 steps"},
    {"matmul a=f32[2,3] b=f32[3,4] in_place=acc", "matmul: in_place=acc is not possible; it names an input"},
    {"matmul a=f32[2,3] b=f32[3,4] in_place", "matmul: in_place= is not possible; it names an input"},
    {"matmul a=f32[2,3] b=f32[3,4] acc out=bf16 in_place=acc", "matmul: in_place=acc is not possible"},
    {"matmul a=f32[2,3] b=f32[3,4] type=u32", "matmul: type=u32 is not possible; it is f32, bf16 or f16"},
    {"matmul a=f32[2,3] b=f32[3,4] seed=-1", "matmul: seed=-1 is not possible; it is a whole number from 0 to 4294967295"},
    {"matmul a=f32[2,3] b=f32[3,4] indices=zipf", "matmul: indices has no meaning beside the other words of this line; leave it out"},
    {"gather table=f32[10,4] ids=u32[3] indices=all", "gather: indices=all is not possible; it is one of spread, ordered, zipf, one"},
    {"gather table=f32[10,4]", "gather needs the shape of ids, such as ids=u32[8192,512]"},
    {"layernorm x=f32[2,3] p=1", "layernorm: p=1 is not possible; it is a number from 0 to below 1"},
    {"layernorm x=f32[2,3] p=nan", "layernorm: p=nan is not possible"},
    {"layernorm x=f32[2,3] eps=0x1p-3", "layernorm: eps=0x1p-3 is not possible"},
    {"layernorm x=f32[2,0]", "layernorm: rows of no columns have no mean"},
    {"segment rows=5 x=f32[5,3] ranges=u32[2,2]", "segment needs kind=.., one of sum, mean, max"},
    {"segment kind=sum x=f32[5,3] ranges=u32[2,2]", "segment needs rows=.., a whole number from 0 to 1073741824"},
    {"tree_values heads=1 head_dim=4 kv=f32[9,4] weight=f32[5,1] vertical=f32[3,2] trees=u32[1,4]",
     "tree_values: one table of hierarchical embeddings is missing"},
    {"fill out=f32[4] value=inf", "fill: value=inf is not possible; it is a number"},
    {"fill out=f32[4] value=1e39", "fill: value=1e39 is not possible; it is a number"},
    {"attention heads=2 head_dim=8 q=f32", "attention needs graph=.., one of bpt, segtree, dense, window, table, sparse"},
    {"attention graph=flash heads=2 head_dim=8 q=f32", "attention: graph=flash is not possible; it is one of bpt, "},
    {"attention graph=bpt k=4 heads=2 head_dim=8 q=f32", "attention needs n=.., a whole number from 1 to 67108864"},
    {"attention graph=bpt n=64 heads=2 head_dim=8 q=f32", "attention needs k=.., a whole number from 1 to "},
    {"attention graph=bpt n=64 k=0 heads=2 head_dim=8 q=f32", "attention: k=0 is not possible; it is a whole number from 1 to "},
    {"attention graph=bpt n=6e1 k=1 heads=2 head_dim=8 q=f32", "attention: n=6e1 is not possible"},
    {"attention graph=dense n=64 k=4 heads=2 head_dim=8 q=f32", "attention: k has no meaning beside the other words of this line"},
    {"attention graph=bpt n=64 k=4 heads=0 head_dim=8 q=f32", "attention: heads=0 is not possible; it is a whole number from 1 to 256"},
    {"attention graph=bpt n=64 k=4 heads=2 q=f32", "attention needs head_dim=.., a whole number from 1 to 65536"},
    {"attention graph=bpt n=64 k=4 heads=2 head_dim=8", "attention needs the type of q, such as q=bf16 or type=bf16"},
    {"attention graph=bpt n=64 k=4 trimmed heads=2 head_dim=8 q=f32", "attention: trimmed has no meaning"},
    {"attention graph=bpt n=64 k=4 heads=2 head_dim=8 q=f32 rel", "attention: rel needs rel_levels of at least 1"},
    {"attention graph=bpt n=64 k=4 heads=2 head_dim=8 packed queries=roots qkv=f32",
     "attention: q, k and v in one tensor need a query for every key row"},
    {"attention graph=sparse n=64 causal stride=8 tail=9 heads=2 head_dim=8 q=f32", "graph: tail is 9"},
    {"attention graph=bpt n=67108864 batch=67108864 k=4 heads=256 head_dim=65536 q=f32",
     "would have more than 2^40 elements; use smaller sizes"},
    {"attention graph=table heads=2 head_dim=8 q=f32[9,16] kv=f32[7,32]", "attention needs the shape of table, such as table=u32["},
    {"attention graph=table heads=2 head_dim=8 q=f32[9,16] kv=f32[7,32] table=u32[9,4]",
     "attention input 6 (table) must be u32 [9, slots, 4]"},
    {"attention graph=table heads=2 head_dim=8 q=f32[9,16] kv=f32[7,32] table=u32[9,2,4] edges=8",
     "attention: edges=8 is not possible; a query reads at most 7 keys here"},
    {"attention graph=table query_edges=3 heads=2 head_dim=8 q=f32[9,16] kv=f32[7,32] table=u32[9,2,4] edges=4",
     "a query reads at most 3 keys here"},
    {"attention graph=table key_edges=2 heads=2 head_dim=8 q=f32[9,16] kv=f32[7,32] table=u32[9,2,4] edges=7",
     "would be read by 9 queries, key_edges allows 2"},
};

static void bad_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(bad); ++i) {
        bpt_op_line_t line;
        if (bpt_line_parse(bad[i].line, &line) != BPT_ERR_USAGE) fail_msg("taken: %s", bad[i].line);
        if (!strstr(bpt_error_message(), bad[i].sentence)) fail_msg("'%s' gives: %s", bad[i].line, bpt_error_message());
        if (strchr(bpt_error_message(), '\n')) fail_msg("more than a line: %s", bpt_error_message());
    }
}

static void too_long(void **state) {
    (void)state;
    char text[2 * BPT_LINE_MOST_BYTES] = "matmul", *end = text + strlen(text);
    bpt_op_line_t line;
    for (int i = 0; i < 70; ++i, end = text + strlen(text)) sprintf(end, " a%d", i);
    assert_int_equal(bpt_line_parse(text, &line), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "a line has at most 64 words"));
    memset(text, 'm', sizeof text - 1);
    assert_int_equal(bpt_line_parse(text, &line), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "lines have fewer than 2048"));
}

// What is left out, and other ways to say the same.
static void spellings(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"matmul a=f16[8,4] b=f16[4,6]", "matmul a=f16[8,4] b=f16[4,6]"},
        {"  matmul\tb=[4,6]  a=[8,4] type=f16 out=f16 \n", "matmul a=f16[8,4] b=f16[4,6]"},
        {"matmul a=f16[8,4] b=f16[4,6] out=f32 steps=relu,dropout:0.10", "matmul steps=relu,dropout:0.1 a=f16[8,4] b=f16[4,6] out=f32"},
        {"attention graph=bpt n=8192 k=4 causal heads=8 head_dim=64 type=bf16",
         "attention graph=bpt n=8192 k=4 causal heads=8 head_dim=64 q=bf16"},
        {"attention queries=all scale=0.125 batch=1 graph=dense n=64 heads=8 head_dim=64 q=bf16 lse",
         "attention graph=dense n=64 heads=8 head_dim=64 q=bf16 lse"},
        {"adam beta1=0.9 p=f32[10]", "adam p=f32[10]"},
        {"copy source=u32[3,4]", "copy source=u32[3,4]"},
        {"gather_grad dtable=[100,8] ids=[50] dy=bf16 acc in_place=acc indices=zipf seed=7",
         "gather_grad dy=bf16 ids=u32[50] acc dtable=f32[100,8] in_place=acc indices=zipf seed=7"},
    };
    for (size_t i = 0; i < BPT_COUNT(pairs); ++i) {
        bpt_op_line_t line;
        parse(pairs[i][0], &line);
        assert_string_equal(print(&line), pairs[i][1]);
    }
    assert_true(bpt_line_is_meant("matmul a=f16"));
    assert_false(bpt_line_is_meant("matmul"));
    assert_false(bpt_line_is_meant("cpu/matmul a"));
    assert_false(bpt_line_is_meant("matmulx a=f16"));
}

// ---- Values

static bool is_finite(const bpt_operand_t *operand, const void *data) {
    for (int64_t i = 0; operand->dtype != BPT_U32 && i < bpt_shape_count(&operand->shape); ++i)
        if (!isfinite(test_load(operand, data, i))) return false;
    return true;
}

static bool is_small(const test_case_t *c) {
    int64_t elements = 0;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) elements += c->call.in[i].present ? bpt_shape_count(&c->call.in[i].shape) : 0;
    return elements < 20000;
}

// The reference gives finite results of every line, the same ones each time, and others for another seed.
static void values_are_fit(void **state) {
    (void)state;
    int ran[BPT_OP_COUNT] = {0};
    for (size_t f = 0; f < BPT_COUNT(families); ++f)
        for (size_t i = 0; i < families[f]->count(); ++i) {
            test_case_t made, c;
            test_data_t data, again;
            families[f]->make(i, &made);
            const bpt_op_line_t line = test_line_of_case(&made);
            if (!is_small(&made) || ran[made.call.op] > 24) continue;
            test_case_of_line(&c, &line);
            test_data_create(&c, &data), test_data_create(&c, &again);
            for (int j = 0; j < BPT_MAX_INPUTS; ++j)
                if (data.in[j]) assert_memory_equal(data.in[j], again.in[j], test_operand_bytes(&c.call.in[j]));
            test_must_execute(test_ref_device(), &c, &data);
            for (int j = 0; j < BPT_MAX_OUTPUTS; ++j)
                if (data.out[j] && !is_finite(&c.call.out[j], data.out[j])) fail_msg("%s: output %d is not finite", c.name, j);
            test_data_destroy(&data), test_data_destroy(&again);
            ++ran[made.call.op];
        }
    for (int op = 0; op < BPT_OP_COUNT; ++op) assert_true(ran[op] > 2);
}

// The tables of attention are each other's transpose, and hold the edges that the line says.
static void tables_are_transposed(void **state) {
    (void)state;
    static const char *const lines[] = {
        "attention_grad graph=table heads=1 head_dim=2 q=f32[9,2] kv=f32[7,4] table=u32[9,2,4] back=u32[7,3,2]",
        "attention_grad graph=table heads=1 head_dim=2 q=f32[9,2] kv=f32[70,4] rel=f32[5,2] table=u32[9,3,4] back=u32[70,1,2] edges=11",
        "attention_grad graph=table heads=1 head_dim=2 q=f32[50,2] kv=f32[101,4] table=u32[50,5,4] back=u32[101,3,2] edges=5",
        "attention_grad graph=table heads=1 head_dim=2 q=f32[1,2] kv=f32[4,4] table=u32[1,1,4] back=u32[4,1,2] edges=2",
        "attention_grad graph=table query_edges=3 heads=1 head_dim=2 q=f32[6,2] kv=f32[4,4] table=u32[6,5,4] back=u32[4,1,2]",
    };
    static const int64_t edges[] = {7, 11, 5, 2, 3};
    for (size_t i = 0; i < BPT_COUNT(lines); ++i) {
        bpt_op_line_t line;
        test_case_t c;
        test_data_t data;
        parse(lines[i], &line);
        test_case_of_line(&c, &line);
        test_data_create(&c, &data);
        const int64_t queries = line.call.in[0].shape.dim[0], keys = line.call.in[1].shape.dim[0], slots = line.call.in[6].shape.dim[1];
        const int64_t back_slots = line.call.in[10].shape.dim[1];
        const uint32_t *table = data.in[6], *back = data.in[10];
        int64_t pairs = 0;
        for (int64_t q = 0; q < queries; ++q)
            for (int64_t k = 0; k < keys; ++k) {
                int reads = 0, read = 0;
                for (int64_t s = 0; s < slots; ++s) reads += table[4 * (q * slots + s)] <= k && k < table[4 * (q * slots + s) + 1];
                for (int64_t s = 0; s < back_slots; ++s)
                    read += back[2 * (k * back_slots + s)] <= q && q < back[2 * (k * back_slots + s) + 1];
                assert_int_equal(reads, read);
                pairs += reads;
            }
        assert_int_equal(pairs, queries * edges[i]);
        test_data_destroy(&data);
    }
}

static void rules_for_indices(void **state) {
    (void)state;
    static const char *const rules[] = {"spread", "ordered", "zipf", "one"};
    for (size_t rule = 0; rule < BPT_COUNT(rules); ++rule) {
        char text[128];
        bpt_op_line_t line;
        uint32_t ids[4000];
        int times[100] = {0};
        snprintf(text, sizeof text, "gather table=f32[100,2] ids=u32[4000] indices=%s", rules[rule]);
        parse(text, &line);
        assert_int_equal(bpt_line_fill(&line, 1, ids), BPT_OK);
        for (int i = 0; i < 4000; ++i) assert_true(ids[i] < 100), ++times[ids[i]];
        if (rule == 0) assert_true(times[0] > 15 && times[0] < 80 && times[99] > 15);
        if (rule == 1) assert_true(ids[0] == 0 && ids[150] == 50);
        if (rule == 2) assert_true(times[0] > 400 && times[50] < 40);
        if (rule == 3) assert_true(times[0] == 4000);
    }
}

static void work_is_counted(void **state) {
    (void)state;
    bpt_op_line_t line;
    double flops, bytes;
    parse("matmul a=bf16[10,20] b=bf16[20,30] bias out=f32", &line);
    assert_int_equal(bpt_line_work(&line, &flops, &bytes), BPT_OK);
    assert_true(flops == 2 * 10 * 20 * 30 && bytes == 2 * 200 + 2 * 600 + 4 * 30 + 4 * 300);
    parse("attention graph=table heads=2 head_dim=8 q=f32[50,16] kv=f32[100,32] table=u32[50,2,4] edges=10", &line);
    assert_int_equal(bpt_line_work(&line, &flops, &bytes), BPT_OK);
    assert_true(flops == 4.0 * 50 * 10 * 16);
    // What the bounds of a table tell: of all queries, of two kinds, or of some only, which is not enough.
    static const struct {
        const char *bounds;
        double edges;
    } cases[] = {{"query_edges=7", 50 * 7},
                 {"light_queries=40 light_query_edges=3 query_edges=9", 40 * 3 + 10 * 9},
                 {"light_queries=40 light_query_edges=3", 2 * 100},
                 {"", 2 * 100}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char text[256];
        snprintf(text, sizeof text, "attention graph=table %s heads=2 head_dim=8 q=f32[50,16] kv=f32[100,32] table=u32[50,2,4]",
                 cases[i].bounds);
        parse(text, &line);
        assert_int_equal(bpt_line_work(&line, &flops, &bytes), BPT_OK);
        assert_true(flops == 4 * cases[i].edges * 16);
    }
}

// ---- A failing case says its line

static void always_fails(bpt_device_t *device, const test_case_t *c, const test_data_t *result) {
    (void)device, (void)c, (void)result;
    fail_msg("as it should");
}

static void failures_print_lines(void **state) {
    (void)state;
    static const test_family_t *const casts[] = {&test_cast_cases, NULL};
    const test_suite_t suite = {.name = "failing", .families = casts, .extra = always_fails};
    char text[16384] = "", wanted[BPT_LINE_MOST_BYTES];
    test_case_t c;
    int ends[2];
    test_cast_cases.make(0, &c);
    const bpt_op_line_t line = test_line_of_case(&c);
    snprintf(wanted, sizeof wanted, "with values of its own: BPT_CASE='ref/%s'\n", print(&line));
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (!child) {
        char name[256];
        snprintf(name, sizeof name, "ref/%s", c.name);
        dup2(ends[1], 2), close(ends[0]);
        setenv("BPT_CASE", name, 1);
        _exit(test_conformance_main(&suite) ? 1 : 0);
    }
    close(ends[1]);
    for (size_t used = 0; used + 1 < sizeof text;) {
        const ssize_t got = read(ends[0], text + used, sizeof text - 1 - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(WEXITSTATUS(result), 1);
    if (!strstr(text, wanted)) fail_msg("'%s' is not in: %s", wanted, text);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_again),        cmocka_unit_test(bad_lines),       cmocka_unit_test(too_long),
        cmocka_unit_test(spellings),         cmocka_unit_test(values_are_fit),  cmocka_unit_test(tables_are_transposed),
        cmocka_unit_test(rules_for_indices), cmocka_unit_test(work_is_counted), cmocka_unit_test(failures_print_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
