// `bpt eval`: the metric of a trained model on a text, every nll, the gradient. Knows no training.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "models/train/evaluate.h"
#include "tools/bpt/corpus/eval_data.h"
#include "tools/bpt/corpus/span_check.h"
#include "tools/bpt/corpus/unknown_words.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/answers_right.h"
#include "tools/bpt/report/calibration.h"
#include "tools/bpt/report/class_table.h"
#include "tools/bpt/report/eval_files.h"
#include "tools/bpt/report/span_table.h"
#include "tools/bpt/report/watch.h"
#include "tools/bpt/runs/trained.h"

// What is kept of an evaluation beside its sums.
typedef struct {
    bool predictions;
    int64_t outputs;
    float *values;  // [examples, outputs] in the order of the file
    size_t capacity;
    int64_t count;
    float *nll;  // NULL: not wanted
    size_t n_nll;
    cli_span_table_t spans;
    cli_class_table_t classes;
    cli_calibration_t calibration;
    cli_answers_right_t *right;  // NULL: not wanted
    const char *const *labels;
} kept_t;

// ---- Results
// A loss that is no number is no result.
static bpt_status_t check_finite(const cli_trained_t *t, double loss) {
    if (isfinite(loss)) return BPT_OK;
    return bpt_fail(
        BPT_ERR_NUMERIC,
        "the loss is %g, which is no result: the weights in %s are not finite or too large, use another checkpoint (--checkpoint N)", loss,
        t->checkpoint.folder);
}

static bool counts_characters(const cli_trained_t *t) { return bpt_unit_of(t->unit)->characters; }

// What an evaluation found, and of tokens that are longer than a character how much text they stand for.
typedef struct {
    const cli_options_t *o;
    const cli_trained_t *trained;
    const bpt_evaluation_t *found;
    const bpt_scored_text_t *text;
    const cli_unknown_words_t *unknown;
    const kept_t *kept;
} result_t;

// Of the whole text, so that tokens of different lengths can be compared.
static double bits_per(const result_t *r, int64_t count) { return r->found->loss * (double)r->found->n_scored / log(2) / (double)count; }

static bpt_status_t fill_text_json(json_t *object, const result_t *r) {
    const double perplexity = exp(r->found->loss);  // of a loss beyond 709 it is no number of JSON
    if (counts_characters(r->trained)) return bpt_json_set_real(object, "bits_per_char", r->found->loss / log(2));
    if (isfinite(perplexity)) BPT_TRY(bpt_json_set_real(object, "perplexity", perplexity));
    if (!r->text->characters) return BPT_OK;
    BPT_TRY(bpt_json_set_real(object, "bits_per_char", bits_per(r, r->text->characters)));
    BPT_TRY(bpt_json_set_real(object, "bits_per_byte", bits_per(r, r->text->bytes)));
    BPT_TRY(bpt_json_set_int(object, "characters", r->text->characters));
    return bpt_json_set_int(object, "bytes", r->text->bytes);
}

// Tokens that are <unk> among those of data, and their share.
static bpt_status_t fill_unknown(json_t *object, const char *name, const char *share, cli_unknown_count_t count) {
    if (!count.tokens) return BPT_OK;
    BPT_TRY(bpt_json_set_int(object, name, count.unknown));
    return bpt_json_set_real(object, share, cli_unknown_words_share(count));
}

// A translator predicts a text and reads another; of the rest there is one text.
static bpt_status_t fill_unknown_json(json_t *object, const cli_unknown_words_t *u) {
    const bool predicts = u->predicted.tokens > 0;
    BPT_TRY(fill_unknown(object, "unknown", "unknown_share", predicts ? u->predicted : u->read));
    if (predicts) BPT_TRY(fill_unknown(object, "source_unknown", "source_unknown_share", u->read));
    return u->predicted.unknown ? bpt_json_set_bool(object, "lower_bound", true) : BPT_OK;
}

