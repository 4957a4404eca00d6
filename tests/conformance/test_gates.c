// What the case tables must hold: no op without a case, none without the sizes where kernels break, no graph of attention
// without every property, no case that the contract refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/host/host.h"
#include "support/cover.h"

static const test_family_t *const families[] = {
#define TEST_FAMILY(name) &test_##name##_cases,
#include "conformance/cases.def"
};

// With `cover`, the cases that it takes.
static void visit_cases(test_cover_t *cover, void (*visit)(const test_case_t *c, void *context), void *context) {
    for (size_t f = 0; f < BPT_COUNT(families); ++f)
        for (size_t i = 0; i < families[f]->count(); ++i) {
            test_case_t c;
            families[f]->make(i, &c);
            if (!cover || test_cover_adds(cover, &c)) visit(&c, context);
        }
}

static void for_each_case(void (*visit)(const test_case_t *c, void *context), void *context) { visit_cases(NULL, visit, context); }

static void count_op(const test_case_t *c, void *counts) { ((int *)counts)[c->call.op]++; }

static void every_op_has_a_case(void **state) {
    (void)state;
    int counts[BPT_OP_COUNT] = {0};
    for_each_case(count_op, counts);
    for (int op = 0; op < BPT_OP_COUNT; ++op)
        if (!counts[op]) fail_msg("op %s has no conformance case", bpt_op_name((bpt_op_t)op));
}

static void note_steps(const test_case_t *c, void *alone) {
    const bpt_pointwise_attrs_t *t = &c->call.attrs.pointwise;
    if (c->call.op == BPT_OP_POINTWISE && t->n_steps == 1) ((bool *)alone)[t->step[0].code] = true;
}

static void every_pointwise_step_has_a_case_of_its_own(void **state) {
    (void)state;
    bool alone[256] = {false};
    for_each_case(note_steps, alone);
    for (int code = 0; bpt_pointwise_form((bpt_pointwise_code_t)code); ++code)
        if (!alone[code]) fail_msg("no case is the step %s alone", bpt_pointwise_form((bpt_pointwise_code_t)code)->name);
}

// Sizes around powers of two and blocks; the last stands for every size above 65,535 (a limit of some devices' grids).
static const int64_t sizes[] = {0, 1, 2, 31, 33, 127, 129, 1025, 65536};
enum { N_SIZES = BPT_COUNT(sizes) };

static void note_sizes(const bpt_operand_t *operand, bool seen[N_SIZES]) {
    for (int r = 0; operand->present && r < operand->shape.rank; ++r)
        for (int i = 0; i < N_SIZES; ++i)
            if (operand->shape.dim[r] == sizes[i] || (i == N_SIZES - 1 && operand->shape.dim[r] >= sizes[i])) seen[i] = true;
}

static void note_case_sizes(const test_case_t *c, void *context) {
    bool(*seen)[N_SIZES] = context;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) note_sizes(&c->call.in[i], seen[c->call.op]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) note_sizes(&c->call.out[i], seen[c->call.op]);
}

static void check_sizes(test_cover_t *cover) {
    bool seen[BPT_OP_COUNT][N_SIZES] = {{0}};
    visit_cases(cover, note_case_sizes, seen);
    for (int op = 0; op < BPT_OP_COUNT; ++op)
        for (int i = 0; i < N_SIZES && op != BPT_OP_ATTENTION && op != BPT_OP_ATTENTION_GRAD; ++i)
            if (!seen[op][i]) fail_msg("no case of op %s has a dimension of %lld", bpt_op_name((bpt_op_t)op), (long long)sizes[i]);
    assert_true(seen[BPT_OP_ATTENTION][N_SIZES - 1] && seen[BPT_OP_ATTENTION_GRAD][N_SIZES - 1]);
}

static void every_op_meets_every_size(void **state) {
    (void)state;
    check_sizes(NULL);
}

// ---- Attention -------------------------------------------------------------------------------------------------------
// Per op and graph: a bit for each value of each property. Every kind with a rule counts twice, for its two variants.

static const bpt_intervals_kind_t kinds[] = {BPT_INTERVALS_BPT, BPT_INTERVALS_SEGTREE, BPT_INTERVALS_DENSE, BPT_INTERVALS_WINDOW,
                                             BPT_INTERVALS_SPARSE};
enum { N_GRAPHS = 2 * BPT_COUNT(kinds) };
static const int64_t lengths[] = {1, 2, 3, 5, 16, 17, 33, 64, 100, 257, 1000}, ks[] = {1, 2, 4, 16, 64},
                     head_dims[] = {10, 20, 40, 50, 64, 100};

typedef struct {
    uint64_t lengths, ks, head_dims, others;
} coverage_t;

enum {
    CAUSAL,
    BOTH_SIDES,
    TRIMMED,
    ALL,
    LEAVES,
    ROOTS,
    ZERO_SPANS,
    STORED_SPANS,
    PACKED,
    SEPARATE,
    WITH_REL,
    WITHOUT_REL,
    DROPOUT,
    NO_DROPOUT,
    F32,
    BF16,
    F16,
    N_OTHERS
};
static const char *const other_names[] = {"causal",        "both sides", "trimmed",      "queries all", "queries leaves",
                                          "queries roots", "zero_spans", "stored spans", "packed",      "separate q and kv",
                                          "rel",           "no rel",     "dropout",      "no dropout",  "f32",
                                          "bf16",          "f16"};

