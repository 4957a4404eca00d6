// What a kind of model is: its attention graph for a length, the keys of the configuration that only it has, what it can give to a task.
// Other code asks these properties and never which kind it has.
#ifndef BPT_MODELS_KINDS_KIND_H
#define BPT_MODELS_KINDS_KIND_H

#include "bpt/intervals_writer.h"
#include "models/config/stack.h"
#include "models/nn/param_table.h"
#include "models/tasks/task.h"

struct bpt_encoder;

// The layers of a kind: their parameters, their part of the graph, and what the host computes for them from a micro-batch.
typedef struct {
    void (*params)(bpt_param_table_t *table, const bpt_stack_t *stack, bool freeze_rel);
    // The inputs of its own (bpt_encoder_add_input), by the numbers that `stage` knows them by.
    void (*inputs)(bpt_graph_t *g, struct bpt_encoder *e);
    // Appends the embedded tokens (bpt_encoder_embed) and the layers; what each layer gives goes to bpt_encoder_emit.
    void (*build)(const bpt_builder_t *b, struct bpt_encoder *e);
    // Fills the own inputs: once with what no batch changes (NULL: nothing), then for every batch.
    void (*stage_constants)(const struct bpt_encoder *e);
    bpt_status_t (*stage)(const struct bpt_encoder *e, const bpt_batch_t *batch);
} bpt_layers_spec_t;

typedef struct {
    const char *name;           // "bpt"
    const char *title;          // "BP-Transformer"
    const char *const *keys;    // names of the configuration's keys that apply to this kind and not to every one; ended by NULL
    uint32_t gives;             // BPT_WANT_*: states that it has
    const char *not_causal;     // why its tokens know later ones whatever is asked; NULL: it can be causal
    bpt_positions_t positions;  // unless told otherwise
    uint32_t pools;             // bits of bpt_pool_t: states of whole texts that it has
    bpt_pool_t pool;            // unless told otherwise
    bool trees;                 // it reads a tree over each text (bpt_side_t.links), of the file or made
    bool translates;            // it can read the texts of a task with two sides, and
    bpt_model_kind_t decoder;   // this kind writes their translations
    bool scaled_embedding;      // embeddings of tokens are multiplied by sqrt(d_model), as by Vaswani et al. 2017
    bool plain_embedding;       // tokens enter the first layer as they are, after dropout; else through a LayerNorm
    bool rotary;                // its queries and keys can be rotated by their positions
    bool levels;                // relative positions are those of nodes of a tree (side, level, place); else distances in tokens
    bool dense;                 // where `intervals` is NULL: each token reads all others of its text
    bool packed;                // its graph is tables over any rows: batches without padding inside (bpt/batch.h) suit it best
    bpt_intervals_t (*intervals)(const bpt_model_config_t *config, int64_t n);  // the attention graph for n leaves; NULL: it is tables
    // The graph of one text of n tokens as a table over its nodes, for people to look at; lists->table is freed by the caller. NULL where
    // `intervals` is there.
    bpt_status_t (*table)(const bpt_model_config_t *config, int64_t n, bpt_lists_t *lists, bpt_lists_groups_t *groups);
    // The same of a text with a tree: links of its tokens and nodes (bpt/lists.h).
    bpt_status_t (*tree_table)(const bpt_model_config_t *config, int64_t tokens, int64_t nodes, const uint32_t *links, bpt_lists_t *lists,
                               bpt_lists_groups_t *groups);
    int32_t (*rel_levels)(const bpt_model_config_t *config, int64_t n);  // `rel_levels` that tells apart all that n leaves can have;
                                                                         // NULL: it has no relative positions
    bpt_status_t (*check)(const bpt_model_config_t *config);             // BPT_ERR_USAGE: keys that cannot be. NULL: all can
    const bpt_layers_spec_t *layers;
    // The same where the ranks of a team share each sequence, with the parameters of `layers`; NULL: they cannot.
    const bpt_layers_spec_t *split_layers;
} bpt_kind_spec_t;

// All kinds, indexed by bpt_model_kind_t.
extern const bpt_kind_spec_t *const bpt_kinds[];

static inline const bpt_kind_spec_t *bpt_kind_of(const bpt_model_config_t *config) { return bpt_kinds[config->model]; }
// By name; NULL: there is none.
const bpt_kind_spec_t *bpt_kind_find(const char *name);
// All of them for people: "BP-Transformer (bpt), ..."; as snprintf.
int bpt_kind_list(char *text, size_t bytes);

// ---- For kinds
// What an attention graph has of relative positions: `rel_levels`, or 0 with other positions.
int32_t bpt_kind_relative_levels(const bpt_model_config_t *config);
// `rel_levels` of kinds with a tree over n leaves: a level each.
int32_t bpt_kind_levels_of_tree(const bpt_model_config_t *config, int64_t n);

// ---- For all others
// Whether batches of a model are packed rows (bpt/batch.h); texts and their translations are in buckets.
bool bpt_kind_packs(const bpt_model_config_t *config);
// Whether a key that not every kind has ("k", "window") applies to this one.
bool bpt_kind_has_key(const bpt_kind_spec_t *kind, const char *key);
// BPT_ERR_USAGE with the reason when the kind cannot do the task.
bpt_status_t bpt_kind_check_task(const bpt_kind_spec_t *kind, const bpt_task_spec_t *task) BPT_MUST_USE;
// The same when it has no such states of whole texts, or no such positions.
bpt_status_t bpt_kind_check_pool(const bpt_kind_spec_t *kind, bpt_pool_t pool) BPT_MUST_USE;
bpt_status_t bpt_kind_check_positions(const bpt_kind_spec_t *kind, bpt_positions_t positions) BPT_MUST_USE;

#endif
