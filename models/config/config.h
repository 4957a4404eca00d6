// What a model is and how it is trained: plain structs, filled by the option table of the program or from a file's metadata.
#ifndef BPT_MODELS_CONFIG_H
#define BPT_MODELS_CONFIG_H

#include "bpt/dtype.h"
#include "bpt/intervals.h"
#include "bpt/status.h"

typedef enum {
#define BPT_TASK(id, name) BPT_TASK_##id,
#include "models/tasks/tasks.def"
#undef BPT_TASK
    BPT_N_TASKS
} bpt_task_t;  // tasks/task.h
typedef enum {
#define BPT_KIND(id, name) BPT_MODEL_##id,
#include "models/kinds/kinds.def"
#undef BPT_KIND
    BPT_N_KINDS
} bpt_model_kind_t;                                                                                            // kinds/kind.h
typedef enum { BPT_ATTENTION_DENSE, BPT_ATTENTION_WINDOW, BPT_ATTENTION_SPARSE } bpt_transformer_attention_t;  // of BPT_MODEL_TRANSFORMER
// The state of a whole text: that of the root; of its tokens the mean or, number by number, the largest; star: that of the relay, or the
// relay's plus the largest of the tokens.
typedef enum { BPT_POOL_ROOT, BPT_POOL_MEAN, BPT_POOL_MAX, BPT_POOL_RELAY_MAX, BPT_POOL_RELAY } bpt_pool_t;
// Of a model with an encoder and a decoder: which matrix serves as what. NONE: each embedding and the head has its own; TARGET: the
// decoder's embedding is the head's as well; ALL: so is the encoder's.
typedef enum { BPT_SHARED_NONE, BPT_SHARED_TARGET, BPT_SHARED_ALL } bpt_shared_t;
// Tree Transformer: what the sum over a branch is divided by: nodes and leaf, or the nodes alone as in the released code; whose states have
// a loss in training.
typedef enum { BPT_UP_NORM_PAPER, BPT_UP_NORM_CODE } bpt_up_norm_t;
typedef enum { BPT_VERTEX_LOSS_ROOT, BPT_VERTEX_LOSS_ALL } bpt_vertex_loss_t;
typedef enum {
    BPT_POSITIONS_RELATIVE,
    BPT_POSITIONS_ABSOLUTE,
    BPT_POSITIONS_NONE,
    BPT_POSITIONS_SINUSOIDAL,
    BPT_POSITIONS_ROTARY,  // blocks/rotations.h
} bpt_positions_t;
// LayerNorm (Ba et al. 2016), or RMSNorm without mean and bias (Zhang and Sennrich 2019).
typedef enum { BPT_NORM_LAYER, BPT_NORM_RMS } bpt_norm_t;
// The feed-forward network: W_2 relu(W_1 x + b_1) + b_2 (Vaswani et al. 2017), or W_2 (swish(W_g x) * W_1 x) without biases (Shazeer 2020).
typedef enum { BPT_FFN_RELU, BPT_FFN_SWIGLU } bpt_ffn_t;

