// Lines that a trained model answers (see answers.h).
#include "tools/bpt/commands/answers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "models/train/evaluate.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/output.h"
#include "tools/bpt/runs/trained.h"
#include "tools/bpt/signals.h"

enum { BLOCK_BYTES = 1 << 20 };  // of text that is answered together, where so much is there

typedef struct {
    bpt_range_t line;  // or the lines of a sentence
    int64_t example;   // its number among those of the group, -1: the line is blank
    uint64_t nth;      // and among those of these lines
} asked_t;

// Text that begins with a tree or a sentence whose other lines have not come yet.
typedef struct {
    bpt_strbuf_t text;
    bpt_range_t from;      // where it is from
    bpt_open_tree_t seen;  // what was looked at of it
} held_t;

// Lines that are answered together.
typedef struct {
    const cli_answers_t *answers;
    bpt_examples_options_t options;  // how a line is read
    asked_t *asked;
    size_t count, capacity;
    bpt_examples_t examples;
    float *logits;   // [rows of all examples, classes] in the order of the file
    uint32_t *best;  // [rows]
    size_t logit_capacity, best_capacity;
    bpt_task_model_t model;  // with --n-best
    held_t held;
} group_t;

// Not line by line.
static bool by_sentences(const group_t *g) { return !g->answers->plain && bpt_format_of(g->options.format)->until == BPT_UNTIL_BLANK_LINE; }
static const bpt_model_config_t *config_of(const group_t *g) { return &g->answers->trained->config; }

// ---- How lines are read

// A sentence a line; or as the training data are read, with any number of other columns.
static void read_tokens(const cli_options_t *o, const cli_trained_t *t, const char *path, cli_data_options_t *d) {
    bpt_format_id_t format;
    d->format = o->data.format || bpt_format_of_file(path, &format) ? o->data.format : 1 + BPT_FORMAT_TEXT;
    if (!cli_examples_is_table(d, &t->config, t->unit, path)) d->label_column = "";
    d->truncate = 0;
}

// Of a pair the texts alone, or behind a label, as it was trained on.
static void read_texts(const cli_options_t *o, const cli_trained_t *t, const char *path, cli_data_options_t *d) {
    bpt_format_id_t format;
    d->format = o->data.format;
    d->where = "";
    if (!cli_examples_is_table(d, &t->config, t->unit, path)) d->label_column = d->text_column = "";
    if (!d->format && !bpt_format_of_file(path, &format)) d->text_field = d->label_field = "";
}

bpt_status_t cli_answer_options(const cli_options_t *o, const cli_trained_t *t, const char *path, bpt_examples_options_t *out) {
    cli_data_options_t d = t->stored.data;
    if (bpt_task_of(&t->config)->per_token)
        read_tokens(o, t, path, &d);
    else
        read_texts(o, t, path, &d);
    d.header = o->data.header;
    cli_examples_given(o, &d);
    cli_examples_fit(o, &t->config, t->unit, path, &d);
    BPT_TRY(cli_examples_options(&d, &t->config, t->unit, &t->labels, path, out));
    out->labelled = false;
    return BPT_OK;
}

// ---- The model

// Batches come in an order of their own; rows go to their place in the file.
static bpt_status_t keep(void *user, const bpt_batch_t *batch, const bpt_measure_t *measure) {
    group_t *g = user;
    const bpt_task_spec_t *task = bpt_task_of(config_of(g));
    const int64_t classes = config_of(g)->classes, texts = bpt_task_texts(task);
    if (cli_interrupted)
        return bpt_fail(BPT_ERR_INTERRUPTED, "stopped; nothing was written from line %" PRIu64 " on", g->asked[0].line.line);
    for (int64_t s = 0; s < batch->n_real; s += texts) {
        const uint64_t example = batch->sequences[s] / (uint64_t)texts, to = task->per_token ? g->examples.offsets[example] : example;
        const int64_t from = task->per_token ? batch->side[0].start[s] : s / texts, rows = task->per_token ? batch->side[0].lengths[s] : 1;
        memcpy(g->logits + to * (uint64_t)classes, measure->logits + from * classes, (size_t)(rows * classes) * sizeof *g->logits);
        memcpy(g->best + to, measure->best + from, (size_t)rows * sizeof *g->best);
    }
    return BPT_OK;
}