static bpt_status_t fill_json(json_t *object, const result_t *r) {
    const bpt_evaluation_t *e = r->found;
    const bpt_task_spec_t *task = bpt_task_of(&r->trained->config);
    BPT_TRY(bpt_json_set_name(object, "checkpoint", r->trained->checkpoint.folder));
    if (*r->o->use.shifts) BPT_TRY(bpt_json_set_int(object, "shift", r->o->use.placeholders));
    if (e->n_scored) BPT_TRY(bpt_json_set_real(object, "loss", e->loss));
    if (task->predicts_text) BPT_TRY(fill_text_json(object, r));
    for (int i = 0; task->metrics && task->metrics[i].name; ++i)
        if (isfinite(e->metric[i])) BPT_TRY(bpt_json_set_real(object, task->metrics[i].name, e->metric[i]));
    BPT_TRY(fill_unknown_json(object, r->unknown));
    BPT_TRY(cli_span_table_to_json(&r->kept->spans, object));
    BPT_TRY(cli_class_table_to_json(&r->kept->classes, !r->kept->spans.types, object));
    BPT_TRY(cli_calibration_to_json(&r->kept->calibration, object));
    BPT_TRY(bpt_json_set_int(object, "scored", e->n_scored));
    if (e->n_unknown) BPT_TRY(bpt_json_set_int(object, "unknown_labels", e->n_unknown));
    BPT_TRY(bpt_json_set_int(object, "tokens", e->n_tokens));
    return bpt_json_set_real(object, "seconds", e->seconds);
}

static bpt_status_t print_json(const result_t *r) {
    json_t *object = json_object();
    bpt_status_t status = object ? fill_json(object, r) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the result");
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

static void print_of_text(const result_t *r) {
    const double loss = r->found->loss;
    if (counts_characters(r->trained)) {
        printf("bits         %.6f per %s\n", loss / log(2), r->trained->unit == BPT_UNIT_BYTE ? "byte" : "character");
        return;
    }
    printf("perplexity   %.4f\n", exp(loss));
    if (r->text->characters)
        printf("bits         %.6f per character, %.6f per byte\n", bits_per(r, r->text->characters), bits_per(r, r->text->bytes));
}

static void print_unknown(const result_t *r, const char *where, cli_unknown_count_t count) {
    if (!count.tokens) return;
    printf("unknown      %.4f %% of the %s%s (%" PRId64 " of %" PRId64 ") are <unk>\n", 100 * cli_unknown_words_share(count),
           bpt_unit_of(r->trained->unit)->pieces ? "subwords" : "words", where, count.unknown, count.tokens);
}

// Which word an <unk> stands for costs a model nothing.
static void print_all_unknown(const result_t *r) {
    const cli_unknown_words_t *u = r->unknown;
    const bool translates = u->read.tokens && u->predicted.tokens;
    print_unknown(r, translates ? " to translate" : "", u->read);
    print_unknown(r, translates ? " of the translations" : "", u->predicted);
    if (!u->predicted.unknown) return;
    printf(
        "note         these are lower bounds: nothing is counted for the words that <unk> stands for. They cannot be compared with those\n"
        "             of a model that has other words, subwords or bytes\n");
}

static bpt_status_t print_text(const result_t *r) {
    const bpt_evaluation_t *e = r->found;
    const bpt_model_config_t *config = &r->trained->config;
    const bpt_task_spec_t *task = bpt_task_of(config);
    printf("checkpoint   %s\n", r->trained->checkpoint.folder);
    if (*r->o->use.shifts) printf("shift        %" PRId64 " placeholders in front of each text\n", r->o->use.placeholders);
    if (e->n_scored) printf("loss         %.6f nats\n", e->loss);
    for (int i = 0; task->metrics && task->metrics[i].name; ++i)
        if (isfinite(e->metric[i]))
            printf(task->metrics[i].share ? "%-12s %.4f %%\n" : "%-12s %.6f\n",
                   task->metrics[i].said ? task->metrics[i].said : task->metrics[i].name,
                   task->metrics[i].share ? 100 * e->metric[i] : e->metric[i]);
    if (task->predicts_text) print_of_text(r);
    print_all_unknown(r);
    printf("scored       %" PRId64 " %s in %.1f s\n", e->n_scored,
           bpt_task_scores_tokens(config) || !task->per_token ? task->counted : "texts", e->seconds);
    if (e->n_unknown)
        printf("unknown      %" PRId64 " %s have labels that the model does not know: wrong, and not in the loss\n", e->n_unknown,
               task->counted);
    cli_span_table_print(&r->kept->spans, r->o->use.per_class);
    cli_calibration_print(&r->kept->calibration);
    return r->o->use.per_class ? cli_class_table_print(&r->kept->classes, !r->kept->spans.types) : BPT_OK;
}

// ---- What is kept
static bpt_status_t keep(void *user, const bpt_batch_t *batch, const bpt_measure_t *measure) {
    kept_t *p = user;
    for (int64_t i = 0; p->predictions && i < batch->n_real; ++i) {
        const int64_t example = batch->sequences[i];
        while ((int64_t)p->capacity < (example + 1) * p->outputs)
            BPT_TRY(bpt_grow(&p->values, p->capacity, &p->capacity, sizeof *p->values));
        memcpy(p->values + example * p->outputs, measure->logits + i * p->outputs, (size_t)p->outputs * sizeof *p->values);
        if (example >= p->count) p->count = example + 1;
    }
    cli_class_table_add(&p->classes, batch, measure->best);
    BPT_TRY(cli_calibration_add(&p->calibration, batch, measure));
    if (p->right) BPT_TRY(cli_answers_right_add(p->right, p->classes.task, p->labels, batch, measure->best));
    return cli_span_table_add(&p->spans, batch, measure->best);
}

// ---- Files beside the result. It is printed before them, and each is written though another cannot be.
typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    bpt_batch_source_t *source;
    const kept_t *kept;
} files_t;

