// Star-Transformer against its formulas (Guo et al. 2019, section 3.1) written out in double; rows packed or in buckets; gradients of all
// tasks.
#include "model_fixture.h"
#include "models/config/params_of.h"
#include "models/kinds/kind.h"

enum { D = 16, MOST = 24, VOCAB = 11 };

static bpt_model_config_t star(bool ring, bool radical, bpt_pool_t pool, bpt_positions_t positions) {
    return (bpt_model_config_t){.task = BPT_TASK_CLASSIFY,
                                .model = BPT_MODEL_STAR,
                                .layers = 2,
                                .d_model = D,
                                .d_embed = D,
                                .heads = 3,
                                .head_dim = 5,  // 3 * 5 is not d_model
                                .ring = ring,
                                .radical = radical,
                                .pool = pool,
                                .positions = positions,
                                .max_positions = 32,
                                .vocab = VOCAB,
                                .classes = 3};
}

// ---- The formulas

static const float *param(bpt_runner_t *r, const char *format, int cycle, const char *what) {
    static float values[8][64 * D];
    static int next;
    char name[80];
    next = (next + 1) % 8;
    snprintf(name, sizeof name, format, cycle, what);
    assert_ok(bpt_runner_get(r, name, values[next]));
    return values[next];
}

// out[rows_out] = W x + b, W [rows_out, columns].
static void project(const float *w, const float *b, const double *x, int rows_out, int columns, double *out) {
    for (int i = 0; i < rows_out; ++i) {
        out[i] = (double)b[i];
        for (int j = 0; j < columns; ++j) out[i] += (double)w[i * columns + j] * x[j];
    }
}

// LN(relu(W_o attention of x over the context)).
static void attend(bpt_runner_t *r, const bpt_model_config_t *c, int cycle, const char *part, const double *x, const double (*context)[D],
                   int n, double out[D]) {
    const int width = c->heads * c->head_dim;
    double q[16], key[MOST + 2][16], value[MOST + 2][16], mixed[16], y[D], mean = 0, variance = 0;
    char weight[40], bias[40];
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    for (int p = 0; p < 3; ++p) {
        snprintf(weight, sizeof weight, "%s.%s.weight", part, names[p]);
        snprintf(bias, sizeof bias, "%s.%s.bias", part, names[p]);
        const float *w = param(r, "layers.%d.%s", cycle, weight), *b = param(r, "layers.%d.%s", cycle, bias);
        if (p == 0) project(w, b, x, width, D, q);
        for (int i = 0; p && i < n; ++i) project(w, b, context[i], width, D, p == 1 ? key[i] : value[i]);
    }
    for (int h = 0; h < c->heads; ++h) {
        double score[MOST + 2], largest = -INFINITY, sum = 0;
        for (int i = 0; i < n; ++i) {
            score[i] = 0;
            for (int j = h * c->head_dim; j < (h + 1) * c->head_dim; ++j) score[i] += q[j] * key[i][j] / sqrt((double)c->head_dim);
            largest = fmax(largest, score[i]);
        }
        for (int i = 0; i < n; ++i) sum += score[i] = exp(score[i] - largest);
        for (int j = h * c->head_dim; j < (h + 1) * c->head_dim; ++j) {
            mixed[j] = 0;
            for (int i = 0; i < n; ++i) mixed[j] += score[i] / sum * value[i][j];
        }
    }
    snprintf(weight, sizeof weight, "%s.out_proj.weight", part);
    snprintf(bias, sizeof bias, "%s.out_proj.bias", part);
    project(param(r, "layers.%d.%s", cycle, weight), param(r, "layers.%d.%s", cycle, bias), mixed, D, width, y);
    for (int j = 0; j < D; ++j) y[j] = fmax(y[j], 0), mean += y[j] / D;
    for (int j = 0; j < D; ++j) variance += (y[j] - mean) * (y[j] - mean) / D;
    snprintf(weight, sizeof weight, "%s_norm.weight", part);
    snprintf(bias, sizeof bias, "%s_norm.bias", part);
    const float *gamma = param(r, "layers.%d.%s", cycle, weight), *beta = param(r, "layers.%d.%s", cycle, bias);
    for (int j = 0; j < D; ++j) out[j] = (y[j] - mean) / sqrt(variance + 1e-5) * (double)gamma[j] + (double)beta[j];
}

static void add(double (*context)[D], int *count, const double *row) { memcpy(context[(*count)++], row, sizeof context[0]); }

