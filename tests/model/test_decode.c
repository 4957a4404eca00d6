// Incremental decoding against the full forward pass, and sampling.
#include "model_fixture.h"

#include "models/decode/decode.h"
#include "models/decode/sample.h"

static const struct {
    const char *name;
    bpt_model_kind_t model;
    bpt_transformer_attention_t attention;
    bpt_positions_t positions;
    bool reference_rule, span_self;
    int32_t layers, rel_levels;
    bpt_norm_t norm;
    bpt_ffn_t ffn;
} variants[] = {
    {"bpt", .layers = 3, .rel_levels = 5},
    {"bpt, one layer", .layers = 1, .rel_levels = 5},
    {"bpt, clamped levels", .layers = 2, .rel_levels = 2},
    {"bpt, reference rule", .reference_rule = true, .layers = 3, .rel_levels = 5},
    {"segtree", .model = BPT_MODEL_SEGTREE, .layers = 3, .rel_levels = 5},
    {"segtree, spans read themselves", .model = BPT_MODEL_SEGTREE, .span_self = true, .layers = 3, .rel_levels = 5},
    {"dense, absolute", .model = BPT_MODEL_TRANSFORMER, .positions = BPT_POSITIONS_ABSOLUTE, .layers = 2},
    {"dense, sinusoids", .model = BPT_MODEL_TRANSFORMER, .positions = BPT_POSITIONS_SINUSOIDAL, .layers = 2},
    {"bpt, sinusoids", .positions = BPT_POSITIONS_SINUSOIDAL, .layers = 2},
    {"dense, relative", .model = BPT_MODEL_TRANSFORMER, .layers = 2, .rel_levels = 5},
    {"bpt, rotary, RMSNorm, SwiGLU", .positions = BPT_POSITIONS_ROTARY, .norm = BPT_NORM_RMS, .ffn = BPT_FFN_SWIGLU, .layers = 3},
    {"segtree, rotary", .model = BPT_MODEL_SEGTREE, .positions = BPT_POSITIONS_ROTARY, .layers = 3},
    {"dense, rotary, RMSNorm, SwiGLU", .model = BPT_MODEL_TRANSFORMER, .positions = BPT_POSITIONS_ROTARY, .norm = BPT_NORM_RMS,
     .ffn = BPT_FFN_SWIGLU, .layers = 2},
    {"window, relative", .model = BPT_MODEL_TRANSFORMER, .attention = BPT_ATTENTION_WINDOW, .layers = 2, .rel_levels = 3},
};
static const char *const backends[] = {"ref", "cpu"};

static fixture_batch_t full;
static float wanted[8192], got[64];

static void expect_logits(const char *what, int64_t position, int64_t vocab) {
    float largest = 0;
    for (int64_t i = 0; i < vocab; ++i) largest = fmaxf(largest, fabsf(wanted[position * vocab + i]));
    for (int64_t i = 0; i < vocab; ++i) {
        const float off = fabsf(got[i] - wanted[position * vocab + i]);
        if (!(off <= 1e-4f * largest))
            fail_msg("%s, position %lld: %g instead of %g", what, (long long)position, (double)got[i],
                     (double)wanted[position * vocab + i]);
    }
}

static bpt_model_config_t config_of(size_t v) {
    bpt_model_config_t c = fixture_lm();
    c.model = variants[v].model;
    c.attention = variants[v].attention;
    c.positions = variants[v].positions;
    c.reference_rule = variants[v].reference_rule;
    c.span_self = variants[v].span_self;
    c.layers = variants[v].layers;
    c.rel_levels = variants[v].rel_levels;
    c.norm = variants[v].norm;
    c.ffn = variants[v].ffn;
    c.max_positions = 600;
    return c;
}

// A prompt, then single tokens, in a context with room for more than is used.
static void check(const char *backend, size_t v, uint32_t length, int64_t prompt, int64_t capacity) {
    const bpt_model_config_t c = config_of(v);
    bpt_device_t *device = fixture_open(backend);
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    bpt_decoder_t *d;
    char what[80];
    snprintf(what, sizeof what, "%s on %s", variants[v].name, backend);
    fixture_fill(&full, &c, length, 1, &length, 3);
    assert_ok(bpt_runner_logits(r, &full.batch, wanted));
    assert_ok(bpt_decoder_create(r, capacity, 1, &d));
    for (int round = 0; round < 2; ++round) {  // the second after forgetting half
        int64_t done = bpt_decoder_length(d, 0);
        if (round == 0 && prompt) {
            assert_ok(bpt_decoder_feed(d, 0, full.tokens, prompt, got));
            expect_logits(what, prompt - 1, c.vocab);
            done = prompt;
        }
        for (; done < length; ++done) {
            assert_ok(bpt_decoder_feed(d, 0, full.tokens + done, 1, got));
            expect_logits(what, done, c.vocab);
        }
        bpt_decoder_rewind(d, 0, length / 2);
    }
    bpt_decoder_destroy(d);
    bpt_runner_destroy(r);
    fixture_close(device);
}

