// Translation: an encoder's states read by a decoder. The golden cases (computed in double precision by an independent program) on every
// backend; padding and batch mates change nothing; a target row knows its source and the target before it, and nothing else.
#include "golden_gradients.h"

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "data/examples/trees.h"
#include "models/config/config_json.h"
#include "models/decode/translate.h"

enum { MOST_ROWS = 1024, MOST_SEQUENCES = 16 };

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan", "cuda"};
static const char *const cases[] = {"translate-bpt", "translate-bpt-shared-all", "translate-transformer"};

typedef struct {
    uint32_t tokens[MOST_ROWS], start[MOST_SEQUENCES], lengths[MOST_SEQUENCES];
} side_t;
typedef struct {
    bpt_batch_t batch;
    side_t side[BPT_SIDES];
    uint32_t targets[MOST_ROWS], sequences[MOST_SEQUENCES];
    float weights[MOST_ROWS];
    uint32_t *trees;
} pairs_t;

// Buckets of n[0] and n[1] rows for `count` pairs, one of them padding; texts are put in by the caller.
static void lay_out(pairs_t *p, int64_t count, const int64_t n[BPT_SIDES]) {
    uint32_t *trees = p->trees;
    memset(p, 0, sizeof *p);
    p->trees = trees;
    p->batch = (bpt_batch_t){
        .n_real = count, .targets = p->targets, .weights = p->weights, .sequences = p->sequences, .first = true, .last = true};
    p->batch.shape.batch = count + 1;
    for (int i = 0; i < BPT_SIDES; ++i) {
        side_t *side = &p->side[i];
        p->batch.shape.side[i].n = n[i];
        p->batch.shape.side[i].rows = n[i] * (count + 1);
        assert_true(p->batch.shape.side[i].rows <= MOST_ROWS);
        for (int64_t s = 0; s <= count; ++s) side->start[s] = (uint32_t)(s * n[i]), side->lengths[s] = 1;
        p->batch.side[i] = (bpt_side_t){.tokens = side->tokens, .start = side->start, .lengths = side->lengths};
    }
    p->batch.n_targets = p->batch.shape.side[1].rows;
}

// Sequence s: these tokens are read, and these are to be predicted behind the opening sign `first`.
static void put(pairs_t *p, int64_t s, uint32_t sequence, const uint32_t *source, uint32_t n_source, const uint32_t *target,
                uint32_t n_target, uint32_t first) {
    uint32_t *read = p->side[0].tokens + p->side[0].start[s], *written = p->side[1].tokens + p->side[1].start[s];
    p->sequences[s] = sequence;
    p->side[0].lengths[s] = n_source, p->side[1].lengths[s] = n_target;
    memcpy(read, source, n_source * sizeof *read);
    for (uint32_t i = 0; i < n_target; ++i) {
        written[i] = i ? target[i - 1] : first;
        p->targets[p->side[1].start[s] + i] = target[i];
        p->weights[p->side[1].start[s] + i] = 1;
    }
    p->batch.n_scored += n_target, p->batch.window_scored = p->batch.n_scored;
    p->batch.n_tokens += n_source;
}

// ---- Golden cases

typedef struct {
    json_t *json;
    bpt_model_config_t config;
    pairs_t pairs;
    char path[512];
} golden_t;

static uint32_t read_ids(const json_t *list, uint32_t *out) {
    for (size_t i = 0; i < json_array_size(list); ++i) out[i] = (uint32_t)json_integer_value(json_array_get(list, i));
    return (uint32_t)json_array_size(list);
}

