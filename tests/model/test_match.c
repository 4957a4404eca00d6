// Matching layers, in which two texts read each other: against their formulas written out in double, without regard to batch mates, and by
// differences.
#include "model_fixture.h"
#include "models/config/params_of.h"

enum { D = 16, F = 24, MOST = 12, VOCAB = 11, CLASSES = 3, MLP = 9, PAIRS = 3 };

static const uint32_t lengths[2 * PAIRS] = {5, 1, 3, 8, 12, 7};

static bpt_model_config_t matching(bpt_model_kind_t kind, int32_t layers, bpt_pool_t pool) {
    bpt_model_config_t c = fixture_classifier();
    c.task = BPT_TASK_PAIR;
    c.model = kind;
    c.layers = 1;
    c.match_layers = layers;
    c.pool = pool;
    c.d_mlp = MLP;
    c.positions = kind == BPT_MODEL_BPT ? BPT_POSITIONS_RELATIVE : BPT_POSITIONS_NONE;
    return c;
}

static fixture_batch_t a, b;

// `pairs` pairs from number `first` on, in buckets of n.
static void fill(fixture_batch_t *f, const bpt_model_config_t *c, int64_t n, int first, int pairs) {
    bpt_model_config_t like = *c;
    like.task = BPT_TASK_CLASSIFY;
    fixture_fill(f, &like, n, 2 * pairs, lengths + 2 * first, (uint32_t)(2 * first));
    f->batch.n_targets = f->batch.n_scored = f->batch.window_scored = pairs;
    for (int p = 0; p < pairs; ++p) f->targets[p] = (uint32_t)(first + p) % CLASSES;
}

// ---- The formulas of a Transformer without positions

typedef double rows_t[MOST][D];
static bpt_runner_t *runner;

static const float *param(const char *prefix, const char *what) {
    static float values[8][64 * D];
    static int next;
    char name[80];
    next = (next + 1) % 8;
    snprintf(name, sizeof name, "%s%s", prefix, what);
    assert_ok(bpt_runner_get(runner, name, values[next]));
    return values[next];
}

static double product(const float *row, const double *x, int columns) {
    double sum = 0;
    for (int j = 0; j < columns; ++j) sum += (double)row[j] * x[j];
    return sum;
}

// x = LN(x + y), y may be NULL.
static void norm(rows_t x, const double (*y)[D], int n, const char *prefix, const char *name) {
    char gamma[40], beta[40];
    snprintf(gamma, sizeof gamma, "%s.weight", name);
    snprintf(beta, sizeof beta, "%s.bias", name);
    const float *g = param(prefix, gamma), *shift = param(prefix, beta);
    for (int i = 0; i < n; ++i) {
        double mean = 0, variance = 0;
        for (int j = 0; j < D; ++j) mean += (x[i][j] += y ? y[i][j] : 0) / D;
        for (int j = 0; j < D; ++j) variance += (x[i][j] - mean) * (x[i][j] - mean) / D;
        for (int j = 0; j < D; ++j) x[i][j] = (x[i][j] - mean) / sqrt(variance + 1e-5) * (double)g[j] + (double)shift[j];
    }
}

// out = W_o attention(W_q x, W_k m, W_v m): every row of x reads all rows of m.
static void attention(const double (*x)[D], int n, const double (*m)[D], int m_rows, const char *prefix, const char *part, rows_t out) {
    static double q[MOST][D], k[MOST][D], v[MOST][D], mixed[MOST][D];
    static const char *const names[] = {"q", "k", "v", "out"};
    char name[40];
    const int heads = 2, head_dim = D / heads;
    for (int p = 0; p < 3; ++p) {
        snprintf(name, sizeof name, "%s.%s_proj.weight", part, names[p]);
        const float *w = param(prefix, name);
        for (int i = 0; i < (p ? m_rows : n); ++i)
            for (int j = 0; j < D; ++j) (p == 0 ? q : p == 1 ? k : v)[i][j] = product(w + j * D, p ? m[i] : x[i], D);
    }
    for (int i = 0; i < n; ++i)
        for (int h = 0; h < heads; ++h) {
            double weight[MOST], sum = 0;
            for (int r = 0; r < m_rows; ++r) {
                double score = 0;
                for (int j = h * head_dim; j < (h + 1) * head_dim; ++j) score += q[i][j] * k[r][j] / sqrt(head_dim);
                sum += weight[r] = exp(score);
            }
            for (int j = h * head_dim; j < (h + 1) * head_dim; ++j) {
                mixed[i][j] = 0;
                for (int r = 0; r < m_rows; ++r) mixed[i][j] += weight[r] / sum * v[r][j];
            }
        }
    snprintf(name, sizeof name, "%s.out_proj.weight", part);
    const float *w = param(prefix, name);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < D; ++j) out[i][j] = product(w + j * D, mixed[i], D);
}

