// Tasks that read examples of their own lengths: labelled texts, pairs, tagged sentences, texts or vectors with numbers (see readers.h).
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "data/examples_source.h"
#include "models/kinds/kind.h"
#include "tools/bpt/corpus/array_data.h"
#include "tools/bpt/corpus/eval_data.h"
#include "tools/bpt/corpus/example_notes.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/corpus/span_check.h"
#include "tools/bpt/corpus/unknown_labels.h"

// ---- Options

// A column number of an option; 0 where it is not given.
static bpt_status_t column_of(const char *option, const char *text, const char **rest, int *out) {
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || errno || value < 1 || value > 1000)
        return bpt_fail(BPT_ERR_USAGE, "--%s %s: columns are numbers from 1 on", option, text);
    *rest = end;
    *out = (int)value;
    return BPT_OK;
}

static bpt_status_t parse_label_column(const char *text, bpt_examples_options_t *e) {
    const char *rest = "";
    e->conllu = e->form == BPT_FORM_CONLL && (!strcmp(text, "upos") || !strcmp(text, "xpos"));
    if (e->conllu) e->label_column = *text == 'u' ? 4 : 5;
    if (!*text || e->conllu) return BPT_OK;
    BPT_TRY(column_of("label-column", text, &rest, &e->label_column));
    return *rest ? bpt_fail(BPT_ERR_USAGE, "--label-column %s: one column, or upos or xpos of CoNLL-U files with --task tag", text)
                 : BPT_OK;
}

static bpt_status_t parse_text_column(const char *text, bpt_examples_options_t *e) {
    const char *rest = text;
    if (!*text) return BPT_OK;
    BPT_TRY(column_of("text-column", text, &rest, &e->text_column[0]));
    if (e->texts == 2 && *rest == ',') BPT_TRY(column_of("text-column", rest + 1, &rest, &e->text_column[1]));
    if (!*rest && (e->texts != 2 || e->text_column[1])) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--text-column %s: %s", text,
                    e->texts == 2 ? "a pair needs two columns, such as 2,3" : "one column is needed");
}

static bpt_status_t parse_where(const char *text, bpt_examples_options_t *e) {
    const char *rest = text;
    if (!*text) return BPT_OK;
    BPT_TRY(column_of("where", text, &rest, &e->where_column));
    if (*rest != '=') return bpt_fail(BPT_ERR_USAGE, "--where %s: it must be a column and a value, such as 1=books", text);
    e->where = rest + 1;
    return BPT_OK;
}

// Texts alone, or columns where there are two texts, numbers, or other columns than the usual ones.
static bpt_example_form_t form_of(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_unit_t unit) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    if (task->per_token) return unit == BPT_UNIT_IDS ? BPT_FORM_TAGGED : BPT_FORM_CONLL;
    const bool columns = bpt_task_texts(task) == 2 || task->values || *d->label_column || *d->text_column || *d->where;
    return columns ? BPT_FORM_COLUMNS : bpt_kind_of(m)->trees ? BPT_FORM_TREES : BPT_FORM_TEXTS;
}

// Columns of files whose form has no choice of them.
static bpt_status_t check_columns(const cli_data_options_t *d, const bpt_examples_options_t *e) {
    if (e->conllu && *d->text_column)
        return bpt_fail(BPT_ERR_USAGE, "--text-column %s: the words of CoNLL-U files are in column 2; leave the option out",
                        d->text_column);
    if (e->form == BPT_FORM_TAGGED && (*d->label_column || *d->text_column))
        return bpt_fail(BPT_ERR_USAGE, "--%s-column: with --unit ids a line is ids<TAB>tags; leave the option out",
                        *d->label_column ? "label" : "text");
    return BPT_OK;
}

// A tree has a place for each of its words, and columns have no brackets.
static bpt_status_t check_trees(const bpt_examples_options_t *e) {
    if (!e->trees) return BPT_OK;
    if (e->truncate || e->strip_punctuation)
        return bpt_fail(BPT_ERR_USAGE, "--%s takes words out of a text, and --model tree needs all words of its trees; leave it out",
                        e->truncate ? "truncate" : "strip-punctuation");
    if (e->form == BPT_FORM_COLUMNS && e->made == BPT_TREES_FILE)
        return bpt_fail(BPT_ERR_USAGE, "texts in columns have no trees; make them with --trees balanced, right or flat");
    return BPT_OK;
}

// Runs from before the option, and model files, do not say how their labels were read; the labels do.
static bool has_function_tag(const bpt_labels_t *known) {
    for (size_t i = 0; i < known->count; ++i)
        if (known->name[i][0] != '-' && strpbrk(known->name[i] + 1, "-=")) return true;
    return false;
}

static bool has_root(const bpt_labels_t *known) {
    uint32_t class;
    return bpt_labels_find(known, &(bpt_word_t){"ROOT", 4}, &class) || bpt_labels_find(known, &(bpt_word_t){"TOP", 3}, &class);
}