// `extra`: rows that each bucket has more than the longest text needs.
static golden_t *load(const char *name, int64_t extra) {
    static golden_t g;
    uint32_t source[64], target[64];
    snprintf(g.path, sizeof g.path, "%s/golden-more/%s", test_shared_dir(), name);
    assert_ok(bpt_json_read(strcat(strcpy((char[600]){0}, g.path), ".json"), &g.json));
    assert_ok(bpt_model_config_from_json(json_object_get(g.json, "config"), name, &g.config));
    const json_t *sources = json_object_get(g.json, "source"), *targets = json_object_get(g.json, "target");
    lay_out(&g.pairs, (int64_t)json_array_size(sources), (int64_t[]){20 + extra, 20 + 2 * extra});
    for (size_t s = 0; s < json_array_size(sources); ++s) {
        const uint32_t n_source = read_ids(json_array_get(sources, s), source), n_target = read_ids(json_array_get(targets, s), target);
        put(&g.pairs, (int64_t)s, (uint32_t)s, source, n_source, target, n_target, 0);
    }
    return &g;
}

static void check_rows(const golden_t *g, const float *nll, const float *logits) {
    const json_t *nlls = json_object_get(g->json, "nll"), *wanted = json_object_get(g->json, "logits");
    const int64_t vocab = g->config.vocab;
    size_t at = 0;
    for (int64_t s = 0; s < g->pairs.batch.n_real; ++s)
        for (uint32_t i = 0; i < g->pairs.side[1].lengths[s]; ++i, ++at) {
            const int64_t row = g->pairs.side[1].start[s] + i;
            assert_true(fabs((double)nll[row] - json_number_value(json_array_get(nlls, at))) < 1e-4);
            for (int64_t v = 0; v < vocab; ++v)
                assert_true(fabs((double)logits[row * vocab + v] -
                                 json_number_value(json_array_get(wanted, at * (size_t)vocab + (size_t)v))) < 3e-5);
        }
    assert_int_equal(at, json_array_size(nlls));
}

static void check_case(const char *backend, const char *name, int64_t extra) {
    static float nll[MOST_ROWS], logits[MOST_ROWS * 16];
    golden_t *g = load(name, extra);
    char weights[600];
    double loss;
    snprintf(weights, sizeof weights, "%s.safetensors", g->path);
    bpt_device_t *device = fixture_open(backend);
    bpt_runner_t *runner = fixture_runner(&g->config, device, (bpt_runner_options_t){0});
    assert_ok(bpt_runner_load(runner, weights, false, NULL));
    const double wanted = json_number_value(json_object_get(g->json, "loss")), scored = (double)g->pairs.batch.n_scored;
    assert_ok(bpt_runner_evaluate(runner, &g->pairs.batch, nll, &loss));
    if (!(fabs(loss / scored - wanted) <= 1e-5)) fail_msg("%s %s: loss %.9g, wanted %.9g", backend, name, loss / scored, wanted);
    assert_ok(bpt_runner_logits(runner, &g->pairs.batch, logits));
    check_rows(g, nll, logits);
    assert_ok(bpt_runner_gradient(runner, &g->pairs.batch, true, &loss));
    assert_true(fabs(loss / scored - wanted) <= 1e-5);
    golden_check_gradients(runner, g->path, 1 / scored);
    bpt_runner_destroy(runner);
    fixture_close(device);
    json_decref(g->json);
}

static void loss_logits_and_gradients_agree_with_the_golden_cases(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t c = 0; test_backend_usable(backends[b]) && c < BPT_COUNT(cases); ++c) check_case(backends[b], cases[c], 0);
}

static void they_agree_in_larger_buckets_of_two_lengths(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t c = 0; test_backend_usable(backends[b]) && c < BPT_COUNT(cases); ++c) check_case(backends[b], cases[c], 5);
}

// ---- Properties, of models with random weights

static bpt_model_config_t small(bpt_model_kind_t kind, bpt_shared_t shared) {
    return (bpt_model_config_t){.task = BPT_TASK_TRANSLATE,
                                .model = kind,
                                .positions = bpt_kinds[kind]->rel_levels && kind != BPT_MODEL_TRANSFORMER ? BPT_POSITIONS_RELATIVE
                                                                                                          : BPT_POSITIONS_SINUSOIDAL,
                                .hier_embed = true,
                                .subtree_mask = true,
                                .vertical_max = 3,
                                .horizontal_max = 5,
                                .shared = shared,
                                .layers = 2,
                                .dec_layers = 3,
                                .d_model = 16,
                                .d_embed = 16,
                                .d_ff = 24,
                                .heads = 2,
                                .head_dim = 8,
                                .k = 2,
                                .rel_levels = 4,
                                .vocab = 13,
                                .source_vocab = shared == BPT_SHARED_ALL ? 13 : 17};
}

