// What a task is: what it reads and counts, which states of an encoder it takes, what it makes of them. Other code asks these properties
// and never which task it has.
#ifndef BPT_MODELS_TASKS_TASK_H
#define BPT_MODELS_TASKS_TASK_H

#include "bpt/batch.h"
#include "models/blocks/accumulate.h"

struct bpt_encoder;

// What a task's data are.
typedef enum {
    BPT_READS_WINDOWS,   // windows of one long text (--context); the length of the longest is known before the text is read
    BPT_READS_EXAMPLES,  // examples of their own lengths, grouped by length into the micro-batches of a step
    BPT_N_READS
} bpt_task_reads_t;

// States that a task takes from a model; a model leaves out what nobody takes.
enum {
    BPT_WANT_TOKENS = 1,    // one of each token
    BPT_WANT_RELAY = 2,     // one of each sequence: that of the node which reads all its tokens and which they all read (star)
    BPT_WANT_POOLED = 4,    // one of each sequence: the state of the whole text
    BPT_WANT_VERTICES = 8,  // one of each token and node, of models that read trees
};

// What a model gives to a task after a layer; what the task does not want may be absent.
typedef struct {
    bpt_states_t tokens, relay, pooled;
    // Of models that read trees: tokens, then nodes; the trees; node codes of these rows (dropout of attention).
    bpt_states_t vertices;
    bpt_forest_t forest;
    bpt_value_t codes;
} bpt_encoded_t;

// A number that an evaluation gives beside the loss.
typedef struct {
    const char *name;  // "accuracy"; NULL ends a list
    bool higher;       // is better
    bool share;        // of 1: people read it as a percentage
    const char *said;  // its name for people; NULL: `name`
    bool spans;        // of spans: there where the labels are tags of spans (data/score/spans.h)
    bool written;      // of texts that the model writes: `measure` does not know it. Who trains may (trainer.h)
} bpt_metric_t;
enum { BPT_MOST_METRICS = 4, BPT_MOST_SUMS = 5 };

// What a task looks at when it is evaluated. Who has a device computes it and hands it in (models/train/evaluate.c).
enum {
    BPT_LOOKS_LOSS = 1,    // the loss, and the nll of each target
    BPT_LOOKS_LOGITS = 2,  // the logits, from which it makes its loss
};

// What `measure` and `decode` know of a model.
typedef struct {
    const bpt_model_config_t *config;
    const char *const *labels;  // names of the outputs, where they are labels; NULL: unknown
    float *weights;             // those that it decodes with, one behind the other; NULL: none
} bpt_task_model_t;

// What an evaluation adds up, and what it has of the last micro-batch.
typedef struct {
    float *nll;                      // as its targets, 0 where nothing is scored
    float *logits;                   // [targets, outputs], where the task looks at them
    uint32_t *best;                  // [targets]: the label chosen for each, where the task has labels; there is room
    size_t n_nll, n_logits, n_best;  // room
    double loss;                     // sum of weights * nll
    double sums[BPT_MOST_SUMS];      // what the task's metrics are made of
    double *tally;                   // [n_tally]: of tasks that tally, three counts of each class and of all others together: how often the
    size_t n_tally;                  // data have it, it was given, and it was right
} bpt_measure_t;

