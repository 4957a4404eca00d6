// `bpt translate`: a line of translation for every line of a text. Lines that are there at the same time are sorted by length and
// translated together; answers come in the order of the input. Lines of documents are translated behind those before them. Knows no search:
// that is the library's.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/file.h"
#include "data/examples/formats.h"
#include "data/examples/tree_text.h"
#include "data/text/packings.h"
#include "models/api/translate_texts.h"
#include "models/kinds/kind.h"
#include "models/train/average.h"
#include "tools/bpt/commands/translations.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/progress.h"
#include "tools/bpt/runs/trained.h"
#include "tools/bpt/signals.h"

// A pool is what is sorted: so many batches.
enum { BLOCK_BYTES = 1 << 20, POOL_BATCHES = 64 };

typedef struct {
    bpt_range_t line;
    uint32_t *tokens;  // its end among them; NULL: the line is blank
    int64_t count;
    bpt_nodes_t nodes;       // of the tree over it
    bpt_hypothesis_t found;  // of lines of documents: its tokens are a copy
    cli_translations_t made;
} member_t;

typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    bpt_room_t room;            // for a line; in documents those before it take some
    const bpt_vocab_t *source;  // of the lines
    uint32_t source_end;
    bpt_text_translator_t *translator;
    member_t *members;  // [capacity]
    int64_t count, capacity;
    bpt_source_text_t *texts;  // [capacity]: those of the members
    bpt_hypothesis_t *found;   // [capacity]
    // Documents: the first members are the segment before the open one.
    int64_t context_tokens;  // 0: lines alone
    int64_t context;         // members of the segment before
    // Of models that read trees: those of a file, or made ones.
    bool trees;
    bpt_trees_t made;
    bpt_text_t *tree_text;
    bpt_range_t tree_rest, tree;  // what is not read yet, and the tree that was read last
    uint64_t tree_of;             // the line that it is over, 0: there is none
    bpt_file_writer_t *scores;
    cli_progress_t progress;
    int64_t lines;  // that are answered
    bool whole;     // all of them are
} job_t;

static void clear(job_t *job) {
    for (int64_t i = 0; i < job->count; ++i) {
        bpt_free(job->members[i].tokens);
        bpt_free(job->members[i].nodes.items);
        bpt_free((uint32_t *)job->members[i].found.tokens);
        cli_translations_free(&job->members[i].made);
    }
    job->count = 0;
}

// ---- Lines

typedef struct {
    member_t *member;
    size_t capacity;
} taker_t;

static bpt_status_t take(void *user, uint32_t id) {
    taker_t *t = user;
    BPT_TRY(bpt_grow(&t->member->tokens, (size_t)t->member->count, &t->capacity, sizeof *t->member->tokens));
    t->member->tokens[t->member->count++] = id;
    return BPT_OK;
}

// A line may be asked for twice.
static bpt_status_t find_tree(job_t *job, const bpt_range_t *line, bool empty) {
    if (job->tree_of != line->line) BPT_TRY(bpt_tree_text_next(&job->tree_rest, line, empty, &job->tree));
    job->tree_of = line->line;
    return job->tree.data ? bpt_range_check_utf8(&job->tree) : BPT_OK;
}

static bpt_status_t encode_tree(job_t *job, member_t *m, const bpt_word_t *words, size_t n, taker_t *taker) {
    const bpt_tree_text_t text = {
        .where = &m->line, .words = words, .n_words = n, .tree = &job->tree, .made = job->made, .labels = &job->trained->labels};
    return bpt_tree_text_read(&text, job->source, take, taker, &m->nodes);
}