// Texts of sequence `sequence`, in the order `order` of the batch.
static void fill(pairs_t *p, const bpt_model_config_t *c, const uint32_t *order, int64_t count, int64_t extra) {
    uint32_t source[16], target[16];
    lay_out(p, count, (int64_t[]){12 + extra, 9 + extra});
    for (int64_t s = 0; s < count; ++s) {
        const uint32_t n_source = 1 + order[s] * 5 % 12, n_target = 1 + order[s] * 7 % 9;
        for (uint32_t i = 0; i < 16; ++i) {
            source[i] = fixture_token(order[s], i, c->source_vocab);
            target[i] = fixture_token(order[s] + 100, i, c->vocab);
        }
        put(p, s, order[s], source, n_source, target, n_target, 1);
    }
    bpt_free(p->trees);
    p->trees = NULL;
    if (bpt_kind_of(c)->trees) assert_ok(bpt_trees_add(BPT_TREES_BALANCED, &p->batch, &p->trees));
}

static const bpt_model_kind_t kinds[] = {BPT_MODEL_BPT, BPT_MODEL_SEGTREE, BPT_MODEL_TRANSFORMER, BPT_MODEL_TREE};

static void padding_and_batch_mates_change_nothing(void **state) {
    (void)state;
    static float all[MOST_ROWS], some[MOST_ROWS];
    static pairs_t a, b;
    bpt_device_t *device = fixture_open("cpu");
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k) {
        const bpt_model_config_t c = small(kinds[k], BPT_SHARED_TARGET);
        bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
        double loss;
        fill(&a, &c, (uint32_t[]){0, 1, 2, 3, 4, 5}, 6, 0);
        fill(&b, &c, (uint32_t[]){4, 2}, 2, 7);
        assert_ok(bpt_runner_evaluate(runner, &a.batch, all, &loss));
        assert_ok(bpt_runner_evaluate(runner, &b.batch, some, &loss));
        for (int64_t s = 0; s < 2; ++s)
            for (uint32_t i = 0; i < b.side[1].lengths[s]; ++i)
                assert_true(fabs((double)some[b.side[1].start[s] + i] - (double)all[a.side[1].start[s ? 2 : 4] + i]) < 2e-5);
        bpt_runner_destroy(runner);
    }
    fixture_close(device);
}

// Row i of a target depends on its own source and on rows 0 .. i of its own target.
static void a_target_row_knows_its_source_and_what_stands_before_it(void **state) {
    (void)state;
    static float before[MOST_ROWS], after[MOST_ROWS];
    static pairs_t p;
    bpt_device_t *device = fixture_open("cpu");
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k) {
        const bpt_model_config_t c = small(kinds[k], BPT_SHARED_NONE);
        bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
        double loss;
        fill(&p, &c, (uint32_t[]){1, 2, 3}, 3, 0);
        assert_ok(bpt_runner_evaluate(runner, &p.batch, before, &loss));
        p.side[0].tokens[p.side[0].start[1]] ^= 1;  // the source of the second
        assert_ok(bpt_runner_evaluate(runner, &p.batch, after, &loss));
        for (int64_t s = 0; s < 3; ++s)
            for (uint32_t i = 0; i < p.side[1].lengths[s]; ++i) {
                const int64_t row = p.side[1].start[s] + i;
                assert_int_equal(memcmp(&before[row], &after[row], sizeof *before) != 0, s == 1);
            }
        memcpy(before, after, sizeof before);
        assert_true(p.side[1].lengths[0] > 4);
        p.side[1].tokens[p.side[1].start[0] + 3] ^= 1;  // row 3 of the first target
        assert_ok(bpt_runner_evaluate(runner, &p.batch, after, &loss));
        for (int64_t row = 0; row < p.batch.n_targets; ++row) {
            const bool later = row >= p.side[1].start[0] + 3 && row < p.side[1].start[0] + p.side[1].lengths[0];
            if (p.weights[row] > 0) assert_int_equal(memcmp(&before[row], &after[row], sizeof *before) != 0, later);
        }
        bpt_runner_destroy(runner);
    }
    fixture_close(device);
}