static bpt_status_t reserve(group_t *g, size_t rows) {
    const size_t logits = rows * (size_t)config_of(g)->classes;
    if (logits > g->logit_capacity) {
        BPT_TRY(bpt_realloc(&g->logits, logits, sizeof *g->logits));
        g->logit_capacity = logits;
    }
    if (rows <= g->best_capacity) return BPT_OK;
    BPT_TRY(bpt_realloc(&g->best, rows, sizeof *g->best));
    g->best_capacity = rows;
    return BPT_OK;
}

static bpt_status_t compute(group_t *g) {
    const bpt_batching_t batching = {.batch_tokens = g->answers->o->data.batch_tokens,
                                     .packed = bpt_runner_packs(g->answers->trained->runner)};
    bpt_batch_source_t *source;
    bpt_evaluation_t evaluation;
    if (!g->examples.count) return BPT_OK;
    BPT_TRY(reserve(g, (size_t)(bpt_task_of(config_of(g))->per_token ? g->examples.n_tokens : g->examples.count)));
    BPT_TRY(bpt_examples_eval_source(&g->examples, &batching, &source));
    const bpt_status_t status = bpt_evaluate(g->answers->trained->runner, source, keep, g, &evaluation);
    source->destroy(source);
    return status;
}

// ---- Output

