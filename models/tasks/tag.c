// Tagging: the state of each token gives the scores of its tags, and cross-entropy or a linear-chain CRF over them the loss (Guo et al.
// 2019, 3.3 and 5.4; Lafferty et al. 2001).
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/score/spans.h"
#include "data/score/viterbi.h"
#include "models/graph/encoder.h"
#include "models/nn/softmax.h"
#include "models/tasks/task.h"

// Numbers of the own inputs (CRF).
enum {
    RANGES,   // u32 [B, 2]: the rows of each sequence
    WEIGHTS,  // f32 [B]: what each sequence counts in the loss
};
// Metrics, and what they are made of.
enum { ACCURACY, PRECISION, RECALL, F1 };
enum { TOKENS, RIGHT, SPANS_WANTED, SPANS_FOUND, SPANS_CORRECT };

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }
static bool has_crf(const bpt_model_config_t *config) { return config->crf; }

static bpt_status_t check(const bpt_model_config_t *config) {
    if (config->crf && config->smoothing > 0)
        return bpt_fail(BPT_ERR_USAGE, "smoothing is for cross-entropy, and a CRF has another loss: leave smoothing or crf out");
    if (!config->crf || config->classes <= BPT_CRF_MOST_TAGS) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "a CRF has at most %d tags, and there are %lld: leave crf out", BPT_CRF_MOST_TAGS,
                    (long long)config->classes);
}

// ---- Graph

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, config->d_model, outputs(config));
    if (!config->crf) return;
    const int64_t tags = outputs(config);
    bpt_param_sort_t sort = {.group = BPT_GROUP_NO_DECAY, .init = BPT_INIT_UNIFORM, .rows = BPT_ROWS_OF_HEAD, .bound = 0.1};
    bpt_param_table_matrix(table, sort, tags, tags, "", BPT_NAME_CRF_TRANSITIONS);
    sort.joined = true;  // one matrix [tags + 2, tags]
    bpt_param_table_vector(table, sort, tags, "", BPT_NAME_CRF_START);
    bpt_param_table_vector(table, sort, tags, "", BPT_NAME_CRF_END);
}

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    if (!has_crf(e->options.config) || e->options.logits || e->options.states) return;
    bpt_encoder_add_task_input(g, e, RANGES, "tag_ranges", BPT_U32, bpt_shape2(e->batch, 2));
    bpt_encoder_add_task_input(g, e, WEIGHTS, "sequence_weights", BPT_F32, bpt_shape1(e->batch));
}

// Sequences of padding have ranges without rows.
static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch, float scale) {
    uint32_t *ranges = e->task_own[RANGES].data;
    float *weights = e->task_own[WEIGHTS].numbers;
    for (int64_t s = 0; ranges && s < e->batch; ++s) {
        const bool real = s < batch->n_real;
        ranges[2 * s] = batch->side[0].start[s];
        ranges[2 * s + 1] = ranges[2 * s] + (real ? batch->side[0].lengths[s] : 0);
        weights[s] = real ? batch->weights[batch->side[0].start[s]] * scale : 0;
    }
    return BPT_OK;
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) {
    if (!has_crf(b->config) || e->options.logits) {
        bpt_encoder_classify(b, e, &encoded->tokens);
        return;
    }
    const int64_t tags = outputs(b->config);
    const bpt_value_t transitions = bpt_weight_rows(b->w, "", BPT_NAME_CRF_TRANSITIONS, tags + 2);
    const bpt_crf_t out = bpt_crf(b->g, bpt_head_logits(b, &encoded->tokens), transitions, e->in.targets, e->task_own[RANGES].value,
                                  e->task_own[WEIGHTS].value);
    e->nll = out.nll;
    e->loss = e->loss == BPT_NO_VALUE ? out.loss : bpt_add(b->g, e->loss, out.loss);
}

// ---- Evaluation

static const char *const *decodes_with(const bpt_model_config_t *config) {
    static const char *const transitions[] = {BPT_NAME_CRF_TRANSITIONS, BPT_NAME_CRF_START, BPT_NAME_CRF_END, NULL};
    return has_crf(config) ? transitions : NULL;
}

// The tags of the most likely sequence.
static bpt_status_t decode(const bpt_task_model_t *model, const bpt_batch_t *batch, const float *logits, uint32_t *best) {
    const int64_t tags = outputs(model->config);
    for (int64_t s = 0; s < batch->n_real; ++s) {
        const uint32_t first = batch->side[0].start[s];
        BPT_TRY(bpt_viterbi(logits + first * tags, batch->side[0].lengths[s], tags, model->weights, best + first));
    }
    return BPT_OK;
}

