// Muon: its step against the published formula (Jordan et al. 2024; scale: Liu et al. 2025), micro-batches, moments in files, gradients
// that are not finite.
#include "model_fixture.h"

#include "models/run/runner.h"

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan"};
enum { MOST = 16384 };
static const float LR = 2e-3f, DECAY = 0.1f, MOMENTUM = 0.95f;

static bpt_runner_options_t muon(bpt_dtype_t precision) {
    return (bpt_runner_options_t){
        .step = {
            .precision = precision,
            .optimizer = {
                .kind = BPT_OPTIMIZER_MUON, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-8f, .weight_decay = DECAY, .momentum = MOMENTUM}}};
}

// Where the backend has no usable device here: NULL.
static bpt_device_t *open_device(const char *backend) {
    const bpt_backend_t *b = bpt_backend_find(backend);
    const bpt_device_options_t options = {.threads = 2};
    bpt_device_t *device = NULL;
    if (!b || b->open(0, &options, &device) != BPT_OK) return NULL;
    return device;
}

static void read_state(bpt_runner_t *r, bpt_step_state_t state, int64_t count, float *out) {
    bpt_device_t *device = bpt_runner_device(r);
    assert_true(count <= MOST);
    memset(out, 0, MOST * sizeof *out);
    assert_ok(device->backend->read(device, bpt_runner_state(r, state), 0, out, (size_t)count * sizeof *out));
}
static void read_params(bpt_runner_t *r, float *out) { read_state(r, BPT_STATE_PARAMS, bpt_runner_params(r)->elements, out); }

static bpt_update_t update_at(int64_t step, float clip) {
    return (bpt_update_t){.lr = LR,
                          .clip = clip,
                          .bias1 = (float)(1 - pow(0.9, (double)step)),
                          .bias2 = (float)(1 - pow(0.98, (double)step)),
                          .loss_scale = 1};
}

static void step(bpt_runner_t *r, const bpt_batch_t *batch, const bpt_update_t *u) {
    bpt_update_result_t result;
    assert_ok(bpt_runner_train(r, batch, u, &result));
    assert_true(result.updated);
}

// ---- The formula, in double

// out = a b (or a b^T): a [n, k], b [k, m] (or [m, k]).
static void multiply(const double *a, const double *b, int64_t n, int64_t k, int64_t m, bool transposed, double *out) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) {
            out[i * m + j] = 0;
            for (int64_t l = 0; l < k; ++l) out[i * m + j] += a[i * k + l] * (transposed ? b[j * k + l] : b[l * m + j]);
        }
}

// A wide matrix, as torch.optim.Muon does: tall ones are transposed.
static void orthogonalise(double *x, int64_t n, int64_t m) {
    static double gram[64 * 64], square[64 * 64], change[MOST];
    double sum = 0;
    assert_true(n <= m && n <= 64);
    for (int64_t i = 0; i < n * m; ++i) sum += x[i] * x[i];
    for (int64_t i = 0; i < n * m; ++i) x[i] /= fmax(sqrt(sum), 1e-7);
    for (int round = 0; round < 5; ++round) {
        multiply(x, x, n, m, n, true, gram);
        multiply(gram, gram, n, n, n, false, square);
        for (int64_t i = 0; i < n * n; ++i) gram[i] = -4.775 * gram[i] + 2.0315 * square[i];
        multiply(gram, x, n, n, m, false, change);
        for (int64_t i = 0; i < n * m; ++i) x[i] = 3.4445 * x[i] + change[i];
    }
}