static bpt_status_t encode(job_t *job, member_t *m) {
    taker_t taker = {.member = m};
    bpt_word_t *words = NULL;
    size_t n = 0, capacity = 0, bytes;
    bpt_range_t rest = m->line;
    bpt_status_t status = bpt_range_check_line(&m->line);
    if (status == BPT_OK) status = bpt_range_check_utf8(&m->line);
    for (const char *word; status == BPT_OK && (word = bpt_next_token(&rest, &bytes));) {
        status = bpt_grow(&words, n, &capacity, sizeof *words);
        if (status == BPT_OK) words[n++] = (bpt_word_t){word, bytes};
    }
    if (status == BPT_OK && job->trees && job->made == BPT_TREES_FILE) status = find_tree(job, &m->line, n == 0);
    if (status == BPT_OK && n && job->trees)
        status = encode_tree(job, m, words, n, &taker);
    else if (status == BPT_OK && n)
        status = bpt_vocab_encode_words(job->source, &m->line, words, n, take, &taker);
    if (status == BPT_OK && n && !job->trees) status = take(&taker, job->source_end);
    if (status == BPT_OK) status = bpt_room_check(&job->room, &m->line, (uint64_t)m->count);
    bpt_free(words);
    return status;
}

// ---- Translations

static void list_texts(job_t *job) {
    for (int64_t i = 0; i < job->count; ++i) {
        const member_t *m = &job->members[i];
        job->texts[i] = (bpt_source_text_t){.tokens = m->tokens, .count = m->count, .nodes = m->nodes.items, .n_nodes = m->nodes.count};
    }
}

// The first line of those at hand that has no answer yet.
static int64_t first_open(const job_t *job) {
    int64_t i = job->context;
    while (i < job->count && (job->members[i].made.count || !job->members[i].count)) ++i;
    return i;
}

static bpt_status_t check_interrupted(const job_t *job) {
    const int64_t open = first_open(job);
    if (!cli_interrupted || open == job->count) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERRUPTED, "stopped at line %" PRIu64, job->members[open].line.line);
}

static bpt_status_t note(void *user, int64_t text, const bpt_hypothesis_t *found, int count) {
    job_t *job = user;
    BPT_TRY(cli_translations_make(job->trained->vocab, found, count, &job->members[text].made));
    return check_interrupted(job);
}

// A file of scores that cannot be written any more is left out of what follows.
static bpt_status_t put_score(job_t *job, const char *line) {
    if (!job->scores) return BPT_OK;
    const bpt_status_t status = bpt_file_writer_write(job->scores, line, strlen(line));
    if (status == BPT_OK) return BPT_OK;
    bpt_file_writer_close(job->scores);
    job->scores = NULL;
    return status;
}

// The answers up to the first line that has none.
static bpt_status_t print(void *user) {
    job_t *job = user;
    const int64_t end = first_open(job);
    for (int64_t i = job->context; i < end; ++i) {
        const member_t *m = &job->members[i];
        char score[40] = "\n";
        BPT_TRY(cli_translations_print(job->o, m->line.line, &m->made));
        if (m->made.count) snprintf(score, sizeof score, "%.9g\n", m->made.items[0].score);
        ++job->lines;
        BPT_TRY(put_score(job, score));
    }
    return cli_flush_output();
}

static bpt_status_t translate_pool(job_t *job) {
    BPT_TRY(check_interrupted(job));
    list_texts(job);
    const bpt_status_t status = bpt_text_translator_run(job->translator, job->texts, job->count, note, job);
    BPT_TRY(cli_finish(status, print, job));
    clear(job);
    return BPT_OK;
}

static bpt_status_t ask(job_t *job, const bpt_range_t *line) {
    member_t *m = &job->members[job->count];
    *m = (member_t){.line = *line};
    const bpt_status_t status = encode(job, m);
    if (status == BPT_OK)
        ++job->count;
    else
        bpt_free(m->tokens), bpt_free(m->nodes.items);
    return status;
}

// ---- Documents

// What was the context goes; the segment that was translated is the next context.
static void move_on(job_t *job) {
    const int64_t own = job->count - job->context;
    job->count = job->context;
    clear(job);
    memmove(job->members, job->members + job->context, (size_t)own * sizeof *job->members);
    job->count = job->context = own;
}

// What was made of the open segment: so many members have translations.
typedef struct {
    job_t *job;
    int64_t known;
} segment_t;