bpt_status_t cli_answer_set_list(json_t *object, const char *key, const float *values, int64_t count) {
    json_t *list = json_array();
    if (json_object_set_new(object, key, list)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
    for (int64_t i = 0; i < count; ++i)
        if (json_array_append_new(list, json_real((double)values[i])))
            return bpt_fail(BPT_ERR_NUMERIC, "%s %" PRId64 " is not a finite number", key, i);
    return BPT_OK;
}

bpt_status_t cli_answer_set_rows(json_t *object, const char *key, const float *values, int64_t rows, int64_t columns) {
    json_t *all = json_array(), *holder = json_object();
    bpt_status_t status =
        json_object_set_new(object, key, all) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result") : BPT_OK;
    for (int64_t r = 0; r < rows && status == BPT_OK; ++r) {
        status = cli_answer_set_list(holder, key, values + r * columns, columns);
        if (status == BPT_OK && json_array_append(all, json_object_get(holder, key)))
            status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
    }
    json_decref(holder);
    return status;
}

static bpt_status_t print_answer(const group_t *g, const asked_t *asked) {
    const bpt_model_config_t *c = config_of(g);
    cli_answer_t a = {.line = &asked->line,
                      .options = &g->options,
                      .nth = asked->nth,
                      .temperature = g->answers->temperature,
                      .classes = c->classes,
                      .labels = (const char *const *)g->answers->trained->labels.name,
                      .transitions = g->model.weights};
    if (asked->example >= 0) {
        const bool per_token = bpt_task_of(c)->per_token;
        const uint64_t first = per_token ? g->examples.offsets[asked->example] : (uint64_t)asked->example;
        a.rows = per_token ? (int64_t)(g->examples.offsets[asked->example + 1] - first) : 1;
        a.logits = g->logits + first * (uint64_t)a.classes;
        a.best = g->best + first;
    }
    for (int64_t i = 0; i < a.rows * a.classes; ++i)
        if (!isfinite(a.logits[i]))
            return bpt_fail(BPT_ERR_NUMERIC,
                            "%s: a logit of line %" PRIu64 " is not finite: the weights are not, or are too large; use another checkpoint "
                            "(--checkpoint N)",
                            asked->line.path, asked->line.line);
    return g->answers->print(g->answers->o, &a);
}

static bpt_status_t print_answers(group_t *g) {
    BPT_TRY(compute(g));
    for (size_t i = 0; i < g->count; ++i) {
        BPT_TRY(print_answer(g, &g->asked[i]));
        if (ferror(stdout)) break;
    }
    return cli_flush_output();
}

// Hands the texts to who takes them.
static bpt_status_t hand_on(group_t *g) {
    int64_t *of_line;
    if (!g->count) return BPT_OK;
    BPT_TRY(bpt_alloc(g->count, sizeof *of_line, &of_line));
    for (size_t i = 0; i < g->count; ++i) of_line[i] = g->asked[i].example;
    const bpt_status_t status = g->answers->take(g->answers->user, &g->examples, of_line, g->count);
    bpt_free(of_line);
    return status;
}

static bpt_status_t answer(group_t *g) {
    BPT_TRY(g->answers->take ? hand_on(g) : print_answers(g));
    g->count = 0;
    g->examples.count = g->examples.n_tokens = g->examples.trees.nodes.count = 0;
    return BPT_OK;
}

static bool is_full(const group_t *g) {
    const cli_answers_t *a = g->answers;
    return a->take && ((int64_t)g->examples.n_tokens >= a->most_tokens || (int64_t)g->count >= a->most_texts);
}

// ---- Lines
static bool is_blank(bpt_range_t line) {
    size_t bytes;
    return !bpt_next_token(&line, &bytes);
}

static bpt_status_t add_asked(group_t *g, const asked_t *asked) {
    BPT_TRY(bpt_grow(&g->asked, g->count, &g->capacity, sizeof *g->asked));
    g->asked[g->count++] = *asked;
    return BPT_OK;
}

// Tokens of a line as a language model reads them; for a translator with the end that it was trained with.
static bpt_status_t add_plain(group_t *g, const bpt_range_t *text) {
    const cli_trained_t *t = g->answers->trained;
    const bpt_vocab_t *vocab = t->source_vocab ? t->source_vocab : t->vocab;
    bpt_examples_t *e = &g->examples;
    bpt_ids_t ids = {0};
    uint32_t end = 0;
    const bool ends = bpt_task_sides(bpt_task_of(config_of(g))) == 2 && bpt_vocab_end_sign(vocab, &end);
    if (bpt_unit_of(bpt_vocab_unit(vocab))->is_text) BPT_TRY(bpt_range_check_utf8(text));
    BPT_TRY(bpt_vocab_encode(vocab, text, false, &ids));
    const uint64_t count = ids.count + ends, offset_room = e->count + 2;
    bpt_status_t status = bpt_room_check(&g->options.room, text, count);
    if (status == BPT_OK && e->n_tokens + count > e->token_capacity) {
        e->token_capacity = 2 * (e->n_tokens + count);
        status = bpt_realloc(&e->tokens, e->token_capacity, sizeof *e->tokens);
    }
    if (status == BPT_OK && offset_room > e->capacity) {
        e->capacity = 2 * offset_room;
        status = bpt_realloc(&e->offsets, e->capacity, sizeof *e->offsets);
    }
    if (status == BPT_OK) {
        bpt_ids_copy(&ids, 0, ids.count, e->tokens + e->n_tokens);
        if (ends) e->tokens[e->n_tokens + ids.count] = end;
        e->offsets[e->count] = e->n_tokens;
        e->offsets[++e->count] = e->n_tokens += count;
    }
    bpt_ids_free(&ids);
    return status;
}

// A line, or the lines of a tree or a sentence; marks of documents can make several sentences of these, and comments none.
static bpt_status_t ask(group_t *g, const bpt_range_t *text) {
    const uint64_t before = g->examples.count;
    const bool sentences = by_sentences(g);
    if (is_blank(*text)) return sentences ? BPT_OK : add_asked(g, &(asked_t){*text, -1, 0});
    if (!sentences) BPT_TRY(bpt_examples_check_lines(text));
    BPT_TRY(g->answers->plain ? add_plain(g, text) : bpt_examples_add(text, &g->options, g->answers->trained->vocab, NULL, &g->examples));
    if (!sentences && g->examples.count > before + 1)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": more than one tree in a line; each needs a line of its own, for an answer",
                        text->path, text->line);
    for (uint64_t i = before; i < g->examples.count; ++i) BPT_TRY(add_asked(g, &(asked_t){*text, (int64_t)i, i - before}));
    return BPT_OK;
}

// As bpt_examples_next: a blank line, or the lines up to a blank one.
static bpt_lines_t next_sentence(bpt_range_t *rest, bool more, bpt_open_tree_t *seen, bpt_range_t *text) {
    bpt_range_t after = *rest, line;
    if (!bpt_range_next_line(&after, text)) return BPT_LINES_NONE;
    if (seen->bytes) {
        after = bpt_examples_behind(rest, seen);
        text->bytes = (uint64_t)(after.data - text->data);
        while (strchr("\r\n", text->data[text->bytes - 1])) --text->bytes;
    }
    for (line = *text; !is_blank(line) && bpt_range_next_line(&after, &line);)
        if (!is_blank(line)) text->bytes = (uint64_t)(line.data + line.bytes - text->data);
    if (!is_blank(line) && more) {
        seen->bytes = rest->bytes, seen->lines = after.line - rest->line;
        return BPT_LINES_OPEN;
    }
    *seen = (bpt_open_tree_t){0};
    *rest = after;
    return BPT_LINES_TEXT;
}