// The logits of one text.
static void formulas(bpt_runner_t *r, const uint32_t *tokens, int n, double *logits) {
    const bpt_model_config_t *c = bpt_runner_config(r);
    static double e[MOST][D], h[MOST][D], new_h[MOST][D];
    double s[D] = {0}, new_s[D], context[MOST + 2][D], pooled[D];
    const float *embed = param(r, "embed.weight%.0d%s", 0, "");
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < D; ++j) e[i][j] = (double)embed[tokens[i] * D + (uint32_t)j];
    for (int i = 0; c->positions == BPT_POSITIONS_SINUSOIDAL && i < n; ++i)
        for (int j = 0; j < D; ++j) e[i][j] += j % 2 ? cos(i / pow(10000, (j - 1.0) / D)) : sin(i / pow(10000, (double)j / D));
    if (c->positions == BPT_POSITIONS_ABSOLUTE) {
        const float *place = param(r, "pos_embed.weight%.0d%s", 0, "");
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < D; ++j) e[i][j] += (double)place[i * D + j];
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < D; ++j) h[i][j] = e[i][j], s[j] += e[i][j] / n;
    for (int cycle = 0; cycle < c->layers; ++cycle) {
        for (int i = 0; i < n; ++i) {
            int count = 0;
            if (c->ring) add(context, &count, h[(i + n - 1) % n]);
            add(context, &count, h[i]);
            if (c->ring) add(context, &count, h[(i + 1) % n]);
            add(context, &count, e[i]);
            if (c->radical) add(context, &count, s);
            attend(r, c, cycle, "ring", h[i], (const double(*)[D])context, count, new_h[i]);
        }
        int count = 0;
        add(context, &count, s);
        for (int i = 0; i < n; ++i) add(context, &count, new_h[i]);
        attend(r, c, cycle, "star", s, (const double(*)[D])context, count, new_s);
        memcpy(h, new_h, sizeof h);
        memcpy(s, new_s, sizeof s);
    }
    for (int j = 0; j < D; ++j) {
        double largest = -INFINITY, mean = 0;
        for (int i = 0; i < n; ++i) largest = fmax(largest, h[i][j]), mean += h[i][j] / n;
        pooled[j] = c->pool == BPT_POOL_RELAY_MAX ? s[j] + largest
                    : c->pool == BPT_POOL_RELAY   ? s[j]
                    : c->pool == BPT_POOL_MAX     ? largest
                                                  : mean;
    }
    project(param(r, "head.weight%.0d%s", 0, ""), param(r, "head.bias%.0d%s", 0, ""), pooled, (int)c->classes, D, logits);
}

static fixture_batch_t a, b;

// The same texts as packed rows: those of `from`, whose sequences are in buckets.
static void pack(const fixture_batch_t *from, int64_t rows, fixture_batch_t *to) {
    *to = *from;
    to->batch.shape = (bpt_batch_shape_t){.batch = from->batch.shape.batch, .side = {{.n = 0, .rows = rows}}};
    to->batch.side[0] = (bpt_side_t){.tokens = to->tokens, .start = to->start, .lengths = to->lengths};
    to->batch.targets = to->targets, to->batch.weights = to->weights, to->batch.sequences = to->sequences;
    memset(to->tokens, 0, sizeof to->tokens);
    for (int64_t s = 0, row = 0; s < from->batch.shape.batch; row += from->lengths[s++]) {
        to->start[s] = (uint32_t)row;
        memcpy(to->tokens + row, from->tokens + from->start[s], from->lengths[s] * sizeof *to->tokens);
    }
}