static bpt_status_t put_predictions(void *user) {
    const files_t *f = user;
    return f->kept->predictions ? cli_write_predictions(f->o->use.predictions, f->kept->values, f->kept->count, f->kept->outputs) : BPT_OK;
}

static bpt_status_t put_nll(void *user) {
    const files_t *f = user;
    return *f->o->use.nll ? cli_write_nll(f->o->use.nll, f->kept->nll, f->kept->n_nll) : BPT_OK;
}

static bpt_status_t put_right(void *user) {
    const files_t *f = user;
    return *f->o->use.right ? cli_answers_right_write(f->kept->right, f->o->use.right) : BPT_OK;
}

static bpt_status_t put_gradient(void *user) {
    const files_t *f = user;
    bpt_evaluation_t e;
    if (!*f->o->use.grad) return BPT_OK;
    BPT_TRY(bpt_evaluate_gradient(f->trained->runner, f->source, &e));
    return bpt_runner_save_gradient(f->trained->runner, 1.0 / (double)e.n_scored, f->o->use.grad);
}

static bpt_status_t put_temperature(void *user) {
    const files_t *f = user;
    return f->kept->calibration.fits ? cli_temperature_write(f->o->arguments[0], f->trained->checkpoint.folder, &f->kept->calibration)
                                     : BPT_OK;
}

static bpt_status_t write_files(void *user) {
    bpt_status_t status = put_predictions(user);
    status = cli_finish(status, put_temperature, user);
    status = cli_finish(status, put_nll, user);
    status = cli_finish(status, put_right, user);
    return cli_finish(status, put_gradient, user);
}

// ---- The command
static bpt_status_t measure(const cli_options_t *o, cli_trained_t *t, bpt_batch_source_t *source, kept_t *kept, bpt_evaluation_t *e) {
    bpt_status_t status = *o->use.nll ? bpt_evaluate_nll(t->runner, source, keep, kept, e, &kept->nll, &kept->n_nll)
                                      : bpt_evaluate(t->runner, source, keep, kept, e);
    if (status == BPT_OK && e->n_scored) status = check_finite(t, e->loss);
    return status == BPT_OK ? cli_calibration_finish(&kept->calibration) : status;
}