// Lines before a bad one are answered first; then it is read again, for its message.
static bpt_status_t answer_text(group_t *g, bpt_range_t *rest, bool more) {
    bpt_range_t text;
    for (;;) {
        const bpt_lines_t found = g->answers->plain ? bpt_range_next_line(rest, &text) ? BPT_LINES_TEXT : BPT_LINES_NONE
                                  : by_sentences(g) ? next_sentence(rest, more, &g->held.seen, &text)
                                                    : bpt_examples_next(&g->options, rest, more, &g->held.seen, &text);
        if (found == BPT_LINES_NONE || found == BPT_LINES_OPEN) return answer(g);
        const bpt_status_t status = ask(g, &text);
        if (status == BPT_OK && is_full(g)) BPT_TRY(answer(g));
        if (status == BPT_OK) continue;
        bpt_error_clear();
        BPT_TRY(answer(g));
        BPT_TRY(ask(g, &text));
    }
}

// ---- Trees and sentences over several lines

// What is held and the block behind it.
static bpt_status_t join(held_t *h, const bpt_range_t *block, bpt_range_t *text) {
    *text = *block;
    if (!h->text.length) return BPT_OK;
    if (block->bytes) BPT_TRY(bpt_strbuf_append(&h->text, block->data, block->bytes));
    *text = h->from;
    text->data = h->text.data;
    text->bytes = h->text.length;
    return BPT_OK;
}

static bpt_status_t check_held(const group_t *g, const bpt_range_t *rest) {
    if (!by_sentences(g)) return bpt_examples_check_lines(rest);
    if (rest->bytes <= BPT_LINE_BYTES) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": a sentence of more than 64 MiB; a blank line ends a sentence", rest->path,
                    rest->line);
}

// Keeps what is left of a text, which may be that which is held already.
static bpt_status_t hold(group_t *g, const bpt_range_t *rest) {
    held_t *h = &g->held;
    bpt_strbuf_t copy = {0};
    if (rest->bytes) BPT_TRY(check_held(g, rest));
    if (rest->bytes && rest->data == h->text.data) return BPT_OK;
    if (rest->bytes) BPT_TRY(bpt_strbuf_append(&copy, rest->data, rest->bytes));
    bpt_strbuf_free(&h->text);
    h->text = copy;
    h->from = *rest;
    return BPT_OK;
}

// `more`: other blocks may follow.
static bpt_status_t answer_block(group_t *g, const bpt_range_t *block, bool more) {
    bpt_range_t text;
    BPT_TRY(join(&g->held, block, &text));
    BPT_TRY(answer_text(g, &text, more));
    return hold(g, &text);
}

bpt_status_t cli_answer_lines(const cli_answers_t *answers, const char *path) {
    bpt_text_blocks_t *blocks;
    group_t g = {.answers = answers, .options = answers->options};
    g.options.header = answers->o->data.header && !answers->options.by_name;
    g.options.skip_empty = false;  // each line has its answer
    g.options.room = cli_trained_room(answers->o, answers->trained);
    BPT_TRY(bpt_text_blocks_open(path, BLOCK_BYTES, &blocks));
    bpt_status_t status = answers->o->use.n_best ? bpt_runner_task_model(answers->trained->runner, &g.model) : BPT_OK;
    for (bool end = false; status == BPT_OK;) {
        bpt_range_t lines;
        status = cli_next_lines(blocks, &lines, &end);
        if (end) break;
        if (status == BPT_OK) status = answer_block(&g, &lines, true);
    }
    if (status == BPT_OK) status = answer_block(&g, &(bpt_range_t){0}, false);
    bpt_text_blocks_close(blocks);
    bpt_examples_free(&g.examples);
    bpt_free(g.model.weights);
    bpt_strbuf_free(&g.held.text);
    bpt_free(g.asked);
    bpt_free(g.logits);
    bpt_free(g.best);
    return status;
}
