// What a model may depend on: causality, padding, batch mates, buckets; and that all models and depths can be differentiated.
#include "model_fixture.h"

typedef struct {
    const char *name;
    bpt_model_kind_t model;
    bpt_transformer_attention_t attention;
    bpt_positions_t positions;
    bpt_pool_t pool;
    bool reference_rule, span_self, causal_classifier;
    int32_t layers;
    bpt_norm_t norm;
    bpt_ffn_t ffn;
} variant_t;

#define MODERN .positions = BPT_POSITIONS_ROTARY, .norm = BPT_NORM_RMS, .ffn = BPT_FFN_SWIGLU

static const variant_t variants[] = {
    {.name = "bpt", .layers = 3},
    {.name = "bpt, one layer", .layers = 1},
    {.name = "bpt, reference rule", .reference_rule = true, .layers = 3},
    {.name = "bpt, causal classifier", .causal_classifier = true, .layers = 2},
    {.name = "segtree", .model = BPT_MODEL_SEGTREE, .layers = 2},
    {.name = "dense, absolute", .model = BPT_MODEL_TRANSFORMER, .positions = BPT_POSITIONS_ABSOLUTE, .layers = 2},
    {.name = "dense, one layer", .model = BPT_MODEL_TRANSFORMER, .positions = BPT_POSITIONS_ABSOLUTE, .layers = 1},
    {.name = "dense, relative", .model = BPT_MODEL_TRANSFORMER, .layers = 2},
    {.name = "window, no positions",
     .model = BPT_MODEL_TRANSFORMER,
     .attention = BPT_ATTENTION_WINDOW,
     .positions = BPT_POSITIONS_NONE,
     .layers = 2},
    {.name = "dense, sinusoids", .model = BPT_MODEL_TRANSFORMER, .positions = BPT_POSITIONS_SINUSOIDAL, .layers = 2},
    {.name = "segtree, spans read themselves", .model = BPT_MODEL_SEGTREE, .span_self = true, .layers = 2},
    {.name = "bpt, mean of tokens", .pool = BPT_POOL_MEAN, .layers = 3},
    {.name = "bpt, RMSNorm", .layers = 2, .norm = BPT_NORM_RMS},
    {.name = "bpt, SwiGLU", .layers = 2, .ffn = BPT_FFN_SWIGLU},
    {.name = "bpt, rotary", .layers = 3, .positions = BPT_POSITIONS_ROTARY},
    {.name = "bpt, rotary, one layer", .layers = 1, .positions = BPT_POSITIONS_ROTARY},
    {.name = "bpt, all three, reference rule", MODERN, .reference_rule = true, .layers = 2},
    {.name = "segtree, all three, spans read themselves", MODERN, .model = BPT_MODEL_SEGTREE, .span_self = true, .layers = 2},
    {.name = "dense, all three", MODERN, .model = BPT_MODEL_TRANSFORMER, .layers = 2},
    {.name = "window, rotary, mean of tokens",
     .model = BPT_MODEL_TRANSFORMER,
     .attention = BPT_ATTENTION_WINDOW,
     .positions = BPT_POSITIONS_ROTARY,
     .pool = BPT_POOL_MEAN,
     .layers = 2},
    {.name = "dense, maximum of tokens", .model = BPT_MODEL_TRANSFORMER, .pool = BPT_POOL_MAX, .layers = 1},
};

static bpt_model_config_t config_of(const variant_t *v, bpt_task_t task) {
    bpt_model_config_t c = task == BPT_TASK_LM ? fixture_lm() : fixture_classifier();
    c.model = v->model;
    c.attention = v->attention;
    c.positions = v->positions;
    c.pool = v->pool;
    c.reference_rule = v->reference_rule;
    c.span_self = v->span_self;
    c.layers = v->layers;
    c.norm = v->norm;
    c.ffn = v->ffn;
    if (v->causal_classifier) c.causal = true;
    return c;
}

static fixture_batch_t a, b;
static float x[8192], y[8192];

