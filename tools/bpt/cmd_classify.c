// `bpt classify`: a label and its probability for every line of a text. Knows no training.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "data/classify.h"
#include "models/train/evaluate.h"
#include "tools/bpt/eval_data.h"
#include "tools/bpt/program.h"

typedef struct {
    int64_t classes;
    float *logits;  // [examples, classes] in the order of the file
} results_t;

// Batches come by length; rows go to their place in the file.
static bpt_status_t keep(void *user, const bpt_batch_t *batch, const float *nll, const float *logits) {
    results_t *r = user;
    (void)nll;
    if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped; nothing was written");
    for (int64_t i = 0; i < batch->n_real; ++i) {
        const float *row = logits + i * r->classes;
        for (int64_t c = 0; c < r->classes; ++c)
            if (!isfinite(row[c]))
                return bpt_fail(BPT_ERR_NUMERIC,
                                "a logit of text %" PRIu32 " is not finite: the weights are not, or are too large; use another checkpoint "
                                "(--checkpoint N)",
                                batch->sequences[i] + 1);
        memcpy(r->logits + (size_t)batch->sequences[i] * (size_t)r->classes, row, (size_t)r->classes * sizeof *row);
    }
    return BPT_OK;
}

// ---- Output
static bpt_status_t fill_list(json_t *object, const char *key, const float *values, int64_t count) {
    json_t *list = json_array();
    if (json_object_set_new(object, key, list)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
    for (int64_t i = 0; i < count; ++i)
        if (json_array_append_new(list, json_real((double)values[i])))
            return bpt_fail(BPT_ERR_NUMERIC, "%s %" PRId64 " is not a finite number", key, i);
    return BPT_OK;
}

static bpt_status_t print_json(const char *label, const float *probabilities, const float *logits, int64_t classes) {
    json_t *object = json_object();
    bpt_status_t status = bpt_json_set_text(object, "label", label);
    if (status == BPT_OK) status = fill_list(object, "probabilities", probabilities, classes);
    if (status == BPT_OK) status = fill_list(object, "logits", logits, classes);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

static bpt_status_t print(const cli_options_t *o, const cli_trained_t *t, const results_t *r, uint64_t count) {
    float *probabilities;
    BPT_TRY(bpt_alloc((size_t)r->classes, sizeof *probabilities, &probabilities));
    bpt_status_t status = BPT_OK;
    for (uint64_t i = 0; i < count && status == BPT_OK; ++i) {
        const float *logits = r->logits + i * (uint64_t)r->classes;
        const int64_t best = bpt_softmax(logits, r->classes, probabilities);
        if (o->use.json)
            status = print_json(t->labels.name[best], probabilities, logits, r->classes);
        else
            printf("%s\t%.6f\n", t->labels.name[best], (double)probabilities[best]);
        if (status == BPT_OK && ferror(stdout)) status = cli_flush_output();
    }
    bpt_free(probabilities);
    return status;
}

// ---- The command
static bpt_status_t classify(const cli_options_t *o, cli_trained_t *t, const bpt_range_t *text) {
    const bpt_examples_options_t options = {0};
    bpt_examples_t examples = {0};
    bpt_batch_source_t *source = NULL;
    results_t results = {.classes = t->config.classes};
    bpt_evaluation_t evaluation;
    bpt_status_t status = bpt_examples_read(text, &options, t->vocab, NULL, &examples);
    if (status == BPT_OK) status = bpt_classify_eval_source(&examples, o->data.batch_tokens, &source);
    if (status == BPT_OK) status = bpt_alloc((size_t)examples.count * (size_t)results.classes, sizeof *results.logits, &results.logits);
    if (status == BPT_OK) status = bpt_evaluate(t->runner, source, keep, &results, &evaluation);
    if (status == BPT_OK) status = print(o, t, &results, examples.count);
    bpt_free(results.logits);
    if (source) source->destroy(source);
    bpt_examples_free(&examples);
    return status;
}

static bpt_status_t run_classify(cli_options_t *o) {
    const char *path = o->n_arguments < 2 ? "-" : o->arguments[1];
    cli_trained_t trained;
    bpt_text_t *text = NULL;
    BPT_TRY(cli_trained_open(o, &trained));
    bpt_status_t status = BPT_OK;
    if (trained.config.task != BPT_TASK_CLASSIFY)
        status = bpt_fail(BPT_ERR_USAGE, "%s is a language model, not a classifier", o->arguments[0]);
    if (status == BPT_OK) status = bpt_text_open_any(path, &text);
    if (status == BPT_OK) status = cli_signals_poll("\nbpt: stopping; once more, a second later, ends at once\n");
    if (status == BPT_OK) {
        const bpt_range_t range = bpt_text_range(text);
        if (range.bytes) status = classify(o, &trained, &range);
    }
    bpt_text_close(text);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_classify = {
    .bit = CLI_CLASSIFY,
    .name = "classify",
    .arguments = "RUN [FILE]",
    .purpose = "label every line of a text with a trained classifier",
    .description =
        "Reads FILE or standard input, one text a line, tokens separated by blanks; a line may also be `label<TAB>text` or one labelled "
        "tree in brackets, whose labels are not looked at. Prints label and probability, or with --json one object a line with label, "
        "probabilities and logits.",
    .examples = "  bpt classify run reviews.txt\n  echo 'a moving and funny film' | bpt classify run --json\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_classify,
};
