// Spans that are completed a piece per token: same logits, never too late, and no token that does all of their work.
#include "model_fixture.h"

#include "bpt/buffer.h"
#include "models/decode/cache.h"
#include "models/decode/decode.h"
#include "models/decode/late_spans.h"

enum { LENGTH = 1600, VOCAB = 11 };

static fixture_batch_t full;
static float wanted[LENGTH * VOCAB], got[3 * VOCAB];

typedef struct {
    const char *name, *backend;
    int32_t k, layers;
    bool reference_rule;
    bpt_dtype_t precision;
    float tolerance;  // of the largest logit
    bpt_positions_t positions;
} variant_t;

static const variant_t variants[] = {
    {"k 1", "cpu", 1, 3, false, BPT_F32, 1e-4f, BPT_POSITIONS_RELATIVE},
    {"k 1, reference", "ref", 1, 2, false, BPT_F32, 1e-4f, BPT_POSITIONS_RELATIVE},
    {"one layer", "cpu", 1, 1, false, BPT_F32, 1e-4f, BPT_POSITIONS_RELATIVE},
    {"released code's rule", "cpu", 1, 3, true, BPT_F32, 1e-4f, BPT_POSITIONS_RELATIVE},
    {"k 2, six layers", "cpu", 2, 6, false, BPT_F32, 1e-4f, BPT_POSITIONS_RELATIVE},
    {"rotary", "cpu", 1, 3, false, BPT_F32, 1e-4f, BPT_POSITIONS_ROTARY},
    {"bf16", "ref", 1, 3, false, BPT_BF16, 0.03f, BPT_POSITIONS_RELATIVE},
};

static bpt_model_config_t config_of(const variant_t *v) {
    bpt_model_config_t c = fixture_lm();
    c.k = v->k;
    c.layers = v->layers;
    c.reference_rule = v->reference_rule;
    c.rel_levels = 11;
    c.positions = v->positions;
    return c;
}

static void expect_logits(const char *name, int64_t position, const float *logits, float tolerance) {
    const float *want = wanted + position * VOCAB;
    float largest = 0;
    for (int v = 0; v < VOCAB; ++v) largest = fmaxf(largest, fabsf(want[v]));
    for (int v = 0; v < VOCAB; ++v)
        if (!(fabsf(logits[v] - want[v]) <= tolerance * largest))
            fail_msg("%s, position %lld: %g instead of %g", name, (long long)position, (double)logits[v], (double)want[v]);
}

static void expect_steps(const variant_t *v, bpt_decoder_t *d, int64_t from) {
    for (int64_t t = from; t < LENGTH; ++t) {
        assert_ok(bpt_decoder_step(d, full.tokens + t, got));
        expect_logits(v->name, t, got, v->tolerance);
    }
}

// Other tokens, so many that the span that ends at 1024 with some of them is under way in its second layer, if there is one. Then none of
// them.
static void try_and_forget(bpt_decoder_t *d) {
    const int64_t begin = 1010, end = 1024 + 512 / 64 + 4;
    bpt_decoder_rewind(d, 0, begin);
    for (int64_t t = begin; t < end; ++t) {
        const uint32_t other = (full.tokens[t] + 1) % VOCAB;
        assert_ok(bpt_decoder_step(d, &other, got));
    }
    bpt_decoder_rewind(d, 0, begin);
}

// Token by token from the first one; again after the end was forgotten, a late span under way with it; and from a prompt on.
static void logits_are_those_of_the_full_pass(void **state) {
    (void)state;
    const int64_t prompt = 1250;
    for (size_t i = 0; i < BPT_COUNT(variants); ++i) {
        const variant_t *v = &variants[i];
        const bpt_model_config_t c = config_of(v);
        const uint32_t length = LENGTH;
        bpt_device_t *device = fixture_open(v->backend);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step.precision = v->precision});
        bpt_decoder_t *d;
        fixture_fill(&full, &c, LENGTH, 1, &length, 3);
        assert_ok(bpt_runner_logits(r, &full.batch, wanted));
        assert_ok(bpt_decoder_create(r, LENGTH + 100, 1, &d));
        expect_steps(v, d, 0);
        try_and_forget(d);
        expect_steps(v, d, bpt_decoder_length(d, 0));
        bpt_decoder_destroy(d);
        assert_ok(bpt_decoder_create(r, LENGTH, 1, &d));
        assert_ok(bpt_decoder_feed(d, 0, full.tokens, prompt, got));
        expect_logits(v->name, prompt - 1, got, v->tolerance);
        expect_steps(v, d, prompt);
        bpt_decoder_destroy(d);
        bpt_runner_destroy(r);
        fixture_close(device);
    }
}