static bpt_status_t print(const result_t *result) {
    BPT_TRY(result->o->use.json ? print_json(result) : print_text(result));
    return cli_flush_output();
}

static bpt_status_t open_tables(const cli_trained_t *t, kept_t *kept) {
    const bpt_task_spec_t *task = bpt_task_of(&t->config);
    kept->labels = (const char *const *)t->labels.name;
    BPT_TRY(cli_span_table_open(task, kept->labels, (int64_t)t->labels.count, (int64_t)t->labels.others, &kept->spans));
    cli_spans_explain(task, &t->labels);
    return cli_class_table_open(task, kept->labels, t->labels.count + t->labels.others, &kept->classes);
}

static bpt_status_t evaluate(const cli_options_t *o, cli_trained_t *t, const cli_eval_data_t *data, bpt_batch_source_t *source,
                             cli_answers_right_t *right) {
    kept_t kept = {.predictions = *o->use.predictions, .outputs = t->config.classes, .right = right};
    kept.calibration = (cli_calibration_t){.wanted = o->use.calibration || o->use.fit_temperature,
                                           .fits = o->use.fit_temperature,
                                           .task = bpt_task_of(&t->config),
                                           .classes = t->config.classes};
    files_t files = {o, t, source, &kept};
    bpt_evaluation_t e;
    bpt_status_t status = open_tables(t, &kept);
    if (status == BPT_OK) status = measure(o, t, source, &kept, &e);
    const cli_unknown_words_t unknown = cli_unknown_words_of(data, t);
    const result_t result = {o, t, &e, &data->scored, &unknown, &kept};
    if (status == BPT_OK) status = cli_finish(print(&result), write_files, &files);
    cli_span_table_close(&kept.spans);
    cli_class_table_close(&kept.classes);
    cli_calibration_free(&kept.calibration);
    bpt_free(kept.values);
    bpt_free(kept.nll);
    return status;
}

static bpt_status_t evaluate_data(const cli_options_t *o, cli_trained_t *t, cli_progress_t *progress, cli_answers_right_t *right) {
    cli_eval_data_t data = {0};
    bpt_batch_source_t *source = NULL;
    bpt_status_t status = cli_eval_data_open(o, t, &data);
    if (status == BPT_OK) status = cli_watch_create(data.source, progress, &source);
    if (status == BPT_OK) status = evaluate(o, t, &data, source, right);
    if (source) source->destroy(source);
    cli_eval_data_close(&data);
    return status;
}

// Once for each number of placeholders; files that are written hold the results of one evaluation.
enum { MOST_SHIFTS = 64, MOST_PLACEHOLDERS = 1 << 20 };
static bpt_status_t evaluate_shifts(cli_options_t *o, cli_trained_t *t, cli_progress_t *progress, cli_answers_right_t *right) {
    int64_t shifts[MOST_SHIFTS] = {0};
    int count = 1;
    if (*o->use.shifts) {
        if (bpt_task_of(&t->config)->reads != BPT_READS_EXAMPLES)
            return bpt_fail(BPT_ERR_USAGE, "--shift is for texts with a target each, and this is %s", bpt_task_of(&t->config)->model);
        BPT_TRY(cli_parse_list(o->use.shifts, "--shift", 0, MOST_PLACEHOLDERS, shifts, MOST_SHIFTS, &count));
    }
    if (count > 1 && right && !*o->use.right)
        return bpt_fail(BPT_ERR_USAGE, "--shift %s: two runs are compared by one number; give one", o->use.shifts);
    if (count > 1 && (*o->use.nll || *o->use.right || *o->use.grad || *o->use.predictions))
        return bpt_fail(BPT_ERR_USAGE, "--shift %s gives several results, which one file cannot hold; give one number", o->use.shifts);
    for (int i = 0; i < count; ++i) {
        o->use.placeholders = shifts[i];
        BPT_TRY(evaluate_data(o, t, progress, right));
    }
    return BPT_OK;
}