// Documents: sequence 0 has three sentences on each side. One layer on each side, and an encoder whose tokens read their neighbours alone:
// the middle of a source sentence reaches no other sentence but through cross-attention.
static void a_row_of_a_document_reads_the_source_of_its_own_sentence(void **state) {
    (void)state;
    static const uint32_t source_start[] = {0, 4, 7, 12}, source_lengths[] = {4, 3, 5, 5}, target_start[] = {0, 3, 5, 9},
                          target_lengths[] = {3, 2, 4, 6}, first_segment[] = {0, 3, 4, 4}, middle[] = {1, 5, 9, 14};
    static float before[MOST_ROWS], after[MOST_ROWS];
    static pairs_t p;
    uint32_t text[16];
    double loss;
    bpt_device_t *device = fixture_open("cpu");
    bpt_model_config_t c = small(BPT_MODEL_TRANSFORMER, BPT_SHARED_NONE);
    c.layers = c.dec_layers = 1;
    c.attention = BPT_ATTENTION_WINDOW;
    c.window = 1;
    bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
    lay_out(&p, 2, (int64_t[]){12, 9});
    for (uint32_t i = 0; i < 16; ++i) text[i] = fixture_token(7, i, c.vocab);
    put(&p, 0, 0, text, 12, text, 9, 1);
    put(&p, 1, 1, text, 5, text, 6, 1);
    p.batch.side[0].segment_start = source_start, p.batch.side[0].segment_lengths = source_lengths;
    p.batch.side[1].segment_start = target_start, p.batch.side[1].segment_lengths = target_lengths;
    p.batch.first_segment = first_segment, p.batch.segments = 4;
    assert_ok(bpt_runner_evaluate(runner, &p.batch, before, &loss));
    for (int t = 0; t < 4; ++t) {
        p.side[0].tokens[middle[t]] ^= 1;
        assert_ok(bpt_runner_evaluate(runner, &p.batch, after, &loss));
        p.side[0].tokens[middle[t]] ^= 1;
        for (uint32_t row = 0; row < 15; ++row) {
            const bool own = row >= target_start[t] && row < target_start[t] + target_lengths[t];
            assert_int_equal(memcmp(&before[row], &after[row], sizeof *before) != 0, own);
        }
    }
    bpt_runner_destroy(runner);
    fixture_close(device);
}

static void training_learns_the_texts_by_heart(void **state) {
    (void)state;
    static pairs_t p;
    bpt_device_t *device = fixture_open("cpu");
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k)
        for (int shared = BPT_SHARED_NONE; shared <= BPT_SHARED_ALL; ++shared) {
            bpt_model_config_t c = small(kinds[k], (bpt_shared_t)shared);
            c.dropout_hidden = c.dropout_attention = 0.05f;
            bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
            bpt_update_result_t result;
            double first = 0;
            fill(&p, &c, (uint32_t[]){1, 2, 3, 4}, 4, 0);
            for (int step = 0; step < 150; ++step) {
                const bpt_update_t update = {.rng = (uint64_t)step,
                                             .lr = 3e-3f,
                                             .bias1 = 1 - powf(0.9f, (float)(step + 1)),
                                             .bias2 = 1 - powf(0.98f, (float)(step + 1)),
                                             .loss_scale = 1};
                assert_ok(bpt_runner_train(runner, &p.batch, &update, &result));
                if (step == 0) first = result.loss;
            }
            if (!(result.loss < 0.25 * first)) fail_msg("%s: loss %g, at first %g", bpt_kinds[kinds[k]]->name, result.loss, first);
            bpt_runner_destroy(runner);
        }
    fixture_close(device);
}