static void compare(const float *p, const float *q, int64_t count, bool bitwise, const char *what) {
    for (int64_t i = 0; i < count; ++i) {
        const double off = fabs((double)p[i] - (double)q[i]);
        if (bitwise ? memcmp(p + i, q + i, sizeof *p) != 0 : !(off <= 1e-5))
            fail_msg("%s: element %lld is off by %g", what, (long long)i, off);
    }
}

static void with_each(bpt_task_t task, void (*check)(bpt_runner_t *, const bpt_model_config_t *, bool bitwise, const char *what)) {
    static const char *const backends[] = {"ref", "cpu"};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        bpt_device_t *device = fixture_open(backends[d]);
        for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
            const bpt_model_config_t c = config_of(&variants[v], task);
            char what[80];
            snprintf(what, sizeof what, "%s on %s", variants[v].name, backends[d]);
            bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
            check(r, &c, d == 0, what);
            bpt_runner_destroy(r);
        }
        fixture_close(device);
    }
}

// What follows attention by chunks of rows in place of all at once, and attention by groups of heads: the same numbers, on devices too,
// where chunks may run side by side. Chunks alone change no bit; groups add up W_o in another order.
static void chunks_of_rows_and_groups_of_heads_change_nothing(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan"};
    const uint32_t lengths[] = {21, 9, 32};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        if (!test_backend_usable(backends[d])) continue;
        bpt_device_t *device = fixture_open(backends[d]);
        for (size_t v = 0; v < BPT_COUNT(variants); ++v)
            for (int i = 0; i < 6; ++i) {
                const int chunk = 2 + 15 * (i % 3), groups = 1 + i / 3;
                const bpt_task_t task = chunk == 2 ? BPT_TASK_CLASSIFY : BPT_TASK_LM;
                const bpt_model_config_t c = config_of(&variants[v], task);
                bpt_runner_t *whole = fixture_runner(&c, device, (bpt_runner_options_t){0});
                bpt_runner_t *chunks =
                    fixture_runner(&c, device, (bpt_runner_options_t){.step.chunk_rows = chunk, .step.head_groups = groups});
                char what[80];
                snprintf(what, sizeof what, "%s on %s, chunks of %d rows, %d groups", variants[v].name, backends[d], chunk, groups);
                fixture_fill(&a, &c, 32, 3, lengths, 5);
                assert_ok(bpt_runner_logits(whole, &a.batch, x));
                assert_ok(bpt_runner_logits(chunks, &a.batch, y));
                compare(x, y, task == BPT_TASK_LM ? 3 * 32 * c.vocab : 3 * c.classes, d == 0 && groups == 1, what);
                bpt_runner_destroy(chunks);
                bpt_runner_destroy(whole);
            }
        fixture_close(device);
    }
}

static size_t workspace_of(bpt_device_t *device, int64_t chunk_rows, int32_t head_groups) {
    bpt_model_config_t c = config_of(&variants[0], BPT_TASK_LM);
    c.d_ff = 20 * c.d_model;
    const bpt_step_key_t key = {.kind = BPT_STEP_LOGITS, .shape = bpt_batch_buckets(2048, 1)};
    bpt_plan_summary_t plan;
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step.chunk_rows = chunk_rows, .step.head_groups = head_groups});
    assert_ok(bpt_runner_plan(r, &key, &plan, NULL));
    bpt_runner_destroy(r);
    return plan.workspace_bytes;
}

static void chunks_of_rows_and_groups_of_heads_take_less_memory(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("cpu");
    const size_t row = (size_t)4060 * 16 * 4;
    assert_int_equal(fixture_lm().heads, 2);
    // All rows of the hidden layer; residual, queries, keys, values and attention; half of the heads' queries, keys and values less.
    assert_true(workspace_of(device, 0, 1) > 20 * row);
    const size_t chunks = workspace_of(device, 64, 1), groups = workspace_of(device, 64, 2);
    assert_in_range(chunks, 5 * row, 6 * row);
    assert_in_range(groups, 3 * row, chunks - row);
    fixture_close(device);
}