static bpt_status_t answer_segment(void *user) {
    const segment_t *made = user;
    job_t *job = made->job;
    bpt_status_t status = BPT_OK;
    for (int64_t i = job->context; i < made->known && status == BPT_OK; ++i) {
        bpt_hypothesis_t copy = job->found[i];
        status = note(job, i, &copy, 1);
        if (status == BPT_OK) status = bpt_hypothesis_copy(&copy);
        if (status == BPT_OK) job->members[i].found = copy;
    }
    return cli_finish(status, print, job);
}

// Translates the open segment behind the one before it. Where the model has no room for all of it, the lines before are answered.
static bpt_status_t translate_segment(job_t *job) {
    int64_t known;
    if (job->count == job->context) return BPT_OK;
    BPT_TRY(check_interrupted(job));
    list_texts(job);
    for (int64_t i = 0; i < job->context; ++i) job->found[i] = job->members[i].found;
    bpt_status_t status = bpt_text_translator_run_segment(job->translator, job->texts, job->count, job->context, job->found, &known);
    if (status != BPT_OK) {
        const bpt_range_t *line = &job->members[known].line;
        status = bpt_context(status, "%s: line %" PRIu64, line->path, line->line);
    }
    segment_t made = {job, known};
    status = cli_finish(status, answer_segment, &made);
    if (status == BPT_OK)
        move_on(job);
    else
        clear(job), job->context = 0;
    return status;
}

static bpt_status_t end_document(void *user) {
    job_t *job = user;
    BPT_TRY(translate_segment(job));
    clear(job);
    job->context = 0;
    return BPT_OK;
}

static bpt_status_t print_blank(job_t *job, uint64_t line) {
    BPT_TRY(cli_translations_print(job->o, line, &(cli_translations_t){0}));
    ++job->lines;
    BPT_TRY(put_score(job, "\n"));
    return cli_flush_output();
}

static int64_t count_tokens(const job_t *job, int64_t first) {
    int64_t tokens = 0;
    for (int64_t i = first; i < job->count; ++i) tokens += job->members[i].count;
    return tokens;
}

// A segment is closed when it is full, and a document by a blank line.
static bpt_status_t take_line(job_t *job) {
    if (!job->members[job->count - 1].count) {
        const uint64_t line = job->members[--job->count].line.line;
        BPT_TRY(end_document(job));
        return print_blank(job, line);
    }
    const bool closes = bpt_segment_closes(count_tokens(job, job->context), job->count - job->context, job->context_tokens);
    return closes ? translate_segment(job) : BPT_OK;
}

static bpt_status_t translate_document_lines(job_t *job, bpt_range_t rest) {
    bpt_range_t line;
    while (bpt_range_next_line(&rest, &line)) {
        job->room.taken = count_tokens(job, 0);
        if (ask(job, &line) != BPT_OK) {
            bpt_error_clear();
            BPT_TRY(translate_segment(job));
            BPT_TRY(ask(job, &line));
        }
        BPT_TRY(take_line(job));
    }
    return BPT_OK;
}

// ---- The whole text

// Lines before a bad one are translated first; then it is read again, for its message.
static bpt_status_t translate_block(job_t *job, bpt_range_t rest) {
    bpt_range_t line;
    while (bpt_range_next_line(&rest, &line)) {
        if (ask(job, &line) != BPT_OK) {
            bpt_error_clear();
            BPT_TRY(translate_pool(job));
            BPT_TRY(ask(job, &line));
        }
        if (job->count == job->capacity) BPT_TRY(translate_pool(job));
    }
    return translate_pool(job);
}

static bpt_status_t translate_lines(job_t *job, bpt_range_t lines) {
    return job->context_tokens ? translate_document_lines(job, lines) : translate_block(job, lines);
}

// Texts that were made of lines of a file, of which each is one.
typedef struct {
    job_t *job;
    bpt_range_t from;
    bpt_store_t bytes;
} texts_t;

static bpt_status_t translate_texts(void *user) {
    texts_t *texts = user;
    const void *data;
    bpt_range_t lines = texts->from;
    BPT_TRY(bpt_store_finish(&texts->bytes, &data, &lines.bytes));
    lines.data = data;
    return lines.bytes ? translate_lines(texts->job, lines) : BPT_OK;
}

