// `bpt generate`: goes on from a prompt, a token at a time, or from many prompts side by side. Knows no arithmetic: decoding and sampling
// are the library's.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "models/decode/decode.h"
#include "models/decode/sample.h"
#include "tools/bpt/eval_data.h"
#include "tools/bpt/program.h"

static const char stopping[] = "\nbpt: stopping; once more, a second later, ends at once\n";

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

// ---- Prompts
static bpt_status_t read_prompt(const job_t *job, const bpt_range_t *range, uint32_t **ids, uint64_t *count) {
    bpt_ids_t encoded = {0};
    *ids = NULL;
    BPT_TRY(bpt_vocab_encode(job->trained->vocab, range, false, &encoded));
    *count = encoded.count;
    bpt_status_t status = BPT_OK;
    if (*count)
        status = bpt_alloc(*count, sizeof **ids, ids);
    else if (*job->o->use.prompts)
        status = bpt_fail(BPT_ERR_INPUT, "%s: line %llu holds no token; at least one is needed to go on from", range->path,
                          (unsigned long long)range->line);
    else
        status = bpt_fail(BPT_ERR_USAGE, "--prompt holds no token; at least one is needed to go on from");
    if (status == BPT_OK) bpt_ids_copy(&encoded, 0, *count, *ids);
    bpt_ids_free(&encoded);
    return status;
}

static bpt_status_t open_decoder(job_t *job, uint64_t longest, int64_t sequences) {
    const cli_options_t *o = job->o;
    const int64_t vocab = job->trained->config.vocab;
    const bpt_sample_options_t sampling = {
        .temperature = o->use.temperature, .top_k = o->use.top_k, .top_p = o->use.top_p, .seed = o->train.seed};
    BPT_TRY(bpt_decoder_create(job->trained->runner, (int64_t)longest + o->use.max_tokens, sequences, &job->decoder));
    BPT_TRY(bpt_sampler_create(&sampling, vocab, &job->sampler));
    return bpt_alloc((size_t)(sequences * vocab), sizeof *job->logits, &job->logits);
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
    for (int64_t i = 0; i < job->trained->config.vocab; ++i) {
        if (!isfinite(job->logits[i]))
            return bpt_fail(BPT_ERR_NUMERIC, "the logit of token %lld is not finite, which JSON cannot hold", (long long)i);
        BPT_TRY(bpt_strbuf_printf(&job->text, "%s%.9g", i ? ", " : "", (double)job->logits[i]));
    }
    BPT_TRY(bpt_strbuf_printf(&job->text, "]"));
    return bpt_file_writer_write(job->logits_file, job->text.data, job->text.length);
}

static bpt_status_t finish_logits(job_t *job) {
    if (!job->logits_file) return BPT_OK;
    BPT_TRY(bpt_file_writer_write(job->logits_file, "]\n", 2));
    return bpt_file_writer_commit(job->logits_file);
}

// ---- Many prompts side by side: a line of JSON each
typedef struct {
    const char *text;  // of the prompt, in the file
    uint64_t bytes;
    uint32_t *ids;
    uint64_t count;
    bpt_strbuf_t out;
    bool line_start;
} prompt_t;

typedef struct {
    prompt_t *prompt;
    size_t count, capacity;
    uint64_t longest;
} prompts_t;

static void free_prompts(prompts_t *p) {
    for (size_t i = 0; i < p->count; ++i) {
        bpt_free(p->prompt[i].ids);
        bpt_strbuf_free(&p->prompt[i].out);
    }
    bpt_free(p->prompt);
}

static bpt_status_t read_prompts(const job_t *job, bpt_range_t rest, prompts_t *p) {
    bpt_range_t line;
    while (bpt_range_next_line(&rest, &line)) {
        BPT_TRY(bpt_range_check_line(&line));
        BPT_TRY(bpt_grow(&p->prompt, p->count, &p->capacity, sizeof *p->prompt));
        prompt_t *one = &p->prompt[p->count++];
        *one = (prompt_t){.text = line.data, .bytes = line.bytes, .line_start = true};
        BPT_TRY(read_prompt(job, &line, &one->ids, &one->count));
        if (one->count > p->longest) p->longest = one->count;
    }
    return BPT_OK;
}

static bpt_status_t add_token(const job_t *job, prompt_t *p, uint32_t id) {
    BPT_TRY(bpt_vocab_decode(job->trained->vocab, id, p->line_start, &p->out));
    p->line_start = p->out.length && p->out.data[p->out.length - 1] == '\n';
    return BPT_OK;
}

// JSON holds UTF-8 only: bytes that are none become U+FFFD.
static bpt_status_t set_text(json_t *object, const char *key, const char *data, uint64_t bytes) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (uint64_t i = 0; i < bytes && status == BPT_OK;) {
        uint32_t code_point;
        const int used = bpt_utf8_next(data + i, bytes - i, &code_point);
        status = used && code_point ? bpt_strbuf_append(&text, data + i, (size_t)used) : bpt_strbuf_append(&text, "\xEF\xBF\xBD", 3);
        i += used ? (uint64_t)used : 1;
    }
    if (status == BPT_OK) status = bpt_json_set_text(object, key, text.data ? text.data : "");
    bpt_strbuf_free(&text);
    return status;
}

static bpt_status_t print_prompt(const prompt_t *p) {
    json_t *object = json_object();
    if (!object) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
    bpt_status_t status = set_text(object, "prompt", p->text, p->bytes);
    if (status == BPT_OK) status = set_text(object, "text", p->out.data, p->out.length);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status == BPT_OK ? cli_flush_output() : status;
}

