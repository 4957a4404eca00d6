// `bpt classify`: a label and its probability for every line of a text, as the lines come. Knows no training.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "data/examples_source.h"
#include "models/kinds/kind.h"
#include "models/train/evaluate.h"
#include "tools/bpt/commands.h"
#include "tools/bpt/eval_data.h"

enum { BLOCK_BYTES = 1 << 20 };  // of text that is answered together, where so much is there

typedef struct {
    bpt_range_t line;
    int64_t example;  // its number among those of the group, -1: the line is blank
} asked_t;

// Lines that are answered together.
typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    asked_t *asked;
    size_t count, capacity;
    bpt_examples_t examples;
    float *logits;  // [examples, classes] in the order of the file
    size_t logit_capacity;
    float *probabilities;  // [classes]
} group_t;

// ---- The model

// Batches come by length; rows go to their place in the file.
static bpt_status_t keep(void *user, const bpt_batch_t *batch, const float *nll, const float *logits) {
    group_t *g = user;
    const int64_t classes = g->trained->config.classes;
    (void)nll;
    if (cli_interrupted)
        return bpt_fail(BPT_ERR_INTERRUPTED, "stopped; nothing was written from line %" PRIu64 " on", g->asked[0].line.line);
    for (int64_t i = 0; i < batch->n_real; ++i)
        memcpy(g->logits + (size_t)batch->sequences[i] * (size_t)classes, logits + i * classes, (size_t)classes * sizeof *logits);
    return BPT_OK;
}