// One by one, so that those before a bad line are translated.
static bpt_status_t translate_objects(job_t *job, const bpt_running_t *how, const bpt_range_t *lines) {
    texts_t texts = {.job = job, .from = *lines};
    bpt_range_t rest = *lines, one = rest, line;
    bpt_status_t status = BPT_OK;
    for (; status == BPT_OK && bpt_range_next_line(&rest, &line); one = rest) {
        one.bytes -= rest.bytes;  // with its end
        status = bpt_format_of(how->format)->write_running(&one, how, &texts.bytes);
    }
    status = cli_finish(status, translate_texts, &texts);
    bpt_store_free(&texts.bytes);
    return status;
}

static bpt_status_t translate_blocks(job_t *job, const bpt_running_t *how, const char *path) {
    bpt_text_blocks_t *blocks;
    BPT_TRY(bpt_text_blocks_open(path, BLOCK_BYTES, &blocks));
    bpt_status_t status = BPT_OK;
    for (bool end = false; status == BPT_OK;) {
        bpt_range_t lines;
        status = cli_next_lines(blocks, &lines, &end);
        if (end) break;
        if (status != BPT_OK) continue;
        status = bpt_format_of(how->format)->write_running ? translate_objects(job, how, &lines) : translate_lines(job, lines);
    }
    bpt_text_blocks_close(blocks);
    return status;
}

// Of a format whose lines depend on those before them.
static bpt_status_t translate_whole(job_t *job, const bpt_running_t *how, const char *path) {
    bpt_text_t *text;
    BPT_TRY(bpt_running_open(BPT_ONE_PATH(path), how, &text));
    const bpt_status_t status = translate_lines(job, bpt_text_range(text));
    bpt_text_close(text);
    return status;
}

// The texts of the source language, named as they were in training, unless --source names them.
static bpt_status_t choose_format(const cli_options_t *o, const cli_trained_t *t, const char *path, bpt_running_t *how) {
    cli_data_options_t d = {.format = o->data.format};
    bpt_format_id_t named;
    const char *field = *o->data.source ? o->data.source : t->stored.data.source;
    if (!d.format && bpt_format_of_file(path, &named) && bpt_format_of(named)->write_running) d.format = 1 + named;
    d.label_column = d.text_column = d.where = d.label_field = d.text_field = "";
    BPT_TRY(cli_running_options(&d, &t->config, field ? field : "", how));
    const bool has_fields = bpt_format_of(how->format)->write_running;
    if (has_fields && !*how->field)
        return bpt_fail(BPT_ERR_USAGE, "%s does not say which field of %s is the text; name it by --source", o->arguments[0], path);
    if (!has_fields && *o->data.source)
        return bpt_fail(BPT_ERR_USAGE, "--source names a field, and the lines of --format %s have none; leave it out, or say --format",
                        bpt_format_names[how->format]);
    return BPT_OK;
}

static bpt_status_t translate_file(job_t *job, const char *path) {
    bpt_running_t how;
    BPT_TRY(choose_format(job->o, job->trained, path, &how));
    bpt_status_t status = bpt_format_of(how.format)->running_whole ? translate_whole(job, &how, path) : translate_blocks(job, &how, path);
    if (job->context_tokens) status = cli_finish(status, end_document, job);  // lines that are read are answered
    return status;
}

// The file of trees beside a text: test.en.ptb of test.en, and of test.en.gz this one or test.en.ptb.gz.
static bpt_status_t trees_beside(const char *text, char **out) {
    const size_t bare = bpt_packing_bare(text);
    BPT_TRY(bpt_path_format(out, "%.*s.ptb", (int)bare, text));
    if (!text[bare] || bpt_file_exists(*out)) return BPT_OK;
    bpt_free(*out);
    return bpt_path_format(out, "%.*s.ptb%s", (int)bare, text, text + bare);
}