// Three texts that complete their late spans at different times, one of which rests now and then.
static void sequences_side_by_side_complete_their_own(void **state) {
    (void)state;
    const bpt_model_config_t c = config_of(&variants[0]);
    const uint32_t length = LENGTH;
    const int64_t begin[3] = {400, 537, 801};
    bpt_device_t *device = fixture_open("cpu");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    bpt_decoder_t *d;
    fixture_fill(&full, &c, LENGTH, 1, &length, 3);
    assert_ok(bpt_runner_logits(r, &full.batch, wanted));
    assert_ok(bpt_decoder_create(r, LENGTH, 3, &d));
    for (int64_t s = 0; s < 3; ++s) assert_ok(bpt_decoder_feed(d, s, full.tokens, begin[s], NULL));
    for (int64_t step = 0; bpt_decoder_length(d, 0) < LENGTH; ++step) {
        uint32_t tokens[3];
        int64_t at[3];
        for (int64_t s = 0; s < 3; ++s) {
            at[s] = bpt_decoder_length(d, s);
            tokens[s] = at[s] == LENGTH || (s == 2 && step % 5 == 0) ? BPT_NO_ROW : full.tokens[at[s]];
        }
        assert_ok(bpt_decoder_step(d, tokens, got));
        for (int64_t s = 0; s < 3; ++s)
            if (tokens[s] != BPT_NO_ROW) expect_logits("side by side", at[s], got + s * VOCAB, 1e-4f);
    }
    bpt_decoder_destroy(d);
    bpt_runner_destroy(r);
    fixture_close(device);
}

// ---- A cache that grows

// The logits of prompts and of every step after them, for texts of different lengths side by side.
static void write_on(bpt_decoder_t *d, int64_t sequences, int64_t prompt, int64_t length, float *logits) {
    for (int64_t s = 0; s < sequences; ++s) {
        assert_int_equal(bpt_decoder_length(d, s), 0);
        if (prompt) assert_ok(bpt_decoder_feed(d, s, full.tokens + s, prompt - 30 * s, logits + s * VOCAB));
    }
    for (int64_t t = prompt; t < length; ++t) {
        uint32_t tokens[3];
        logits += sequences * VOCAB;
        for (int64_t s = 0; s < sequences; ++s) tokens[s] = full.tokens[bpt_decoder_length(d, s) + s];
        assert_ok(bpt_decoder_step(d, tokens, logits));
    }
}

static void a_cache_that_grows_gives_the_same_bits(void **state) {
    (void)state;
    enum { MOST = 2200 };
    static const struct {
        const char *backend;
        bpt_model_kind_t model;
        bpt_dtype_t precision;
        int64_t sequences, prompt, length;  // the room doubles at 1024 and at 2048
    } cases[] = {
        {"cpu", BPT_MODEL_BPT, BPT_F32, 1, 0, MOST},
        {"cpu", BPT_MODEL_BPT, BPT_F32, 3, 900, 1100},
        {"cpu", BPT_MODEL_BPT, BPT_F32, 1, 2100, 2150},
        {"cpu", BPT_MODEL_SEGTREE, BPT_F32, 1, 1000, 1060},
        {"cpu", BPT_MODEL_TRANSFORMER, BPT_F32, 2, 1000, 1060},
        {"ref", BPT_MODEL_BPT, BPT_F32, 1, 1000, 1060},
        {"ref", BPT_MODEL_BPT, BPT_BF16, 1, 1000, 1060},
        {"opencl", BPT_MODEL_BPT, BPT_F32, 2, 1000, 1040},
        {"vulkan", BPT_MODEL_BPT, BPT_F32, 2, 1000, 1040},
    };
    static float grown[(MOST + 1) * VOCAB], in_place[(MOST + 1) * VOCAB];
    const uint32_t text = MOST + 3;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        if (!test_backend_usable(cases[i].backend)) continue;
        bpt_model_config_t c = config_of(&variants[0]);
        c.model = cases[i].model;
        const int64_t rows = (cases[i].length - cases[i].prompt + 1) * cases[i].sequences;
        bpt_device_t *device = fixture_open(cases[i].backend);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step.precision = cases[i].precision});
        bpt_decoder_t *d;
        assert_true(rows <= MOST + 1);
        fixture_fill(&full, &c, text, 1, &text, 3);
        memset(grown, 0, sizeof grown), memset(in_place, 0, sizeof in_place);
        assert_ok(bpt_decoder_create(r, MOST, cases[i].sequences, &d));
        const uint64_t bytes = bpt_decoder_device_bytes(d);
        write_on(d, cases[i].sequences, cases[i].prompt, cases[i].length, grown);
        assert_true(bpt_decoder_device_bytes(d) > bytes);
        for (int64_t s = 0; s < cases[i].sequences; ++s) bpt_decoder_rewind(d, s, 0);  // the room stays
        write_on(d, cases[i].sequences, cases[i].prompt, cases[i].length, in_place);
        for (int64_t n = 0; n < rows * VOCAB; ++n)
            if (memcmp(&grown[n], &in_place[n], sizeof *grown))
                fail_msg("case %zu on %s, row %lld: %g grown, %g in place", i, cases[i].backend, (long long)(n / VOCAB), (double)grown[n],
                         (double)in_place[n]);
        bpt_decoder_destroy(d);
        bpt_runner_destroy(r);
        fixture_close(device);
    }
}

