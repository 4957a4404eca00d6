// `bpt classify`: a label and its probability for every line of a text, as the lines come. Knows no training.
#include <stdio.h>

#include "bpt/alloc.h"
#include "models/nn/softmax.h"
#include "models/train/evaluate.h"
#include "tools/bpt/commands/answers.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/calibration.h"
#include "tools/bpt/runs/trained.h"

// `label` NULL: the line was blank.
static bpt_status_t set_label(json_t *object, const char *label) {
    if (label) return bpt_json_set_text(object, "label", label);
    return json_object_set_new(object, "label", json_null()) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result")
                                                             : BPT_OK;
}

static bpt_status_t print_json(const cli_options_t *o, const cli_answer_t *a, const char *label, const float *probabilities) {
    json_t *object = json_object();
    bpt_status_t status = set_label(object, label);
    if (status == BPT_OK && label) status = cli_answer_set_list(object, "probabilities", probabilities, a->classes);
    if (status == BPT_OK && label) status = cli_answer_set_list(object, "logits", a->logits, a->classes);
    if (status == BPT_OK && o->use.with_input) status = cli_json_set_bytes(object, "text", a->line->data, a->line->bytes);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

static bpt_status_t print(const cli_options_t *o, const cli_answer_t *a) {
    float *probabilities;
    BPT_TRY(bpt_alloc((size_t)a->classes, sizeof *probabilities, &probabilities));
    const char *label = a->logits ? a->labels[a->best[0]] : NULL;
    for (int64_t i = 0; label && i < a->classes; ++i) probabilities[i] = (float)((double)a->logits[i] / a->temperature);
    if (label) (void)bpt_softmax(probabilities, a->classes, probabilities);
    bpt_status_t status = BPT_OK;
    if (o->use.json) {
        status = print_json(o, a, label, probabilities);
    } else {
        if (label) printf("%s\t%.6f", label, (double)probabilities[a->best[0]]);
        putchar('\n');
    }
    bpt_free(probabilities);
    return status;
}

static bpt_status_t answer(const cli_options_t *o, cli_trained_t *t) {
    const bpt_task_spec_t *task = bpt_task_of(&t->config);
    const char *path = o->n_arguments < 2 ? "-" : o->arguments[1];
    bpt_csv_columns_t cells = {0};
    cli_answers_t answers = {.o = o, .trained = t, .print = print, .temperature = 1};
    if (!task->labelled || task->per_token)
        return bpt_fail(BPT_ERR_USAGE, "%s is %s, not a classifier%s", o->arguments[0], task->model, task->labelled ? "; use bpt tag" : "");
    BPT_TRY(cli_answer_options(o, t, path, &answers.options));
    if (o->use.calibrated && o->use.with.count)
        return bpt_fail(BPT_ERR_USAGE, "--calibrated is by the temperature of one run, and --with are several; leave one of them out");
    if (o->use.calibrated && !t->run)
        return bpt_fail(BPT_ERR_USAGE, "--calibrated is for runs, which keep a temperature; %s is a model file", o->arguments[0]);
    if (o->use.calibrated) BPT_TRY(cli_temperature_read(o->arguments[0], t->checkpoint.folder, &answers.temperature));
    answers.options.cells = &cells;
    return cli_answer_lines(&answers, path);
}

static bpt_status_t run_classify(cli_options_t *o) {
    if (o->use.with_input && !o->use.json) return bpt_fail(BPT_ERR_USAGE, "--with-input goes with --json");
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    const bpt_status_t status = answer(o, &trained);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_classify = {
    .bit = CLI_CLASSIFY,
    .name = "classify",
    .arguments = "RUN [FILE]",
    .purpose = "label every line of a text with a trained classifier",
    .description =
        "Reads FILE or standard input, packed or not. Each line is one text, its tokens separated by blanks; for a classifier of pairs two "
        "texts with a tab between them. A line may also be `label<TAB>text` or one labelled tree in brackets; the labels are "
        "ignored. With --format jsonl, or a file whose name ends in .jsonl or .ndjson, a line is a JSON object with a field for "
        "the text. With --format csv, or a file whose name ends in .csv, a record is a text, and the first one, which names the columns, "
        "has "
        "no output. A tree over several lines is one text, answered when its last bracket has come. Prints the label and its "
        "probability. With --json it prints one object a line, with the label, the probabilities and the logits. Line N "
        "of the output belongs to line N of the input, and is printed as soon as that line has been read. For a blank "
        "line the output is blank too, or {\"label\": null} with --json. A line that cannot be read ends the program, "
        "after the answers to the lines before it. Lines that are available at the same time go through the model as one "
        "batch. The last digits of a probability can depend on how lines were batched.",
    .examples = "  bpt classify run reviews.txt\n  bpt classify run reviews.jsonl --text-field body\n  bpt classify run reviews.txt.gz\n  "
                "bpt classify run-a --with run-b --with run-c reviews.txt\n  "
                "bpt classify run reviews.csv --calibrated\n  "
                "echo 'a moving and funny film' | "
                "bpt classify run --json\n  tail -f log.txt | bpt "
                "classify run --json --with-input | jq -r "
                "'select(.label == \"bad\").text'\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_classify,
};
