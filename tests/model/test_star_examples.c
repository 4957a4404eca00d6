// Star-Transformer against examples that were worked out in double by other programs: two cycles of a model with biases, heads and affine
// LayerNorm; and two cycles of three tokens by hand, with weights that are the identity, from the ops that the model is made of. On every
// backend that has a device.
#include "bpt/lists.h"
#include "bpt/program.h"
#include "model_fixture.h"

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan", "cuda"};

enum { TOKENS = 5, D = 4 };

static void compare(const char *backend, const char *example, const char *what, const float *got, const float *wanted, int count,
                    double tolerance) {
    for (int i = 0; i < count; ++i)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= tolerance))
            fail_msg("%s, %s: number %d of %s is %.7g, not %.7g", backend, example, i, what, (double)got[i], (double)wanted[i]);
}

// ---- A model

// Number i of a tensor whose numbers follow from a seed.
static float ramp(uint32_t i, uint32_t seed, double scale) {
    uint32_t v = (i + 1) * 747796405u + seed * 2891336453u;
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    v ^= v >> 16;
    return (float)(scale * (v / 4294967296.0 - 0.5));
}

static void set_vector(bpt_runner_t *r, int cycle, const char *name, uint32_t seed, double scale, float mean) {
    float values[D];
    char full[64];
    snprintf(full, sizeof full, "layers.%d.%s", cycle, name);
    for (uint32_t i = 0; i < D; ++i) values[i] = mean + ramp(i, seed, scale);
    assert_ok(bpt_runner_set(r, full, values));
}

// The examples multiply from the right, by [in, out].
static void set_matrix(bpt_runner_t *r, int cycle, const char *name, uint32_t seed) {
    float values[D * D];
    char full[64];
    snprintf(full, sizeof full, "layers.%d.%s", cycle, name);
    for (uint32_t in = 0; in < D; ++in)
        for (uint32_t out = 0; out < D; ++out) values[out * D + in] = ramp(in * D + out, seed, 2);
    assert_ok(bpt_runner_set(r, full, values));
}

static void set_attention(bpt_runner_t *r, int cycle, const char *part, uint32_t seed) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    for (uint32_t i = 0; i < 4; ++i) {
        char name[40];
        snprintf(name, sizeof name, "%s.%s.weight", part, names[i]);
        set_matrix(r, cycle, name, seed + i);
        snprintf(name, sizeof name, "%s.%s.bias", part, names[i]);
        set_vector(r, cycle, name, seed + 4 + i, 1, 0);
    }
}

static void set_all(bpt_runner_t *r) {
    float embed[TOKENS * D];
    for (uint32_t i = 0; i < TOKENS * D; ++i) embed[i] = ramp(i, 1, 2);
    assert_ok(bpt_runner_set(r, "embed.weight", embed));
    for (int cycle = 0; cycle < 2; ++cycle) {
        const uint32_t seed = 20 * (uint32_t)cycle;
        set_attention(r, cycle, "ring", seed + 2);
        set_attention(r, cycle, "star", seed + 12);
        set_vector(r, cycle, "ring_norm.weight", seed + 41, 0.2, 1);
        set_vector(r, cycle, "ring_norm.bias", seed + 42, 0.2, 0);
        set_vector(r, cycle, "star_norm.weight", seed + 43, 0.2, 1);
        set_vector(r, cycle, "star_norm.bias", seed + 44, 0.2, 0);
    }
}

static const struct {
    const char *name;
    int n;
    bool ring, radical;
    float h[TOKENS][D], s[D];  // satellites and relay behind the last cycle
} examples[] = {
    {"five tokens",
     5,
     true,
     true,
     {{0.572281797f, -0.97553607f, 1.3103121f, -0.881068532f},
      {0.424903893f, -0.944058793f, 1.39860767f, -0.851288059f},
      {0.256335263f, -0.898971806f, 1.482643f, -0.808631514f},
      {0.515944363f, -0.964415713f, 1.34576734f, -0.870547626f},
      {-0.201636962f, -0.730548806f, 1.62522047f, -0.649287465f}},
     {-1.04778086f, -0.984148263f, 1.01687496f, 1.11816282f}},
    {"one token",
     1,
     true,
     true,
     {{0.578293408f, -0.976654747f, 1.30640194f, -0.882126906f}},
     {-0.643530643f, -0.598598379f, 1.79976144f, -0.399991955f}},
    {"two tokens",
     2,
     true,
     true,
     {{0.343158033f, -0.923367359f, 1.44154958f, -0.831712009f}, {0.168492928f, -0.871822473f, 1.51961349f, -0.782945684f}},
     {-0.993877147f, -0.9327381f, 1.45532502f, 0.585743679f}},
    {"without the ring",
     5,
     false,
     true,
     {{0.784194773f, -1.3914725f, 1.0743825f, -0.462731756f},
      {0.318917955f, -0.968555047f, 1.45240055f, -0.775442055f},
      {0.178938914f, -0.880637779f, 1.5154213f, -0.780921604f},
      {-0.475689384f, -0.354718174f, -0.679511321f, 1.60864759f},
      {-0.469913777f, -0.599973063f, 1.64916888f, -0.525750492f}},
     {-0.585928952f, -0.543661301f, 1.80368553f, -0.509996966f}},
    {"without the relay's state in the ring",
     5,
     true,
     false,
     {{0.275744773f, -0.904642526f, 1.47386152f, -0.813996551f},
      {0.1124642f, -0.853224699f, 1.54080329f, -0.765350435f},
      {-0.391007031f, -0.64100106f, 1.64702024f, -0.564566848f},
      {-0.0109123336f, -0.808773499f, 1.58093341f, -0.723295406f},
      {-0.469916702f, -0.599976191f, 1.64917764f, -0.525753451f}},
     {-0.99865998f, -0.937299683f, 0.580525757f, 1.45868811f}},
};