// No token waits for all that is cached: a larger cache takes it over in pieces, which together are as large as the cache was.
static void a_larger_cache_takes_over_a_piece_per_token(void **state) {
    (void)state;
    enum { MOST = 2100 };
    static const bpt_model_kind_t kinds[] = {BPT_MODEL_BPT, BPT_MODEL_SEGTREE, BPT_MODEL_TRANSFORMER};
    bpt_device_t *device = fixture_open("cpu");
    for (size_t i = 0; i < BPT_COUNT(kinds); ++i) {
        bpt_model_config_t c = config_of(&variants[0]);
        c.model = kinds[i];
        const uint64_t leaf = (uint64_t)c.layers * 2 * (uint64_t)c.d_model * sizeof(float);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        bpt_decoder_t *d;
        uint64_t before = 0, largest = 0;
        assert_ok(bpt_decoder_create(r, MOST, 1, &d));
        for (int64_t step = 0; step < MOST + 100; ++step) {
            if (step == 1000) bpt_decoder_rewind(d, 0, 900);  // what was taken over and is forgotten comes again
            const int64_t t = bpt_decoder_length(d, 0);
            const uint32_t token = fixture_token(3, t, c.vocab);
            assert_ok(bpt_decoder_step(d, &token, got));
            const uint64_t moved = bpt_decoder_moved_bytes(d) - before;
            before += moved;
            largest = moved > largest ? moved : largest;
            if (moved > 160 * leaf) fail_msg("model %d, token %lld: %llu bytes", (int)kinds[i], (long long)t, (unsigned long long)moved);
        }
        assert_true(largest > 0);
        assert_true(before >= (1024 + 2048) * leaf);
        bpt_decoder_destroy(d);
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

// Room for a million tokens is not taken before they come.
static void a_large_capacity_costs_nothing_at_the_start(void **state) {
    (void)state;
    const bpt_model_config_t c = config_of(&variants[0]);
    bpt_device_t *device = fixture_open("cpu");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    bpt_decoder_t *d;
    assert_ok(bpt_decoder_create(r, 1 << 25, 4, &d));
    assert_true(bpt_decoder_device_bytes(d) < (uint64_t)16 << 20);
    assert_ok(bpt_decoder_feed(d, 3, (const uint32_t[]){1, 2, 3}, 3, got));
    bpt_decoder_destroy(d);
    bpt_runner_destroy(r);
    fixture_close(device);
}

// ---- The schedule by itself, over an empty cache

typedef struct {
    bpt_stack_t stack;
    decode_shape_t shape;
    bpt_workspace_t *workspace;
    struct bpt_buffer *states[DECODE_N_STATES];
    bpt_late_spans_t *late;
    bpt_device_t *device;
} schedule_t;

static void open_schedule(schedule_t *s, const bpt_model_config_t *c, bpt_runner_t *r, bpt_device_t *device, int64_t capacity) {
    *s = (schedule_t){.device = device};
    s->stack = bpt_model_last_stack(c);
    s->shape = (decode_shape_t){.stack = &s->stack, .config = c, .params = bpt_runner_params(r), .precision = BPT_F32, .sequences = 1};
    s->shape.graph = bpt_model_needed_intervals(c, capacity);
    bpt_decode_lay_out(&s->shape, capacity);
    s->states[DECODE_PARAMS] = bpt_runner_state(r, BPT_STATE_PARAMS);
    assert_ok(bpt_buffer_create(device, bpt_decode_cache_bytes(&s->shape), &s->states[DECODE_CACHE]));
    assert_ok(bpt_workspace_create(device, &s->workspace));
    assert_ok(bpt_late_spans_create(&s->shape, s->workspace, s->states, &s->late));
}

static void close_schedule(schedule_t *s) {
    bpt_late_spans_destroy(s->late);
    bpt_workspace_destroy(s->workspace);
    bpt_buffer_destroy(s->device, s->states[DECODE_CACHE]);
}

// Late spans that leaf `leaf` reads are complete when it comes, and were so before their share of work was done at once: not one of them
// ends in a prompt's block of 240 tokens before the leaf.
static void expect_ready(const schedule_t *s, int64_t leaf) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_keys(&s->shape.graph, s->shape.graph.n, leaf, slots);
    for (int i = 0; i < count; ++i) {
        int level;
        int64_t index;
        bpt_node_position(&s->shape.graph, slots[i].end - 1, &level, &index);
        if (!bpt_span_is_late(&s->shape.graph, level)) continue;
        assert_true((index + 1) << level <= leaf - 240);
        if (bpt_late_spans_done(s->late, 0, level) <= index)
            fail_msg("leaf %lld reads span (%d,%lld), of which %lld are complete", (long long)leaf, level, (long long)index,
                     (long long)bpt_late_spans_done(s->late, 0, level));
    }
}

static void late_spans_are_complete_before_they_are_read(void **state) {
    (void)state;
    const struct {
        int32_t k, layers;
        bool reference_rule;
        int64_t capacity;
    } cases[] = {{1, 2, false, 9000}, {1, 6, false, 5000}, {1, 24, false, 9000}, {2, 3, true, 4096}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const variant_t v = {.k = cases[i].k, .layers = cases[i].layers, .reference_rule = cases[i].reference_rule};
        const bpt_model_config_t c = config_of(&v);
        bpt_device_t *device = fixture_open("cpu");
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        schedule_t s;
        open_schedule(&s, &c, r, device, cases[i].capacity);
        for (int64_t leaf = 0; leaf < cases[i].capacity; ++leaf) {
            const int64_t length = leaf + 1;
            expect_ready(&s, leaf);
            assert_ok(bpt_late_spans_work(s.late, &length));
        }
        close_schedule(&s);
        bpt_runner_destroy(r);
        fixture_close(device);
    }
}

// The token that ends a span of 4,096 leaves does a small part of its work, and so do the next ones.
static void no_token_does_all_of_a_spans_work(void **state) {
    (void)state;
    enum { LEVEL = 12, LEAVES = 1 << LEVEL };
    const variant_t v = {.k = 1, .layers = 2};
    const bpt_model_config_t c = config_of(&v);
    bpt_device_t *device = fixture_open("cpu");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    schedule_t s;
    open_schedule(&s, &c, r, device, 3 * LEAVES);
    int64_t length = LEAVES;
    assert_ok(bpt_late_spans_finish(s.late, 0, LEAVES - 1));
    for (; bpt_late_spans_done(s.late, 0, LEVEL) == 0; ++length) {
        assert_true(length < 2 * LEAVES);
        assert_ok(bpt_late_spans_work(s.late, &length));
    }
    assert_true(length - LEAVES >= LEAVES / 256);
    bpt_late_spans_rewind(s.late, 0, LEAVES - 1);
    assert_int_equal(bpt_late_spans_done(s.late, 0, LEVEL), 0);
    assert_int_equal(bpt_late_spans_done(s.late, 0, LEVEL - 1), 1);
    close_schedule(&s);
    bpt_runner_destroy(r);
    fixture_close(device);
}

// The second span of 4,096 leaves ends within the capacity, but no leaf comes that reads it.
static void spans_that_nobody_reads_are_left_out(void **state) {
    (void)state;
    enum { LEVEL = 12, LEAVES = 1 << LEVEL };
    const variant_t v = {.k = 1, .layers = 2};
    const bpt_model_config_t c = config_of(&v);
    bpt_device_t *device = fixture_open("cpu");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    for (int extra = 0; extra < 2; ++extra) {
        const int64_t first_reader = 2 * LEAVES + LEAVES - 1;
        schedule_t s;
        open_schedule(&s, &c, r, device, first_reader + extra);
        assert_ok(bpt_late_spans_finish(s.late, 0, first_reader + extra));
        assert_int_equal(bpt_late_spans_done(s.late, 0, LEVEL), 1 + extra);
        close_schedule(&s);
    }
    bpt_runner_destroy(r);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_full_pass),           cmocka_unit_test(sequences_side_by_side_complete_their_own),
        cmocka_unit_test(a_cache_that_grows_gives_the_same_bits),      cmocka_unit_test(a_larger_cache_takes_over_a_piece_per_token),
        cmocka_unit_test(a_large_capacity_costs_nothing_at_the_start), cmocka_unit_test(late_spans_are_complete_before_they_are_read),
        cmocka_unit_test(no_token_does_all_of_a_spans_work),           cmocka_unit_test(spans_that_nobody_reads_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