static void long_texts_go_by_chunks_and_groups(void **state) {
    (void)state;
    assert_int_equal(bpt_pieces_head_groups(1 << 19, 8), 1);
    assert_int_equal(bpt_pieces_head_groups((1 << 19) + 8, 8), 2);
    assert_int_equal(bpt_pieces_head_groups(1 << 21, 8), 4);
    assert_int_equal(bpt_pieces_head_groups(1 << 21, 5), 5);
    assert_int_equal(bpt_pieces_head_groups(1 << 27, 20), 10);
    assert_int_equal(bpt_pieces_head_groups(1 << 27, 1), 1);
}

static void check_causal(bpt_runner_t *r, const bpt_model_config_t *c, bool bitwise, const char *what) {
    const uint32_t length = 21;
    fixture_fill(&a, c, length, 1, &length, 5);
    assert_ok(bpt_runner_logits(r, &a.batch, x));
    for (uint32_t changed = 1; changed < length; changed += 4) {
        a.tokens[changed] = (a.tokens[changed] + 1) % (uint32_t)c->vocab;
        assert_ok(bpt_runner_logits(r, &a.batch, y));
        a.tokens[changed] = (a.tokens[changed] + (uint32_t)c->vocab - 1) % (uint32_t)c->vocab;
        compare(x, y, changed * c->vocab, bitwise, what);
        assert_true(memcmp(x + changed * c->vocab, y + changed * c->vocab, (size_t)c->vocab * sizeof *x) != 0);
    }
}

static void a_language_model_never_sees_later_tokens(void **state) {
    (void)state;
    with_each(BPT_TASK_LM, check_causal);
}

// Sequence 3 alone, and among others in a larger bucket.
static void check_mates(bpt_runner_t *r, const bpt_model_config_t *c, bool bitwise, const char *what) {
    const bool lm = c->task == BPT_TASK_LM;
    const uint32_t lengths[] = {1, 9, 17, 13, 2};
    const int64_t n = 17, columns = lm ? c->vocab : c->classes;
    fixture_fill(&a, c, 13, 1, &lengths[3], 3);
    fixture_fill(&b, c, n, 5, lengths, 0);
    assert_ok(bpt_runner_logits(r, &a.batch, x));
    assert_ok(bpt_runner_logits(r, &b.batch, y));
    compare(x, y + 3 * (lm ? n : 1) * columns, (lm ? 13 : 1) * columns, bitwise, what);
}

static void padding_and_batch_mates_change_no_logits_of_a_language_model(void **state) {
    (void)state;
    with_each(BPT_TASK_LM, check_mates);
}
static void padding_and_batch_mates_change_no_logits_of_a_classifier(void **state) {
    (void)state;
    with_each(BPT_TASK_CLASSIFY, check_mates);
}

// ---- States behind the last layer

enum { STATES = 5 * 17 * 16 };
static float states[STATES], other_states[STATES], roots[5 * 16], other_roots[5 * 16];

// The head by hand: logits [rows, outputs] of states [rows, d_model].
static void apply_head(bpt_runner_t *r, const bpt_model_config_t *c, const float *from, int64_t rows, int64_t outputs, float *logits) {
    static float weight[16 * 16], bias[16];
    const int64_t d = c->d_model;
    assert_true(outputs <= 16 && d <= 16);
    assert_ok(bpt_runner_get(r, c->tied ? "embed.weight" : "head.weight", weight));
    assert_ok(bpt_runner_get(r, "head.bias", bias));
    for (int64_t i = 0; i < rows * outputs; ++i) {
        double sum = (double)bias[i % outputs];
        for (int64_t j = 0; j < d; ++j) sum += (double)from[i / outputs * d + j] * (double)weight[i % outputs * d + j];
        logits[i] = (float)sum;
    }
}

// States of whole texts are the mean or maximum of those of their tokens.
static void expect_pooled(const bpt_model_config_t *c, const uint32_t *lengths, int64_t n, const char *what) {
    const int64_t d = c->d_model;
    for (int64_t s = 0; s < 5; ++s)
        for (int64_t j = 0; j < d; ++j) {
            double sum = 0, largest = -INFINITY;
            for (int64_t i = 0; i < lengths[s]; ++i) {
                const double state = (double)states[(s * n + i) * d + j];
                sum += state;
                largest = fmax(largest, state);
            }
            const float wanted = (float)(c->pool == BPT_POOL_MAX ? largest : sum / lengths[s]);
            compare(roots + s * d + j, &wanted, 1, false, what);
        }
}