static bpt_status_t compute(group_t *g) {
    const size_t wanted = (size_t)g->examples.count * (size_t)g->trained->config.classes;
    bpt_batch_source_t *source;
    bpt_evaluation_t evaluation;
    if (!wanted) return BPT_OK;
    if (wanted > g->logit_capacity) BPT_TRY(bpt_realloc(&g->logits, wanted, sizeof *g->logits));
    if (wanted > g->logit_capacity) g->logit_capacity = wanted;
    const bpt_batching_t batching = {.batch_tokens = g->o->data.batch_tokens, .packed = bpt_kind_of(&g->trained->config)->packed};
    BPT_TRY(bpt_examples_eval_source(&g->examples, &batching, &source));
    const bpt_status_t status = bpt_evaluate(g->trained->runner, source, keep, g, &evaluation);
    source->destroy(source);
    return status;
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

// `label` NULL: the line was blank.
static bpt_status_t set_label(json_t *object, const char *label) {
    if (label) return bpt_json_set_text(object, "label", label);
    return json_object_set_new(object, "label", json_null()) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result")
                                                             : BPT_OK;
}

static bpt_status_t print_json(const group_t *g, const bpt_range_t *line, const char *label, const float *logits) {
    const int64_t classes = g->trained->config.classes;
    json_t *object = json_object();
    bpt_status_t status = set_label(object, label);
    if (status == BPT_OK && label) status = fill_list(object, "probabilities", g->probabilities, classes);
    if (status == BPT_OK && label) status = fill_list(object, "logits", logits, classes);
    if (status == BPT_OK && g->o->use.with_input) status = cli_json_set_bytes(object, "text", line->data, line->bytes);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

static bpt_status_t print_line(const group_t *g, const asked_t *asked) {
    const int64_t classes = g->trained->config.classes;
    const float *logits = asked->example < 0 ? NULL : g->logits + asked->example * classes;
    const int64_t best = logits ? bpt_softmax(logits, classes, g->probabilities) : -1;
    const char *label = logits ? g->trained->labels.name[best] : NULL;
    for (int64_t c = 0; logits && c < classes; ++c)
        if (!isfinite(logits[c]))
            return bpt_fail(BPT_ERR_NUMERIC,
                            "%s: a logit of line %" PRIu64 " is not finite: the weights are not, or are too large; use another checkpoint "
                            "(--checkpoint N)",
                            asked->line.path, asked->line.line);
    if (g->o->use.json) return print_json(g, &asked->line, label, logits);
    if (label) printf("%s\t%.6f", label, (double)g->probabilities[best]);
    putchar('\n');
    return BPT_OK;
}

static bpt_status_t answer(group_t *g) {
    BPT_TRY(compute(g));
    for (size_t i = 0; i < g->count; ++i) {
        BPT_TRY(print_line(g, &g->asked[i]));
        if (ferror(stdout)) break;
    }
    g->count = 0;
    g->examples.count = g->examples.n_tokens = 0;
    return cli_flush_output();
}

// ---- Lines
static bool is_blank(bpt_range_t line) {
    size_t bytes;
    return !bpt_next_token(&line, &bytes);
}

static bpt_status_t ask(group_t *g, const bpt_range_t *line) {
    static const bpt_examples_options_t options = {0};
    BPT_TRY(bpt_grow(&g->asked, g->count, &g->capacity, sizeof *g->asked));
    BPT_TRY(bpt_range_check_line(line));
    const bool blank = is_blank(*line);
    if (!blank) BPT_TRY(bpt_examples_add(line, &options, g->trained->vocab, NULL, &g->examples));
    g->asked[g->count++] = (asked_t){*line, blank ? -1 : (int64_t)g->examples.count - 1};
    return BPT_OK;
}

// Lines before a bad one are answered first; then it is read again, for its message.
static bpt_status_t answer_block(group_t *g, bpt_range_t rest) {
    bpt_range_t line;
    while (bpt_range_next_line(&rest, &line)) {
        if (ask(g, &line) == BPT_OK) continue;
        bpt_error_clear();
        BPT_TRY(answer(g));
        BPT_TRY(ask(g, &line));
    }
    return answer(g);
}

static bpt_status_t classify(group_t *g, const char *path) {
    bpt_text_blocks_t *blocks;
    BPT_TRY(bpt_text_blocks_open(path, BLOCK_BYTES, &blocks));
    bpt_status_t status = bpt_alloc((size_t)g->trained->config.classes, sizeof *g->probabilities, &g->probabilities);
    for (bool end = false; status == BPT_OK;) {
        bpt_range_t lines;
        status = cli_next_lines(blocks, &lines, &end);
        if (end) break;
        if (status == BPT_OK) status = answer_block(g, lines);
    }
    bpt_text_blocks_close(blocks);
    bpt_examples_free(&g->examples);
    bpt_free(g->asked);
    bpt_free(g->logits);
    bpt_free(g->probabilities);
    return status;
}

static bpt_status_t run_classify(cli_options_t *o) {
    if (o->use.with_input && !o->use.json) return bpt_fail(BPT_ERR_USAGE, "--with-input goes with --json");
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    group_t group = {.o = o, .trained = &trained};
    bpt_status_t status;
    const bpt_task_spec_t *task = bpt_task_of(&trained.config);
    if (!task->labelled || task->per_token)
        status = bpt_fail(BPT_ERR_USAGE, "%s is %s, not a classifier", o->arguments[0], task->model);
    else
        status = classify(&group, o->n_arguments < 2 ? "-" : o->arguments[1]);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_classify = {
    .bit = CLI_CLASSIFY,
    .name = "classify",
    .arguments = "RUN [FILE]",
    .purpose = "label every line of a text with a trained classifier",
    .description = "Reads FILE or standard input. Each line is one text, its tokens separated by blanks. A line may also be "
                   "`label<TAB>text` or one labelled tree in brackets; the labels are ignored. Prints the label and its "
                   "probability. With --json it prints one object a line, with the label, the probabilities and the logits. Line N "
                   "of the output belongs to line N of the input, and is printed as soon as that line has been read. For a blank "
                   "line the output is blank too, or {\"label\": null} with --json. A line that cannot be read ends the program, "
                   "after the answers to the lines before it. Lines that are available at the same time go through the model as one "
                   "batch. The last digits of a probability can depend on how lines were batched.",
    .examples = "  bpt classify run reviews.txt\n  echo 'a moving and funny film' | bpt classify run --json\n  tail -f log.txt | bpt "
                "classify run --json --with-input | jq -r "
                "'select(.label == \"bad\").text'\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_classify,
};