static void logits_are_those_of_the_full_pass(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
            check(backends[b], v, 37, 0, 37);
            check(backends[b], v, 37, 21, 64);
            check(backends[b], v, 40, 40, 45);
        }
}

static void long_prompts_go_in_blocks(void **state) {
    (void)state;
    check(backends[BPT_COUNT(backends) - 1], 0, 300, 299, 310);
    check(backends[BPT_COUNT(backends) - 1], 5, 300, 241, 300);
}

// Texts of different lengths side by side: each gets the logits that it gets alone, also when some rest.
static void sequences_side_by_side_do_not_see_each_other(void **state) {
    (void)state;
    enum { SEQUENCES = 5, STEPS = 33 };
    static float side[SEQUENCES][64], alone[64];
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
            const bpt_model_config_t c = config_of(v);
            const int64_t capacity = 64;
            bpt_device_t *device = fixture_open(backends[b]);
            bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
            bpt_decoder_t *many, *one;
            uint32_t text[SEQUENCES][64], tokens[SEQUENCES];
            for (uint32_t s = 0; s < SEQUENCES; ++s)
                for (uint32_t i = 0; i < 64; ++i) text[s][i] = (s * 31 + i * 7 + i * i) % (uint32_t)c.vocab;
            assert_ok(bpt_decoder_create(r, capacity, SEQUENCES, &many));
            assert_ok(bpt_decoder_create(r, capacity, 1, &one));
            for (int64_t s = 0; s < SEQUENCES; ++s) assert_ok(bpt_decoder_feed(many, s, text[s], s * 4, side[s]));  // prompts of 0 .. 16
            for (int step = 0; step < STEPS; ++step) {
                for (int64_t s = 0; s < SEQUENCES; ++s) tokens[s] = step % (s + 2) == 1 ? BPT_NO_ROW : text[s][bpt_decoder_length(many, s)];
                assert_ok(bpt_decoder_step(many, tokens, side[0]));
                for (int64_t s = 0; s < SEQUENCES; ++s) {
                    const float *got_here = &side[0][0] + s * c.vocab;
                    if (tokens[s] == BPT_NO_ROW || step % 8) continue;
                    bpt_decoder_rewind(one, 0, 0);
                    assert_ok(bpt_decoder_feed(one, 0, text[s], bpt_decoder_length(many, s), alone));
                    for (int64_t i = 0; i < c.vocab; ++i)
                        if (!(fabsf(got_here[i] - alone[i]) <= 1e-4f * (1 + fabsf(alone[i]))))
                            fail_msg("%s on %s, step %d, sequence %lld: %g instead of %g", variants[v].name, backends[b], step,
                                     (long long)s, (double)got_here[i], (double)alone[i]);
                }
            }
            bpt_decoder_destroy(one);
            bpt_decoder_destroy(many);
            bpt_runner_destroy(r);
            fixture_close(device);
        }
}

// The cache holds bf16: about what the full pass in bf16 gives.
static void low_precision_decodes_too(void **state) {
    (void)state;
    const bpt_model_config_t c = config_of(0);
    const uint32_t length = 37;
    bpt_device_t *device = fixture_open("ref");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step.precision = BPT_BF16});
    bpt_decoder_t *d;
    fixture_fill(&full, &c, length, 1, &length, 3);
    assert_ok(bpt_runner_logits(r, &full.batch, wanted));
    assert_ok(bpt_decoder_create(r, length, 1, &d));
    for (int64_t i = 0; i < length; ++i) {
        assert_ok(bpt_decoder_feed(d, 0, full.tokens + i, 1, got));
        for (int64_t v = 0; v < c.vocab; ++v) assert_true(fabsf(got[v] - wanted[i * c.vocab + v]) < 0.02f);
    }
    bpt_decoder_destroy(d);
    bpt_runner_destroy(r);
    fixture_close(device);
}

static void a_full_context_and_a_classifier_are_refused(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    const bpt_model_config_t lm = fixture_lm(), classifier = fixture_classifier();
    const uint32_t tokens[5] = {1, 2, 3, 4, 5};
    bpt_decoder_t *d;
    bpt_runner_t *r = fixture_runner(&lm, device, (bpt_runner_options_t){0});
    assert_ok(bpt_decoder_create(r, 4, 1, &d));
    assert_fails(bpt_decoder_feed(d, 0, tokens, 5, NULL), BPT_ERR_USAGE, "context is full");
    assert_int_equal(bpt_decoder_length(d, 0), 0);
    assert_ok(bpt_decoder_feed(d, 0, tokens, 4, NULL));
    bpt_decoder_destroy(d);
    bpt_runner_destroy(r);
    r = fixture_runner(&classifier, device, (bpt_runner_options_t){0});
    assert_fails(bpt_decoder_create(r, 4, 1, &d), BPT_ERR_USAGE, "classifier");
    bpt_runner_destroy(r);
    fixture_close(device);
}