static bpt_model_config_t config_of(bool ring, bool radical) {
    return (bpt_model_config_t){.task = BPT_TASK_CLASSIFY,
                                .model = BPT_MODEL_STAR,
                                .layers = 2,
                                .d_model = D,
                                .d_embed = D,
                                .heads = 2,
                                .head_dim = 2,
                                .ring = ring,
                                .radical = radical,
                                .pool = BPT_POOL_RELAY,
                                .positions = BPT_POSITIONS_NONE,
                                .vocab = TOKENS,
                                .classes = 2};
}

static void a_model_has_the_states_of_the_examples(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        bpt_device_t *device = fixture_open(backends[b]);
        for (size_t e = 0; e < BPT_COUNT(examples); ++e) {
            static fixture_batch_t batch;
            const bpt_model_config_t c = config_of(examples[e].ring, examples[e].radical);
            bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
            const uint32_t lengths[] = {(uint32_t)examples[e].n, 3};  // and a text that must not matter
            float h[2 * TOKENS * D], s[2 * D];
            set_all(r);
            fixture_fill(&batch, &c, TOKENS, 2, lengths, 0);
            for (uint32_t i = 0; i < TOKENS; ++i) batch.tokens[i] = i;
            assert_ok(bpt_runner_states(r, &batch.batch, &(bpt_runner_states_t){.tokens = h, .pooled = s}));
            compare(backends[b], examples[e].name, "satellites", h, examples[e].h[0], examples[e].n * D, 1e-5);
            compare(backends[b], examples[e].name, "relay", s, examples[e].s, D, 1e-5);
            bpt_runner_destroy(r);
        }
        fixture_close(device);
    }
}

// ---- Two cycles by hand: one head, all weights are the identity, no LayerNorm

enum { N = 3, W = 2 };

typedef struct {
    bpt_value_t e, twice, ring, relay, ranges;  // inputs; twice [2 W, W]: x becomes a key and a value
    bpt_value_t h[2], s[2], pooled;
} hand_t;

static bpt_value_t attend(bpt_graph_t *g, bpt_value_t q, bpt_value_t kv, bpt_value_t table, bpt_table_bounds_t bounds) {
    const bpt_attention_attrs_t attrs = {
        .graph.kind = BPT_INTERVALS_TABLE, .bounds = bounds, .batch = 1, .heads = 1, .head_dim = W, .scale = 1 / sqrtf(W)};
    const bpt_attention_inputs_t in = {.q = q,
                                       .kv = kv,
                                       .rel = BPT_NO_VALUE,
                                       .lengths = BPT_NO_VALUE,
                                       .row_keys = BPT_NO_VALUE,
                                       .rng = BPT_NO_VALUE,
                                       .table = table,
                                       .back = BPT_NO_VALUE,
                                       .key_codes = BPT_NO_VALUE};
    return bpt_relu(g, bpt_attention(g, &attrs, &in));
}

