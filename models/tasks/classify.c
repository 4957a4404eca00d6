// Classification of whole texts: the state of a sequence gives the logits of the classes (Ye et al. 2019, 4.1).
#include "models/runner.h"
#include "models/tasks/accuracy.h"
#include "models/train/evaluate.h"

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, config->d_model, outputs(config));
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) { bpt_encoder_classify(b, e, &encoded->pooled); }

// One forward pass serves loss, accuracy and probabilities.
bpt_status_t bpt_accuracy_measure(bpt_runner_t *r, const bpt_batch_t *batch, bpt_measure_t *m) {
    const int64_t classes = bpt_runner_config(r)->classes;
    double loss = 0;
    BPT_TRY(bpt_measure_reserve(&m->logits, &m->n_logits, batch->n_targets * classes));
    BPT_TRY(bpt_runner_logits(r, batch, m->logits));
    for (int64_t s = 0; s < batch->n_targets; ++s) {
        int64_t best;
        const float *row = m->logits + s * classes;
        const double nll = bpt_log_sum_exp(row, classes, &best) - (double)row[batch->targets[s]];
        m->nll[s] = batch->weights[s] > 0 ? (float)nll : 0;
        loss += (double)batch->weights[s] * nll;
        m->best[s] = (uint32_t)best;
        if (batch->weights[s] > 0) m->sums[0] += best == batch->targets[s];
    }
    m->loss += loss;
    return BPT_OK;
}

const bpt_metric_t bpt_accuracy_metrics[] = {{.name = "accuracy", .higher = true, .share = true}, {.name = NULL}};

void bpt_accuracy_finish(const bpt_measure_t *m, int64_t scored, double value[BPT_MOST_METRICS]) { value[0] = m->sums[0] / (double)scored; }

const bpt_task_spec_t bpt_task_classify = {
    .name = "classify",
    .model = "a classifier",
    .counted = "examples",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_POOLED,
    .labelled = true,
    .mlp = true,
    .outputs = outputs,
    .params = params,
    .build = build,
    .measure = bpt_accuracy_measure,
    .metrics = bpt_accuracy_metrics,
    .finish = bpt_accuracy_finish,
};
