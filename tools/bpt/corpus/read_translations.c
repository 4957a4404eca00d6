// Tasks with two sides: texts and their translations (see readers.h).
#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "data/batches/examples_source.h"
#include "data/examples/parallel.h"
#include "models/kinds/kind.h"
#include "tools/bpt/corpus/eval_data.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/corpus/readers.h"

static bool has_files(bpt_unit_t unit) { return unit != BPT_UNIT_IDS; }

// Whether one vocabulary serves both sides: subwords always, words and ids where one embedding does.
static bool is_shared(const cli_options_t *o) { return bpt_unit_of(o->data.unit)->pieces || o->model.shared == BPT_SHARED_ALL; }
static bool has_two_vocabularies(const cli_options_t *o) { return !is_shared(o); }

// ---- Options

static bpt_status_t check_languages(const cli_data_options_t *d) {
    if (!has_files(d->unit))
        return !*d->source && !*d->target ? BPT_OK
                                          : bpt_fail(BPT_ERR_USAGE,
                                                     "--%s is without effect with --unit ids, where a line is `source ids<TAB>target ids`; "
                                                     "leave it out",
                                                     *d->source ? "source" : "target");
    if (!*d->source || !*d->target)
        return bpt_fail(BPT_ERR_USAGE, "--%s is needed: the ending of the files with the %s, such as en for train.en",
                        *d->source ? "target" : "source", *d->source ? "translations" : "texts");
    return strcmp(d->source, d->target) ? BPT_OK
                                        : bpt_fail(BPT_ERR_USAGE, "--source and --target are both '%s'; they are two files", d->source);
}

// Whether trees over the texts to translate are read from files beside them, such as train.en.ptb.
static bool reads_trees(const bpt_model_config_t *m, const cli_data_options_t *d) {
    return bpt_kind_of(m)->trees && d->trees == BPT_TREES_FILE && has_files(d->unit);
}

// Nodes begin with the labels of trees that are read; those of a trained model as they did.
static void fill_from_options(cli_options_t *o) {
    const bool trained = o->run.resume || *o->run.init, named = trained ? o->model.node_labels > 0 : reads_trees(&o->model, &o->data);
    if (cli_option_source(o, "tree-labels") == CLI_FROM_DEFAULT)
        o->data.tree_labels = named ? CLI_TREE_LABELS_STATE : CLI_TREE_LABELS_CONSTANT;
}