// ---- Decoding

// Two sequences a text: the first translates it from the beginning, the second begins as a copy of the first behind `fork` tokens, and is
// then given the same tokens. All must be the rows of the whole pass.
static void check_decoding(const char *backend, const bpt_model_config_t *c, uint32_t fork) {
    static float whole[MOST_ROWS * 16], logits[MOST_SEQUENCES * 16];
    static pairs_t p;
    enum { TEXTS = 4 };
    bpt_device_t *device = fixture_open(backend);
    bpt_runner_t *runner = fixture_runner(c, device, (bpt_runner_options_t){0});
    bpt_decoder_t *d;
    fill(&p, c, (uint32_t[]){1, 2, 3, 4}, TEXTS, 0);
    assert_ok(bpt_runner_logits(runner, &p.batch, whole));
    assert_ok(bpt_decoder_create(runner, 12, 2 * TEXTS, &d));
    assert_fails(bpt_decoder_feed(d, 0, p.side[1].tokens, 1, NULL), BPT_ERR_USAGE, "needs a text to translate");
    for (int round = 0; round < 2; ++round) {
        assert_ok(bpt_decoder_read(d, &p.batch, 2));
        for (uint32_t i = 0; i < 9; ++i) {
            uint32_t tokens[2 * TEXTS];
            for (uint32_t s = 0; s < 2 * TEXTS; ++s) {
                const bool lives = i < p.side[1].lengths[s / 2] && (s % 2 == 0 || i >= fork);
                tokens[s] = lives ? p.side[1].tokens[p.side[1].start[s / 2] + i] : BPT_NO_ROW;
            }
            if (i == fork) {
                bpt_fork_t forks[TEXTS];
                for (int64_t s = 0; s < TEXTS; ++s) forks[s] = (bpt_fork_t){.from = 2 * s, .to = 2 * s + 1, .first = 0};
                assert_ok(bpt_decoder_fork(d, forks, TEXTS));
            }
            assert_ok(bpt_decoder_step(d, tokens, logits));
            for (uint32_t s = 0; s < 2 * TEXTS; ++s)
                for (int64_t v = 0; tokens[s] != BPT_NO_ROW && v < c->vocab; ++v) {
                    const double wanted = (double)whole[(p.side[1].start[s / 2] + i) * c->vocab + v];
                    if (!(fabs((double)logits[s * c->vocab + v] - wanted) < 2e-5))
                        fail_msg("%s, %s: token %u of sequence %u: %g, wanted %g", backend, bpt_kind_of(c)->name, i, s,
                                 (double)logits[s * c->vocab + v], wanted);
                }
        }
    }
    bpt_decoder_destroy(d);
    bpt_runner_destroy(runner);
    fixture_close(device);
}

static void tokens_one_by_one_are_the_rows_of_the_whole_pass(void **state) {
    (void)state;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b)
        for (size_t k = 0; test_backend_usable(backends[b]) && k < BPT_COUNT(kinds); ++k)
            for (int shared = BPT_SHARED_NONE; shared <= BPT_SHARED_ALL; ++shared) {
                const bpt_model_config_t c = small(kinds[k], (bpt_shared_t)shared);
                check_decoding(backends[b], &c, (uint32_t)(shared == BPT_SHARED_TARGET ? 3 : 5));
            }
}