// ---- sampling

enum { DRAWS = 4000, TEXT = 6 };
static const uint32_t drawn_after[TEXT] = {3, 2, 3, 4, 1, 4};

static void draw_counts(bpt_sample_options_t options, const float *logits, int64_t vocab, int64_t *counts) {
    bpt_sampler_t *s;
    if (options.top_p == 0) options.top_p = 1;
    if (options.repeat_penalty == 0) options.repeat_penalty = 1;
    assert_ok(bpt_sampler_create(&options, vocab, &s));
    memset(counts, 0, (size_t)vocab * sizeof *counts);
    for (uint64_t i = 0; i < DRAWS; ++i) {
        uint32_t token;
        assert_ok(bpt_sampler_draw(s, logits, drawn_after, TEXT, i, &token));
        ++counts[token];
    }
    bpt_sampler_destroy(s);
}

// Each filter by itself, and pairs whose order matters. Shares need not add up to 1. The text before is 3 2 3 4 1 4.
static void samples_have_the_distribution_that_options_ask_for(void **state) {
    (void)state;
    const float logits[5] = {logf(0.1f), logf(0.4f), logf(0.2f), logf(0.25f), logf(0.05f)};
    const struct {
        bpt_sample_options_t options;
        double share[5];
    } cases[] = {
        {{.temperature = 1, .seed = 1}, {0.1, 0.4, 0.2, 0.25, 0.05}},
        {{.temperature = 0, .seed = 1}, {0, 1, 0, 0, 0}},
        {{.temperature = 1, .top_k = 2, .seed = 2}, {0, 0.4, 0, 0.25, 0}},
        {{.temperature = 1, .top_p = 0.6, .seed = 3}, {0, 0.4, 0, 0.25, 0}},
        {{.temperature = 0.5, .seed = 4}, {0.01, 0.16, 0.04, 0.0625, 0.0025}},
        // p_max is 0.4: 0.25 x 0.4 = 0.1 keeps what is just as likely, 0.26 x 0.4 does not.
        {{.temperature = 1, .min_p = 0.2499, .seed = 5}, {0.1, 0.4, 0.2, 0.25, 0}},
        {{.temperature = 1, .min_p = 0.26, .seed = 6}, {0, 0.4, 0.2, 0.25, 0}},
        {{.temperature = 1, .min_p = 1, .seed = 7}, {0, 1, 0, 0, 0}},
        // Temperature first: p^2 is 0.16 and 0.0625, 0.39 of it.
        {{.temperature = 0.5, .min_p = 0.4, .seed = 8}, {0, 1, 0, 0, 0}},
        // top-p before min-p: 0.4 + 0.25 reach 0.6. The other way round 0.4 of 0.85 and 0.25 would reach 0.76, 0.47 without it.
        {{.temperature = 1, .top_p = 0.45, .min_p = 0.6, .seed = 9}, {0, 0.4, 0, 0.25, 0}},
        // top-k before top-p: 0.4 is 0.62 of what the first two have.
        {{.temperature = 1, .top_k = 2, .top_p = 0.6, .seed = 10}, {0, 1, 0, 0, 0}},
        // All logits are below 0, so the penalty squares p; token 0 is not in the text.
        {{.temperature = 1, .repeat_penalty = 2, .seed = 11}, {0.1, 0.16, 0.04, 0.0625, 0.0025}},
        // The last three are 4 1 4: twice the same is punished once.
        {{.temperature = 1, .repeat_penalty = 2, .repeat_window = 3, .seed = 12}, {0.1, 0.16, 0.2, 0.25, 0.0025}},
        {{.temperature = 1, .repeat_penalty = 2, .repeat_window = 99, .seed = 13}, {0.1, 0.16, 0.04, 0.0625, 0.0025}},
        // The penalty comes first: token 3 is now the likeliest, also without a draw.
        {{.temperature = 0, .repeat_penalty = 2, .repeat_window = 3, .seed = 14}, {0, 0, 0, 1, 0}},
        {{.temperature = 1, .top_k = 2, .repeat_penalty = 2, .repeat_window = 3, .seed = 15}, {0, 0, 0.2, 0.25, 0}},
        // Behind 4 there was 1; tokens that are there already; no three tokens end in 1 4.
        {{.temperature = 1, .no_repeat = 2, .seed = 16}, {0.1, 0, 0.2, 0.25, 0.05}},
        {{.temperature = 1, .no_repeat = 1, .seed = 17}, {0.1, 0, 0, 0, 0}},
        {{.temperature = 1, .no_repeat = 3, .seed = 18}, {0.1, 0.4, 0.2, 0.25, 0.05}},
        {{.temperature = 0, .no_repeat = 2, .seed = 19}, {0, 0, 0, 1, 0}},
        {{.temperature = 1, .top_k = 2, .no_repeat = 2, .seed = 20}, {0, 0, 0.2, 0.25, 0}},
    };
    int64_t counts[5], again[5];
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        double total = 0;
        for (int t = 0; t < 5; ++t) total += cases[i].share[t];
        draw_counts(cases[i].options, logits, 5, counts);
        draw_counts(cases[i].options, logits, 5, again);
        assert_memory_equal(counts, again, sizeof counts);
        for (int t = 0; t < 5; ++t) {
            const double share = (double)counts[t] / DRAWS, want = cases[i].share[t] / total;
            if (!(fabs(share - want) < 0.03) || (want == 0 && counts[t]))
                fail_msg("case %zu, token %d: %g instead of %g", i, t, share, want);
        }
    }
}