static void check_states(bpt_runner_t *r, const bpt_model_config_t *c, bool bitwise, const char *what) {
    const bool lm = c->task == BPT_TASK_LM;
    const uint32_t lengths[] = {1, 9, 17, 13, 2};
    const int64_t n = 17, rows = lm ? 5 * n : 5, outputs = lm ? c->vocab : c->classes;
    (void)bitwise;
    fixture_fill(&b, c, n, 5, lengths, 0);
    assert_ok(bpt_runner_states(r, &b.batch, &(bpt_runner_states_t){.tokens = states, .pooled = lm ? NULL : roots}));
    assert_ok(bpt_runner_logits(r, &b.batch, x));
    apply_head(r, c, lm ? states : roots, rows, outputs, y);
    for (int64_t row = 0; row < rows; ++row)
        if (!lm || row % n < lengths[row / n]) compare(x + row * outputs, y + row * outputs, outputs, false, what);
    if (lm) return;
    if (c->pool != BPT_POOL_ROOT) expect_pooled(c, lengths, n, what);
    // States of tokens of sequence 3, alone and among others in a larger bucket.
    fixture_fill(&a, c, 13, 1, &lengths[3], 3);
    assert_ok(bpt_runner_states(r, &a.batch, &(bpt_runner_states_t){.tokens = other_states, .pooled = other_roots}));
    compare(other_states, states + 3 * n * c->d_model, 13 * c->d_model, bitwise, what);
    compare(other_roots, roots + 3 * c->d_model, c->d_model, bitwise, what);
}

static void the_head_makes_logits_of_the_states_of_every_model(void **state) {
    (void)state;
    with_each(BPT_TASK_LM, check_states);
    with_each(BPT_TASK_CLASSIFY, check_states);
}

// The mean square of a parameter of d columns with at most 64 rows.
static double mean_square(bpt_runner_t *r, const char *name, int64_t count) {
    static float table[64 * 16];
    double sum = 0;
    assert_true(count <= (int64_t)BPT_COUNT(table));
    assert_ok(bpt_runner_get(r, name, table));
    for (int64_t i = 0; i < count; ++i) sum += (double)table[i] * (double)table[i];
    return sum / (double)count;
}

// A language model whose tokens were 20 times smaller than its positions learned no more than how frequent each token is.
static void positions_do_not_drown_the_tokens(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    const bpt_task_t tasks[] = {BPT_TASK_LM, BPT_TASK_CLASSIFY};
    for (size_t v = 0; v < BPT_COUNT(variants); ++v)
        for (size_t t = 0; t < BPT_COUNT(tasks); ++t)
            for (int how = 0; how < 3; ++how) {  // a matrix of its own, the head's, the head's times sqrt(d_model)
                bpt_model_config_t c = config_of(&variants[v], tasks[t]);
                if (c.positions != BPT_POSITIONS_ABSOLUTE || (how && tasks[t] != BPT_TASK_LM)) continue;
                c.tied = how > 0;
                c.embed_scale = how == 2;
                bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
                const double tokens = mean_square(r, "embed.weight", (int64_t)c.vocab * c.d_model) * (c.embed_scale ? c.d_model : 1);
                const double positions = mean_square(r, "pos_embed.weight", (int64_t)c.max_positions * c.d_model);
                if (positions > 4 * tokens) fail_msg("%s, %d: %g against %g", variants[v].name, how, positions, tokens);
                bpt_runner_destroy(r);
            }
    fixture_close(device);
}

// The initial table of positions is smaller for tasks that read examples.
static void copy_positions(bpt_runner_t *from, bpt_runner_t *to) {
    static float table[64 * 16];
    if (bpt_runner_config(from)->positions != BPT_POSITIONS_ABSOLUTE) return;
    assert_ok(bpt_runner_get(from, "pos_embed.weight", table));
    assert_ok(bpt_runner_set(to, "pos_embed.weight", table));
}