typedef struct {
    const char *name;     // "lm"
    const char *model;    // a model that does it, in a sentence: "a language model"
    const char *counted;  // what has a target, in the plural: "tokens", "examples"
    bpt_task_reads_t reads;
    uint32_t wants;
    int sides;              // of a batch: 2: a decoder writes the texts of the second side from those of the first; 0 means 1
    int texts;              // sequences of an example, for tasks with a target for each example; 0 means 1
    bool per_token;         // a target and an nll for each token, else for each example
    bool causal;            // a token's state must not know later tokens
    bool labelled;          // the targets are labels: the model has `classes`, the run has labels.txt
    bool values;            // the targets are vectors of `classes` numbers
    bool mlp;               // its head may have a hidden layer (d_mlp)
    bool masks;             // some tokens are hidden from the model, and are its targets (data/batches/masked.h)
    bool predicts_text;     // the targets are the text itself: exp(loss) is its perplexity, loss / log 2 its bits
    bool may_tie;           // the head may share the embedding's matrix
    bool deep_supervision;  // layers before the last may have a loss as well
    bool generates;         // the model can go on with a text (models/decode)
    int64_t (*outputs)(const bpt_model_config_t *config);                        // columns of the logits
    bpt_status_t (*check)(const bpt_model_config_t *config);                     // BPT_ERR_USAGE: keys that cannot be. NULL: all can
    void (*params)(bpt_param_table_t *table, const bpt_model_config_t *config);  // of its head
    // NULL: a term of the loss for each target. Else whether it has one for each sequence, though there is a target for each token.
    bool (*scores_texts)(const bpt_model_config_t *config);
    // Inputs of its own (bpt_encoder_add_task_input), and what the host writes there: each weight counts `scale` times. NULL: it has none.
    void (*inputs)(bpt_graph_t *g, struct bpt_encoder *e);
    bpt_status_t (*stage)(const struct bpt_encoder *e, const bpt_batch_t *batch, float scale);
    // Appends its head on what a layer gave: a loss, or the logits (models/graph/encoder.h).
    void (*build)(const bpt_builder_t *b, struct bpt_encoder *e, const bpt_encoded_t *encoded);
    bool tallies;    // its metrics are made of counts of each class
    uint32_t looks;  // BPT_LOOKS_*; a loss of whole sequences (scores_texts) is looked at in any case
    // Adds a micro-batch to what an evaluation measures, from what it looks at. `measure->nll` and `best` have room for its targets. The
    // loss is added already where it looks at that. NULL: the loss is all.
    bpt_status_t (*measure)(const bpt_task_model_t *model, const bpt_batch_t *batch, bpt_measure_t *measure);
    // The output of each target (logits [targets, outputs]), where weights of the model have a say in it: names of these parameters, ended
    // by NULL. NULL: it is the most likely one of each.
    const char *const *(*decodes_with)(const bpt_model_config_t *config);
    bpt_status_t (*decode)(const bpt_task_model_t *model, const bpt_batch_t *batch, const float *logits, uint32_t *best);
    // What it measures, and its values (NaN: there is none) from the sums over `scored` terms of the loss. NULL: the loss alone.
    const bpt_metric_t *metrics;
    void (*finish)(const bpt_measure_t *measure, int64_t scored, double value[BPT_MOST_METRICS]);
} bpt_task_spec_t;

// All tasks, indexed by bpt_task_t.
extern const bpt_task_spec_t *const bpt_tasks[];

static inline const bpt_task_spec_t *bpt_task_of(const bpt_model_config_t *config) { return bpt_tasks[config->task]; }
// Whether the model needs roots: nodes that read a whole text.
static inline bool bpt_wants_root(const bpt_model_config_t *config) {
    return (bpt_task_of(config)->wants & BPT_WANT_POOLED) && config->pool == BPT_POOL_ROOT;
}
// By name; NULL: there is none.
const bpt_task_spec_t *bpt_task_find(const char *name);
// All of them for people: "a language model (lm), a classifier (classify), ..."; as snprintf.
int bpt_task_list(char *text, size_t bytes);

// ---- What follows from the properties

static inline int bpt_task_sides(const bpt_task_spec_t *task) { return task->sides ? task->sides : 1; }
static inline int bpt_task_texts(const bpt_task_spec_t *task) { return task->texts ? task->texts : 1; }
// Targets of a micro-batch, those of padding included.
static inline int64_t bpt_task_targets(const bpt_task_spec_t *task, const bpt_batch_shape_t *shape) {
    const int64_t rows = shape->side[1].rows ? shape->side[1].rows : shape->side[0].rows;
    return task->per_token ? rows : shape->batch / bpt_task_texts(task);
}
// Whether the target of each token is the one behind it.
static inline bool bpt_task_shifts(const bpt_task_spec_t *task) { return task->predicts_text && !task->masks; }
// Whether there is an nll for each token; else one for each example.
static inline bool bpt_task_scores_tokens(const bpt_model_config_t *config) {
    const bpt_task_spec_t *task = bpt_task_of(config);
    return task->per_token && !(task->scores_texts && task->scores_texts(config));
}
static inline const char *const *bpt_task_decodes_with(const bpt_model_config_t *config) {
    return bpt_task_of(config)->decodes_with ? bpt_task_of(config)->decodes_with(config) : NULL;
}
static inline uint32_t bpt_task_looks(const bpt_model_config_t *config) {
    const bpt_task_spec_t *task = bpt_task_of(config);
    return task->looks | (task->scores_texts && task->scores_texts(config) ? BPT_LOOKS_LOSS : 0);
}
// The task's metric of this name, its place in `metrics`; -1: it has none.
int bpt_task_metric(const bpt_task_spec_t *task, const char *name);
// The output of each target (logits [targets, outputs]).
bpt_status_t bpt_task_decode(const bpt_task_model_t *model, const bpt_batch_t *batch, const float *logits, uint32_t *best) BPT_MUST_USE;
// Whether a step of the optimiser has several micro-batches as a rule, one for each length, whose gradients are summed.
static inline bool bpt_task_accumulates(const bpt_task_spec_t *task) { return task->reads == BPT_READS_EXAMPLES; }

#endif