static bpt_status_t check_tree_labels(const cli_options_t *o) {
    const bool named = o->data.tree_labels == CLI_TREE_LABELS_STATE, trained = o->run.resume || *o->run.init;
    if (trained && named != (o->model.node_labels > 0))
        return bpt_fail(BPT_ERR_USAGE, "--tree-labels %s does not fit the trained model, whose nodes begin with %s; leave it out",
                        named ? "state" : "constant", named ? "one symbol" : "their labels");
    if (trained || !named || reads_trees(&o->model, &o->data)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--tree-labels state is for trees that are read: trees that are made have no labels; leave it out");
}

static bpt_status_t check_data(const cli_data_options_t *d, const bpt_model_config_t *m) {
    if (bpt_unit_of(d->unit)->characters)
        return bpt_fail(BPT_ERR_USAGE, "--task %s reads words, subwords or ids, not --unit %s", bpt_task_of(m)->name,
                        bpt_unit_names[d->unit]);
    bpt_running_t how;
    BPT_TRY(cli_running_options(d, m, "", &how));
    const bool has_fields = bpt_format_of(how.format)->write_running != NULL;
    if (has_fields && (!has_files(d->unit) || reads_trees(m, d)))
        return bpt_fail(BPT_ERR_USAGE, "--format %s is not for --%s", bpt_format_names[how.format],
                        has_files(d->unit) ? "trees file, which are in files beside texts; make them with --trees balanced, right or flat"
                                           : "unit ids, where a line is `source ids<TAB>target ids`; leave it out");
    if (!bpt_kind_of(m)->trees || (!d->truncate && !d->context_tokens)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--%s is not for --model %s, whose trees are over whole texts, one for each; leave it out",
                    d->truncate ? "truncate" : "context-tokens", bpt_kind_of(m)->name);
}

static bpt_status_t check(const cli_options_t *o) {
    const cli_data_options_t *d = &o->data;
    const char *task = bpt_task_of(&o->model)->name;
    if (d->batch_examples && o->train.accumulate > 1)
        return bpt_fail(BPT_ERR_USAGE,
                        "--accumulate has no meaning with --batch-examples %lld, the examples of a whole step; give one of them",
                        (long long)d->batch_examples);
    BPT_TRY(check_tree_labels(o));
    if (d->vectors.count || o->model.ngram_max)
        return bpt_fail(BPT_ERR_USAGE, "--%s is not for --task %s, whose two sides have embeddings of their own; leave it out",
                        d->vectors.count ? "vectors" : "ngram-max", task);
    if (o->run.match_vocabulary)
        return bpt_fail(BPT_ERR_USAGE, "--match-vocabulary is not for --task %s, which may have two vocabularies; leave it out", task);
    if (bpt_unit_of(d->unit)->pieces && cli_option_source(o, "shared") == CLI_FROM_FLAG && o->model.shared == BPT_SHARED_NONE)
        bpt_warn("both sides are read by one subword model, though --shared none gives them embeddings of their own");
    return o->run.print_config ? BPT_OK : check_languages(d);
}

// Rows of the longer side of all examples.
static int64_t longest_example(const cli_corpus_t *corpus) {
    int64_t longest = 1;
    for (int part = 0; part < BPT_PARTS; ++part) {
        const bpt_examples_t *e = &corpus->examples[part];
        for (uint64_t i = 0; i < e->count; ++i) {
            const uint64_t first = e->windows.has ? e->windows.items[i].first : i, end = e->windows.has ? e->windows.items[i].end : i + 1;
            const int64_t source = (int64_t)(e->offsets[end] - e->offsets[first]),
                          target = (int64_t)(e->target.offsets[end] - e->target.offsets[first]);
            if (source > longest) longest = source;
            if (target > longest) longest = target;
        }
    }
    return longest;
}

static bpt_status_t fill_vocabularies(cli_options_t *o, const cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    const bpt_vocab_t *source = corpus->source_vocab;
    const int64_t known = source ? bpt_vocab_size(source) : m->vocab, size = known ? known : cli_corpus_largest_id(corpus, true, false) + 1;
    if (cli_option_source(o, "shared") == CLI_FROM_DEFAULT) m->shared = source ? BPT_SHARED_TARGET : BPT_SHARED_ALL;
    if (!m->source_vocab) m->source_vocab = size;
    if (size <= m->source_vocab) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "the texts to translate have %" PRId64 " different tokens, the model knows %" PRId64 "; they belong to another run",
                    size, m->source_vocab);
}

static bpt_status_t fill_node_labels(cli_options_t *o, const cli_corpus_t *corpus) {
    if (o->data.tree_labels != CLI_TREE_LABELS_STATE) return BPT_OK;
    if (!corpus->labels.count)
        return bpt_fail(BPT_ERR_INPUT, "%s: no node of the trees has a label; --tree-labels constant begins all nodes with one symbol",
                        cli_data_path(&o->data));
    o->model.node_labels = (int32_t)corpus->labels.count;
    return BPT_OK;
}

static bpt_status_t fill(cli_options_t *o, const cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    const int64_t longest = longest_example(corpus);
    BPT_TRY(fill_vocabularies(o, corpus));
    BPT_TRY(fill_node_labels(o, corpus));
    if (!m->rel_levels && m->positions == BPT_POSITIONS_RELATIVE)
        m->rel_levels = bpt_kind_of(m)->levels ? bpt_kind_of(m)->rel_levels(m, longest) : (int32_t)longest;
    if (!m->max_positions && m->positions == BPT_POSITIONS_ABSOLUTE) m->max_positions = (int32_t)longest;
    return BPT_OK;
}

