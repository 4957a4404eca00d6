// `bpt embed`: the states that a model has of texts, or of their tokens, as an array in the order of the lines. Knows no model and no file
// format: states are the library's, and files are bpt/rows_file.h.
#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/rows_file.h"
#include "models/api/embed_texts.h"
#include "tools/bpt/commands/answers.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/progress.h"
#include "tools/bpt/runs/trained.h"

// Numbers of states that are at hand at the same time.
enum { MOST_VALUES = 4 << 20, MOST_TOKENS = 1 << 16 };

typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    bpt_embedding_t which;
    int64_t texts;  // of a line
    bpt_rows_file_t *file;
    float *states;
    size_t room;
    int64_t lines, blank, tokens;
} job_t;

static bpt_status_t reserve(job_t *job, int64_t rows) {
    const size_t wanted = (size_t)(rows * job->trained->config.d_model);
    if (wanted <= job->room) return BPT_OK;
    BPT_TRY(bpt_realloc(&job->states, wanted, sizeof *job->states));
    job->room = wanted;
    return BPT_OK;
}

static bpt_status_t take_tokens(job_t *job, const bpt_examples_t *e, const int64_t *of_line, size_t lines) {
    const int64_t d = job->trained->config.d_model;
    BPT_TRY(reserve(job, (int64_t)e->n_tokens));
    if (e->count) BPT_TRY(bpt_embed_tokens(job->trained->runner, e, job->o->data.batch_tokens, job->states));
    for (size_t i = 0; i < lines; ++i) {
        for (int64_t k = 0; k < job->texts; ++k) {
            const int64_t text = of_line[i] * job->texts + k;
            const int64_t count = of_line[i] < 0 ? 0 : (int64_t)(e->offsets[text + 1] - e->offsets[text]);
            if (count) BPT_TRY(bpt_rows_file_write(job->file, job->states + (int64_t)e->offsets[text] * d, count));
            BPT_TRY(bpt_rows_file_count(job->file, count));
        }
    }
    return BPT_OK;
}

// A blank line has a row of zeros, so that row N is that of line N.
static bpt_status_t take_texts(job_t *job, const bpt_examples_t *e, const int64_t *of_line, size_t lines) {
    const int64_t values = job->texts * job->trained->config.d_model;
    BPT_TRY(reserve(job, (int64_t)e->count * job->texts + job->texts));
    float *zeros = job->states + (int64_t)e->count * values;
    memset(zeros, 0, (size_t)values * sizeof *zeros);
    if (e->count) BPT_TRY(bpt_embed_texts(job->trained->runner, e, job->o->data.batch_tokens, job->which, job->states));
    for (size_t i = 0; i < lines; ++i)
        BPT_TRY(bpt_rows_file_write(job->file, of_line[i] < 0 ? zeros : job->states + of_line[i] * values, 1));
    return BPT_OK;
}

static bpt_status_t take(void *user, const bpt_examples_t *e, const int64_t *of_line, size_t lines) {
    job_t *job = user;
    for (size_t i = 0; i < lines; ++i) job->blank += of_line[i] < 0;
    job->lines += (int64_t)lines;
    job->tokens += (int64_t)e->n_tokens;
    return job->o->use.per_token ? take_tokens(job, e, of_line, lines) : take_texts(job, e, of_line, lines);
}

// ---- The command

// Whether lines are read as examples with everything cut off but their texts; else as running text.
static bool reads_plainly(const bpt_task_spec_t *task) { return task->predicts_text; }

// Lines of running text have no format.
static bpt_status_t check_plain(const cli_options_t *o, const bpt_task_spec_t *task) {
    static const char *const of_examples[] = {"format", "text-column", "text-field", "header", "trees"};
    for (size_t i = 0; i < BPT_COUNT(of_examples); ++i)
        if (cli_option_source(o, of_examples[i]) == CLI_FROM_FLAG)
            return bpt_fail(BPT_ERR_USAGE, "--%s is for files of examples, and %s is %s, whose lines are read as they are; leave it out",
                            of_examples[i], o->arguments[0], task->model);
    return BPT_OK;
}

static bpt_status_t check(const cli_options_t *o, const cli_trained_t *t) {
    const bpt_task_spec_t *task = bpt_task_of(&t->config);
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "--out is missing: name the file to write, such as vectors.npy");
    BPT_TRY(bpt_paths_check_standard_input(&(bpt_paths_t){o->arguments + 1, (size_t)o->n_arguments - 1}));
    if (t->config.d_input) return bpt_fail(BPT_ERR_USAGE, "%s reads vectors, not texts: there is nothing to embed", o->arguments[0]);
    if (reads_plainly(task)) BPT_TRY(check_plain(o, task));
    if (reads_plainly(task) && bpt_kind_of(&t->config)->trees)
        return bpt_fail(BPT_ERR_USAGE, "%s reads trees beside the texts that it translates, which bpt embed does not take",
                        o->arguments[0]);
    if (reads_plainly(task) && t->config.ngram_max)
        return bpt_fail(BPT_ERR_USAGE, "%s reads character n-grams beside running text, which bpt embed does not take", o->arguments[0]);
    return o->use.per_token ? BPT_OK : bpt_context(bpt_embedding_check(&t->config, (bpt_embedding_t)o->use.pool), "%s", o->arguments[0]);
}

