// The steps of Muon beside its products: momentum, normalisation by a norm, descent.
#include <math.h>

#include "support/case.h"

static const int64_t counts[] = {0, 1, 2, 31, 33, 127, 129, 1025, 65537, 100000};
static const bpt_dtype_t types[] = {BPT_F32, BPT_BF16, BPT_F16};

typedef struct {
    const char *name;
    float momentum, decay, lr_scale;
    bool nesterov;
    float lr, clip, inverse_scale, square_sum;
} step_t;

static const step_t steps[] = {
    {"plain", 0.95f, 0, 1, false, 1e-2f, 0, 1, 12},
    {"nesterov", 0.95f, 0, 3.2f, true, 1e-2f, 0, 1, 12},
    {"clipped", 0.9f, 0.1f, 0.8f, true, 1e-2f, 0.25f, 1, 12},
    {"below_the_clip_norm", 0.9f, 0.1f, 1, true, 1e-2f, 25, 1, 12},
    {"loss_scale", 0.95f, 0.1f, 1, true, 1e-2f, 1, 1.0f / 512, 5e6f},
    {"small_gradient", 0, 0.1f, 1, true, 1e-2f, 1, 1e-6f, 12},  // nothing is left of a momentum that is much larger
    {"infinite_gradient", 0.95f, 0.1f, 1, true, 1e-2f, 1, 1, INFINITY},
    {"nan_gradient", 0.95f, 0.1f, 1, false, 1e-2f, 1, 1, NAN},
};
static const float squares[] = {0, 1e-20f, 1, 12, 4e30f};

enum {
    N_COUNTS = BPT_COUNT(counts),
    N_TYPES = BPT_COUNT(types),
    N_STEPS = BPT_COUNT(steps),
    N_SQUARES = BPT_COUNT(squares),
    N_MOMENTUM = N_COUNTS + N_STEPS,
    N_NORMALIZE = (N_COUNTS + N_SQUARES) * N_TYPES,
    N_DESCEND = (N_COUNTS + N_STEPS) * N_TYPES,
};

static size_t count(void) { return N_MOMENTUM + N_NORMALIZE + N_DESCEND; }

static void put_hyper(const test_case_t *c, void *const in[]) {
    const step_t *s = &steps[(size_t)c->fill[2].a];
    float *hyper = in[2];
    hyper[0] = s->lr, hyper[1] = hyper[2] = 1, hyper[3] = s->clip, hyper[4] = s->inverse_scale;
}

// The first five of the steps in turn with every size, then all with one size.
static const step_t *step_of(size_t index) { return &steps[index < N_COUNTS ? index % 5 : index - N_COUNTS]; }
static int64_t count_of(size_t index) { return index < N_COUNTS ? counts[index] : 500; }

static void add_hyper(test_case_t *c, const step_t *s) {
    test_in(c, 2, BPT_F32, bpt_shape1(8), TEST_PREPARED, (double)(s - steps), 0);
    test_in(c, 3, BPT_F32, bpt_shape1(1), TEST_CONSTANT, (double)s->square_sum, 0);
    c->prepare = put_hyper;
}

static void make_momentum(size_t index, test_case_t *c) {
    const step_t *s = step_of(index);
    const bpt_shape_t shape = bpt_shape1(count_of(index));
    test_case_init(c, BPT_OP_MOMENTUM);
    test_case_name(c, "%lld/%s", (long long)shape.dim[0], s->name);
    c->call.attrs.momentum = (bpt_momentum_attrs_t){.momentum = s->momentum, .nesterov = s->nesterov};
    c->tolerance = 8;
    c->changed = 1u << 0 | 1u << 1;
    test_in(c, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    add_hyper(c, s);
}

static void make_normalize(size_t index, bpt_dtype_t type, test_case_t *c) {
    const float sum = index < N_COUNTS ? 7 : squares[index - N_COUNTS];
    const bpt_shape_t shape = bpt_shape1(count_of(index));
    test_case_init(c, BPT_OP_NORMALIZE);
    test_case_name(c, "%lld/%s/%g", (long long)shape.dim[0], bpt_dtype_name(type), (double)sum);
    c->call.attrs.normalize.eps = 1e-3f;
    c->tolerance = 8;
    test_in(c, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, bpt_shape1(1), TEST_CONSTANT, (double)sum, 0);
    test_out(c, 0, type, shape);
}

static void make_descend(size_t index, bpt_dtype_t type, test_case_t *c) {
    const step_t *s = step_of(index);
    const bpt_shape_t shape = bpt_shape1(count_of(index));
    test_case_init(c, BPT_OP_DESCEND);
    test_case_name(c, "%lld/%s/%s", (long long)shape.dim[0], bpt_dtype_name(type), s->name);
    c->call.attrs.descend = (bpt_descend_attrs_t){.lr_scale = s->lr_scale, .weight_decay = s->decay};
    c->tolerance = 8;
    c->changed = 1u << 0;
    test_in(c, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, type, shape, TEST_UNIFORM, -1, 1);
    add_hyper(c, s);
}

static void make(size_t index, test_case_t *c) {
    if (index < N_MOMENTUM)
        make_momentum(index, c);
    else if (index < N_MOMENTUM + N_NORMALIZE)
        make_normalize((index - N_MOMENTUM) / N_TYPES, types[(index - N_MOMENTUM) % N_TYPES], c);
    else
        make_descend((index - N_MOMENTUM - N_NORMALIZE) / N_TYPES, types[(index - N_MOMENTUM - N_NORMALIZE) % N_TYPES], c);
}

const test_family_t test_momentum_cases = {"momentum", count, make};
