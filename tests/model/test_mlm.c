// Models of hidden tokens: only these go through the head, and the loss, the nll and the gradient are those of all rows with the others
// left out.
#include "model_fixture.h"

#include "models/config/config_json.h"
#include "models/kinds/kind.h"

static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan"};

static bpt_model_config_t hidden(bpt_model_kind_t kind) {
    bpt_model_config_t c = fixture_lm();
    c.task = BPT_TASK_MLM;
    c.model = kind;
    c.causal = false;
    if (kind == BPT_MODEL_STAR) c.positions = BPT_POSITIONS_ABSOLUTE, c.head_dim = 4, c.ring = c.radical = true, c.tied = false;
    if (kind == BPT_MODEL_TRANSFORMER) c.positions = BPT_POSITIONS_ABSOLUTE, c.window = 0;
    return c;
}

// One token in seven is a target.
static void fill(fixture_batch_t *b, const bpt_model_config_t *c, const uint32_t *lengths) {
    const bool packed = bpt_kind_of(c)->packed;
    fixture_fill(b, c, 14, 4, lengths, 0);
    b->batch.n_scored = 0;
    uint32_t end = 0;
    for (int64_t s = 0; s < 4; ++s)
        for (uint32_t i = 0; i < 14; ++i) {
            const int64_t row = s * 14 + i;
            b->weights[row] = i < lengths[s] && i % 7 == 3;
            b->targets[row] = b->tokens[row];
            b->batch.n_scored += b->weights[row] > 0;
        }
    b->batch.window_scored = b->batch.n_scored;
    if (!packed) return;
    b->batch.shape.side[0].n = 0;
    for (int64_t s = 0; s < 4; ++s) {
        const uint32_t from = b->start[s];
        for (uint32_t i = 0; i < lengths[s]; ++i) {
            b->tokens[end + i] = b->tokens[from + i];
            b->targets[end + i] = b->targets[from + i];
            b->weights[end + i] = b->weights[from + i];
        }
        b->start[s] = end;
        end += lengths[s];
    }
    for (uint32_t i = end; i < 56; ++i) b->tokens[i] = 0, b->targets[i] = 0, b->weights[i] = 0;
}

static const bpt_model_kind_t kinds[] = {BPT_MODEL_BPT, BPT_MODEL_STAR, BPT_MODEL_TRANSFORMER};

static bpt_device_t *open_device(const char *backend) {
    const bpt_backend_t *b = bpt_backend_find(backend);
    const bpt_device_options_t options = {.threads = 2};
    bpt_device_t *device = NULL;
    if (!b || b->open(0, &options, &device) != BPT_OK) return NULL;
    return device;
}

static void nll_is_that_of_the_logits(bpt_runner_t *r, const fixture_batch_t *b, const char *what) {
    static float nll[64], logits[64 * 16];
    const int64_t vocab = bpt_runner_config(r)->vocab;
    double loss, sum = 0;
    assert_ok(bpt_runner_evaluate(r, &b->batch, nll, &loss));
    assert_ok(bpt_runner_logits(r, &b->batch, logits));
    for (int64_t i = 0; i < b->batch.n_targets; ++i) {
        double total = 0;
        for (int64_t v = 0; v < vocab; ++v) total += exp((double)logits[i * vocab + v]);
        const double wanted = b->weights[i] > 0 ? log(total) - (double)logits[i * vocab + b->targets[i]] : 0;
        if (!(fabs(wanted - (double)nll[i]) < 1e-4)) fail_msg("%s, row %d: nll %g, not %g", what, (int)i, (double)nll[i], wanted);
        sum += wanted;
    }
    assert_true(fabs(sum - loss) < 1e-3);
}

static void loss_and_gradient_are_those_of_hidden_tokens(void **state) {
    (void)state;
    const uint32_t lengths[] = {14, 5, 9, 4};
    static fixture_batch_t b;
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        bpt_device_t *device = open_device(backends[d]);
        if (!device) continue;
        for (size_t k = 0; k < BPT_COUNT(kinds); ++k) {
            const bpt_model_config_t c = hidden(kinds[k]);
            char what[64];
            snprintf(what, sizeof what, "%s, %s", backends[d], bpt_kinds[kinds[k]]->name);
            bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
            fill(&b, &c, lengths);
            nll_is_that_of_the_logits(r, &b, what);
            if (d < 2) fixture_check_gradient(r, &b.batch, what);
            bpt_runner_destroy(r);
        }
        fixture_close(device);
    }
}

static void a_batch_with_too_many_hidden_tokens_is_refused(void **state) {
    (void)state;
    const uint32_t lengths[] = {14, 14, 14, 14};
    static fixture_batch_t b;
    const bpt_model_config_t c = hidden(BPT_MODEL_BPT);
    bpt_device_t *device = fixture_open("ref");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    double loss;
    fill(&b, &c, lengths);
    for (int i = 0; i < 56; ++i) b.weights[i] = 1;
    assert_fails(bpt_runner_evaluate(r, &b.batch, NULL, &loss), BPT_ERR_INPUT, "more hidden tokens than the 12");
    bpt_runner_destroy(r);
    fixture_close(device);
}

static void a_causal_model_is_refused(void **state) {
    (void)state;
    bpt_model_config_t c = hidden(BPT_MODEL_BPT);
    assert_ok(bpt_model_config_check(&c));
    c.causal = true;
    assert_fails(bpt_model_config_check(&c), BPT_ERR_USAGE, "cannot be causal");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradient_are_those_of_hidden_tokens),
        cmocka_unit_test(a_batch_with_too_many_hidden_tokens_is_refused),
        cmocka_unit_test(a_causal_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