static uint64_t bit_of(const int64_t *values, size_t n, int64_t value) {
    for (size_t i = 0; i < n; ++i)
        if (values[i] == value) return UINT64_C(1) << i;
    return 0;
}

static int graph_number(const bpt_intervals_t *g) {
    int kind = 0;
    while (kinds[kind] != g->kind) ++kind;
    return 2 * kind + (g->reference_rule || g->span_self || (g->root && !g->trimmed));
}

static void note_attention(const test_case_t *c, void *context) {
    coverage_t(*seen)[N_GRAPHS] = context;
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    if (c->call.op != BPT_OP_ATTENTION && c->call.op != BPT_OP_ATTENTION_GRAD) return;
    if (t->graph.kind == BPT_INTERVALS_TABLE) return;
    coverage_t *s = &seen[c->call.op == BPT_OP_ATTENTION_GRAD][graph_number(&t->graph)];
    const bool has[N_OTHERS] = {[CAUSAL] = t->graph.causal,
                                [BOTH_SIDES] = !t->graph.causal,
                                [TRIMMED] = t->graph.trimmed,
                                [ALL] = t->queries == BPT_QUERIES_ALL,
                                [LEAVES] = t->queries == BPT_QUERIES_LEAVES,
                                [ROOTS] = t->queries == BPT_QUERIES_ROOTS,
                                [ZERO_SPANS] = t->zero_spans,
                                [STORED_SPANS] = !t->zero_spans,
                                [PACKED] = t->packed,
                                [SEPARATE] = !t->packed,
                                [WITH_REL] = c->call.in[2].present,
                                [WITHOUT_REL] = !c->call.in[2].present,
                                [DROPOUT] = t->p > 0,
                                [NO_DROPOUT] = t->p <= 0,
                                [F32] = c->call.in[0].dtype == BPT_F32,
                                [BF16] = c->call.in[0].dtype == BPT_BF16,
                                [F16] = c->call.in[0].dtype == BPT_F16};
    s->lengths |= bit_of(lengths, BPT_COUNT(lengths), t->graph.n);
    s->ks |= bit_of(ks, BPT_COUNT(ks), t->graph.k);
    s->head_dims |= bit_of(head_dims, BPT_COUNT(head_dims), t->head_dim);
    for (int i = 0; i < N_OTHERS; ++i) s->others |= (uint64_t)has[i] << i;
}

static void check_settings(const coverage_t *seen, int gradient, int graph) {
    const bpt_intervals_t g = {kinds[graph / 2], .n = 2};
    const bool tree = bpt_intervals_has_spans(&g), rootless = !tree && graph % 2 == 0, sparse = g.kind == BPT_INTERVALS_SPARSE;
    for (int i = 0; i < N_OTHERS; ++i)
        if (!(seen->others >> i & 1) && !(i == ROOTS && rootless) && !(i == TRIMMED && !tree) &&
            !(sparse && (i == BOTH_SIDES || i == WITH_REL)))  // to the left only, without relative positions
            fail_msg("no case of %s graph %d with: %s", gradient ? "attention_grad" : "attention", graph, other_names[i]);
}

static void every_graph_meets_every_property_of_attention(void **state) {
    (void)state;
    coverage_t seen[2][N_GRAPHS] = {{{0}}};
    for_each_case(note_attention, seen);
    for (int gradient = 0; gradient < 2; ++gradient)
        for (int graph = 0; graph < N_GRAPHS; ++graph) {
            const coverage_t *s = &seen[gradient][graph];
            assert_int_equal(s->lengths, (1 << BPT_COUNT(lengths)) - 1);
            if (graph < 2) assert_int_equal(s->ks, (1 << BPT_COUNT(ks)) - 1);  // the others ignore k
            assert_int_equal(s->head_dims, (1 << BPT_COUNT(head_dims)) - 1);
            check_settings(s, gradient, graph);
        }
}

// Tables: a bit for each number of slots up to 8, head size, and property, forward and backward.
typedef struct {
    unsigned slots, back_slots, head_dims, dtypes, dropout, other_rows;
} table_coverage_t;

static void note_table(const test_case_t *c, void *context) {
    table_coverage_t *s = (table_coverage_t *)context + (c->call.op == BPT_OP_ATTENTION_GRAD);
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    if ((c->call.op != BPT_OP_ATTENTION && c->call.op != BPT_OP_ATTENTION_GRAD) || !c->call.in[6].present) return;
    const int64_t slots = c->call.in[6].shape.dim[1], back_slots = c->call.in[10].present ? c->call.in[10].shape.dim[1] : 0;
    if (slots <= 8) s->slots |= 1u << slots;
    if (back_slots <= 8) s->back_slots |= 1u << back_slots;
    s->head_dims |= (unsigned)bit_of(head_dims, BPT_COUNT(head_dims), t->head_dim);
    s->dtypes |= 1u << c->call.in[0].dtype;
    s->dropout |= 1u << (t->p > 0);
    s->other_rows |= 1u << (c->call.in[0].shape.dim[0] != c->call.in[1].shape.dim[0]);
}

