// `bpt tag`: a tag for every token of every line of a text, as the lines come. Knows no training.
#include <stdio.h>

#include "tools/bpt/answers.h"

static bpt_status_t print_json(const cli_options_t *o, const cli_answer_t *a) {
    json_t *object = json_object(), *tags = json_array();
    bpt_status_t status =
        json_object_set_new(object, "tags", tags) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result") : BPT_OK;
    for (int64_t i = 0; i < a->rows && status == BPT_OK; ++i)
        if (json_array_append_new(tags, json_string(a->labels[a->best[i]])))
            status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
    if (status == BPT_OK) status = cli_answer_set_rows(object, "logits", a->logits, a->rows, a->classes);
    if (status == BPT_OK && o->use.with_input) status = cli_json_set_bytes(object, "text", a->line->data, a->line->bytes);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

// Tokens are those of the line, up to its tags if it has them.
static bpt_status_t print(const cli_options_t *o, const cli_answer_t *a) {
    if (o->use.json) return print_json(o, a);
    bpt_range_t rest = *a->line;
    size_t bytes;
    for (int64_t i = 0; i < a->rows; ++i) {
        const char *token = bpt_next_token(&rest, &bytes);
        fwrite(token, 1, bytes, stdout);
        printf("\t%s\n", a->labels[a->best[i]]);
    }
    putchar('\n');
    return BPT_OK;
}

static bpt_examples_options_t options_of(const cli_trained_t *t) {
    return (bpt_examples_options_t){
        .form = BPT_FORM_TAGGED, .ngram_min = t->config.ngram_min, .ngram_max = t->config.ngram_max, .ngram_rows = t->config.ngram_rows};
}

static bpt_status_t run_tag(cli_options_t *o) {
    if (o->use.with_input && !o->use.json) return bpt_fail(BPT_ERR_USAGE, "--with-input goes with --json");
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    bpt_status_t status;
    const bpt_task_spec_t *task = bpt_task_of(&trained.config);
    const cli_answers_t answers = {.o = o, .trained = &trained, .options = options_of(&trained), .print = print};
    if (!task->labelled || !task->per_token)
        status =
            bpt_fail(BPT_ERR_USAGE, "%s is %s, not a tagger%s", o->arguments[0], task->model, task->labelled ? "; use bpt classify" : "");
    else
        status = cli_answer_lines(&answers, o->n_arguments < 2 ? "-" : o->arguments[1]);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_tag = {
    .bit = CLI_TAG,
    .name = "tag",
    .arguments = "RUN [FILE]",
    .purpose = "tag every token of a text with a trained tagger",
    .description =
        "Reads FILE or standard input. Each line is one sentence, its tokens separated by blanks; what stands behind a tab is "
        "ignored. Prints `token<TAB>tag` lines and a blank line behind each sentence, as soon as the sentence has been read; for a "
        "blank line a blank line. With --json it prints one object a sentence, with the tags, and the scores (logits) of every tag "
        "for every token; a CRF chooses the tags from the scores and its transitions. A line that cannot be read ends the program, "
        "after the answers to the lines before it.",
    .examples = "  bpt tag run sentences.txt\n  echo 'EU rejects German call' | bpt tag run --json\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_tag,
};
