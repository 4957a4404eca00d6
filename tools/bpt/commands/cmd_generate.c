// `bpt generate`: goes on from a prompt, a token at a time. Knows no arithmetic: decoding and sampling are the library's. Many prompts and
// conversations are in generate_prompts.c and generate_interactive.c.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "tools/bpt/commands/generate.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/signals.h"

typedef struct {
    cli_writer_t *writer;
    cli_continuation_t text;
    size_t shown;                    // bytes of the text
    bpt_file_writer_t *logits_file;  // NULL: not wanted
    int64_t listed;                  // tokens whose logits are in it
} job_t;

// ---- Output
static bpt_status_t show(job_t *job) {
    if (job->text.ready > job->shown) fwrite(job->text.text.data + job->shown, 1, job->text.ready - job->shown, stdout);
    job->shown = job->text.ready;
    return cli_flush_output();
}

static bpt_status_t put_logits(job_t *job) {
    if (!job->logits_file) return BPT_OK;
    bpt_strbuf_t *line = &job->writer->scratch;
    bpt_strbuf_clear(line);
    BPT_TRY(bpt_strbuf_printf(line, "%s[", job->listed ? ",\n " : "["));
    for (int64_t i = 0; i < job->writer->trained->config.vocab; ++i) {
        const float logit = job->writer->logits[i];
        if (!isfinite(logit))
            return bpt_fail(BPT_ERR_NUMERIC, "the logit of token %lld is not finite, which JSON cannot hold", (long long)i);
        BPT_TRY(bpt_strbuf_printf(line, "%s%.9g", i ? ", " : "", (double)logit));
    }
    BPT_TRY(bpt_strbuf_printf(line, "]"));
    const bpt_status_t status = bpt_file_writer_write(job->logits_file, line->data, line->length);
    ++job->listed;
    if (status == BPT_OK) return BPT_OK;
    bpt_file_writer_close(job->logits_file);  // with a gap it would be no list
    job->logits_file = NULL;
    return status;
}

// Shows what a stop string held back, and ends the list of logits: all of it, or after a failure what there is for the tokens shown.
static bpt_status_t finish(void *user) {
    job_t *job = user;
    cli_continuation_end(&job->text);
    BPT_TRY(show(job));
    const bool line_end = job->shown && job->text.text.data[job->shown - 1] == '\n';
    if (!line_end && isatty(STDOUT_FILENO)) putchar('\n');
    if (!job->logits_file || !job->listed) return BPT_OK;
    BPT_TRY(bpt_file_writer_write(job->logits_file, "]\n", 2));
    return bpt_file_writer_commit(job->logits_file);
}

// ---- Every token as soon as it is chosen
static bpt_status_t go_on(job_t *job) {
    cli_writer_t *w = job->writer;
    const int64_t wanted = w->o->use.max_tokens;
    for (int64_t i = 0; i < wanted && !job->text.stopped; ++i) {
        uint32_t token;
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped after %lld tokens", (long long)i);
        BPT_TRY(put_logits(job));
        BPT_TRY(cli_continuation_draw(w, &job->text, w->logits, (uint64_t)i, &token));
        BPT_TRY(show(job));
        if (i + 1 < wanted && !job->text.stopped) BPT_TRY(bpt_decoder_feed(w->decoder, 0, &token, 1, w->logits));
    }
    return BPT_OK;
}

static bpt_status_t generate(job_t *job, const uint32_t *prompt, uint64_t count) {
    cli_writer_t *w = job->writer;
    BPT_TRY(cli_continuation_give(w, &job->text, prompt, count, w->o->use.echo));
    BPT_TRY(show(job));
    BPT_TRY(bpt_decoder_feed(w->decoder, 0, prompt, (int64_t)count, w->logits));
    return cli_finish(go_on(job), finish, job);
}

