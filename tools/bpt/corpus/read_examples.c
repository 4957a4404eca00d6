// Tasks that read examples of their own lengths: labelled texts, pairs, tagged sentences, texts or vectors with numbers (see readers.h).
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "data/batches/examples_source.h"
#include "models/kinds/kind.h"
#include "tools/bpt/corpus/array_data.h"
#include "tools/bpt/corpus/class_weights.h"
#include "tools/bpt/corpus/eval_data.h"
#include "tools/bpt/corpus/example_notes.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/corpus/span_check.h"
#include "tools/bpt/corpus/unknown_labels.h"

// ---- Options

static bpt_status_t check_data(const cli_data_options_t *d, const bpt_model_config_t *m) {
    const char *task = bpt_task_of(m)->name;
    bpt_examples_options_t e;
    if (bpt_unit_of(d->unit)->characters)
        return bpt_fail(BPT_ERR_USAGE, "--task %s reads words, subwords or ids, not --unit %s", task, bpt_unit_names[d->unit]);
    if (bpt_unit_of(d->unit)->pieces && bpt_task_of(m)->per_token)
        return bpt_fail(BPT_ERR_USAGE,
                        "--task %s goes without --unit %s: a tag belongs to a word, which may be several tokens; use --unit word", task,
                        bpt_unit_names[d->unit]);
    if (d->tree_labels != CLI_TREE_LABELS_CONSTANT)
        return bpt_fail(BPT_ERR_USAGE, "--tree-labels state is not for --task %s, where labels are what is predicted; leave it out", task);
    if (m->ngram_max && d->unit != BPT_UNIT_WORD)
        return bpt_fail(BPT_ERR_USAGE, "--ngram-max is for --unit word: n-grams are of the characters of a word");
    return cli_examples_options(d, m, d->unit, &(bpt_labels_t){0}, cli_data_path(d), &e);
}

static bpt_status_t check(const cli_options_t *o) {
    BPT_TRY(cli_class_weights_check(o));
    if (!o->data.batch_examples || o->train.accumulate <= 1) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--accumulate has no meaning with --batch-examples %lld, the examples of a whole step; give one of them",
                    (long long)o->data.batch_examples);
}

static int64_t longest_text(const cli_corpus_t *corpus) {
    int64_t longest = 1;
    for (int part = 0; part < BPT_PARTS; ++part) {
        const bpt_examples_t *e = &corpus->examples[part];
        for (uint64_t t = 0; t < e->count * (e->texts == 2 ? 2 : 1); ++t)
            if ((int64_t)(e->offsets[t + 1] - e->offsets[t]) > longest) longest = (int64_t)(e->offsets[t + 1] - e->offsets[t]);
    }
    return longest;
}

// Distances reach up to the length itself: that of a state of the whole text.
static bpt_status_t fill(cli_options_t *o, const cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    const int64_t longest = longest_text(corpus);
    if (!o->run.resume) o->data.data_scheme = bpt_scheme_of(&corpus->signs);
    if (!m->rel_levels && m->positions == BPT_POSITIONS_RELATIVE)
        m->rel_levels = bpt_kind_of(m)->levels ? bpt_kind_of(m)->rel_levels(m, longest) : (int32_t)longest;
    if (!m->max_positions && m->positions == BPT_POSITIONS_ABSOLUTE) m->max_positions = (int32_t)longest;
    return BPT_OK;
}

static bpt_batching_t batching_of(const cli_options_t *o, const bpt_model_config_t *m) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    return (bpt_batching_t){.batch_examples = o->data.batch_examples,
                            .batch_tokens = o->data.batch_tokens,
                            .accumulate = o->train.accumulate,
                            .seed = o->train.seed,
                            .packed = bpt_kind_of(m)->packed,
                            .scores_texts = task->scores_texts && task->scores_texts(m)};
}

static bpt_batching_t eval_batching(const cli_options_t *o, const cli_trained_t *t) {
    bpt_batching_t batching = batching_of(o, &t->config);
    batching.packed = bpt_runner_packs(t->runner);
    return batching;
}

static bpt_status_t make_eval(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *t, cli_eval_data_t *e, bool *done) {
    const bpt_batching_t batching = eval_batching(o, t);
    BPT_TRY(cli_arrays_make_eval(o, paths, t, &e->examples, done));
    return *done ? bpt_examples_eval_source(&e->examples, &batching, &e->source) : BPT_OK;
}

// ---- Training

// A new model has no labels yet to read others by.
static void fill_from_options(cli_options_t *o) {
    if (!o->run.resume && o->data.function_tags == CLI_FUNCTIONS_KNOWN) o->data.function_tags = CLI_FUNCTIONS_KEEP;
}

// What is read of a file that has several parts.
static void take_part(const bpt_split_t *split, int part, bpt_examples_options_t *e) {
    e->cut = split->cut.part ? &split->cut : NULL;
    e->part = part;
}

static bpt_status_t part_options(const cli_options_t *o, const cli_corpus_t *corpus, int part, bpt_examples_options_t *e) {
    BPT_TRY(cli_examples_options(&o->data, &o->model, o->data.unit, &corpus->labels, corpus->split.part[part].path, e));
    BPT_TRY(cli_examples_check_subtrees(&o->data, &o->model, e->format));
    take_part(&corpus->split, part, e);
    e->subtrees = o->data.subtrees && part == BPT_TRAIN;
    e->longest = o->data.max_length;
    e->vertex_labels = o->model.vertex_loss == BPT_VERTEX_LOSS_ALL && part == BPT_TRAIN;
    return BPT_OK;
}

