// The model that `bpt bench` measures, and a batch for it (see bench_model.h).
#include "tools/bpt/bench/bench_model.h"

#include <math.h>

#include "bpt/alloc.h"
#include "data/examples/trees.h"
#include "models/kinds/kind.h"
#include "models/train/trainer.h"
#include "tools/bpt/bench/bench_translate.h"

enum { CLASSES = 2 };

bpt_trees_t cli_bench_trees(const cli_bench_t *b) { return (bpt_trees_t)(BPT_TREES_BALANCED + b->o->tool.trees); }

cli_bench_place_t cli_bench_place(const cli_bench_t *b) {
    const bpt_kind_spec_t *kind = bpt_kind_of(&b->o->model);
    return (cli_bench_place_t){.device = b->device,
                               .model = kind->name,
                               .trees = kind->trees ? bpt_trees_names[cli_bench_trees(b)] : NULL,
                               .has_k = bpt_kind_has_key(kind, "k"),
                               .precision = b->o->train.precision,
                               .json = b->o->use.json};
}

cli_timing_t cli_bench_timing(const cli_bench_t *b) { return (cli_timing_t){.repeat = (int)b->o->tool.repeat, .quantile = 0.5}; }

cli_bench_result_t cli_bench_empty(const cli_bench_t *b, const char *bench) {
    return (cli_bench_result_t){.bench = bench,
                                .n = b->n,
                                .k = b->k,
                                .s_per_step = NAN,
                                .p99 = NAN,
                                .slowest = NAN,
                                .tokens_per_s = NAN,
                                .gflops = NAN,
                                .hidden = NAN,
                                .gbytes_per_s = NAN};
}

bpt_status_t cli_bench_say(const cli_bench_t *b, const cli_bench_result_t *result) {
    if (bpt_ranks_rank(b->ranks)) return BPT_OK;  // rank 0 says it
    const cli_bench_place_t place = cli_bench_place(b);
    return cli_bench_print(&place, result);
}

// ---- The model and a batch of random tokens
bpt_model_config_t cli_bench_config(const cli_bench_t *b) {
    bpt_model_config_t c = b->o->model;
    // A language model, or a classifier where the kind reads both sides.
    c.causal = !bpt_kind_of(&c)->not_causal && !b->translates;
    c.task = b->translates ? BPT_TASK_TRANSLATE : c.causal ? BPT_TASK_LM : BPT_TASK_CLASSIFY;
    c.dec_layers = c.layers;
    c.classes = CLASSES;
    c.k = (int32_t)b->k;
    c.d_embed = c.d_model;
    c.vocab = c.source_vocab = b->translates ? CLI_TRANSLATED_VOCAB : CLI_BENCH_VOCAB;
    c.positions = bpt_kind_of(&c)->positions;
    c.pool = bpt_kind_of(&c)->pool;
    c.rel_levels = c.positions == BPT_POSITIONS_RELATIVE ? bpt_kind_of(&c)->rel_levels(&c, b->n) : 0;
    c.max_positions = (int32_t)b->n + CLI_BENCH_DECODED / 2;  // decoding goes on behind n
    c.tied = false;
    c.dropout_input = c.dropout_hidden = c.dropout_attention = c.dropout_head = 0;
    return c;
}

bpt_status_t cli_bench_open_runner(const cli_bench_t *b, bpt_runner_t **out) {
    const bpt_model_config_t config = cli_bench_config(b);
    bpt_train_config_t train = b->o->train;
    train.beta1 = 0.9, train.beta2 = 0.999, train.eps = 1e-8, train.momentum = 0.95;
    bpt_runner_options_t options = bpt_trainer_runner_options(&train);
    options.ranks = b->ranks;
    options.weights = (bpt_weights_form_t)b->o->use.weights;
    options.shard_optimizer = b->o->run.shard_optimizer;
    options.split_sequence = b->o->run.split_sequence;
    BPT_TRY(bpt_runner_create(&config, &options, b->device, out));
    const bpt_status_t status = bpt_runner_init(*out, 1);
    if (status != BPT_OK) bpt_runner_destroy(*out), *out = NULL;
    return status;
}

void cli_bench_free_tokens(cli_bench_tokens_t *t) {
    bpt_free(t->words);
    bpt_free(t->weights);
    bpt_free(t->trees);
}

bpt_status_t cli_bench_make_tokens(const cli_bench_t *b, cli_bench_tokens_t *t) {
    const int64_t rows = b->o->tool.n / b->n > 0 ? b->o->tool.n / b->n : 1, leaves = rows * b->n;
    const bpt_model_config_t config = cli_bench_config(b);
    const bpt_batch_shape_t shape = bpt_batch_buckets(b->n, rows);
    const int64_t targets = bpt_task_targets(bpt_task_of(&config), &shape);
    *t = (cli_bench_tokens_t){0};
    bpt_status_t status = bpt_alloc((size_t)(2 * leaves + 3 * rows), sizeof *t->words, &t->words);
    if (status == BPT_OK) status = bpt_alloc((size_t)leaves, sizeof *t->weights, &t->weights);
    if (status != BPT_OK) {
        cli_bench_free_tokens(t);
        return status;
    }
    uint32_t *start = t->words + 2 * leaves, *lengths = start + rows, *sequences = lengths + rows;
    for (int64_t i = 0; i < 2 * leaves; ++i) t->words[i] = (uint32_t)(i * 2654435761u >> 7) % CLI_BENCH_VOCAB;
    for (int64_t i = 0; targets < leaves && i < targets; ++i) t->words[leaves + i] %= CLASSES;
    for (int64_t i = 0; i < leaves; ++i) t->weights[i] = 1;
    for (int64_t i = 0; i < rows; ++i) start[i] = (uint32_t)(i * b->n), lengths[i] = (uint32_t)b->n, sequences[i] = (uint32_t)i;
    t->batch = (bpt_batch_t){.shape = shape,
                             .n_real = rows,
                             .side = {{.tokens = t->words, .start = start, .lengths = lengths}},
                             .targets = t->words + leaves,
                             .weights = t->weights,
                             .sequences = sequences,
                             .n_targets = targets,
                             .n_scored = targets,
                             .n_tokens = leaves,
                             .window_scored = targets,
                             .first = true,
                             .last = true};
    if (!bpt_kind_of(&config)->trees) return BPT_OK;
    status = bpt_trees_add(cli_bench_trees(b), &t->batch, &t->trees);
    if (status != BPT_OK) cli_bench_free_tokens(t);
    return status;
}