// Where the trees over the lines are from.
static bpt_status_t open_trees(job_t *job) {
    const cli_options_t *o = job->o;
    const char *text = o->n_arguments < 2 ? "-" : o->arguments[1];
    char *beside = NULL;
    job->trees = bpt_kind_of(&job->trained->config)->trees;
    if (!job->trees && *o->use.trees_file)
        return bpt_fail(BPT_ERR_USAGE, "--trees-file is for models that read trees, and this is model %s; leave it out",
                        bpt_kind_of(&job->trained->config)->name);
    if (!job->trees) return BPT_OK;
    job->made = (bpt_trees_t)(cli_option_source(o, "trees") == CLI_FROM_FLAG ? o->data.trees : job->trained->stored.data.trees);
    if (*o->use.trees_file) job->made = BPT_TREES_FILE;
    if (job->made != BPT_TREES_FILE) return BPT_OK;
    if (!*o->use.trees_file && !strcmp(text, "-"))
        return bpt_fail(
            BPT_ERR_USAGE,
            "the model reads trees over its texts: give them with --trees-file FILE, or make them with --trees balanced, right or flat");
    if (!*o->use.trees_file) BPT_TRY(trees_beside(text, &beside));
    const bpt_status_t status = bpt_text_open(beside ? beside : o->use.trees_file, &job->tree_text);
    bpt_free(beside);
    BPT_TRY(bpt_context(status, "trees over the text"));
    job->tree_rest = bpt_text_range(job->tree_text);
    return BPT_OK;
}

static bpt_status_t allocate(job_t *job) {
    job->capacity = job->context_tokens ? 2 * BPT_MOST_SENTENCES : POOL_BATCHES * job->o->use.batch;
    BPT_TRY(bpt_alloc((size_t)job->capacity, sizeof *job->members, &job->members));
    BPT_TRY(bpt_alloc((size_t)job->capacity, sizeof *job->texts, &job->texts));
    return bpt_alloc((size_t)job->capacity, sizeof *job->found, &job->found);
}

// Of the whole text, or of the lines before a failure. Without any such line an older file stays.
static bpt_status_t commit_scores(void *user) {
    job_t *job = user;
    return job->scores && (job->whole || job->lines) ? bpt_file_writer_commit(job->scores) : BPT_OK;
}

static void release(job_t *job) {
    clear(job);
    bpt_text_translator_destroy(job->translator);
    bpt_file_writer_close(job->scores);
    bpt_text_close(job->tree_text);
    bpt_free(job->members);
    bpt_free(job->texts);
    bpt_free(job->found);
}

// The mean of the last checkpoints in place of the one that was opened.
static bpt_status_t average(const cli_options_t *o, cli_trained_t *t) {
    bpt_average_t mean = {0};
    if (o->use.average == 1) return BPT_OK;
    if (t->n_others) return bpt_fail(BPT_ERR_USAGE, "--average is for one run; make the mean of each by `bpt average`, then use --with");
    bpt_status_t status = bpt_average_read(t->run, o->use.average, &mean);
    for (size_t i = 0; status == BPT_OK && i < mean.params.count; ++i)
        status = bpt_runner_set(t->runner, mean.params.items[i].name, mean.arena + mean.params.items[i].offset);
    bpt_average_free(&mean);
    return status;
}

static bpt_status_t check_n_best(const cli_options_t *o, bool documents) {
    if (o->use.n_best > o->use.beam)
        return bpt_fail(BPT_ERR_USAGE,
                        "--n-best %" PRId64 ": a beam of %" PRId64 " finds at most so many translations; give --beam %" PRId64,
                        o->use.n_best, o->use.beam, o->use.n_best);
    if (!documents || !o->use.n_best) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--n-best is for lines alone: the model of %s translates a line behind the best translations before it",
                    o->arguments[0]);
}

