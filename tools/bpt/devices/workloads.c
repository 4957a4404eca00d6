// See workloads.h. Models are those of the presets, with few layers (further ones ask for the same kernels) and what only data can tell
// chosen here.
#include "tools/bpt/devices/workloads.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/trees.h"
#include "models/config/config_json.h"
#include "models/decode/decode.h"
#include "models/kinds/kind.h"
#include "models/run/runner.h"
#include "models/tasks/task.h"
#include "models/train/trainer.h"
#include "tools/bpt/options/options.h"

enum {
    MOST_LAYERS = 3,
    BYTES = 256,
    WORDS = 10000,
    CLASSES = 9,
    LONGEST_TEXT = 256,
    MOST_ROWS = 8192,
    LEAST_ROWS = 512,
    PROMPT = 100,
    NODE_SLOTS = 16
};

// What no preset asks for and users may: each over the preset of its name. Kernels that only such models have need a line here; the test
// cli/ledger names those that nothing asks for.
#define MODERN "norm=rms ffn=swiglu optimizer=muon"
static const cli_preset_t variations[] = {
    {"small", "", MODERN " positions=rotary"},                       // spans turn too
    {"transformer-multi30k-small", "", MODERN " positions=rotary"},  // and keys that a decoder keeps
    {"star-ner-crf", "", MODERN},
    {"transformer-sst5", "", MODERN " attention=window window=32 positions=none"},
    {"small", "", "model=transformer attention=sparse stride=64 tail=8"},
    {NULL, NULL, NULL},
};

// What a preset leaves to the data.
static bpt_status_t complete(cli_options_t *o) {
    bpt_model_config_t *m = &o->model;
    const int64_t n = o->data.context ? o->data.context : LONGEST_TEXT;
    if (!m->vocab) m->vocab = o->data.unit == BPT_UNIT_BYTE || o->data.unit == BPT_UNIT_CHAR ? BYTES : WORDS;
    if (!m->source_vocab) m->source_vocab = m->vocab;
    if (!m->classes && (bpt_task_of(m)->labelled || bpt_task_of(m)->values)) m->classes = CLASSES;
    if (!m->rel_levels && m->positions == BPT_POSITIONS_RELATIVE)
        m->rel_levels = bpt_kind_of(m)->levels ? bpt_kind_of(m)->rel_levels(m, n) : (int32_t)n;
    if (!m->max_positions && m->positions == BPT_POSITIONS_ABSOLUTE) m->max_positions = (int32_t)n;
    return bpt_model_config_check(m);
}

// Windows of a long text, texts and their translations, or texts one behind the other, with trees that have as many nodes as tokens; `rows`
// tokens in all.
static bpt_batch_shape_t shape_of(const cli_options_t *o, int64_t rows) {
    const bpt_task_spec_t *task = bpt_task_of(&o->model);
    const bpt_kind_spec_t *kind = bpt_kind_of(&o->model);
    const bool windows = task->reads == BPT_READS_WINDOWS;
    const int64_t n = windows ? o->data.context : LONGEST_TEXT;
    bpt_batch_shape_t shape = bpt_batch_buckets(n, n < rows / 2 ? rows / n / 2 * 2 : 2);  // pairs are even
    if (!windows && bpt_kind_packs(&o->model)) {
        shape = bpt_batch_buckets(0, rows / LONGEST_TEXT * 4);
        shape.side[0].rows = rows;
    }
    if (kind->tree_table) {
        shape.side[0].nodes = shape.side[0].rows;
        shape.side[0].node_slots = NODE_SLOTS;
    }
    if (bpt_task_sides(task) > 1) shape.side[1].n = shape.side[0].n, shape.side[1].rows = shape.side[0].rows;
    return shape;
}

static bpt_status_t record_steps(const cli_options_t *o, int64_t rows, bpt_runner_t *runner) {
    static const bpt_step_kind_t kinds[] = {BPT_STEP_TRAIN,    BPT_STEP_MICRO,  BPT_STEP_APPLY,
                                            BPT_STEP_EVALUATE, BPT_STEP_LOGITS, BPT_STEP_STATES};
    for (size_t i = 0; i < BPT_COUNT(kinds); ++i) {
        bpt_step_key_t key = {.kind = kinds[i], .shape = shape_of(o, rows)};
        bpt_program_t *program;
        if (key.kind == BPT_STEP_APPLY) memset(&key.shape, 0, sizeof key.shape);
        BPT_TRY(bpt_runner_program(runner, &key, &program));
    }
    return BPT_OK;
}

// A text to translate, for each of the two that are decoded.
static bpt_status_t record_reading(const bpt_model_config_t *config, bpt_decoder_t *decoder) {
    const uint32_t tokens[2 * PROMPT] = {0}, start[] = {0, PROMPT}, lengths[] = {PROMPT, PROMPT};
    bpt_batch_t batch = {.shape = bpt_batch_buckets(PROMPT, 2), .n_real = 2};
    batch.side[0] = (bpt_side_t){.tokens = tokens, .start = start, .lengths = lengths};
    uint32_t *trees = NULL;
    bpt_status_t status = bpt_kind_of(config)->trees ? bpt_trees_add(BPT_TREES_BALANCED, &batch, &trees) : BPT_OK;
    if (status == BPT_OK) status = bpt_decoder_read(decoder, &batch, 1);
    bpt_free(trees);
    return status;
}