// Prompts first .. first + n - 1. The draws of a prompt depend on its place in the file, not on who is beside it.
static bpt_status_t generate_group(job_t *job, prompt_t *all, size_t first, size_t n, uint32_t *tokens) {
    const int64_t wanted = job->o->use.max_tokens, vocab = job->trained->config.vocab;
    for (size_t s = 0; s < n; ++s) {
        prompt_t *p = &all[first + s];
        bpt_decoder_rewind(job->decoder, (int64_t)s, 0);
        for (uint64_t i = 0; job->o->use.echo && i < p->count; ++i) BPT_TRY(add_token(job, p, p->ids[i]));
        BPT_TRY(bpt_decoder_feed(job->decoder, (int64_t)s, p->ids, (int64_t)p->count, job->logits + (int64_t)s * vocab));
    }
    for (int64_t i = 0; i < wanted; ++i) {
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped at prompt %zu", first + 1);
        for (size_t s = 0; s < n; ++s) {
            BPT_TRY(
                bpt_sampler_draw(job->sampler, job->logits + (int64_t)s * vocab, (uint64_t)(first + s) << 32 | (uint64_t)i, &tokens[s]));
            BPT_TRY(add_token(job, &all[first + s], tokens[s]));
        }
        if (i + 1 < wanted) BPT_TRY(bpt_decoder_step(job->decoder, tokens, job->logits));
    }
    for (size_t s = 0; s < n; ++s) BPT_TRY(print_prompt(&all[first + s]));
    return BPT_OK;
}

static bpt_status_t generate_groups(job_t *job, prompts_t *p) {
    const size_t batch = p->count < (size_t)job->o->use.batch ? p->count : (size_t)job->o->use.batch;
    uint32_t *tokens;
    BPT_TRY(open_decoder(job, p->longest, (int64_t)batch));
    BPT_TRY(bpt_alloc(batch, sizeof *tokens, &tokens));
    bpt_status_t status = BPT_OK;
    for (size_t first = 0; first < p->count && status == BPT_OK; first += batch) {
        const size_t n = p->count - first < batch ? p->count - first : batch;
        for (size_t s = n; s < batch; ++s) tokens[s] = BPT_NO_ROW;  // places of the last group that nobody needs
        status = generate_group(job, p->prompt, first, n, tokens);
    }
    bpt_free(tokens);
    return status;
}

static bpt_status_t generate_many(job_t *job) {
    bpt_text_t *text;
    prompts_t prompts = {0};
    BPT_TRY(bpt_text_open(job->o->use.prompts, &text));
    bpt_status_t status = read_prompts(job, bpt_text_range(text), &prompts);
    if (status == BPT_OK) status = cli_signals_poll(stopping);
    if (status == BPT_OK) status = generate_groups(job, &prompts);
    free_prompts(&prompts);
    bpt_text_close(text);
    return status;
}

// ---- One prompt: every token as soon as it is chosen
static bpt_status_t generate(job_t *job, const uint32_t *prompt, uint64_t count) {
    const int64_t wanted = job->o->use.max_tokens;
    job->line_start = true;
    if (job->o->use.echo)
        for (uint64_t i = 0; i < count; ++i) BPT_TRY(put(job, prompt[i]));
    BPT_TRY(bpt_decoder_feed(job->decoder, 0, prompt, (int64_t)count, job->logits));
    for (int64_t i = 0; i < wanted; ++i) {
        uint32_t token;
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped after %lld tokens", (long long)i);
        BPT_TRY(put_logits(job, i == 0));
        BPT_TRY(bpt_sampler_draw(job->sampler, job->logits, (uint64_t)i, &token));
        BPT_TRY(put(job, token));
        if (i + 1 < wanted) BPT_TRY(bpt_decoder_feed(job->decoder, 0, &token, 1, job->logits));
    }
    return finish_logits(job);
}

static bpt_status_t generate_one(job_t *job) {
    const char *text = *job->o->use.prompt ? job->o->use.prompt : "\n";
    const bpt_range_t range = {.path = "--prompt", .data = text, .bytes = strlen(text), .line = 1};
    uint32_t *prompt = NULL;
    uint64_t count = 0;
    bpt_status_t status = read_prompt(job, &range, &prompt, &count);
    if (status == BPT_OK) status = open_decoder(job, count, 1);
    if (status == BPT_OK && *job->o->use.logits) status = bpt_file_writer_open(job->o->use.logits, &job->logits_file);
    if (status == BPT_OK) status = cli_signals_poll(stopping);
    if (status == BPT_OK) status = generate(job, prompt, count);
    bpt_free(prompt);
    if (status == BPT_OK && !job->line_start && isatty(STDOUT_FILENO)) putchar('\n');
    return status;
}

static bpt_status_t run_generate(cli_options_t *o) {
    cli_trained_t trained;
    if (*o->use.prompts && (*o->use.prompt || *o->use.logits))
        return bpt_fail(BPT_ERR_USAGE, "--prompts goes without --prompt and --logits-out");
    BPT_TRY(cli_trained_open(o, &trained));
    job_t job = {.o = o, .trained = &trained};
    const bpt_status_t status = *o->use.prompts ? generate_many(&job) : generate_one(&job);
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
    .description = "Prints each token as soon as it is chosen. The same --seed gives the same text. With --prompts it goes on from every "
                   "line of a file, several side by side, and prints a line of JSON for each when it is complete.",
    .examples = "  bpt generate run --prompt 'ROMEO:' --max-tokens 400 --temperature 0.8\n  bpt generate run --prompt 'The ' --echo "
                "--top-k 40 --seed 7\n  bpt generate run --prompts prompts.txt --max-tokens 100 > answers.jsonl\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_generate,
};