// A causal classifier with the parameters of a language model has its states of tokens, although its last layers are for roots.
static void states_of_tokens_do_not_depend_on_the_task(void **state) {
    (void)state;
    const uint32_t lengths[] = {1, 9, 17, 13, 2};
    bpt_device_t *device = fixture_open("ref");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        bpt_model_config_t lm = config_of(&variants[v], BPT_TASK_LM), classifier = config_of(&variants[v], BPT_TASK_CLASSIFY);
        lm.tied = false;  // else the initial embedding would be the head's
        classifier.causal = true;
        bpt_runner_t *of_lm = fixture_runner(&lm, device, (bpt_runner_options_t){0});
        bpt_runner_t *of_classifier = fixture_runner(&classifier, device, (bpt_runner_options_t){0});
        copy_positions(of_lm, of_classifier);
        fixture_fill(&a, &lm, 17, 5, lengths, 0);
        fixture_fill(&b, &classifier, 17, 5, lengths, 0);
        assert_ok(bpt_runner_states(of_lm, &a.batch, &(bpt_runner_states_t){.tokens = states}));
        assert_ok(bpt_runner_states(of_classifier, &b.batch, &(bpt_runner_states_t){.tokens = other_states}));
        for (int64_t s = 0; s < 5; ++s)
            compare(states + s * 17 * 16, other_states + s * 17 * 16, (int64_t)lengths[s] * 16, true, variants[v].name);
        bpt_runner_destroy(of_lm);
        bpt_runner_destroy(of_classifier);
    }
    fixture_close(device);
}

static void states_come_by_chunks_and_groups_as_well(void **state) {
    (void)state;
    const uint32_t lengths[] = {1, 9, 17, 13, 2};
    bpt_device_t *device = fixture_open("cpu");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v)
        for (int32_t groups = 1; groups <= 2; ++groups) {
            const bpt_model_config_t c = config_of(&variants[v], BPT_TASK_CLASSIFY);
            bpt_runner_t *whole = fixture_runner(&c, device, (bpt_runner_options_t){0});
            bpt_runner_t *pieces = fixture_runner(&c, device, (bpt_runner_options_t){.step.chunk_rows = 7, .step.head_groups = groups});
            fixture_fill(&a, &c, 17, 5, lengths, 0);
            assert_ok(bpt_runner_states(whole, &a.batch, &(bpt_runner_states_t){.tokens = states, .pooled = roots}));
            assert_ok(bpt_runner_states(pieces, &a.batch, &(bpt_runner_states_t){.tokens = other_states, .pooled = other_roots}));
            compare(states, other_states, STATES, false, variants[v].name);
            compare(roots, other_roots, 5 * c.d_model, false, variants[v].name);
            bpt_runner_destroy(pieces);
            bpt_runner_destroy(whole);
        }
    fixture_close(device);
}

static void check_gradient(bpt_runner_t *r, const bpt_model_config_t *c, bool bitwise, const char *what) {
    const uint32_t lengths[] = {1, 7, 12, 5};
    (void)bitwise;
    fixture_fill(&b, c, 12, 4, lengths, 0);
    fixture_check_gradient(r, &b.batch, what);
}