static bpt_status_t translate(const cli_options_t *o, cli_trained_t *t) {
    job_t job = {.o = o, .trained = t, .room = cli_trained_room(o, t), .source = t->source_vocab ? t->source_vocab : t->vocab};
    uint32_t end, unknown;
    job.room.by = "the lines before it";
    job.context_tokens = t->stored.data.context_tokens;
    if (!bpt_vocab_end_sign(job.source, &job.source_end) || !bpt_vocab_end_sign(t->vocab, &end))
        return bpt_fail(BPT_ERR_USAGE, "%s: the model reads numbers of tokens; bpt translate needs one that reads words or subwords",
                        o->arguments[0]);
    BPT_TRY(check_n_best(o, job.context_tokens > 0));
    if (!o->use.no_unk || !bpt_vocab_unknown(t->vocab, &unknown)) unknown = BPT_NO_ROW;
    const double start = bpt_clock_seconds();
    const bpt_translator_options_t options = {.beam = (int)o->use.beam,
                                              .length_penalty = o->use.length_penalty,
                                              .max_length_a = o->use.max_length_a,
                                              .max_length_b = o->use.max_length_b,
                                              .begin = end,  // as in training (data/examples/parallel.h)
                                              .end = end,
                                              .forbidden = unknown,
                                              .min_tokens = o->use.min_tokens,
                                              .no_repeat = o->use.no_repeat,
                                              .n_best = (int)o->use.n_best,
                                              .texts = job.context_tokens ? 1 : o->use.batch,
                                              .documents = job.context_tokens > 0};
    cli_progress_start(&job.progress, o->global.quiet, CLI_LOSS_NATS);
    bpt_status_t status = open_trees(&job);
    if (status == BPT_OK) status = allocate(&job);
    if (status == BPT_OK) status = bpt_text_translator_create(t->runner, &options, &job.translator);
    if (status == BPT_OK && *o->use.scores) status = bpt_file_writer_open(o->use.scores, &job.scores);
    if (status == BPT_OK) status = translate_file(&job, o->n_arguments < 2 ? "-" : o->arguments[1]);
    if (status == BPT_OK && job.tree_text) status = bpt_tree_text_end(&job.tree_rest, (uint64_t)job.lines);  // else of another text
    job.whole = status == BPT_OK;
    status = cli_finish(status, commit_scores, &job);
    if (status == BPT_OK && job.lines)
        cli_progress_say(&job.progress, "%" PRId64 " lines in %.2f s", job.lines, bpt_clock_seconds() - start);
    release(&job);
    return status;
}

static bpt_status_t run_translate(cli_options_t *o) {
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    const bpt_task_spec_t *task = bpt_task_of(&trained.config);
    bpt_status_t status = BPT_OK;
    if (bpt_task_sides(task) < 2) status = bpt_fail(BPT_ERR_USAGE, "%s is %s, which does not translate", o->arguments[0], task->model);
    if (status == BPT_OK) status = average(o, &trained);
    if (status == BPT_OK) status = translate(o, &trained);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_translate = {
    .bit = CLI_TRANSLATE,
    .name = "translate",
    .arguments = "RUN [FILE]",
    .purpose = "translate a text line by line with a trained translator",
    .description =
        "Reads FILE or standard input, packed or not, and prints the translation of line N as line N; for a blank line a blank line. Lines "
        "that are there "
        "at the same time are translated together, --batch of them at once, those of like length, on the cpu as many batches side by side "
        "as "
        "there are threads; the translation of a line does not depend on the others. A model that was trained with --context-tokens "
        "translates a document's lines behind those before them, with their "
        "translations as context; a blank line ends a document. Translations are found by beam search. Subwords are joined to words again. "
        "With --format jsonl, or a file whose name ends in .jsonl or .ndjson, a line is an object, and with --format csv, or a name in "
        ".csv, a record is one, with a field for the source language, named as in training or by --source; the first record, which names "
        "the columns, has no output. A line that cannot be read, or "
        "that a document's lines before it leave no room for, ends the program, after the translations and scores of the lines before it.\n"
        "Scores are those of the model, in nats, also where --no-unk, --min-tokens or --no-repeat leaves tokens out of the choice. With "
        "--json it prints an object for each line with the translation and its score, and with --n-best the list n_best of them.",
    .examples = "  bpt translate run test.en > test.out\n  bpt translate run test.en.gz | gzip > test.out.gz\n  bpt translate run test.en "
                "--average 10 | bpt bleu --ref test.de\n"
                "  echo 'a dog runs .' | bpt translate run --beam 1\n"
                "  bpt translate run test.en --n-best 5 > test.5\n  bpt translate run-a --with run-b test.en\n  bpt translate run test.en "
                "--no-repeat 3 --min-tokens 2\n"
                "  bpt translate run articles.jsonl --source body\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_translate,
};
