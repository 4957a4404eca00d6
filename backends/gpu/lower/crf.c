// Loss of a linear-chain CRF and its gradient: a work-group per sequence, over steps of time.
#include "backends/gpu/lower/lower.h"

enum { MOST_GROUPS = 64 };  // whose gradients of the transitions are summed apart

typedef struct {
    bpt_view_t x, matrix, tags, ranges, weights, alpha, nll, terms;
    int64_t rows, n_tags, sequences;
    int64_t steps;  // of a launch
} crf_t;

// Rounds of all loops of a work-item for one step of the longer kernel.
static int64_t rounds_of_step(const bpt_kernel_call_t *k, int64_t tags) {
    const int64_t size = k->group_size, rounds = (tags + size - 1) / size;
    return rounds * (2 * tags + 3) + 2 * tags + (tags * tags + size - 1) / size + 2;
}

static crf_t crf_of(bpt_lower_t *l, const bpt_kernel_call_t *k) {
    crf_t c = {.x = bpt_lower_in(l, 0),
               .matrix = bpt_lower_in(l, 1),
               .tags = bpt_lower_in(l, 2),
               .ranges = bpt_lower_in(l, 3),
               .weights = bpt_lower_in(l, 4),
               .nll = bpt_lower_out(l, 1)};
    const uint32_t loops = l->device->api->limits.max_loops;
    c.rows = bpt_rows(&l->call->in[0]), c.n_tags = bpt_columns(&l->call->in[0]), c.sequences = bpt_rows(&l->call->in[3]);
    c.alpha = bpt_lower_scratch(l, BPT_F32, c.rows * c.n_tags);
    c.terms = bpt_lower_scratch(l, BPT_F32, c.sequences);
    const int64_t fit = loops ? (int64_t)loops / 2 / rounds_of_step(k, c.n_tags) : c.rows;
    c.steps = fit < 1 ? 1 : bpt_min(fit, c.rows > 0 ? c.rows : 1);
    if (bpt_lower_window(l, c.rows, (size_t)c.n_tags * 4) < c.rows)
        bpt_lower_refuse(
            l, "crf: scores of %lld rows and %lld tags are larger than what a kernel of this device can address; lower --batch-tokens",
            (long long)c.rows, (long long)c.n_tags);
    return c;
}

static void sum_forward(bpt_lower_t *l, const crf_t *c) {
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_crf_alpha);
    const bpt_view_t loss = bpt_lower_out(l, 0);
    const bpt_view_t bindings[] = {[crf_alpha_x] = c->x,           [crf_alpha_matrix] = c->matrix,   [crf_alpha_tags] = c->tags,
                                   [crf_alpha_ranges] = c->ranges, [crf_alpha_weights] = c->weights, [crf_alpha_alpha] = c->alpha,
                                   [crf_alpha_nll] = c->nll,       [crf_alpha_terms] = c->terms};
    k.constants[crf_alpha_TAGS] = (uint32_t)c->n_tags;
    for (size_t i = 0; i < BPT_COUNT(bindings); ++i) k.bindings[i] = bindings[i];
    int64_t step = 0;
    do {  // once even without rows: nll is then zero
        crf_alpha_params_t p = {.rows = (uint32_t)c->rows, .first_step = (uint32_t)step, .steps = (uint32_t)c->steps};
        if (step) bpt_lower_barrier(l);
        bpt_lower_emit(l, &k, &p, c->sequences);
        step += c->steps;
    } while (step < c->rows);
    bpt_lower_barrier(l);
    bpt_lower_sum_all(l, &c->terms, c->sequences, false, &loss);
}

void bpt_lower_CRF(bpt_lower_t *l) {
    const bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_crf_beta);
    const crf_t c = crf_of(l, &k);
    sum_forward(l, &c);
}

void bpt_lower_CRF_GRAD(bpt_lower_t *l) {
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_crf_beta);
    const crf_t c = crf_of(l, &k);
    // Where loops are counted a group has one sequence.
    const int64_t most = l->device->api->limits.max_loops ? c.sequences : MOST_GROUPS, groups = bpt_min(most, c.sequences);
    const int64_t area = (c.n_tags + 2) * c.n_tags;
    const bpt_view_t ahead = bpt_lower_scratch(l, BPT_F32, c.sequences * c.n_tags), partial = bpt_lower_scratch(l, BPT_F32, groups * area);
    const bpt_view_t dx = bpt_lower_out(l, 2), dt = bpt_lower_out(l, 3);
    const bpt_view_t bindings[] = {[crf_beta_x] = c.x,           [crf_beta_matrix] = c.matrix,   [crf_beta_tags] = c.tags,
                                   [crf_beta_ranges] = c.ranges, [crf_beta_weights] = c.weights, [crf_beta_dloss] = bpt_lower_in(l, 5),
                                   [crf_beta_alpha] = c.alpha,   [crf_beta_ahead] = ahead,       [crf_beta_dx] = dx,
                                   [crf_beta_partial] = partial};
    bpt_lower_fill(l, &dx, c.rows * c.n_tags, 0);
    bpt_lower_fill(l, &partial, groups * area, 0);
    sum_forward(l, &c);
    k.constants[crf_beta_TAGS] = (uint32_t)c.n_tags;
    for (size_t i = 0; i < BPT_COUNT(bindings); ++i) k.bindings[i] = bindings[i];
    for (int64_t step = (c.rows - 1) / c.steps * c.steps; step >= 0 && c.rows; step -= c.steps) {
        crf_beta_params_t p = {.rows = (uint32_t)c.rows,
                               .sequences = (uint32_t)c.sequences,
                               .groups = (uint32_t)groups,
                               .first_step = (uint32_t)step,
                               .steps = (uint32_t)c.steps};
        bpt_lower_barrier(l);
        bpt_lower_emit(l, &k, &p, groups);
    }
    bpt_lower_barrier(l);
    bpt_lower_sum_rows(l, &partial, groups, area, &dt, false);
}