// A copy of what differs alone is the copy of all: two translations of one text that begin with the same three tokens.
static void a_fork_copies_what_differs(void **state) {
    (void)state;
    static const uint32_t source[] = {3, 5, 7, 1}, first[] = {1, 4, 6, 2, 9, 8, 3, 10}, second[] = {1, 4, 6, 11, 12, 5};
    float wanted[16], got[16];
    static pairs_t p;
    bpt_device_t *device = fixture_open("cpu");
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k) {
        const bpt_model_config_t c = small(kinds[k], BPT_SHARED_NONE);
        bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
        bpt_decoder_t *d;
        lay_out(&p, 1, (int64_t[]){6, 6});
        put(&p, 0, 0, source, 4, second, 1, 1);
        bpt_free(p.trees), p.trees = NULL;
        if (bpt_kind_of(&c)->trees) assert_ok(bpt_trees_add(BPT_TREES_RIGHT, &p.batch, &p.trees));
        assert_ok(bpt_decoder_create(runner, 16, 3, &d));
        assert_ok(bpt_decoder_read(d, &p.batch, 3));
        assert_ok(bpt_decoder_feed(d, 0, first, 8, NULL));
        assert_ok(bpt_decoder_feed(d, 1, second, 6, NULL));
        assert_ok(bpt_decoder_fork(d, &(bpt_fork_t){.from = 0, .to = 1, .first = 3}, 1));
        assert_int_equal(bpt_decoder_length(d, 1), 8);
        assert_ok(bpt_decoder_feed(d, 0, first, 1, wanted));
        assert_ok(bpt_decoder_feed(d, 1, first, 1, got));
        for (int64_t v = 0; v < c.vocab; ++v) assert_true(fabs((double)wanted[v] - (double)got[v]) < 2e-6);
        bpt_decoder_destroy(d);
        assert_ok(bpt_decoder_create(runner, 2000, 2, &d));
        assert_ok(bpt_decoder_read(d, &p.batch, 2));
        if (c.model == BPT_MODEL_BPT)
            assert_fails(bpt_decoder_fork(d, &(bpt_fork_t){.from = 0, .to = 1}, 1), BPT_ERR_USAGE, "cannot go on in several ways");
        bpt_decoder_destroy(d);
        bpt_runner_destroy(runner);
    }
    fixture_close(device);
}

// The translations of a document's first sentences, given as context, are read as if they had just been made. They are long.
static void given_translations_are_read_as_those_that_were_made(void **state) {
    (void)state;
    enum { SENTENCES = 3, MOST = 40 };
    static const uint32_t start = 0, length = 12, segment_start[] = {0, 4, 8}, segment_lengths[] = {4, 4, 4};
    uint32_t tokens[12], copies[SENTENCES][MOST];
    bpt_device_t *device = fixture_open("cpu");
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k) {
        const bpt_model_config_t c = small(kinds[k], BPT_SHARED_NONE);
        if (bpt_kind_of(&c)->trees) continue;  // trees are over texts, not over documents
        const bpt_translator_options_t options = {.beam = 3,
                                                  .length_penalty = 1,
                                                  .max_length_b = MOST,
                                                  .begin = 1,
                                                  .end = 1,
                                                  .forbidden = BPT_NO_ROW,
                                                  .texts = 1,
                                                  .longest = 12,
                                                  .documents = true};
        bpt_batch_t batch = {.shape = bpt_batch_buckets(12, 1), .n_real = 1, .segments = SENTENCES};
        bpt_hypothesis_t made[SENTENCES], given[SENTENCES], again[SENTENCES];
        bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
        bpt_translator_t *t;
        int64_t longest = 0, known;
        for (uint32_t i = 0; i < 12; ++i) tokens[i] = fixture_token(5, i, c.source_vocab);
        batch.side[0] = (bpt_side_t){
            .tokens = tokens, .start = &start, .lengths = &length, .segment_start = segment_start, .segment_lengths = segment_lengths};
        assert_ok(bpt_translator_create(runner, &options, &t));
        assert_ok(bpt_translator_run_document(t, &batch, 0, NULL, made, &known));
        for (int i = 0; i < SENTENCES; ++i) {
            memcpy(copies[i], made[i].tokens, (size_t)made[i].count * sizeof **copies);
            given[i] = (bpt_hypothesis_t){.tokens = copies[i], .count = made[i].count};
            if (i < SENTENCES - 1 && made[i].count > longest) longest = made[i].count;
        }
        assert_true(longest > 20);
        for (int n_given = 1; n_given < SENTENCES; ++n_given) {
            assert_ok(bpt_translator_run_document(t, &batch, n_given, given, again, &known));
            assert_int_equal(known, SENTENCES);
            for (int i = n_given; i < SENTENCES; ++i) {
                assert_int_equal(again[i].count, given[i].count);
                assert_memory_equal(again[i].tokens, copies[i], (size_t)given[i].count * sizeof **copies);
            }
        }
        bpt_translator_destroy(t);
        bpt_runner_destroy(runner);
    }
    fixture_close(device);
}