// ---- Files

bpt_status_t cli_language_open(const cli_data_options_t *d, const bpt_model_config_t *m, const bpt_paths_t *paths, const char *language,
                               bpt_split_t *out) {
    bpt_running_t how;
    BPT_TRY(cli_running_options(d, m, language, &how));
    if (bpt_format_of(how.format)->write_running) return bpt_split_open_running(paths, d->unit, true, &how, out);
    return bpt_split_open_language(paths, language, out);
}

// A part of one language without the other is no part.
static bpt_status_t open_languages(const bpt_paths_t *paths, const cli_data_options_t *d, const bpt_model_config_t *m, bpt_split_t *source,
                                   bpt_split_t *target) {
    static const char *const names[] = {"train", "valid", "test"};
    BPT_TRY(cli_language_open(d, m, paths, d->source, source));
    BPT_TRY(cli_language_open(d, m, paths, d->target, target));
    for (int part = 0; part < BPT_PARTS; ++part)
        if (!source->part[part].bytes != !target->part[part].bytes)
            return bpt_fail(BPT_ERR_INPUT, "%s: the %s part has a file for .%s and none for .%s", paths->path[0], names[part],
                            source->part[part].bytes ? d->source : d->target, source->part[part].bytes ? d->target : d->source);
    return BPT_OK;
}

static bpt_status_t open_trees(const bpt_paths_t *folders, const cli_data_options_t *d, bpt_split_t *out) {
    char *ending;
    BPT_TRY(bpt_path_format(&ending, "%s.ptb", d->source));
    const bpt_status_t status = bpt_split_open_language(folders, ending, out);
    bpt_free(ending);
    return bpt_context(status, "trees over the texts; --trees balanced, right or flat makes them");
}

static bpt_status_t open_files(const cli_options_t *o, cli_corpus_t *corpus) {
    const bpt_paths_t paths = cli_data_paths(&o->data);
    if (reads_trees(&o->model, &o->data)) BPT_TRY(open_trees(&paths, &o->data, &corpus->trees));
    if (has_files(o->data.unit)) return open_languages(&paths, &o->data, &o->model, &corpus->split, &corpus->target);
    return bpt_split_open(&paths, o->data.unit, true, &corpus->split);
}

// ---- Training

static bpt_parallel_t pair_of(const cli_corpus_t *corpus, int part) {
    return (bpt_parallel_t){.text = {corpus->split.part[part], corpus->target.part[part]}, .trees = corpus->trees.part[part]};
}

static bpt_status_t scan(const cli_options_t *o, int part, unsigned what, cli_corpus_t *corpus) {
    const bpt_parallel_t pair = pair_of(corpus, part);
    bpt_vocab_t *const vocab[] = {corpus->source_vocab ? corpus->source_vocab : corpus->vocab, corpus->vocab};
    bpt_vocab_t *const none[] = {NULL, NULL};
    (void)o;
    return bpt_parallel_scan(&pair, what & CLI_SCAN_WORDS ? vocab : none, what & CLI_SCAN_LABELS ? &corpus->labels : NULL);
}

static bpt_status_t encode(const cli_options_t *o, const bpt_range_t *text, int part, cli_corpus_t *corpus) {
    const bpt_parallel_t pair = pair_of(corpus, part);
    const bpt_vocab_t *const vocab[] = {corpus->source_vocab ? corpus->source_vocab : corpus->vocab, corpus->vocab};
    const bpt_parallel_options_t options = {.longest = o->data.max_length,
                                            .truncate = o->data.truncate,
                                            .room.positions = bpt_model_positions(&o->model),
                                            .context_tokens = o->data.context_tokens,
                                            .trees = bpt_kind_of(&o->model)->trees,
                                            .made = (bpt_trees_t)o->data.trees,
                                            .labels = corpus->labels.count ? &corpus->labels : NULL};
    (void)text;
    return bpt_parallel_read(&pair, &options, vocab, &corpus->examples[part]);
}

