// The optimiser's update and gradient accumulation.
#include <math.h>

#include "support/case.h"

static const int64_t counts[] = {0, 1, 2, 31, 33, 127, 129, 1025, 65537, 100000};

typedef struct {
    const char *name;
    bpt_adam_attrs_t attrs;
    float lr, correction1, correction2, clip, inverse_scale, square_sum;
    float size;  // of the gradient; 0: 0.1
} update_t;

#define ADAM(decay, scale, is_decoupled) \
    { .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-8f, .weight_decay = decay, .lr_scale = scale, .decoupled = is_decoupled }
static const update_t updates[] = {
    {"plain", ADAM(0, 1, false), 1e-2f, 0.1f, 0.02f, 0, 1, 12},
    {"clipped", ADAM(0, 1, false), 1e-2f, 0.271f, 0.0588f, 0.25f, 1, 12},
    {"below_the_clip_norm", ADAM(0, 1, false), 1e-2f, 0.271f, 0.0588f, 25, 1, 12},
    {"loss_scale", ADAM(0, 1, false), 1e-2f, 0.5f, 0.5f, 1, 1.0f / 512, 5e6f},
    {"decay", ADAM(0.01f, 0.5f, false), 1e-2f, 0.5f, 0.5f, 1, 1, 12},
    {"decoupled_decay", ADAM(0.1f, 2, true), 1e-2f, 0.5f, 0.5f, 1, 1, 12},
    {"infinite_gradient", ADAM(0.1f, 1, true), 1e-2f, 0.5f, 0.5f, 1, 1, INFINITY},
    {"nan_gradient", ADAM(0.1f, 1, false), 1e-2f, 0.5f, 0.5f, 1, 1, NAN},
    // Squares below the normal numbers, which some devices take for 0: what Adam makes of them is less than eps sees.
    {"tiny_gradient", ADAM(0, 1, false), 1e-2f, 0.5f, 0.5f, 0, 1, 1e-38f, 1e-20f},
};

static const float keeps[] = {0, 1, 0.5f};

enum { N_COUNTS = BPT_COUNT(counts), N_UPDATES = BPT_COUNT(updates), N_ADAM = N_COUNTS + N_UPDATES, N_KEEPS = BPT_COUNT(keeps) };

// adam: every size (updates in turn), then every update; accumulate: every size with every factor.
static size_t count(void) { return N_ADAM + N_COUNTS * N_KEEPS; }

static const update_t *update_of(size_t index) { return &updates[index < N_COUNTS ? index % 6 : index - N_COUNTS]; }

static void put_hyper(const test_case_t *c, void *const in[]) {
    const update_t *u = &updates[(size_t)c->fill[4].a];
    float *hyper = in[4];
    hyper[0] = u->lr, hyper[1] = u->correction1, hyper[2] = u->correction2, hyper[3] = u->clip, hyper[4] = u->inverse_scale;
}

static void make_adam(size_t index, test_case_t *c) {
    const update_t *u = update_of(index);
    const int64_t n = index < N_COUNTS ? counts[index] : 500;
    const bpt_shape_t shape = bpt_shape1(n);
    test_case_init(c, BPT_OP_ADAM);
    test_case_name(c, "%lld/%s", (long long)n, u->name);
    c->call.attrs.adam = u->attrs;
    c->tolerance = 16;
    c->changed = 1u << 0 | 1u << 2 | 1u << 3;
    c->prepare = put_hyper;
    const double size = u->size > 0 ? (double)u->size : 0.1;
    if (u->size > 0) c->least = 1e-31;
    test_in(c, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, shape, TEST_UNIFORM, -size, size);
    test_in(c, 2, BPT_F32, shape, TEST_UNIFORM, -size, size);
    test_in(c, 3, BPT_F32, shape, TEST_UNIFORM, u->size > 0 ? 0 : 0.001, u->size > 0 ? size * size : 0.1);
    test_in(c, 4, BPT_F32, bpt_shape1(8), TEST_PREPARED, (double)(u - updates), 0);
    test_in(c, 5, BPT_F32, bpt_shape1(1), TEST_CONSTANT, (double)u->square_sum, 0);
}

static void fill_acc_with_nan(const test_case_t *c, void *const in[]) { test_poison(&c->call.in[0], in[0]); }

static void make_accumulate(size_t index, test_case_t *c) {
    const int64_t n = counts[index / N_KEEPS];
    const float keep = keeps[index % N_KEEPS];
    test_case_init(c, BPT_OP_ACCUMULATE);
    test_case_name(c, "%lld/keep%g", (long long)n, (double)keep);
    c->tolerance = 2;
    c->changed = 1u << 0;
    if (keep == 0) c->prepare = fill_acc_with_nan;  // what was there does not matter
    test_in(c, 0, BPT_F32, bpt_shape1(n), TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, bpt_shape1(n), TEST_UNIFORM, -1, 1);
    test_in(c, 2, BPT_F32, bpt_shape1(1), TEST_CONSTANT, (double)keep, 0);
}

static void make(size_t index, test_case_t *c) {
    if (index < N_ADAM)
        make_adam(index, c);
    else
        make_accumulate(index - N_ADAM, c);
}

const test_family_t test_adam_cases = {"adam", count, make};