// The largest gradient of a parameter against central differences of the loss in f32.
static void check_by_differences(bpt_runner_t *runner, const pairs_t *p, const char *backend, const char *name) {
    static float all[4096], grads[4096], nll[MOST_ROWS];
    const float step = 4e-3f;
    const char *path = test_path("tree.grad.safetensors");
    double loss, at[2] = {0};
    int64_t place = 0;
    bpt_safetensors_t *file;
    assert_ok(bpt_runner_gradient(runner, &p->batch, true, &loss));
    assert_ok(bpt_runner_save_gradient(runner, 1, path));
    assert_ok(bpt_safetensors_open(path, &file));
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(file, name);
    assert_true(tensor && tensor->count <= 4096);
    assert_ok(bpt_safetensors_read_f32(file, tensor, 0, tensor->count, grads));
    for (int64_t i = 0; i < tensor->count; ++i)
        if (fabsf(grads[i]) > fabsf(grads[place])) place = i;
    bpt_safetensors_close(file);
    assert_true(fabsf(grads[place]) > 0);
    assert_ok(bpt_runner_get(runner, name, all));
    const float before = all[place];
    for (int side = 0; side < 2; ++side) {
        all[place] = before + (side ? step : -step);
        assert_ok(bpt_runner_set(runner, name, all));
        assert_ok(bpt_runner_evaluate(runner, &p->batch, nll, &loss));
        for (int64_t i = 0; i < p->batch.n_targets; ++i) at[side] += (double)p->weights[i] * (double)nll[i];
    }
    all[place] = before;
    assert_ok(bpt_runner_set(runner, name, all));
    const double wanted = (at[1] - at[0]) / (2 * (double)step);
    if (!(fabs((double)grads[place] - wanted) <= 1e-3 + 0.02 * fabs(wanted)))
        fail_msg("%s: gradient of %s: %g, differences give %g", backend, name, (double)grads[place], wanted);
}

// Of the parameters that accumulation has in each layer of the decoder, and of what it reads, on every backend.
static void gradients_through_accumulated_nodes_are_right(void **state) {
    (void)state;
    static const char *const names[] = {"decoder.layers.1.cross.leaf_weight.weight",
                                        "decoder.layers.2.cross.leaf_weight.bias",
                                        "decoder.layers.0.cross.vertical.weight",
                                        "decoder.layers.1.cross.horizontal.weight",
                                        "decoder.layers.1.cross.v_proj.weight",
                                        "decoder.layers.0.cross.k_proj.weight",
                                        "node_embed.weight",
                                        "layers.1.attn.leaf_weight.weight"};
    static pairs_t p;
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (!test_backend_usable(backends[b])) continue;
        const bpt_model_config_t c = small(BPT_MODEL_TREE, BPT_SHARED_TARGET);
        bpt_device_t *device = fixture_open(backends[b]);
        bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
        fill(&p, &c, (uint32_t[]){2, 3, 6}, 3, 0);
        for (size_t i = 0; i < BPT_COUNT(names); ++i) check_by_differences(runner, &p, backends[b], names[i]);
        bpt_runner_destroy(runner);
        fixture_close(device);
    }
}