static void gradients_of_every_language_model_agree_with_differences(void **state) {
    (void)state;
    with_each(BPT_TASK_LM, check_gradient);
}
// Two layers more whose outputs are zero change a state by the epsilon of its norms alone. The layers of a root that reads leaves alone are
// computed in another way at the end of the stack than before it: with them the first layers are computed as those of all nodes.
static void roots_of_few_layers_are_those_of_many(void **state) {
    (void)state;
    static const char *const last[] = {"attn.out_proj.weight", "ffn.fc2.weight", "ffn.fc2.bias"};
    static const float zeros[4096];
    const uint32_t lengths[] = {21, 2, 32};
    bpt_device_t *device = fixture_open("cpu");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        bpt_model_config_t c = config_of(&variants[v], BPT_TASK_CLASSIFY);
        bpt_runner_t *few = fixture_runner(&c, device, (bpt_runner_options_t){0});
        char name[80];
        const int32_t layers = c.layers;
        c.layers += 2;
        bpt_runner_t *many = fixture_runner(&c, device, (bpt_runner_options_t){0});
        const bpt_params_t *params = bpt_runner_params(few);
        for (size_t i = 0; i < params->count; ++i) {
            assert_ok(bpt_runner_get(few, params->items[i].name, x));
            assert_ok(bpt_runner_set(many, params->items[i].name, x));
        }
        for (int32_t layer = layers; layer < c.layers; ++layer)
            for (size_t i = 0; i < BPT_COUNT(last) - (c.ffn == BPT_FFN_SWIGLU); ++i) {  // which has no bias
                snprintf(name, sizeof name, "layers.%d.%s", layer, last[i]);
                assert_ok(bpt_runner_set(many, name, zeros));
            }
        fixture_fill(&a, &c, 32, 3, lengths, 5);
        assert_ok(bpt_runner_logits(few, &a.batch, x));
        assert_ok(bpt_runner_logits(many, &a.batch, y));
        for (int i = 0; i < 3 * c.classes; ++i)
            if (!(fabsf(x[i] - y[i]) < 1e-3f)) fail_msg("%s: logit %d is %g and %g", variants[v].name, i, (double)x[i], (double)y[i]);
        bpt_runner_destroy(few);
        bpt_runner_destroy(many);
    }
    fixture_close(device);
}

static void gradients_of_every_classifier_agree_with_differences(void **state) {
    (void)state;
    with_each(BPT_TASK_CLASSIFY, check_gradient);
}

static void a_sequence_beyond_the_last_position_is_refused(void **state) {
    (void)state;
    bpt_model_config_t c = config_of(&variants[5], BPT_TASK_LM);
    c.max_positions = 8;
    bpt_device_t *device = fixture_open("ref");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    const uint32_t length = 9;
    fixture_fill(&a, &c, 9, 1, &length, 0);
    assert_fails(bpt_runner_logits(r, &a.batch, x), BPT_ERR_USAGE, "8 positions");
    bpt_runner_destroy(r);
    fixture_close(device);
}

static void a_batch_of_another_task_is_refused(void **state) {
    (void)state;
    const bpt_model_config_t lm = fixture_lm(), classifier = fixture_classifier();
    const uint32_t lengths[] = {5, 3};
    bpt_device_t *device = fixture_open("ref");
    bpt_runner_t *r = fixture_runner(&lm, device, (bpt_runner_options_t){0});
    fixture_batch_t given;
    double loss;
    fixture_fill(&given, &classifier, 8, 2, lengths, 0);
    assert_fails(bpt_runner_evaluate(r, &given.batch, NULL, &loss), BPT_ERR_USAGE, "the batch has 2 targets");
    fixture_fill(&given, &lm, 8, 2, lengths, 0);
    assert_ok(bpt_runner_evaluate(r, &given.batch, NULL, &loss));
    bpt_runner_destroy(r);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_of_another_task_is_refused),
        cmocka_unit_test(chunks_of_rows_and_groups_of_heads_change_nothing),
        cmocka_unit_test(chunks_of_rows_and_groups_of_heads_take_less_memory),
        cmocka_unit_test(long_texts_go_by_chunks_and_groups),
        cmocka_unit_test(a_language_model_never_sees_later_tokens),
        cmocka_unit_test(padding_and_batch_mates_change_no_logits_of_a_language_model),
        cmocka_unit_test(padding_and_batch_mates_change_no_logits_of_a_classifier),
        cmocka_unit_test(the_head_makes_logits_of_the_states_of_every_model),
        cmocka_unit_test(positions_do_not_drown_the_tokens),
        cmocka_unit_test(states_of_tokens_do_not_depend_on_the_task),
        cmocka_unit_test(states_come_by_chunks_and_groups_as_well),
        cmocka_unit_test(gradients_of_every_language_model_agree_with_differences),
        cmocka_unit_test(roots_of_few_layers_are_those_of_many),
        cmocka_unit_test(gradients_of_every_classifier_agree_with_differences),
        cmocka_unit_test(a_sequence_beyond_the_last_position_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