static bpt_status_t open_file(job_t *job) {
    const cli_options_t *o = job->o;
    const bpt_rows_t rows = {
        .name = o->use.per_token ? "states" : "embeddings",
        .offsets = o->use.per_token ? "offsets" : NULL,
        .rank = job->texts > 1 && !o->use.per_token ? 2 : 1,
        .shape = {job->texts > 1 && !o->use.per_token ? job->texts : job->trained->config.d_model, job->trained->config.d_model},
        .key = o->use.per_token ? NULL : "pool",
        .value = bpt_embedding_names[job->which]};
    return bpt_rows_file_open(o->use.file, &rows, &job->file);
}

static bpt_status_t embed_file(job_t *job, const char *path) {
    const cli_trained_t *t = job->trained;
    const bool plain = reads_plainly(bpt_task_of(&t->config));
    bpt_token_columns_t columns = {0};
    bpt_csv_columns_t cells = {0};
    const int64_t most = MOST_VALUES / t->config.d_model;
    cli_answers_t answers = {.o = job->o,
                             .trained = job->trained,
                             .take = take,
                             .user = job,
                             .plain = plain,
                             .most_texts = most / job->texts,
                             .most_tokens = most < MOST_TOKENS || !job->o->use.per_token ? MOST_TOKENS : most};
    if (plain) cli_running_warn(path);
    if (!plain) BPT_TRY(cli_answer_options(job->o, t, path, &answers.options));
    answers.options.columns = &columns;
    answers.options.cells = &cells;
    return cli_answer_lines(&answers, path);
}

static bpt_status_t embed(const cli_options_t *o, cli_trained_t *t) {
    job_t job = {.o = o, .trained = t, .which = (bpt_embedding_t)o->use.pool, .texts = bpt_task_texts(bpt_task_of(&t->config))};
    cli_progress_t progress;
    const double start = bpt_clock_seconds();
    cli_progress_start(&progress, o->global.quiet, CLI_LOSS_NATS);
    bpt_status_t status = open_file(&job);
    for (int i = 1; i < o->n_arguments && status == BPT_OK; ++i) status = embed_file(&job, o->arguments[i]);
    if (o->n_arguments == 1 && status == BPT_OK) status = embed_file(&job, "-");
    if (status == BPT_OK) status = bpt_rows_file_finish(job.file);
    if (status == BPT_OK && job.blank)
        cli_progress_say(&progress, "%" PRId64 " blank lines have %s", job.blank, o->use.per_token ? "no states" : "rows of zeros");
    if (status == BPT_OK)
        cli_progress_say(&progress, "%s: %" PRId64 " lines, %" PRId64 " tokens in %.2f s", o->use.file, job.lines, job.tokens,
                         bpt_clock_seconds() - start);
    bpt_rows_file_close(job.file);
    bpt_free(job.states);
    return status;
}

static bpt_status_t run_embed(cli_options_t *o) {
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    if (cli_option_source(o, "pool") == CLI_FROM_DEFAULT) o->use.pool = (int)bpt_embedding_usual(&trained.config);
    bpt_status_t status = check(o, &trained);
    if (status == BPT_OK) status = embed(o, &trained);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_embed = {
    .bit = CLI_EMBED,
    .name = "embed",
    .arguments = "RUN [FILE..]",
    .purpose = "write the states that a trained model has of texts or tokens",
    .description =
        "Reads the files one behind the other, or standard input, packed or not, and writes one array of f32: row N is the vector of line "
        "N, as many numbers as the model is wide (d_model). Lines are read as bpt classify and bpt tag read them, those of language models "
        "as prompts, those of translators as what is translated (the states are those of the encoder). Of a classifier of pairs a row has "
        "two vectors. A blank line has a row of zeros. Any kind and any task has token states; --pool says what is made of them, and what "
        "a model does not have is refused. In a causal model only the last token knows the whole text (--pool last).\n"
        "Files may be of any size: what is at hand is some thousand texts. The file appears when it is complete; after an error an older "
        "one "
        "stays. The last digits can depend on which lines go through the model together.",
    .examples = "  bpt embed run reviews.txt --out reviews.npy\n  bpt embed run part-*.txt.gz --pool mean --out all.safetensors\n"
                "  bpt embed run sentences.txt --per-token --out states.safetensors\n"
                "  bpt embed runs/lm lines.txt --pool last --out lines.npy\n",
    .min_arguments = 1,
    .max_arguments = CLI_MAX_ARGUMENTS,
    .run = run_embed,
};