static void read_labels_as(const cli_data_options_t *d, const bpt_labels_t *known, bpt_examples_options_t *e) {
    const bool open = d->function_tags == CLI_FUNCTIONS_KNOWN;
    e->cut_functions = open ? !has_function_tag(known) : d->function_tags == CLI_FUNCTIONS_CUT;
    e->skip_root = !open || !has_root(known);
}

bpt_status_t cli_examples_options(const cli_data_options_t *d, const bpt_model_config_t *m, bpt_unit_t unit, const bpt_labels_t *known,
                                  bpt_examples_options_t *e) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    *e = (bpt_examples_options_t){.form = form_of(d, m, unit),
                                  .labelled = true,
                                  .header = d->header,
                                  .skip_empty = d->skip_empty,
                                  .texts = bpt_task_texts(task),
                                  .numbers = task->values,
                                  .ngram_min = m->ngram_min,
                                  .ngram_max = m->ngram_max,
                                  .ngram_rows = m->ngram_rows,
                                  .truncate = d->truncate,
                                  .room.positions = bpt_model_positions(m),
                                  .strip_punctuation = d->strip_punctuation,
                                  .trees = bpt_kind_of(m)->trees,
                                  .made = (bpt_trees_t)d->trees,
                                  .scheme = (bpt_tag_scheme_t)d->tag_scheme};
    if (e->form == BPT_FORM_COLUMNS) e->label_column = 1, e->text_column[0] = 2, e->text_column[1] = e->texts == 2 ? 3 : 0;
    if (e->form == BPT_FORM_COLUMNS && *d->text_column) e->text_column[1] = 0;
    BPT_TRY(parse_label_column(d->label_column, e));
    BPT_TRY(parse_text_column(d->text_column, e));
    BPT_TRY(check_columns(d, e));
    BPT_TRY(check_trees(e));
    read_labels_as(d, known, e);
    return parse_where(d->where, e);
}

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
    return cli_examples_options(d, m, d->unit, &(bpt_labels_t){0}, &e);
}

static bpt_status_t check(const cli_options_t *o) {
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

static bpt_status_t make_eval(const cli_options_t *o, const char *path, const cli_trained_t *t, cli_eval_data_t *e, bool *done) {
    const bpt_batching_t batching = batching_of(o, &t->config);
    BPT_TRY(cli_arrays_make_eval(o, path, t, &e->examples, done));
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
    BPT_TRY(cli_examples_options(&o->data, &o->model, o->data.unit, &corpus->labels, e));
    take_part(&corpus->split, part, e);
    e->subtrees = o->data.subtrees && part == BPT_TRAIN;
    e->longest = o->data.max_length;
    e->vertex_labels = o->model.vertex_loss == BPT_VERTEX_LOSS_ALL && part == BPT_TRAIN;
    return BPT_OK;
}

static bpt_status_t cut_examples(const cli_data_options_t *d, const bpt_model_config_t *m, uint64_t seed, bpt_split_t *split) {
    bpt_examples_options_t options;
    BPT_TRY(cli_examples_options(d, m, d->unit, &(bpt_labels_t){0}, &options));
    return bpt_examples_cut(&split->part[BPT_TRAIN], &options, seed, &split->cut);
}

static bpt_status_t cut_lines(const cli_data_options_t *d, const bpt_model_config_t *m, const char *path, bpt_split_t *out) {
    bpt_examples_options_t options;
    BPT_TRY(cli_examples_options(d, m, d->unit, &(bpt_labels_t){0}, &options));
    BPT_TRY(bpt_split_open(path, d->unit, bpt_unit_of(d->unit)->by_lines, out));
    bpt_examples_cut_between(&options, out->part, BPT_PARTS);
    return BPT_OK;
}

static bpt_status_t cut_file(const cli_data_options_t *d, const bpt_model_config_t *m, uint64_t seed, const char *path, bpt_split_t *out) {
    if (d->cut == BPT_CUT_IN_ORDER) return cut_lines(d, m, path, out);
    BPT_TRY(bpt_split_open_whole(path, out));
    const bpt_status_t status = cut_examples(d, m, seed, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

static bpt_status_t scan(const cli_options_t *o, int part, bool words, bool labels, cli_corpus_t *corpus) {
    bpt_examples_options_t options;
    BPT_TRY(part_options(o, corpus, part, &options));
    if (labels) options.signs = &corpus->signs;
    return bpt_examples_scan(&corpus->split.part[part], &options, words ? corpus->vocab : NULL, labels ? &corpus->labels : NULL);
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
    const cli_data_options_t d = cli_eval_data_options(o, t);
    const bpt_batching_t batching = batching_of(o, &t->config);
    bpt_examples_options_t options;
    BPT_TRY(cli_examples_options(&d, &t->config, t->unit, &t->labels, &options));
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