static void a_text_has_the_logits_of_the_formulas(void **state) {
    (void)state;
    static const bpt_pool_t pools[] = {BPT_POOL_RELAY_MAX, BPT_POOL_RELAY, BPT_POOL_MAX, BPT_POOL_MEAN};
    const uint32_t lengths[] = {1, 2, 3, 7, 23};
    bpt_device_t *device = fixture_open("ref");
    static const bpt_positions_t positions[] = {BPT_POSITIONS_ABSOLUTE, BPT_POSITIONS_NONE, BPT_POSITIONS_SINUSOIDAL};
    for (int v = 0; v < 12; ++v) {
        const bpt_model_config_t c = star(v % 2 == 0, v / 2 % 2 == 0, pools[v % 4], positions[v / 4]);
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        float got[5 * 3], packed[5 * 3];
        fixture_fill(&a, &c, MOST, 5, lengths, 2);
        pack(&a, 40, &b);
        assert_ok(bpt_runner_logits(r, &a.batch, got));
        assert_ok(bpt_runner_logits(r, &b.batch, packed));
        assert_memory_equal(got, packed, sizeof got);
        for (int s = 0; s < 5; ++s) {
            double wanted[3];
            formulas(r, a.tokens + a.start[s], (int)lengths[s], wanted);
            for (int i = 0; i < 3; ++i)
                if (!(fabs(wanted[i] - (double)got[s * 3 + i]) < 1e-5))
                    fail_msg("variant %d, length %u: logit %d is %g, by the formulas %g", v, lengths[s], i, (double)got[s * 3 + i],
                             wanted[i]);
        }
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

// Dropout is a function of the text and the place in it, not of the layout.
static void packing_changes_no_loss_and_no_gradient(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "cpu"};
    const uint32_t lengths[] = {4, 9, 1, 17};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        bpt_device_t *device = fixture_open(backends[d]);
        bpt_model_config_t c = star(true, true, BPT_POOL_RELAY_MAX, BPT_POSITIONS_ABSOLUTE);
        c.dropout_input = c.dropout_attention = c.dropout_head = 0.3f;
        double loss[2], norm[2];
        fixture_fill(&a, &c, 17, 4, lengths, 6);
        pack(&a, 32, &b);
        for (int packed = 0; packed < 2; ++packed) {
            bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
            const bpt_update_t update = {.rng = 12345, .lr = 0.01f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
            bpt_update_result_t result;
            assert_ok(bpt_runner_train(r, packed ? &b.batch : &a.batch, &update, &result));
            loss[packed] = result.loss, norm[packed] = result.grad_norm;
            bpt_runner_destroy(r);
        }
        assert_true(fabs(loss[0] - loss[1]) < 1e-5 * fabs(loss[0]) && fabs(norm[0] - norm[1]) < 1e-4 * norm[0] && norm[0] > 0);
        fixture_close(device);
    }
}

static void a_cycle_has_as_many_parameters_as_the_paper_s_sizes_give(void **state) {
    (void)state;
    bpt_model_config_t c = star(true, true, BPT_POOL_RELAY_MAX, BPT_POSITIONS_NONE);
    int64_t count[2];
    c.d_model = c.d_embed = 300, c.heads = 6, c.head_dim = 50;
    for (int i = 0; i < 2; ++i) {
        bpt_params_t params;
        c.layers = 1 + i;
        assert_ok(bpt_model_params(&c, (bpt_frozen_t){0}, &params));
        count[i] = 0;
        for (size_t p = 0; p < params.count; ++p) count[i] += params.items[p].count;
        bpt_params_free(&params);
    }
    assert_int_equal(count[1] - count[0], 723600);
}

// ---- Gradients of every task

static float values[8 * 2], numbers[64 * 2];

static void fill_task(fixture_batch_t *f, const bpt_model_config_t *c) {
    const uint32_t lengths[] = {5, 1, 3, 8};
    const bpt_task_spec_t *task = bpt_task_of(c);
    bpt_model_config_t like = *c;
    like.task = task->per_token ? BPT_TASK_LM : BPT_TASK_CLASSIFY;
    like.vocab = VOCAB;
    fixture_fill(f, &like, 8, 4, lengths, 1);
    for (int64_t i = 0; i < f->batch.n_targets; ++i) f->targets[i] %= (uint32_t)c->classes;
    f->batch.n_targets = bpt_task_targets(task, &f->batch.shape);
    if (!task->per_token) f->batch.n_scored = f->batch.window_scored = f->batch.n_targets;
    for (size_t i = 0; i < BPT_COUNT(numbers); ++i) numbers[i] = (float)(bpt_mix64(i) % 100) / 50 - 1;
    for (size_t i = 0; i < BPT_COUNT(values); ++i) values[i] = (float)(bpt_mix64(1000 + i) % 100) / 50 - 1;
    if (c->d_input) f->batch.side[0].tokens = NULL, f->batch.side[0].numbers = numbers, f->batch.side[0].columns = 2;
    if (task->values) f->batch.targets = NULL, f->batch.values = values, f->batch.value_columns = c->classes;
}

static void gradients_of_every_task_match_differences(void **state) {
    (void)state;
    bpt_model_config_t cases[6];
    for (int i = 0; i < 6; ++i) cases[i] = star(true, true, BPT_POOL_RELAY_MAX, BPT_POSITIONS_ABSOLUTE);
    cases[1].task = BPT_TASK_TAG, cases[1].d_mlp = 7;
    cases[2].task = BPT_TASK_TAG, cases[2].crf = true;
    cases[3].task = BPT_TASK_PAIR, cases[3].d_mlp = 9;
    cases[4].task = BPT_TASK_REGRESS, cases[4].classes = 2, cases[4].d_input = 2;
    cases[5].d_mlp = 6, cases[5].d_embed = 7;
    bpt_device_t *device = fixture_open("ref");
    for (int i = 0; i < 6; ++i) {
        bpt_runner_t *r = fixture_runner(&cases[i], device, (bpt_runner_options_t){0});
        fill_task(&a, &cases[i]);
        char what[20];
        snprintf(what, sizeof what, "case %d", i);
        fixture_check_gradient(r, &a.batch, what);
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_the_logits_of_the_formulas),
        cmocka_unit_test(packing_changes_no_loss_and_no_gradient),
        cmocka_unit_test(a_cycle_has_as_many_parameters_as_the_paper_s_sizes_give),
        cmocka_unit_test(gradients_of_every_task_match_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