// Cross-entropy; the loss of a CRF is not of single tags, and is there already.
static void measure_loss(int64_t tags, const bpt_batch_t *batch, bpt_measure_t *m) {
    double loss = 0;
    for (int64_t i = 0; i < batch->n_targets; ++i) {
        int64_t place;
        const float *row = m->logits + i * tags;
        const double nll = batch->weights[i] > 0 ? bpt_log_sum_exp(row, tags, &place) - (double)row[batch->targets[i]] : 0;
        m->nll[i] = (float)nll;
        loss += (double)batch->weights[i] * nll;
    }
    m->loss += loss;
}

// The tag of a row by its name.
static bpt_span_tag_t name_tag(const char *const *labels, uint32_t tag) {
    bpt_span_tag_t out = {.prefix = 'O', .type = "", .bytes = 0};
    (void)bpt_span_tag_parse(labels[tag], strlen(labels[tag]), &out);
    return out;
}

static bpt_status_t count_spans(const bpt_batch_t *batch, const char *const *labels, bpt_measure_t *m) {
    bpt_span_counts_t counts = {0};
    bpt_span_tag_t *tags;
    BPT_TRY(bpt_alloc((size_t)(2 * batch->shape.side[0].rows), sizeof *tags, &tags));
    for (int64_t s = 0; s < batch->n_real; ++s) {
        const uint32_t first = batch->side[0].start[s], length = batch->side[0].lengths[s];
        for (uint32_t i = 0; i < length; ++i) {
            tags[i] = name_tag(labels, bpt_batch_label(batch, first + i));
            tags[length + i] = name_tag(labels, m->best[first + i]);
        }
        bpt_spans_count(tags, tags + length, length, &counts);
    }
    bpt_free(tags);
    m->sums[SPANS_WANTED] += (double)counts.wanted;
    m->sums[SPANS_FOUND] += (double)counts.found;
    m->sums[SPANS_CORRECT] += (double)counts.correct;
    return BPT_OK;
}

static bpt_status_t measure(const bpt_task_model_t *model, const bpt_batch_t *batch, bpt_measure_t *m) {
    const int64_t tags = outputs(model->config);
    if (!has_crf(model->config)) measure_loss(tags, batch, m);
    BPT_TRY(bpt_task_decode(model, batch, m->logits, m->best));
    for (int64_t s = 0; s < batch->n_real; ++s) {
        const int64_t first = batch->side[0].start[s], end = first + batch->side[0].lengths[s];
        m->sums[TOKENS] += (double)(end - first);
        for (int64_t i = first; i < end; ++i) m->sums[RIGHT] += m->best[i] == bpt_batch_label(batch, i);
    }
    return model->labels && bpt_spans_are_tags(model->labels, tags) ? count_spans(batch, model->labels, m) : BPT_OK;
}

static const bpt_metric_t metrics[] = {[ACCURACY] = {.name = "accuracy", .higher = true, .share = true},
                                       [PRECISION] = {.name = "precision", .higher = true, .share = true, .spans = true},
                                       [RECALL] = {.name = "recall", .higher = true, .share = true, .spans = true},
                                       [F1] = {.name = "f1", .higher = true, .share = true, .spans = true},
                                       {.name = NULL}};

// Without spans in the data or in what was found there is no F1.
static void finish(const bpt_measure_t *m, int64_t scored, double value[BPT_MOST_METRICS]) {
    const bpt_span_counts_t counts = {
        .wanted = (int64_t)m->sums[SPANS_WANTED], .found = (int64_t)m->sums[SPANS_FOUND], .correct = (int64_t)m->sums[SPANS_CORRECT]};
    (void)scored;
    value[ACCURACY] = m->sums[RIGHT] / m->sums[TOKENS];
    if (!counts.wanted && !counts.found) return;
    value[PRECISION] = bpt_spans_precision(&counts);
    value[RECALL] = bpt_spans_recall(&counts);
    value[F1] = bpt_spans_f1(&counts);
}

const bpt_task_spec_t bpt_task_tag = {
    .name = "tag",
    .model = "a tagger",
    .counted = "tokens",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_TOKENS,
    .per_token = true,
    .labelled = true,
    .mlp = true,
    .outputs = outputs,
    .check = check,
    .scores_texts = has_crf,
    .params = params,
    .inputs = inputs,
    .stage = stage,
    .build = build,
    .looks = BPT_LOOKS_LOGITS,
    .measure = measure,
    .decodes_with = decodes_with,
    .decode = decode,
    .metrics = metrics,
    .finish = finish,
};
