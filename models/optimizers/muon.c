// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon): the momentum of each weight matrix inside of layers is made
// orthogonal, about, by five steps of Newton and Schulz; all else goes by AdamW. As torch.optim.Muon of PyTorch computes it, with
// adjust_lr_fn="match_rms_adamw": steps are 0.2 sqrt(max(rows, columns)) times the learning rate (Liu et al. 2025, Muon is Scalable for LLM
// Training, 2.2), so that the numbers of a matrix move as far as AdamW moves them, and learning rate and decay suit both.
#include <math.h>

#include "models/optimizers/optimizer.h"

enum { STEPS = 5 };
// The polynomial a x + b x^3 + c x^5, whose iterates bring singular values from 0 .. 1 near 1.
static const float A = 3.4445f, B = -4.775f, C = 2.0315f;
static const float LEAST_NORM = 1e-7f;

static void direction(const bpt_update_nodes_t *u, const bpt_update_part_t *part) {
    const bpt_momentum_attrs_t attrs = {.momentum = u->options->momentum, .nesterov = true};
    bpt_momentum(u->g, bpt_update_elements(u, u->grads, part->begin, part->end),
                 bpt_update_elements(u, u->m, part->m, part->m + part->end - part->begin), u->hyper, u->square_sum, &attrs);
}

static bpt_value_t product(bpt_graph_t *g, bpt_value_t a, bpt_value_t b, bool transpose_a, bool transpose_b) {
    const bpt_matmul_options_t options = {.transpose_a = transpose_a,
                                          .transpose_b = transpose_b,
                                          .acc = BPT_NO_VALUE,
                                          .bias = BPT_NO_VALUE,
                                          .dtype = bpt_graph_value(g, a)->dtype};
    return bpt_matmul(g, a, b, options);
}

// A x + (B G + C G^2) x, where G = x x^T; of a tall matrix the same with G = x^T x on the other side, which is smaller.
static bpt_value_t newton_schulz(bpt_graph_t *g, bpt_value_t x, bool tall) {
    const bpt_value_t gram = product(g, x, x, tall, !tall);
    const bpt_value_t sum = bpt_add(g, bpt_scale(g, product(g, gram, gram, false, false), C), bpt_scale(g, gram, B));
    const bpt_value_t change = tall ? product(g, x, sum, false, false) : product(g, sum, x, false, false);
    return bpt_add(g, change, bpt_scale(g, x, A));
}

// In bf16 where the step's products are, which is what the iteration was chosen for; in f16 its small numbers would be lost.
static void matrix(const bpt_update_nodes_t *u, const bpt_param_t *param) {
    bpt_graph_t *g = u->g;
    const int64_t rows = param->shape[0], columns = param->shape[1], begin = param->offset, end = begin + param->count;
    const bpt_value_t to = bpt_view(g, u->grads, (size_t)begin * sizeof(float), bpt_shape2(rows, columns));
    bpt_value_t x = bpt_normalize(g, to, bpt_square_sum(g, to), LEAST_NORM, u->precision == BPT_BF16 ? BPT_BF16 : BPT_F32);
    for (int i = 0; i < STEPS; ++i) x = newton_schulz(g, x, rows > columns);
    const bpt_descend_attrs_t attrs = {.lr_scale = 0.2f * sqrtf((float)(rows > columns ? rows : columns)),
                                       .weight_decay = u->options->weight_decay};
    bpt_descend(g, bpt_update_elements(u, u->params, begin, end), x, u->hyper, u->square_sum, &attrs);
}

const bpt_optimizer_spec_t bpt_optimizer_muon = {
    .name = "muon", .decoupled = true, .numbers = bpt_update_by_adam, .direction = direction, .matrix = matrix};