// Positive logits are divided: 2 becomes 1, e times less likely.
static void a_penalty_divides_positive_logits(void **state) {
    (void)state;
    const float logits[5] = {1, 2, -20, -20, -20};
    int64_t counts[5];
    draw_counts((bpt_sample_options_t){.temperature = 1, .repeat_penalty = 2, .seed = 1}, logits, 5, counts);
    assert_true(fabs((double)counts[1] / DRAWS - 0.5) < 0.03);
    draw_counts((bpt_sample_options_t){.temperature = 1, .repeat_penalty = 0.5, .seed = 1}, logits, 5, counts);
    assert_true(fabs((double)counts[1] / DRAWS - 1 / (1 + exp(-3))) < 0.03);
}

static void senseless_sampling_options_are_refused(void **state) {
    (void)state;
    static const struct {
        bpt_sample_options_t options;
        const char *says;
    } cases[] = {
        {{.temperature = -1, .top_p = 1, .repeat_penalty = 1}, "temperature"},
        {{.repeat_penalty = 1}, "top-p"},
        {{.top_p = 1, .top_k = -1, .repeat_penalty = 1}, "top-k"},
        {{.top_p = 1, .min_p = -0.1, .repeat_penalty = 1}, "min-p"},
        {{.top_p = 1, .min_p = 1.1, .repeat_penalty = 1}, "min-p"},
        {{.top_p = 1}, "repeat-penalty"},
        {{.top_p = 1, .repeat_penalty = 1, .repeat_window = -1}, "repeat-window"},
        {{.top_p = 1, .repeat_penalty = 1, .no_repeat = -1}, "no-repeat"},
    };
    bpt_sampler_t *s;
    uint32_t token;
    const float nothing[2] = {-INFINITY, -INFINITY}, nan[2] = {1, NAN}, infinite[2] = {INFINITY, 1};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) assert_fails(bpt_sampler_create(&cases[i].options, 2, &s), BPT_ERR_USAGE, cases[i].says);
    assert_ok(bpt_sampler_create(&(bpt_sample_options_t){.top_p = 1, .repeat_penalty = 1}, 2, &s));
    assert_fails(bpt_sampler_draw(s, nothing, NULL, 0, 0, &token), BPT_ERR_NUMERIC, "finite");
    assert_fails(bpt_sampler_draw(s, nan, NULL, 0, 0, &token), BPT_ERR_NUMERIC, "the logit of token 1 is");
    assert_fails(bpt_sampler_draw(s, infinite, NULL, 0, 0, &token), BPT_ERR_NUMERIC, "the logit of token 0 is inf");
    bpt_sampler_destroy(s);
    const float both[2] = {1, 2};
    const uint32_t text[2] = {1, 0};
    assert_ok(bpt_sampler_create(&(bpt_sample_options_t){.top_p = 1, .repeat_penalty = 1, .no_repeat = 1}, 2, &s));
    assert_fails(bpt_sampler_draw(s, both, text, 2, 0, &token), BPT_ERR_INPUT, "no token is left that would not repeat 1 tokens");
    assert_ok(bpt_sampler_draw(s, both, text, 1, 0, &token));
    assert_int_equal(token, 0);
    bpt_sampler_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_full_pass),
        cmocka_unit_test(long_prompts_go_in_blocks),
        cmocka_unit_test(sequences_side_by_side_do_not_see_each_other),
        cmocka_unit_test(low_precision_decodes_too),
        cmocka_unit_test(a_full_context_and_a_classifier_are_refused),
        cmocka_unit_test(samples_have_the_distribution_that_options_ask_for),
        cmocka_unit_test(a_penalty_divides_positive_logits),
        cmocka_unit_test(senseless_sampling_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
