// Classification of whole texts: the state of a sequence gives the logits of the classes (Ye et al. 2019, 4.1).
#include "models/graph/encoder.h"
#include "models/nn/softmax.h"
#include "models/tasks/accuracy.h"

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, config->d_model, outputs(config));
}

// ---- Training on all words and phrases of trees that have a label

enum { VERTEX_TARGETS, VERTEX_WEIGHTS };  // u32, f32 [tokens and nodes]

static bool learns_vertices(const bpt_encoder_t *e) { return e->options.dropout && e->options.config->vertex_loss == BPT_VERTEX_LOSS_ALL; }

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_shape_t vertices = bpt_shape1(e->options.shape.side[0].rows + e->options.shape.side[0].nodes);
    if (!learns_vertices(e)) return;
    e->wants |= BPT_WANT_VERTICES;
    bpt_encoder_add_task_input(g, e, VERTEX_TARGETS, "vertex_targets", BPT_U32, vertices);
    bpt_encoder_add_task_input(g, e, VERTEX_WEIGHTS, "vertex_weights", BPT_F32, vertices);
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch, float scale) {
    const uint32_t *labels = batch->side[0].vertex_labels;
    const bpt_own_input_t *targets = &e->task_own[VERTEX_TARGETS], *weights = &e->task_own[VERTEX_WEIGHTS];
    if (!learns_vertices(e)) return BPT_OK;
    if (!labels) return bpt_fail(BPT_ERR_USAGE, "vertex_loss all needs the labels of words and phrases, and the batch has none");
    for (size_t i = 0; i < targets->count; ++i) {
        targets->data[i] = labels[i] == BPT_PLACEHOLDER ? 0 : labels[i];
        weights->numbers[i] = labels[i] == BPT_PLACEHOLDER ? 0 : scale;
    }
    return BPT_OK;
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) {
    if (!learns_vertices(e)) {
        bpt_encoder_classify(b, e, &encoded->pooled);
        return;
    }
    e->loss = bpt_head_loss(b, &encoded->vertices, e->task_own[VERTEX_TARGETS].value, e->task_own[VERTEX_WEIGHTS].value).loss;
}

enum { RIGHT, COUNTED };  // what accuracy is made of
enum { ACCURACY, F1 };
enum { WANTED, FOUND, CORRECT, COUNTS };  // of a class

static void tally(bpt_measure_t *m, uint32_t wanted, uint32_t found) {
    const size_t others = m->n_tally / COUNTS - 1;  // labels that the model does not know are one class, which it never gives
    ++m->tally[COUNTS * (wanted < others ? wanted : others) + WANTED];
    ++m->tally[COUNTS * found + FOUND];
    m->tally[COUNTS * found + CORRECT] += wanted == found;
}

// The mean over the classes that occur, in the data or among the answers, as scikit-learn's f1_score(average="macro") has it.
static double macro_f1(const bpt_measure_t *m) {
    double sum = 0, classes = 0;
    for (const double *c = m->tally; c < m->tally + m->n_tally; c += COUNTS) {
        const double all = c[WANTED] + c[FOUND];
        if (all > 0) sum += 2 * c[CORRECT] / all, ++classes;
    }
    return sum / classes;
}

// One forward pass serves loss, accuracy and probabilities.
bpt_status_t bpt_accuracy_measure(const bpt_task_model_t *model, const bpt_batch_t *batch, bpt_measure_t *m) {
    const int64_t classes = model->config->classes;
    double loss = 0;
    for (int64_t s = 0; s < batch->n_targets; ++s) {
        int64_t best;
        const float *row = m->logits + s * classes;
        const double nll = bpt_log_sum_exp(row, classes, &best) - (double)row[batch->targets[s]];
        m->nll[s] = batch->weights[s] > 0 ? (float)nll : 0;
        loss += (double)batch->weights[s] * nll;
        m->best[s] = (uint32_t)best;
        m->sums[RIGHT] += batch->weights[s] > 0 && best == batch->targets[s];
        m->sums[COUNTED] += batch->weights[s] > 0 || !bpt_batch_knows(batch, s);
        if (batch->weights[s] > 0 || !bpt_batch_knows(batch, s)) tally(m, bpt_batch_label(batch, s), (uint32_t)best);
    }
    m->loss += loss;
    return BPT_OK;
}

const bpt_metric_t bpt_accuracy_metrics[] = {{.name = "accuracy", .higher = true, .share = true},
                                             {.name = "f1", .said = "f1 (macro)", .higher = true, .share = true},
                                             {.name = NULL}};

void bpt_accuracy_finish(const bpt_measure_t *m, int64_t scored, double value[BPT_MOST_METRICS]) {
    (void)scored;
    value[ACCURACY] = m->sums[RIGHT] / m->sums[COUNTED];
    value[F1] = macro_f1(m);
}

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
    .inputs = inputs,
    .stage = stage,
    .build = build,
    .tallies = true,
    .looks = BPT_LOOKS_LOGITS,
    .measure = bpt_accuracy_measure,
    .metrics = bpt_accuracy_metrics,
    .finish = bpt_accuracy_finish,
};