static void tables_meet_every_property_of_attention(void **state) {
    (void)state;
    table_coverage_t seen[2] = {{0}};
    for_each_case(note_table, seen);
    for (int gradient = 0; gradient < 2; ++gradient) {
        const table_coverage_t *s = &seen[gradient];
        assert_int_equal(s->slots & 0x1FE, 0x1FE);
        assert_int_equal(s->head_dims, (1 << BPT_COUNT(head_dims)) - 1);
        assert_int_equal(s->dtypes, 1 << BPT_F32 | 1 << BPT_BF16 | 1 << BPT_F16);
        assert_int_equal(s->dropout, 3);
        assert_int_equal(s->other_rows, 3);
    }
    assert_int_equal(seen[1].back_slots & 0x1E, 0x1E);
    assert_true(seen[1].back_slots & 1 << 8);
}

// ---- The covering cases ----------------------------------------------------------------------------------------------

static bool has_dtype(const test_case_t *c, bpt_dtype_t dtype) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (c->call.in[i].present && c->call.in[i].dtype == dtype) return true;
    return c->call.out[0].present && c->call.out[0].dtype == dtype;
}

static void note_dtypes(const test_case_t *c, void *context) {
    unsigned *seen = context;
    for (int dtype = 0; dtype <= BPT_F16; ++dtype) seen[c->call.op] |= (unsigned)has_dtype(c, (bpt_dtype_t)dtype) << dtype;
}

static void the_covering_cases_have_every_op_size_and_type(void **state) {
    (void)state;
    unsigned all[BPT_OP_COUNT] = {0}, covered[BPT_OP_COUNT] = {0};
    test_cover_t cover = {.seen = NULL}, again = {.seen = NULL};
    check_sizes(&cover);
    for_each_case(note_dtypes, all);
    visit_cases(&again, note_dtypes, covered);
    assert_memory_equal(covered, all, sizeof all);
    test_cover_free(&cover), test_cover_free(&again);
}

static void the_covering_cases_have_every_setting_of_every_graph(void **state) {
    (void)state;
    coverage_t seen[2][N_GRAPHS] = {{{0}}};
    test_cover_t cover = {.seen = NULL};
    visit_cases(&cover, note_attention, seen);
    for (int gradient = 0; gradient < 2; ++gradient) {
        coverage_t any = {0};
        for (int graph = 0; graph < N_GRAPHS; ++graph) {
            const coverage_t *s = &seen[gradient][graph];
            check_settings(s, gradient, graph);
            any = (coverage_t){any.lengths | s->lengths, any.ks | s->ks, any.head_dims | s->head_dims, 0};
        }
        assert_int_equal(any.lengths, (1 << BPT_COUNT(lengths)) - 1);
        assert_int_equal(any.ks, (1 << BPT_COUNT(ks)) - 1);
        assert_int_equal(any.head_dims, (1 << BPT_COUNT(head_dims)) - 1);
    }
    test_cover_free(&cover);
}

// ---- Names and contract ----------------------------------------------------------------------------------------------

static void check_contract(const test_case_t *c, void *context) {
    (void)context;
    if (bpt_call_check(&c->call) != BPT_OK) fail_msg("%s: %s", c->name, bpt_error_message());
}

static void every_case_keeps_the_contract(void **state) {
    (void)state;
    for_each_case(check_contract, NULL);
}

typedef struct {
    char (*names)[192];
    size_t count;
} names_t;

static void take_name(const test_case_t *c, void *context) {
    names_t *n = context;
    memcpy(n->names[n->count++], c->name, sizeof c->name);
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static void no_two_cases_have_the_same_name(void **state) {
    (void)state;
    size_t total = 0;
    for (size_t f = 0; f < BPT_COUNT(families); ++f) total += families[f]->count();
    names_t n = {.names = calloc(total, sizeof *n.names)};
    assert_non_null(n.names);
    for_each_case(take_name, &n);
    qsort(n.names, n.count, sizeof *n.names, compare_names);
    for (size_t i = 1; i < n.count; ++i) assert_string_not_equal(n.names[i - 1], n.names[i]);
    free(n.names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_case),
        cmocka_unit_test(every_pointwise_step_has_a_case_of_its_own),
        cmocka_unit_test(every_op_meets_every_size),
        cmocka_unit_test(every_graph_meets_every_property_of_attention),
        cmocka_unit_test(tables_meet_every_property_of_attention),
        cmocka_unit_test(the_covering_cases_have_every_op_size_and_type),
        cmocka_unit_test(the_covering_cases_have_every_setting_of_every_graph),
        cmocka_unit_test(every_case_keeps_the_contract),
        cmocka_unit_test(no_two_cases_have_the_same_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