static bpt_status_t cut_examples(const cli_data_options_t *d, const bpt_model_config_t *m, uint64_t seed, bpt_split_t *split) {
    bpt_examples_options_t options;
    BPT_TRY(cli_examples_options(d, m, d->unit, &(bpt_labels_t){0}, split->part[BPT_TRAIN].path, &options));
    if (d->cut == BPT_CUT_IN_ORDER) return bpt_examples_cut_in_order(&split->part[BPT_TRAIN], &options, &split->cut);
    return bpt_examples_cut(&split->part[BPT_TRAIN], &options, seed, &split->cut);
}

static bpt_status_t cut_lines(const cli_data_options_t *d, const bpt_model_config_t *m, const bpt_paths_t *paths, bpt_split_t *out) {
    bpt_examples_options_t options;
    BPT_TRY(cli_examples_options(d, m, d->unit, &(bpt_labels_t){0}, paths->path[0], &options));
    BPT_TRY(bpt_split_open(paths, d->unit, bpt_unit_of(d->unit)->by_lines, out));
    bpt_examples_cut_between(&options, out->part, BPT_PARTS);
    return BPT_OK;
}

static bpt_status_t cut_file(const cli_data_options_t *d, const bpt_model_config_t *m, uint64_t seed, const bpt_paths_t *paths,
                             bpt_split_t *out) {
    if (d->cut == BPT_CUT_IN_ORDER && !cli_examples_is_table(d, m, d->unit, paths->path[0])) return cut_lines(d, m, paths, out);
    BPT_TRY(bpt_split_open_whole(paths, out));
    const bpt_status_t status = cut_examples(d, m, seed, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

static bpt_status_t scan(const cli_options_t *o, int part, unsigned what, cli_corpus_t *corpus) {
    bpt_examples_options_t options;
    BPT_TRY(part_options(o, corpus, part, &options));
    bpt_vocab_t *vocab = what & CLI_SCAN_WORDS ? corpus->vocab : NULL;
    bpt_labels_t *labels = what & CLI_SCAN_LABELS ? &corpus->labels : NULL;
    if (labels) options.signs = &corpus->signs;
    return bpt_examples_scan(&corpus->split.part[part], &options, vocab, labels);
}

static bpt_status_t encode(const cli_options_t *o, const bpt_range_t *text, int part, cli_corpus_t *corpus) {
    bpt_examples_options_t options;
    BPT_TRY(part_options(o, corpus, part, &options));
    if (part == BPT_TRAIN) BPT_TRY(cli_spans_check(o, text, &options, &corpus->labels));
    if (part != BPT_TRAIN && bpt_task_of(&o->model)->labelled) options.others = &corpus->labels;
    BPT_TRY(bpt_examples_read(text, &options, corpus->vocab, &corpus->labels, &corpus->examples[part]));
    cli_unknown_labels_warn(text->path, bpt_task_of(&o->model), &corpus->labels, &corpus->examples[part]);
    if (!options.cut || part == BPT_TRAIN) BPT_TRY(cli_examples_warn(text, &options, &corpus->labels, &corpus->examples[part]));
    return part == BPT_VALID ? cli_spans_check_valid(o, text->path, &corpus->examples[part], &corpus->labels) : BPT_OK;
}

static bpt_status_t open_sources(const cli_options_t *o, cli_corpus_t *corpus) {
    const bpt_batching_t batching = batching_of(o, &o->model);
    bpt_batching_t training = batching;
    training.class_weights = corpus->class_weights;
    training.vertices = o->model.vertex_loss == BPT_VERTEX_LOSS_ALL;
    BPT_TRY(bpt_examples_train_source(&corpus->examples[BPT_TRAIN], &training, &corpus->train));
    if (bpt_examples_scored(&corpus->examples[BPT_VALID], &batching))
        return bpt_examples_eval_source(&corpus->examples[BPT_VALID], &batching, &corpus->valid);
    bpt_warn("there are no examples for validation%s, so `best` will not be known",
             corpus->examples[BPT_VALID].count ? " whose labels training has" : "");
    return BPT_OK;
}

// ---- Evaluation

static bpt_status_t open_eval(const cli_options_t *o, const bpt_range_t *text, cli_trained_t *t, cli_eval_data_t *e) {
    cli_data_options_t d = cli_eval_data_options(o, t);
    const bpt_batching_t batching = eval_batching(o, t);
    bpt_examples_options_t options;
    cli_examples_fit(o, &t->config, t->unit, text->path, &d);
    BPT_TRY(cli_examples_options(&d, &t->config, t->unit, &t->labels, text->path, &options));
    take_part(&e->split, o->data.part, &options);
    options.room.taken = o->use.placeholders;
    options.room.by = "placeholders";
    if (bpt_task_of(&t->config)->labelled) options.others = &t->labels;
    BPT_TRY(bpt_examples_read(text, &options, t->vocab, &t->labels, &e->examples));
    BPT_TRY(cli_unknown_labels_check(o, text->path, &t->labels, &e->examples));
    cli_unknown_labels_warn(text->path, bpt_task_of(&t->config), &t->labels, &e->examples);
    BPT_TRY(cli_examples_warn(text, &options, &t->labels, &e->examples));
    if (t->runner) bpt_runner_set_labels(t->runner, (const char *const *)t->labels.name);
    BPT_TRY(bpt_examples_shift(&e->examples, o->use.placeholders));
    return bpt_examples_eval_source(&e->examples, &batching, &e->source);
}

const cli_reader_t cli_reader_examples = {
    .unit = BPT_UNIT_WORD,
    .batch_option = "batch-examples",
    .check_data = check_data,
    .check = check,
    .fill_from_options = fill_from_options,
    .fill_from_data = fill,
    .make = cli_arrays_make,
    .make_eval = make_eval,
    .cut_file = cut_file,
    .scan = scan,
    .encode = encode,
    .open = open_sources,
    .open_eval = open_eval,
};