// A layer of x, which reads the memory between its two blocks where there is one.
static void layer(rows_t x, int n, const double (*memory)[D], int m_rows, const char *prefix) {
    static rows_t y;
    attention((const double(*)[D])x, n, (const double(*)[D])x, n, prefix, "attn", y);
    norm(x, (const double(*)[D])y, n, prefix, "attn_norm");
    if (memory) {
        attention((const double(*)[D])x, n, memory, m_rows, prefix, "cross", y);
        norm(x, (const double(*)[D])y, n, prefix, "cross_norm");
    }
    const float *w1 = param(prefix, "ffn.fc1.weight"), *b1 = param(prefix, "ffn.fc1.bias");
    const float *w2 = param(prefix, "ffn.fc2.weight"), *b2 = param(prefix, "ffn.fc2.bias");
    for (int i = 0; i < n; ++i) {
        double hidden[F];
        for (int j = 0; j < F; ++j) hidden[j] = fmax(product(w1 + j * D, x[i], D) + (double)b1[j], 0);
        for (int j = 0; j < D; ++j) y[i][j] = product(w2 + j * F, hidden, F) + (double)b2[j];
    }
    norm(x, (const double(*)[D])y, n, prefix, "ffn_norm");
}

// The logits of a pair of texts: one layer, then matching layers, then the largest number of each column of a text's tokens.
static void formulas(const uint32_t *const tokens[2], const uint32_t n[2], int32_t match_layers, double logits[CLASSES]) {
    static rows_t x[2], memory[2];
    double r[2][D], features[4 * D], hidden[MLP];
    const float *embed = param("", "embed.weight");
    for (int t = 0; t < 2; ++t) {
        for (uint32_t i = 0; i < n[t]; ++i)
            for (int j = 0; j < D; ++j) x[t][i][j] = (double)embed[tokens[t][i] * D + (uint32_t)j];
        norm(x[t], NULL, (int)n[t], "", "embed_norm");
        layer(x[t], (int)n[t], NULL, 0, "layers.0.");
        memcpy(memory[t], x[t], sizeof memory[t]);
    }
    for (int32_t i = 0; i < match_layers; ++i) {
        char prefix[20];
        snprintf(prefix, sizeof prefix, "match.%d.", (int)i);
        for (int t = 0; t < 2; ++t) layer(x[t], (int)n[t], (const double(*)[D])memory[1 - t], (int)n[1 - t], prefix);
    }
    for (int t = 0; t < 2; ++t)
        for (int j = 0; j < D; ++j) {
            r[t][j] = -INFINITY;
            for (uint32_t i = 0; i < n[t]; ++i) r[t][j] = fmax(r[t][j], x[t][i][j]);
        }
    for (int j = 0; j < D; ++j) {
        features[j] = r[0][j], features[D + j] = r[1][j];
        features[2 * D + j] = fabs(r[0][j] - r[1][j]), features[3 * D + j] = r[0][j] - r[1][j];
    }
    const float *w1 = param("", "head.mlp.weight"), *b1 = param("", "head.mlp.bias");
    const float *w2 = param("", "head.weight"), *b2 = param("", "head.bias");
    for (int j = 0; j < MLP; ++j) hidden[j] = fmax(product(w1 + j * 4 * D, features, 4 * D) + (double)b1[j], 0);
    for (int j = 0; j < CLASSES; ++j) logits[j] = product(w2 + j * MLP, hidden, MLP) + (double)b2[j];
}

static void a_pair_has_the_logits_of_the_formulas(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "cpu"};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d)
        for (int32_t layers = 1; layers <= 2; ++layers) {
            bpt_device_t *device = fixture_open(backends[d]);
            const bpt_model_config_t c = matching(BPT_MODEL_TRANSFORMER, layers, BPT_POOL_MAX);
            float got[PAIRS * CLASSES];
            runner = fixture_runner(&c, device, (bpt_runner_options_t){0});
            fill(&a, &c, MOST, 0, PAIRS);
            assert_ok(bpt_runner_logits(runner, &a.batch, got));
            for (int p = 0; p < PAIRS; ++p) {
                const uint32_t *tokens[] = {a.tokens + a.start[2 * p], a.tokens + a.start[2 * p + 1]};
                double wanted[CLASSES];
                formulas(tokens, lengths + 2 * p, layers, wanted);
                for (int i = 0; i < CLASSES; ++i)
                    if (!(fabs(wanted[i] - (double)got[p * CLASSES + i]) < 2e-5))
                        fail_msg("%s, %d layers, pair %d: logit %d is %g, by the formulas %g", backends[d], (int)layers, p, i,
                                 (double)got[p * CLASSES + i], wanted[i]);
            }
            bpt_runner_destroy(runner);
            fixture_close(device);
        }
}