static bpt_batching_t batching_of(const cli_options_t *o) {
    return (bpt_batching_t){.batch_examples = o->data.batch_examples,
                            .batch_tokens = o->data.batch_tokens,
                            .accumulate = o->train.accumulate,
                            .seed = o->train.seed};
}

static bpt_status_t open_sources(const cli_options_t *o, cli_corpus_t *corpus) {
    const bpt_batching_t batching = batching_of(o);
    BPT_TRY(bpt_examples_train_source(&corpus->examples[BPT_TRAIN], &batching, &corpus->train));
    if (corpus->examples[BPT_VALID].count) return bpt_examples_eval_source(&corpus->examples[BPT_VALID], &batching, &corpus->valid);
    bpt_warn("there are no examples for validation, so `best` will not be known");
    return BPT_OK;
}

// ---- Evaluation

static cli_data_options_t eval_options(const cli_options_t *o, const cli_trained_t *t) {
    cli_data_options_t d = cli_eval_data_options(o, t);
    if (!has_files(t->unit)) d.source = d.target = "";
    return d;
}

static bpt_status_t evaluate_pair(const cli_options_t *o, const bpt_parallel_t *pair, const cli_trained_t *t, cli_eval_data_t *e) {
    const cli_data_options_t d = eval_options(o, t);
    BPT_TRY(check_data(&d, &t->config));
    const bpt_vocab_t *const vocab[] = {t->source_vocab ? t->source_vocab : t->vocab, t->vocab};
    const bpt_parallel_options_t options = {.truncate = d.truncate,
                                            .room.positions = bpt_model_positions(&t->config),
                                            .context_tokens = d.context_tokens,
                                            .trees = bpt_kind_of(&t->config)->trees,
                                            .made = (bpt_trees_t)d.trees,
                                            .labels = t->labels.count ? &t->labels : NULL};
    const bpt_batching_t batching = batching_of(o);
    BPT_TRY(bpt_parallel_read(pair, &options, vocab, &e->examples));
    BPT_TRY(bpt_examples_shift(&e->examples, o->use.placeholders));
    return bpt_examples_eval_source(&e->examples, &batching, &e->source);
}

static bpt_status_t evaluate_part(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *t, const bpt_split_t *target,
                                  const bpt_split_t *trees, cli_eval_data_t *e) {
    const bpt_parallel_t pair = {.text = {e->split.part[o->data.part], target->part[o->data.part]}, .trees = trees->part[o->data.part]};
    return pair.text[0].bytes ? evaluate_pair(o, &pair, t, e) : cli_eval_data_fail_part(o, paths);
}

// Files of two languages; ids are lines of one.
static bpt_status_t make_eval(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *t, cli_eval_data_t *e, bool *done) {
    const cli_data_options_t d = eval_options(o, t);
    bpt_split_t target = {0}, trees = {0};
    *done = has_files(t->unit);
    BPT_TRY(check_languages(&d));
    if (!*done) return BPT_OK;
    bpt_status_t status = open_languages(paths, &d, &t->config, &e->split, &target);
    if (status == BPT_OK && reads_trees(&t->config, &d)) status = open_trees(paths, &d, &trees);
    if (status == BPT_OK) status = evaluate_part(o, paths, t, &target, &trees, e);
    bpt_split_close(&target);
    bpt_split_close(&trees);
    return status;
}

static bpt_status_t open_eval(const cli_options_t *o, const bpt_range_t *text, cli_trained_t *t, cli_eval_data_t *e) {
    const bpt_parallel_t pair = {.text = {*text}};
    return evaluate_pair(o, &pair, t, e);
}

const cli_reader_t cli_reader_translations = {
    .unit = BPT_UNIT_WORD,
    .batch_option = "batch-examples",
    .check_data = check_data,
    .check = check,
    .fill_from_options = fill_from_options,
    .fill_from_data = fill,
    .make_eval = make_eval,
    .has_two_vocabularies = has_two_vocabularies,
    .open_files = open_files,
    .scan = scan,
    .encode = encode,
    .open = open_sources,
    .open_eval = open_eval,
};