// The parameter p becomes what the step makes of it; `m` is its momentum.
static void muon_step(const bpt_param_t *p, const double *gradient, double *m, double *values) {
    static double u[MOST];
    const int64_t rows = p->shape[0], columns = p->shape[1];
    const bool tall = rows > columns;
    for (int64_t i = 0; i < p->count; ++i) {
        m[i] += (1 - (double)MOMENTUM) * (gradient[i] - m[i]);
        u[tall ? i % columns * rows + i / columns : i] = gradient[i] + (double)MOMENTUM * (m[i] - gradient[i]);
    }
    orthogonalise(u, tall ? columns : rows, tall ? rows : columns);
    const double rate = (double)LR * 0.2 * sqrt((double)(tall ? rows : columns));
    for (int64_t i = 0; i < p->count; ++i)
        values[i] = values[i] * (1 - (double)LR * (double)DECAY) - rate * u[tall ? i % columns * rows + i / columns : i];
}

static void adamw_step(const bpt_update_t *u, bool decays, double gradient, double moments[2], double *value) {
    moments[0] = 0.9 * moments[0] + 0.1 * gradient;
    moments[1] = 0.98 * moments[1] + 0.02 * gradient * gradient;
    if (decays) *value *= 1 - (double)LR * (double)DECAY;
    *value -= (double)LR * moments[0] / (double)u->bias1 / (sqrt(moments[1] / (double)u->bias2) + 1e-8);
}

static double expected[MOST], momentum[MOST], adam[MOST][2], gradient[MOST];
static float values[MOST], read[MOST];

// What the step after this one must make of the parameters, from the gradient as the runner computes it.
static void expect_step(bpt_runner_t *r, const fixture_batch_t *b, const bpt_update_t *u) {
    const bpt_params_t *params = bpt_runner_params(r);
    double loss, square = 0, scale = 1;
    assert_ok(bpt_runner_gradient(r, &b->batch, true, &loss));
    assert_ok(bpt_runner_read_gradient(r, read));
    read_params(r, values);
    for (int64_t i = 0; i < params->trained_elements; ++i) {
        gradient[i] = (double)read[i] / (double)b->batch.window_scored;
        square += gradient[i] * gradient[i];
        expected[i] = (double)values[i];
    }
    if (u->clip > 0) scale = fmin(1, (double)u->clip / (sqrt(square) + 1e-6));
    for (int64_t i = 0; i < params->trained_elements; ++i) gradient[i] *= scale;
    for (size_t i = 0; i < params->count; ++i) {
        const bpt_param_t *p = &params->items[i];
        if (p->group == BPT_GROUP_MATRIX) muon_step(p, gradient + p->offset, momentum + p->offset, expected + p->offset);
        for (int64_t k = p->offset; p->group != BPT_GROUP_MATRIX && k < p->offset + p->count; ++k)
            adamw_step(u, p->group == BPT_GROUP_DECAY, gradient[k], adam[k], &expected[k]);
    }
}

// Of Muon's parameters; Adam's are the sign of the gradient where that is hardly more than rounding.
static void compare(bpt_runner_t *r, const char *backend, int64_t number, double tolerance) {
    const bpt_params_t *params = bpt_runner_params(r);
    double far = 0;
    read_params(r, values);
    for (size_t i = 0; i < params->count; ++i) {
        const bpt_param_t *p = &params->items[i];
        const double size = p->group == BPT_GROUP_MATRIX ? 0.2 * sqrt((double)(p->shape[0] > p->shape[1] ? p->shape[0] : p->shape[1])) : 1;
        for (int64_t k = p->offset; k < p->offset + p->count; ++k) {
            const double off = fabs((double)values[k] - expected[k]) / ((double)LR * size);
            if (p->group == BPT_GROUP_MATRIX && off > tolerance)
                fail_msg("%s, step %d, %s[%d]: off by %g of the largest step", backend, (int)number, p->name, (int)(k - p->offset), off);
            far += p->group != BPT_GROUP_MATRIX && off > tolerance;
        }
    }
    assert_true(far < 40);
}