static bpt_status_t generate_one(cli_writer_t *writer) {
    const cli_options_t *o = writer->o;
    const char *text = *o->use.prompt ? o->use.prompt : "\n";
    const bpt_range_t range = bpt_range_of("--prompt", text, strlen(text));
    job_t job = {.writer = writer, .text.line_start = true};
    uint32_t *prompt = NULL;
    uint64_t count = 0;
    bpt_status_t status = cli_writer_encode(writer, &range, &prompt, &count);
    if (status == BPT_OK && !count) status = bpt_fail(BPT_ERR_USAGE, "--prompt holds no token; at least one is needed to go on from");
    if (status == BPT_OK) status = bpt_room_check(&writer->room, &range, count);
    if (status == BPT_OK) status = cli_writer_room(writer, (int64_t)count + o->use.max_tokens, 1);
    if (status == BPT_OK && *o->use.logits) status = bpt_file_writer_open(o->use.logits, &job.logits_file);
    if (status == BPT_OK) status = cli_signals_poll(cli_stopping);
    if (status == BPT_OK) status = generate(&job, prompt, count);
    bpt_file_writer_close(job.logits_file);
    cli_continuation_free(&job.text);
    bpt_free(prompt);
    return status;
}

static bpt_status_t check_options(const cli_options_t *o) {
    if (*o->use.prompts && (*o->use.prompt || *o->use.logits || o->use.interactive))
        return bpt_fail(BPT_ERR_USAGE, "--prompts goes without --prompt, --logits-out and --interactive");
    if (o->use.interactive && *o->use.logits) return bpt_fail(BPT_ERR_USAGE, "--interactive goes without --logits-out");
    if (o->data.context && !o->use.interactive) return bpt_fail(BPT_ERR_USAGE, "--context goes with --interactive");
    return BPT_OK;
}

static bpt_status_t run_generate(cli_options_t *o) {
    cli_trained_t trained;
    cli_writer_t writer;
    BPT_TRY(check_options(o));
    BPT_TRY(cli_trained_open(o, &trained));
    bpt_status_t status = cli_writer_open(o, &trained, &writer);
    if (status == BPT_OK)
        status = *o->use.prompts      ? cli_generate_prompts(&writer)
                 : o->use.interactive ? cli_generate_interactive(&writer)
                                      : generate_one(&writer);
    cli_writer_close(&writer);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_generate = {
    .bit = CLI_GENERATE,
    .name = "generate",
    .arguments = "RUN",
    .purpose = "continue a prompt with a trained language model",
    .description = "Prints each token as soon as it is chosen. The same --seed gives the same text. With --prompts it continues "
                   "every line of a file, several at a time. It prints a line of JSON for each, in the order of the input, as soon "
                   "as it is complete. Lines are read as they come; for a blank line the text is null. With --interactive it "
                   "continues each line that is typed or comes through a pipe. Each line is added to the text so far, and the "
                   "answer is printed on a line of its own. Ctrl-C ends an answer, Ctrl-D ends the program.\n"
                   "A token is chosen in these steps. --no-repeat N forbids tokens by which N tokens side by side would come a second "
                   "time; where that leaves none, generation ends with an error. Then --repeat-penalty R changes the logit l of every "
                   "token that occurs "
                   "among the last --repeat-window tokens, the prompt included: to l / R if l > 0, else to l R. Then the "
                   "probabilities are softmax(l / T), where T is --temperature. Then --top-k, --top-p and --min-p remove the less "
                   "likely tokens, each from what the one before it left.",
    .examples = "  bpt generate run --prompt 'ROMEO:' --max-tokens 400 --temperature 0.8\n  bpt generate run --prompt 'The ' --echo "
                "--top-k 40 --seed 7\n  bpt generate run --prompts prompts.txt --max-tokens 100 > answers.jsonl\n  bpt "
                "generate run --prompt 'Once' --no-repeat 4\n  bpt "
                "generate run --interactive --max-tokens 200 --stop $'\\n\\n'\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_generate,
};