// A prompt, then one token, of two texts.
static bpt_status_t record_decoding(bpt_runner_t *runner) {
    const uint32_t prompt[PROMPT] = {0}, next[2] = {0};
    bpt_decoder_t *decoder;
    BPT_TRY(bpt_decoder_create(runner, 2 * PROMPT, 2, &decoder));
    bpt_status_t status = bpt_model_stacks(bpt_runner_config(runner)) > 1 ? record_reading(bpt_runner_config(runner), decoder) : BPT_OK;
    if (status == BPT_OK) status = bpt_decoder_feed(decoder, 0, prompt, PROMPT, NULL);
    if (status == BPT_OK) status = bpt_decoder_step(decoder, next, NULL);
    bpt_decoder_destroy(decoder);
    return status;
}

static bpt_status_t record_model(const cli_options_t *o, bpt_device_t *device) {
    const bpt_runner_options_t options = bpt_trainer_runner_options(&o->train);
    bpt_runner_t *runner;
    BPT_TRY(bpt_runner_create(&o->model, &options, device, &runner));
    // A device that binds or allocates little runs smaller batches.
    bpt_status_t status = BPT_ERR_UNSUPPORTED;
    for (int64_t rows = MOST_ROWS; status == BPT_ERR_UNSUPPORTED && rows >= LEAST_ROWS; rows /= 2) status = record_steps(o, rows, runner);
    if (status == BPT_OK && bpt_task_of(&o->model)->generates) status = record_decoding(runner);
    bpt_runner_destroy(runner);
    return status;
}

// The options of a preset, all of which have a value. Release with cli_options_destroy, also after a failure.
static bpt_status_t take_preset(const char *preset, const cli_preset_t *variation, bpt_dtype_t precision, cli_options_t *o) {
    BPT_TRY(cli_options_init(o, CLI_TRAIN, "train"));
    BPT_TRY(cli_preset_apply(o, preset));
    if (variation) BPT_TRY(cli_preset_take(o, variation));
    o->run.print_config = true;  // there are no data
    o->train.precision = precision;
    BPT_TRY(cli_options_resolve(o));
    return complete(o);
}

static void leave_few_layers(bpt_model_config_t *m) {
    if (m->layers > MOST_LAYERS) m->layers = MOST_LAYERS;
    if (m->match_layers > MOST_LAYERS) m->match_layers = MOST_LAYERS;
    if (m->dec_layers > MOST_LAYERS) m->dec_layers = MOST_LAYERS;
}

static bpt_status_t record_preset(const char *preset, const cli_preset_t *variation, bpt_device_t *device, bpt_dtype_t precision) {
    cli_options_t o;
    bpt_status_t status = take_preset(preset, variation, precision, &o);
    leave_few_layers(&o.model);
    if (status == BPT_OK) status = record_model(&o, device);
    cli_options_destroy(&o);
    return bpt_context(status, "preset %s%s%s", preset, variation ? " with " : "", variation ? variation->values : "");
}

static bpt_status_t use_step(const cli_options_t *o, bpt_device_t *device, int64_t tokens,
                             bpt_status_t (*use)(void *user, bpt_program_t *program), void *user) {
    const bpt_runner_options_t options = bpt_trainer_runner_options(&o->train);
    const bpt_step_key_t key = {.kind = BPT_STEP_TRAIN, .shape = shape_of(o, tokens)};
    bpt_program_t *program;
    bpt_runner_t *runner;
    BPT_TRY(bpt_runner_create(&o->model, &options, device, &runner));
    bpt_status_t status = bpt_runner_program(runner, &key, &program);
    if (status == BPT_OK) status = use(user, program);
    bpt_runner_destroy(runner);
    return status;
}

bpt_status_t cli_workload_step(const char *preset, bpt_device_t *device, bpt_dtype_t precision, int64_t tokens,
                               bpt_status_t (*use)(void *user, bpt_program_t *program), void *user) {
    cli_options_t o;
    bpt_status_t status = take_preset(preset, NULL, precision, &o);
    if (status == BPT_OK) status = use_step(&o, device, tokens, use, user);
    cli_options_destroy(&o);
    return bpt_context(status, "preset %s", preset);
}

bpt_status_t cli_workloads_record(bpt_device_t *device, bpt_dtype_t precision) {
    for (const cli_preset_t *p = cli_presets; p->name; ++p) BPT_TRY(record_preset(p->name, NULL, device, precision));
    for (const cli_preset_t *p = variations; p->name; ++p) BPT_TRY(record_preset(p->name, p, device, precision));
    return BPT_OK;
}