static bpt_status_t check_classes(const cli_options_t *o, const cli_trained_t *t, const cli_answers_right_t *right) {
    const bpt_task_spec_t *task = bpt_task_of(&t->config);
    const char *option = *o->use.right            ? "--right-out"
                         : right                  ? "the comparison of two runs"
                         : o->use.per_class       ? "--per-class"
                         : o->use.fit_temperature ? "--fit-temperature"
                         : o->use.calibration     ? "--calibration"
                                                  : NULL;
    if (!option) return BPT_OK;
    if (!task->labelled)
        return bpt_fail(BPT_ERR_USAGE, "%s is for models that choose labels, and %s is %s", option, o->arguments[0], task->model);
    if (t->config.crf && (o->use.calibration || o->use.fit_temperature))
        return bpt_fail(BPT_ERR_USAGE, "%s is for probabilities of labels, and the CRF of %s gives those of whole sequences", option,
                        o->arguments[0]);
    if (o->use.fit_temperature && (right || o->use.with.count || !t->run))
        return bpt_fail(BPT_ERR_USAGE, "--fit-temperature is for one run, which keeps the temperature%s",
                        t->run ? "" : "; bpt import makes a run of a model file");
    return BPT_OK;
}

// The run that is the first argument.
static bpt_status_t evaluate_run(cli_options_t *o, cli_answers_right_t *right, const bpt_task_spec_t **task) {
    cli_trained_t trained;
    cli_progress_t progress;
    cli_progress_start(&progress, o->global.quiet, CLI_LOSS_NATS);
    BPT_TRY(cli_trained_open(o, &trained));
    o->model = trained.config;  // what the options have to fit
    *task = bpt_task_of(&trained.config);
    bpt_status_t status = cli_options_check_fit(o);
    if (status == BPT_OK && o->use.with.count && *o->use.grad)
        status = bpt_fail(BPT_ERR_USAGE, "--grad-out is for one model; leave --with out");
    if (status == BPT_OK) status = check_classes(o, &trained, right);
    if (o->use.fit_temperature && cli_option_source(o, "split") == CLI_FROM_DEFAULT) o->data.part = BPT_VALID;
    if (status == BPT_OK) status = evaluate_shifts(o, &trained, &progress, right);
    cli_progress_clear(&progress);  // of an evaluation that failed
    cli_trained_close(&trained);
    return status;
}

// ---- Two runs

static bpt_status_t print_test(const cli_options_t *o, const cli_mcnemar_t *found, const bpt_task_spec_t *task) {
    if (o->use.json) {
        json_t *object = json_object();
        bpt_status_t status = cli_mcnemar_to_json(found, task, o->arguments, object);
        if (status == BPT_OK) status = cli_print_json(object, 0);
        json_decref(object);
        return status;
    }
    cli_mcnemar_print(found, task);
    return cli_flush_output();
}

