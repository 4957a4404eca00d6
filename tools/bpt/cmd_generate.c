// `bpt generate`: goes on from a prompt, a token at a time. Knows no arithmetic: decoding and sampling are the library's.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "models/decode/decode.h"
#include "models/decode/sample.h"
#include "tools/bpt/eval_data.h"
#include "tools/bpt/program.h"

typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    bpt_decoder_t *decoder;
    bpt_sampler_t *sampler;
    bpt_file_writer_t *logits_file;  // NULL: not wanted
    float *logits;
    bpt_strbuf_t text;
    bool line_start;  // words: no blank before the next one
} job_t;

// ---- The prompt
static bpt_status_t read_prompt(const job_t *job, uint32_t **ids, uint64_t *count) {
    const cli_trained_t *t = job->trained;
    const char *prompt = *job->o->use.prompt ? job->o->use.prompt : "\n";
    const bpt_range_t range = {.path = "--prompt", .data = prompt, .bytes = strlen(prompt), .line = 1};
    bpt_ids_t encoded = {0};
    *ids = NULL;
    BPT_TRY(bpt_vocab_encode(t->vocab, &range, false, &encoded));
    *count = encoded.count;
    bpt_status_t status = *count ? bpt_alloc(*count, sizeof **ids, ids)
                                 : bpt_fail(BPT_ERR_USAGE, "--prompt holds no token; at least one is needed to go on from");
    if (status == BPT_OK) bpt_ids_copy(&encoded, 0, *count, *ids);
    bpt_ids_free(&encoded);
    return status;
}

// ---- Output
static bpt_status_t put(job_t *job, uint32_t id) {
    bpt_strbuf_clear(&job->text);
    BPT_TRY(bpt_vocab_decode(job->trained->vocab, id, job->line_start, &job->text));
    job->line_start = job->text.length && job->text.data[job->text.length - 1] == '\n';
    if (job->text.length) fwrite(job->text.data, 1, job->text.length, stdout);
    return cli_flush_output();
}

static bpt_status_t put_logits(job_t *job, bool first) {
    if (!job->logits_file) return BPT_OK;
    bpt_strbuf_clear(&job->text);
    BPT_TRY(bpt_strbuf_printf(&job->text, "%s[", first ? "[" : ",\n "));
    for (int64_t i = 0; i < job->trained->config.vocab; ++i)
        BPT_TRY(bpt_strbuf_printf(&job->text, "%s%.9g", i ? ", " : "", (double)job->logits[i]));
    BPT_TRY(bpt_strbuf_printf(&job->text, "]"));
    return bpt_file_writer_write(job->logits_file, job->text.data, job->text.length);
}

static bpt_status_t finish_logits(job_t *job) {
    if (!job->logits_file) return BPT_OK;
    BPT_TRY(bpt_file_writer_write(job->logits_file, "]\n", 2));
    return bpt_file_writer_commit(job->logits_file);
}

// ---- The loop
static bpt_status_t generate(job_t *job, const uint32_t *prompt, uint64_t count) {
    const int64_t wanted = job->o->use.max_tokens;
    job->line_start = true;
    if (job->o->use.echo)
        for (uint64_t i = 0; i < count; ++i) BPT_TRY(put(job, prompt[i]));
    BPT_TRY(bpt_decoder_feed(job->decoder, prompt, (int64_t)count, job->logits));
    for (int64_t i = 0; i < wanted; ++i) {
        uint32_t token;
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped after %lld tokens", (long long)i);
        BPT_TRY(put_logits(job, i == 0));
        BPT_TRY(bpt_sampler_draw(job->sampler, job->logits, (uint64_t)i, &token));
        BPT_TRY(put(job, token));
        if (i + 1 < wanted) BPT_TRY(bpt_decoder_feed(job->decoder, &token, 1, job->logits));
    }
    return finish_logits(job);
}

static bpt_status_t prepare_and_generate(job_t *job) {
    const cli_options_t *o = job->o;
    const int64_t vocab = job->trained->config.vocab;
    const bpt_sample_options_t sampling = {
        .temperature = o->use.temperature, .top_k = o->use.top_k, .top_p = o->use.top_p, .seed = o->train.seed};
    uint32_t *prompt = NULL;
    uint64_t count = 0;
    bpt_status_t status = read_prompt(job, &prompt, &count);
    if (status == BPT_OK) status = bpt_decoder_create(job->trained->runner, (int64_t)count + o->use.max_tokens, &job->decoder);
    if (status == BPT_OK) status = bpt_sampler_create(&sampling, vocab, &job->sampler);
    if (status == BPT_OK) status = bpt_alloc((size_t)vocab, sizeof *job->logits, &job->logits);
    if (status == BPT_OK && *o->use.logits) status = bpt_file_writer_open(o->use.logits, &job->logits_file);
    if (status == BPT_OK) status = generate(job, prompt, count);
    bpt_free(prompt);
    return status;
}

static bpt_status_t run_generate(cli_options_t *o) {
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    job_t job = {.o = o, .trained = &trained};
    const bpt_status_t status = prepare_and_generate(&job);
    if (status == BPT_OK && !job.line_start && isatty(STDOUT_FILENO)) putchar('\n');
    bpt_file_writer_close(job.logits_file);
    bpt_sampler_destroy(job.sampler);
    bpt_decoder_destroy(job.decoder);
    bpt_free(job.logits);
    bpt_strbuf_free(&job.text);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_generate = {
    .bit = CLI_GENERATE,
    .name = "generate",
    .arguments = "RUN",
    .purpose = "go on from a prompt with a trained language model",
    .description = "Prints each token as soon as it is chosen. The same --seed gives the same text.",
    .examples = "  bpt generate run --prompt 'ROMEO:' --max-tokens 400 --temperature 0.8\n  bpt generate run --prompt 'The ' --echo "
                "--top-k 40 --seed 7\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .polls = true,
    .run = run_generate,
};