// ---- Properties, of trees as well

typedef struct {
    bpt_model_kind_t kind;
    int32_t layers;
    bpt_pool_t pool;
    const char *name;
} variant_t;
static const variant_t variants[] = {
    {BPT_MODEL_BPT, 2, BPT_POOL_ROOT, "bpt, two layers, roots"},      {BPT_MODEL_BPT, 3, BPT_POOL_ROOT, "bpt, three layers, roots"},
    {BPT_MODEL_BPT, 1, BPT_POOL_MEAN, "bpt, one layer, mean"},        {BPT_MODEL_BPT, 2, BPT_POOL_MAX, "bpt, two layers, maximum"},
    {BPT_MODEL_TRANSFORMER, 2, BPT_POOL_ROOT, "transformer, a root"},
};

static void a_pair_does_not_depend_on_its_batch(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("cpu");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        const bpt_model_config_t c = matching(variants[v].kind, variants[v].layers, variants[v].pool);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        float all[PAIRS * CLASSES], one[CLASSES];
        fill(&a, &c, MOST, 0, PAIRS);
        assert_ok(bpt_runner_logits(r, &a.batch, all));
        for (int p = 0; p < PAIRS; ++p) {
            fill(&b, &c, MOST, p, 1);
            assert_ok(bpt_runner_logits(r, &b.batch, one));
            for (int i = 0; i < CLASSES; ++i)
                if (!(fabs((double)one[i] - (double)all[p * CLASSES + i]) < 1e-5)) fail_msg("%s: pair %d", variants[v].name, p);
        }
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

// Makes all weights of cross-attention zero: what a text reads in the other one is lost.
static void forget_the_other_text(bpt_runner_t *r, int32_t layers) {
    static const float zero[D * D];
    for (int32_t i = 0; i < layers; ++i) {
        char name[60];
        snprintf(name, sizeof name, "match.%d.cross.out_proj.weight", (int)i);
        assert_ok(bpt_runner_set(r, name, zero));
    }
}

static void roots_know_the_other_text(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        const bpt_model_config_t c = matching(variants[v].kind, variants[v].layers, variants[v].pool);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        float with[PAIRS * CLASSES], without[PAIRS * CLASSES];
        double largest = 0;
        fill(&a, &c, MOST, 0, PAIRS);
        assert_ok(bpt_runner_logits(r, &a.batch, with));
        forget_the_other_text(r, c.match_layers);
        assert_ok(bpt_runner_logits(r, &a.batch, without));
        for (int i = 0; i < PAIRS * CLASSES; ++i) largest = fmax(largest, fabs((double)with[i] - (double)without[i]));
        if (!(largest > 1e-3)) fail_msg("%s: the logits do not change (%g)", variants[v].name, largest);
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

static void gradients_agree_with_differences(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        const bpt_model_config_t c = matching(variants[v].kind, variants[v].layers, variants[v].pool);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        fill(&a, &c, MOST, 0, PAIRS);
        fixture_check_gradient(r, &a.batch, variants[v].name);
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

// The same masks of dropout, and the same step, wherever it runs.
static void a_training_step_with_dropout_is_the_same_on_cpu_and_ref(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "cpu"};
    for (size_t v = 0; v < BPT_COUNT(variants); ++v) {
        bpt_update_result_t result[2];
        for (int d = 0; d < 2; ++d) {
            bpt_device_t *device = fixture_open(backends[d]);
            bpt_model_config_t c = matching(variants[v].kind, variants[v].layers, variants[v].pool);
            c.dropout_input = c.dropout_hidden = c.dropout_attention = c.dropout_head = 0.3f;
            bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
            const bpt_update_t update = {
                .rng = 12345, .lr = 0.01f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1, .first_head = bpt_model_layers(&c)};
            fill(&a, &c, MOST, 0, PAIRS);
            assert_ok(bpt_runner_train(r, &a.batch, &update, &result[d]));
            bpt_runner_destroy(r);
            fixture_close(device);
        }
        if (!(fabs(result[0].loss - result[1].loss) < 1e-5 && fabs(result[0].grad_norm - result[1].grad_norm) < 1e-4 * result[0].grad_norm))
            fail_msg("%s: loss %g, %g, norm %g, %g", variants[v].name, result[0].loss, result[1].loss, result[0].grad_norm,
                     result[1].grad_norm);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_has_the_logits_of_the_formulas),
        cmocka_unit_test(a_pair_does_not_depend_on_its_batch),
        cmocka_unit_test(roots_know_the_other_text),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(a_training_step_with_dropout_is_the_same_on_cpu_and_ref),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