static bpt_status_t compare_runs(cli_options_t *o) {
    cli_options_t second = *o;  // texts stay o's
    cli_answers_right_t right[2] = {{0}};
    const bpt_task_spec_t *task[2] = {NULL};
    cli_mcnemar_t found;
    if (*o->use.nll || *o->use.right || *o->use.grad || *o->use.predictions)
        return bpt_fail(BPT_ERR_USAGE, "two runs give two results, which one file cannot hold; evaluate %s and %s one by one",
                        o->arguments[0], o->arguments[1]);
    if (!strcmp(cli_data_path(&o->data), "-"))
        return bpt_fail(BPT_ERR_USAGE, "--data -: two runs read the data twice, which the standard input allows only once; name a file");
    if (o->use.with.count)
        return bpt_fail(BPT_ERR_USAGE, "--with goes with one run: two that are compared are evaluated one by one; leave %s out",
                        o->arguments[1]);
    second.arguments[0] = o->arguments[1];
    bpt_status_t status = evaluate_run(o, &right[0], &task[0]);
    if (status == BPT_OK && !o->use.json) printf("\n");
    if (status == BPT_OK) status = evaluate_run(&second, &right[1], &task[1]);
    if (status == BPT_OK && task[0] != task[1])
        status = bpt_fail(BPT_ERR_USAGE, "%s is %s and %s is %s: these are not compared", o->arguments[0], task[0]->model, o->arguments[1],
                          task[1]->model);
    if (status == BPT_OK) status = cli_mcnemar(&right[0], &right[1], o->arguments, &found);
    if (status == BPT_OK && !o->use.json) printf("\n");
    if (status == BPT_OK) status = print_test(o, &found, task[0]);
    for (int r = 0; r < 2; ++r) cli_answers_right_free(&right[r]);
    return status;
}

static bpt_status_t run_eval(cli_options_t *o) {
    const bpt_task_spec_t *task;
    cli_answers_right_t right = {0};
    if (o->n_arguments > 1) return compare_runs(o);
    const bpt_status_t status = evaluate_run(o, *o->use.right ? &right : NULL, &task);
    cli_answers_right_free(&right);
    return status;
}

const cli_command_t cli_command_eval = {
    .bit = CLI_EVAL,
    .name = "eval",
    .arguments = "RUN [OTHER]",
    .purpose = "evaluate a trained model",
    .description =
        "Prints the mean negative log-likelihood and, depending on the task, perplexity, bits per character, accuracy, "
        "precision, recall and f1 of spans, or the mean squared error. Tags of spans (B-PER I-PER O, also of IOB1, BIOES, "
        "BILOU and BMES, and B I O without types) are scored by the rules of conlleval, and a table has a line for each type: "
        "count is the number of spans that the model found, support the number in the data. E and L end a span, S and U are a "
        "span of one token, and M is I, as seqeval reads these schemes; conlleval.pl does not know S, L, U and M, and of the spans "
        "of faultless BIOES it finds about three quarters. What a scheme forbids (O I-PER) is read as conlleval does: I, E and M "
        "open a span where none is open; seqeval's mode \"strict\" leaves such spans out. "
        "unknown is the share of words that the vocabulary does not have. Where they are predicted, loss, perplexity and bits are "
        "lower bounds (lower_bound in JSON): nothing is counted for the words that <unk> stands for. "
        "--per-class adds precision, recall and f1 of each class or tag, their means (macro: of the classes that occur; weighted: by their "
        "support; micro: of all answers), and which label was given in place of which; --json always has them (classes, macro_f1, .., "
        "confusion), and `bpt plot --confusion` draws the last. Where tags are of spans the means are those of their types. "
        "With OTHER, a second run, both are evaluated on the same data, and McNemar's exact test says how probable such a difference is by "
        "chance alone: of classifiers it counts examples or pairs, of taggers sequences whose tags are all right. "
        "With --with RUN, once or several times, the runs answer together, by the mean of their probabilities. "
        "--calibration says how far the probabilities of answers can be trusted (expected calibration error, 15 bins), and "
        "--fit-temperature finds a temperature for them. "
        "Without --data it uses the test part of the data that the run was trained on; of one file of examples the part that "
        "training has cut off.",
    .examples = "  bpt eval run\n  bpt eval run --data other.txt --json\n  bpt eval run --data other.txt.xz\n  bpt eval run --per-class\n"
                "  bpt eval run --fit-temperature\n"
                "  bpt eval run-a run-b --data test.tsv\n  bpt eval run-a --with run-b --with run-c\n  bpt eval run --data other.tsv "
                "--where 1=books\n  bpt eval run "
                "--data ids.txt --unit ids --nll-out nll.json "
                "--grad-out grad.safetensors\n  bpt eval run --shift 0,1,2,3,4,5,6,7 --json\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_eval,
};