// The model part of config.json; the same keys are in the `config` metadata of a model file (config_json.h).
typedef struct {
    bpt_task_t task;
    bpt_model_kind_t model;
    bpt_transformer_attention_t attention;
    bpt_positions_t positions;  // bpt, segtree: relative; transformer: absolute unless told otherwise
    bpt_norm_t norm;
    bpt_ffn_t ffn;
    bpt_pool_t pool;      // tasks that take states of whole texts
    bpt_shared_t shared;  // tasks with two sides
    bool causal, reference_rule, tied;
    bool span_self;                        // segtree: spans also read themselves, as the released code
    bool embed_scale;                      // embeddings are multiplied by sqrt(d_model) before positions are added
    bool ring, radical;                    // star: satellites read their neighbours, the relay
    bpt_up_norm_t up_norm;                 // tree, as the next ones
    bool hier_embed, subtree_mask;         // embeddings of height and rank; nodes read their subtree alone
    int32_t vertical_max, horizontal_max;  // rows of the tables of these embeddings
    bpt_vertex_loss_t vertex_loss;
    int32_t node_labels;                            // labels that nodes begin with; 0: all begin with one symbol
    int32_t layers, d_model, d_embed, d_ff, heads;  // star: layers = cycles
    int32_t head_dim;                               // star, tree; 0: d_model / heads
    int32_t k, window, rel_levels;  // rel_levels: L (bpt, segtree) or largest distance (transformer with relative positions)
    int32_t stride, tail;           // sparse attention: tokens of a block, and of its end that later blocks read
    int32_t max_positions;          // rows of pos_embed (absolute positions)
    int32_t match_layers;           // pair: layers behind the others in which each text also reads the other one; 0: none
    int32_t dec_layers;             // tasks with two sides: layers of the decoder; `layers` are the encoder's
    int32_t d_mlp;                  // hidden layer of the head; 0: none
    int32_t d_input;                // regress: vectors of so many numbers are read in place of tokens; 0: tokens
    int32_t ngram_min, ngram_max;   // characters of the n-grams of words that are read beside the words; ngram_max 0: none
    int32_t ngram_rows, ngram_dim;  // rows and width of their embedding
    bool crf;                       // tag: a CRF on top of the scores
    float smoothing;                // of the labels, in the loss that is trained
    int64_t vocab, classes;
    int64_t source_vocab;  // tasks with two sides: of the encoder's embedding; `vocab` is the decoder's
    float dropout_input, dropout_hidden, dropout_attention, dropout_head;  // p_i, p_h, p_a, p_c
} bpt_model_config_t;

typedef enum {
    BPT_SCHEDULE_CONSTANT,
    BPT_SCHEDULE_COSINE,
    BPT_SCHEDULE_NOAM,
    BPT_SCHEDULE_EXPONENTIAL,
    BPT_SCHEDULE_PLATEAU,
    BPT_SCHEDULE_INVERSE_SQRT,
    BPT_SCHEDULE_WARMUP_STABLE_DECAY,
} bpt_schedule_t;
typedef enum {
#define BPT_OPTIMIZER(id, name) BPT_OPTIMIZER_##id,
#include "models/optimizers/optimizers.def"
#undef BPT_OPTIMIZER
} bpt_optimizer_t;  // optimizers/optimizer.h

enum { BPT_MAX_VOCAB = 1000000000 };  // largest `vocab`

typedef struct {
    int64_t steps;    // horizon of the schedule, > 0 once resolved
    int64_t stop_at;  // end earlier, 0 = at the horizon
    double epochs;    // used to resolve steps when steps is 0
    int64_t accumulate;
    uint64_t seed;
    bpt_dtype_t precision;
    bool recompute, half_inputs;
    char *offload;  // with recompute: the folder where inputs of layers wait; NULL or "": they stay in memory. Not owned
    bpt_optimizer_t optimizer;
    double lr, beta1, beta2, eps, weight_decay, clip, momentum;
    bpt_schedule_t schedule;
    int64_t warmup;         // steps of linear warm-up (all but noam), or Noam's warm-up
    double lr_decay;        // exponential: factor per epoch; plateau: factor at a non-improving evaluation
    double decay_share;     // warmup-stable-decay: share of the steps, the last ones, in which the rate falls to 0
    double lr_factor;       // noam: factor * d^-0.5 * min(step^-0.5, step * warmup^-1.5)
    bool deep_supervision;  // lm: average the losses of the layers i > layers * epoch / epochs (released character models)
    bool freeze_embed, freeze_rel;
    int64_t eval_every;  // steps, 0 = at the end of every epoch
    int64_t save_every;  // steps, 0 = with every evaluation
    int64_t log_every;
    int64_t patience;  // evaluations after one another that are not better than the best before, which end the training; 0: none do
    double duty;       // share of the time of the training in which it computes; it rests between steps. 0 or 1: all of it
    int32_t best_by;   // what `best` is the best of: bpt_best_by_names (config_names.h)
    int64_t keep;      // checkpoints kept besides those that `latest` and `best` name
} bpt_train_config_t;

#endif
