// Regression: the state of a text gives numbers; the loss is the squared error, the mean over the numbers (Guo et al. 2019, 5.1, Masked
// Summation).
#include <math.h>

#include "models/graph/encoder.h"
#include "models/tasks/task.h"

// Numbers of the own inputs; E examples, C numbers each.
enum {
    MINUS_VALUES,  // f32 [E, C]: minus the numbers that are right
    ROOTS          // f32 [E, C]: the square root of what each squared error counts in the loss
};

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, config->d_model, outputs(config));
}

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_shape_t shape = bpt_shape2(e->targets, outputs(e->options.config));
    if (e->options.logits || e->options.states) return;
    bpt_encoder_add_task_input(g, e, MINUS_VALUES, "minus_values", BPT_F32, shape);
    bpt_encoder_add_task_input(g, e, ROOTS, "roots_of_weights", BPT_F32, shape);
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch, float scale) {
    const int64_t columns = outputs(e->options.config);
    float *minus = e->task_own[MINUS_VALUES].numbers, *roots = e->task_own[ROOTS].numbers;
    if (!minus) return BPT_OK;
    if (!batch->values || batch->value_columns != columns)
        return bpt_fail(BPT_ERR_USAGE, "the model gives %lld numbers for a text, and the batch has %lld to compare them with",
                        (long long)columns, (long long)batch->value_columns);
    for (int64_t i = 0; i < e->targets * columns; ++i) {
        minus[i] = -batch->values[i];
        roots[i] = sqrtf(batch->weights[i / columns] * scale / (float)columns);
    }
    return BPT_OK;
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) {
    const bpt_value_t y = bpt_head_logits(b, &encoded->pooled);
    if (e->options.logits) {
        e->logits = y;
        return;
    }
    const bpt_value_t error = bpt_add(b->g, y, e->task_own[MINUS_VALUES].value);
    const bpt_value_t loss = bpt_square_sum(b->g, bpt_mul(b->g, error, e->task_own[ROOTS].value));
    e->loss = e->loss == BPT_NO_VALUE ? loss : bpt_add(b->g, e->loss, loss);
}

// The mean squared error of each example, from the numbers that the model gives.
static bpt_status_t measure(const bpt_task_model_t *model, const bpt_batch_t *batch, bpt_measure_t *m) {
    const int64_t columns = outputs(model->config);
    double loss = 0;
    for (int64_t e = 0; e < batch->n_targets; ++e) {
        double sum = 0;
        for (int64_t c = e * columns; c < (e + 1) * columns; ++c) {
            const double error = (double)m->logits[c] - (double)batch->values[c];
            sum += error * error / (double)columns;
        }
        m->nll[e] = batch->weights[e] > 0 ? (float)sum : 0;
        loss += (double)batch->weights[e] * sum;
    }
    m->loss += loss;
    m->sums[0] += loss;
    return BPT_OK;
}

static const bpt_metric_t metrics[] = {{.name = "mse"}, {.name = NULL}};

static void finish(const bpt_measure_t *m, int64_t scored, double value[BPT_MOST_METRICS]) { value[0] = m->sums[0] / (double)scored; }

const bpt_task_spec_t bpt_task_regress = {
    .name = "regress",
    .model = "a model that gives numbers",
    .counted = "examples",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_POOLED,
    .values = true,
    .mlp = true,
    .outputs = outputs,
    .params = params,
    .inputs = inputs,
    .stage = stage,
    .build = build,
    .looks = BPT_LOOKS_LOGITS,
    .measure = measure,
    .metrics = metrics,
    .finish = finish,
};