static bpt_graph_t *build_by_hand(hand_t *x) {
    bpt_graph_t *g;
    assert_ok(bpt_graph_create(&g));
    x->e = bpt_input(g, "e", BPT_F32, bpt_shape2(N, W));
    x->twice = bpt_input(g, "twice", BPT_F32, bpt_shape2(2 * W, W));
    x->ring = bpt_input(g, "ring", BPT_U32, bpt_shape3(N, BPT_LISTS_RING_SLOTS, 4));
    x->relay = bpt_input(g, "relay", BPT_U32, bpt_shape3(1, BPT_LISTS_RELAY_SLOTS, 4));
    x->ranges = bpt_input(g, "ranges", BPT_U32, bpt_shape2(1, 2));
    bpt_value_t h = x->e, s = bpt_segment(g, BPT_SEGMENT_MEAN, x->e, x->ranges);
    for (int cycle = 0; cycle < 2; ++cycle) {
        const bpt_value_t of_relay = bpt_linear(g, s, x->twice, BPT_NO_VALUE);
        const bpt_value_t ring[] = {bpt_linear(g, h, x->twice, BPT_NO_VALUE), bpt_linear(g, x->e, x->twice, BPT_NO_VALUE), of_relay};
        h = x->h[cycle] = attend(g, h, bpt_join(g, BPT_F32, ring, 3), x->ring, bpt_lists_ring_bounds(N, N));
        const bpt_value_t star[] = {bpt_linear(g, h, x->twice, BPT_NO_VALUE), bpt_linear(g, s, x->twice, BPT_NO_VALUE)};
        s = x->s[cycle] = attend(g, s, bpt_join(g, BPT_F32, star, 2), x->relay, bpt_lists_relay_bounds(N));
    }
    x->pooled = bpt_add(g, s, bpt_segment(g, BPT_SEGMENT_MAX, h, x->ranges));
    for (int cycle = 0; cycle < 2; ++cycle) bpt_graph_keep(g, x->h[cycle]), bpt_graph_keep(g, x->s[cycle]);
    bpt_graph_keep(g, x->pooled);
    assert_ok(bpt_graph_eliminate(g));
    assert_ok(bpt_graph_place_joins(g));
    return g;
}

static void write_by_hand(bpt_program_t *program, const hand_t *x) {
    const float e[N][W] = {{1, 0}, {0, 1}, {1, 1}}, twice[2 * W][W] = {{1, 0}, {0, 1}, {1, 0}, {0, 1}};
    const uint32_t start = 0, length = N, ranges[2] = {0, N};
    const bpt_row_space_t rows = {.rows = N, .sequences = 1, .start = &start, .length = &length};
    uint32_t ring[N * BPT_LISTS_RING_SLOTS * 4], relay[BPT_LISTS_RELAY_SLOTS * 4];
    assert_ok(bpt_lists_ring(&rows, BPT_SATELLITE_NEIGHBOURS | BPT_SATELLITE_RELAY,
                             &(bpt_lists_t){N, 2 * N + 1, BPT_LISTS_RING_SLOTS, 0, ring, NULL}));
    assert_ok(bpt_lists_relay(&rows, &(bpt_lists_t){1, N + 1, BPT_LISTS_RELAY_SLOTS, 0, relay, NULL}));
    assert_ok(bpt_program_write(program, x->e, e));
    assert_ok(bpt_program_write(program, x->twice, twice));
    assert_ok(bpt_program_write(program, x->ring, ring));
    assert_ok(bpt_program_write(program, x->relay, relay));
    assert_ok(bpt_program_write(program, x->ranges, ranges));
}

static void the_ops_of_two_cycles_give_the_numbers_by_hand(void **state) {
    (void)state;
    static const float h[2][N][W] = {{{0.823396596f, 0.471563404f}, {0.471563404f, 0.823396596f}, {0.805800717f, 0.805800717f}},
                                     {{0.762652972f, 0.566189864f}, {0.566189864f, 0.762652972f}, {0.781040827f, 0.781040827f}}};
    static const float s[2][W] = {{0.69613588f, 0.69613588f}, {0.703793649f, 0.703793649f}}, pooled[W] = {1.484834476f, 1.484834476f};
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        bpt_device_t *device = fixture_open(backends[b]);
        bpt_workspace_t *workspace;
        bpt_program_t *program;
        hand_t x;
        float got[N * W];
        assert_ok(bpt_workspace_create(device, &workspace));
        assert_ok(bpt_program_compile(build_by_hand(&x), workspace, NULL, 0, &program));
        write_by_hand(program, &x);
        assert_ok(bpt_program_run(program));
        for (int cycle = 0; cycle < 2; ++cycle) {
            assert_ok(bpt_program_read(program, x.h[cycle], got));
            compare(backends[b], cycle ? "second cycle" : "first cycle", "satellites", got, h[cycle][0], N * W, 1e-6);
            assert_ok(bpt_program_read(program, x.s[cycle], got));
            compare(backends[b], cycle ? "second cycle" : "first cycle", "relay", got, s[cycle], W, 1e-6);
        }
        assert_ok(bpt_program_read(program, x.pooled, got));
        compare(backends[b], "second cycle", "relay plus the largest satellite", got, pooled, W, 1e-6);
        bpt_program_destroy(program);
        bpt_workspace_destroy(workspace);
        fixture_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_has_the_states_of_the_examples),
        cmocka_unit_test(the_ops_of_two_cycles_give_the_numbers_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