static void a_step_is_that_of_the_published_formula(void **state) {
    (void)state;
    const uint32_t lengths[] = {12, 5, 9, 1};
    static fixture_batch_t b;
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        const bpt_model_config_t c = fixture_lm();
        bpt_device_t *device = open_device(backends[d]);
        if (!device) continue;
        bpt_runner_t *r = fixture_runner(&c, device, muon(BPT_F32));
        assert_true(bpt_runner_params(r)->matrix_elements > 0);
        memset(momentum, 0, sizeof momentum);
        memset(adam, 0, sizeof adam);
        for (int64_t number = 1; number <= 3; ++number) {
            const bpt_update_t u = update_at(number, number == 2 ? 0.25f : 0);
            fixture_fill(&b, &c, 12, 4, lengths, (uint32_t)number);
            expect_step(r, &b, &u);
            step(r, &b.batch, &u);
            compare(r, backends[d], number, 2e-3);
        }
        bpt_runner_destroy(r);
        fixture_close(device);
    }
}

// In bf16 and f16 the step is about the same: singular values come near 1 from wherever they are.
static void low_precision_makes_about_the_same_step(void **state) {
    (void)state;
    const uint32_t lengths[] = {12, 5, 9, 12};
    static const bpt_dtype_t types[] = {BPT_BF16, BPT_F16};
    static float exact[MOST], before[MOST];
    static fixture_batch_t b;
    const bpt_model_config_t c = fixture_lm();
    const bpt_update_t u = update_at(1, 0);
    bpt_device_t *device = fixture_open("cpu");
    fixture_fill(&b, &c, 12, 4, lengths, 0);
    bpt_runner_t *r = fixture_runner(&c, device, muon(BPT_F32));
    read_params(r, before);
    step(r, &b.batch, &u);
    read_params(r, exact);
    const int64_t matrices = bpt_runner_params(r)->matrix_elements;
    bpt_runner_destroy(r);
    for (size_t i = 0; i < BPT_COUNT(types); ++i) {
        double off = 0, moved = 0;
        r = fixture_runner(&c, device, muon(types[i]));
        step(r, &b.batch, &u);
        read_params(r, values);
        for (int64_t k = 0; k < matrices; ++k) {
            off += pow((double)values[k] - (double)exact[k], 2);
            moved += pow((double)exact[k] - (double)before[k], 2);
        }
        assert_true(moved > 0 && off < 0.04 * moved);
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

// ---- Micro-batches and files

static void two_micro_batches_make_the_step_of_one(void **state) {
    (void)state;
    const uint32_t lengths[] = {12, 5, 9, 12, 7, 3, 12, 2};
    static fixture_batch_t all, half[2];
    const bpt_model_config_t c = fixture_lm();
    const bpt_update_t u = update_at(1, 0.25f);
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        bpt_device_t *device = open_device(backends[d]);
        if (!device) continue;
        bpt_update_result_t result;
        bpt_runner_t *whole = fixture_runner(&c, device, muon(BPT_F32)), *parts = fixture_runner(&c, device, muon(BPT_F32));
        fixture_fill(&all, &c, 12, 8, lengths, 0);
        step(whole, &all.batch, &u);
        for (int i = 0; i < 2; ++i) {
            fixture_fill(&half[i], &c, 12, 4, lengths + 4 * i, (uint32_t)(4 * i));
            half[i].batch.window_scored = all.batch.window_scored;
            half[i].batch.first = i == 0, half[i].batch.last = i == 1;
            assert_ok(bpt_runner_train(parts, &half[i].batch, &u, &result));
        }
        assert_true(result.updated);
        read_params(whole, values);
        read_params(parts, read);
        for (int64_t k = 0; k < bpt_runner_params(whole)->matrix_elements; ++k)
            if (!(fabsf(values[k] - read[k]) < 2e-3f * LR)) fail_msg("%s: element %d is off", backends[d], (int)k);
        bpt_runner_destroy(whole);
        bpt_runner_destroy(parts);
        fixture_close(device);
    }
}

static void moments_in_files_go_on_bit_for_bit(void **state) {
    (void)state;
    const uint32_t lengths[] = {12, 5, 9, 1};
    static fixture_batch_t b;
    const bpt_model_config_t c = fixture_lm();
    const char *weights = test_path("muon-weights"), *moments = test_path("muon-moments");
    bpt_device_t *device = fixture_open("cpu");
    bpt_runner_t *r = fixture_runner(&c, device, muon(BPT_F32)), *next = fixture_runner(&c, device, muon(BPT_F32));
    fixture_fill(&b, &c, 12, 4, lengths, 0);
    for (int64_t i = 1; i <= 2; ++i) {
        const bpt_update_t early = update_at(i, 0);
        step(r, &b.batch, &early);
    }
    assert_ok(bpt_runner_save(r, weights, NULL));
    assert_ok(bpt_runner_save_moments(r, moments, NULL));
    assert_ok(bpt_runner_load(next, weights, false, NULL));
    assert_ok(bpt_runner_load_moments(next, moments, false, NULL));
    const bpt_update_t u = update_at(3, 0);
    step(r, &b.batch, &u);
    step(next, &b.batch, &u);
    read_params(r, values);
    read_params(next, read);
    assert_memory_equal(values, read, sizeof values);
    bpt_runner_destroy(next);
    // Matrices have no second moments, which Adam would need.
    next = fixture_runner(&c, device, (bpt_runner_options_t){0});
    assert_int_equal(bpt_runner_load_moments(next, moments, false, NULL), BPT_ERR_INPUT);
    assert_non_null(strstr(bpt_error_message(), "v.layers.0.attn."));
    bpt_runner_destroy(r);
    bpt_runner_destroy(next);
    fixture_close(device);
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state) {
    (void)state;
    const uint32_t lengths[] = {12, 5, 9, 1};
    static fixture_batch_t b;
    static float bias[64], moments[MOST], after[MOST];
    const bpt_model_config_t c = fixture_lm();
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        bpt_device_t *device = open_device(backends[d]);
        if (!device) continue;
        bpt_runner_t *r = fixture_runner(&c, device, muon(BPT_F32));
        const bpt_update_t u = update_at(1, 0.25f);
        bpt_update_result_t result;
        fixture_fill(&b, &c, 12, 4, lengths, 0);
        step(r, &b.batch, &u);
        assert_ok(bpt_runner_get(r, "head.bias", bias));
        bias[0] = NAN;
        assert_ok(bpt_runner_set(r, "head.bias", bias));
        read_params(r, values);
        read_state(r, BPT_STATE_M, bpt_runner_params(r)->trained_elements, moments);
        assert_ok(bpt_runner_train(r, &b.batch, &u, &result));
        assert_false(result.updated);
        read_params(r, read);
        read_state(r, BPT_STATE_M, bpt_runner_params(r)->trained_elements, after);
        assert_memory_equal(values, read, sizeof values);
        assert_memory_equal(moments, after, sizeof moments);
        bpt_runner_destroy(r);
        fixture_close(device);
    }
}

// Which parameters are matrices, of every kind: no embedding, table of positions, head or vector.
static void matrices_are_the_weights_of_products_in_layers(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    const bpt_model_config_t c = fixture_lm();
    bpt_runner_t *r = fixture_runner(&c, device, muon(BPT_F32));
    const bpt_params_t *params = bpt_runner_params(r);
    int matrices = 0;
    for (size_t i = 0; i < params->count; ++i) {
        const bpt_param_t *p = &params->items[i];
        const bool product = !strncmp(p->name, "layers.", 7) && p->rank == 2 && !strstr(p->name, "rel_key");
        if ((p->group == BPT_GROUP_MATRIX) != product) fail_msg("%s", p->name);
        matrices += product;
        assert_true(product ? p->offset + p->count <= params->matrix_elements : p->offset >= params->matrix_elements);
    }
    assert_int_equal(matrices, 6 * c.layers);
    bpt_runner_destroy(r);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_that_of_the_published_formula),       cmocka_unit_test(low_precision_makes_about_the_same_step),
        cmocka_unit_test(two_micro_batches_make_the_step_of_one),        cmocka_unit_test(moments_in_files_go_on_bit_for_bit),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing), cmocka_unit_test(matrices_are_the_weights_of_products_in_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