// The trees over a text matter to its own translation, and to no other's.
static void a_translation_depends_on_the_tree_over_its_text(void **state) {
    (void)state;
    static float balanced[MOST_ROWS], right[MOST_ROWS];
    static pairs_t p;
    double loss;
    const bpt_model_config_t c = small(BPT_MODEL_TREE, BPT_SHARED_TARGET);
    bpt_device_t *device = fixture_open("cpu");
    bpt_runner_t *runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
    fill(&p, &c, (uint32_t[]){2, 0, 3}, 3, 0);
    assert_int_equal(p.side[0].lengths[1], 1);  // which has one tree alone
    assert_ok(bpt_runner_evaluate(runner, &p.batch, balanced, &loss));
    bpt_free(p.trees), p.trees = NULL;
    assert_ok(bpt_trees_add(BPT_TREES_RIGHT, &p.batch, &p.trees));
    assert_ok(bpt_runner_evaluate(runner, &p.batch, right, &loss));
    for (int64_t s = 0; s < 3; ++s)
        for (uint32_t i = 0; i < p.side[1].lengths[s]; ++i) {
            const int64_t row = p.side[1].start[s] + i;
            const double off = fabs((double)balanced[row] - (double)right[row]);
            assert_true(s == 1 ? off < 2e-6 : off > 0);
        }
    bpt_runner_destroy(runner);
    fixture_close(device);
}

static void what_cannot_be_translated_with_is_refused(void **state) {
    (void)state;
    bpt_model_config_t c = small(BPT_MODEL_BPT, BPT_SHARED_ALL);
    assert_ok(bpt_model_config_check(&c));
    c.source_vocab = 20;
    assert_fails(bpt_model_config_check(&c), BPT_ERR_USAGE, "the vocabularies have 20 and 13 entries");
    c = small(BPT_MODEL_BPT, BPT_SHARED_NONE);
    c.d_embed = 8;
    assert_fails(bpt_model_config_check(&c), BPT_ERR_USAGE, "d_embed is 8 and d_model 16");
    c = small(BPT_MODEL_BPT, BPT_SHARED_NONE);
    c.causal = true;
    assert_fails(bpt_model_config_check(&c), BPT_ERR_USAGE, "the decoder always is");
    c = small(BPT_MODEL_TREE, BPT_SHARED_NONE);
    assert_ok(bpt_model_config_check(&c));
    c.head_dim = 4;
    assert_fails(bpt_model_config_check(&c), BPT_ERR_USAGE, "in a translator it is d_model / heads, 8");
}

// 6 + 6 layers of width 512 (Ye et al. 2019): 44.87 million parameters in the layers with the released code's tables of relative positions,
// which have 1000 rows a layer, most of them never used; ours have those that are.
static void the_layers_of_the_papers_model_have_44_87_million_parameters(void **state) {
    (void)state;
    bpt_model_config_t c = small(BPT_MODEL_BPT, BPT_SHARED_ALL);
    bpt_params_t params;
    int64_t layers = 0;
    c.layers = c.dec_layers = 6;
    c.d_model = c.d_embed = 512, c.d_ff = 2048, c.heads = 8, c.head_dim = 64;
    assert_ok(bpt_model_params(&c, (bpt_frozen_t){0}, &params));
    for (size_t i = 0; i < params.count; ++i)
        if (strstr(params.items[i].name, "layers.") && !strstr(params.items[i].name, "rel_key")) layers += params.items[i].count;
    bpt_params_free(&params);
    assert_int_equal(layers + 12 * 1000 * 64, 44869632);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_logits_and_gradients_agree_with_the_golden_cases),
        cmocka_unit_test(they_agree_in_larger_buckets_of_two_lengths),
        cmocka_unit_test(padding_and_batch_mates_change_nothing),
        cmocka_unit_test(a_target_row_knows_its_source_and_what_stands_before_it),
        cmocka_unit_test(a_row_of_a_document_reads_the_source_of_its_own_sentence),
        cmocka_unit_test(training_learns_the_texts_by_heart),
        cmocka_unit_test(tokens_one_by_one_are_the_rows_of_the_whole_pass),
        cmocka_unit_test(a_fork_copies_what_differs),
        cmocka_unit_test(given_translations_are_read_as_those_that_were_made),
        cmocka_unit_test(gradients_through_accumulated_nodes_are_right),
        cmocka_unit_test(a_translation_depends_on_the_tree_over_its_text),
        cmocka_unit_test(what_cannot_be_translated_with_is_refused),
        cmocka_unit_test(the_layers_of_the_papers_model_have_44_87_million_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
