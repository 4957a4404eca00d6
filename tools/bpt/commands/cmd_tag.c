// `bpt tag`: a tag for every token of every sentence of a text, as the sentences come. Knows no training.
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/score/best_tags.h"
#include "data/score/spans.h"
#include "tools/bpt/commands/answers.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/runs/trained.h"

static bpt_status_t no_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result"); }

// ---- Tags

// The tags of a sentence as they are written: "E-PER" is E in place of the first letter of "I-PER".
typedef struct {
    const cli_answer_t *answer;
    char *letter;  // of each tag in another scheme; NULL: it stays as it is
} tags_t;

static const char *label_of(const tags_t *t, int64_t i) { return t->answer->labels[t->answer->best[i]]; }

static bpt_status_t convert(const cli_options_t *o, tags_t *t) {
    const size_t n = (size_t)t->answer->rows;
    bpt_span_tag_t *spans;
    if (o->use.tag_scheme == BPT_SCHEME_KEEP || n == 0) return BPT_OK;
    BPT_TRY(bpt_alloc(n, 1, &t->letter));
    BPT_TRY(bpt_alloc(n, sizeof *spans, &spans));
    for (size_t i = 0; i < n; ++i) (void)bpt_span_tag_parse(label_of(t, (int64_t)i), strlen(label_of(t, (int64_t)i)), &spans[i]);
    bpt_spans_convert(spans, (int64_t)n, (bpt_tag_scheme_t)o->use.tag_scheme, t->letter);
    bpt_free(spans);
    return BPT_OK;
}

static bpt_status_t append_tag(const tags_t *t, int64_t i, bpt_strbuf_t *out) {
    const char *label = label_of(t, i);
    return t->letter ? bpt_strbuf_printf(out, "%c%s", t->letter[i], label + 1) : bpt_strbuf_append(out, label, strlen(label));
}

// ---- Output

typedef struct {
    const tags_t *tags;
    uint64_t before;  // sentences in front of the one that is printed
    json_t *tokens;   // NULL: they are printed with their tags
} printer_t;

static bpt_status_t take_words(void *user, const bpt_word_t *words, size_t n) {
    printer_t *p = user;
    bpt_strbuf_t tag = {0};
    bpt_status_t status = BPT_OK;
    if (p->before) {
        --p->before;
        return BPT_OK;
    }
    for (size_t i = 0; i < n && i < (size_t)p->tags->answer->rows && status == BPT_OK; ++i) {
        if (p->tokens) {
            if (json_array_append_new(p->tokens, json_stringn(words[i].data, words[i].bytes))) status = no_memory();
            continue;
        }
        bpt_strbuf_clear(&tag);
        status = append_tag(p->tags, (int64_t)i, &tag);
        if (status != BPT_OK) break;
        fwrite(words[i].data, 1, words[i].bytes, stdout);
        printf("\t%s\n", tag.data);
    }
    p->before = UINT64_MAX;  // no other one
    bpt_strbuf_free(&tag);
    return status;
}

static bpt_status_t add_input(const cli_answer_t *a, const tags_t *tags, json_t *object) {
    printer_t p = {.tags = tags, .before = a->nth, .tokens = json_array()};
    BPT_TRY(cli_json_set_bytes(object, "text", a->line->data, a->line->bytes));
    if (json_object_set_new(object, "tokens", p.tokens)) return no_memory();
    return a->rows ? bpt_examples_words(a->line, a->options, take_words, &p) : BPT_OK;
}

// The tags of a sentence as a list.
static bpt_status_t set_tags(const tags_t *t, json_t *object) {
    json_t *tags = json_array();
    bpt_strbuf_t tag = {0};
    bpt_status_t status = json_object_set_new(object, "tags", tags) ? no_memory() : BPT_OK;
    for (int64_t i = 0; i < t->answer->rows && status == BPT_OK; ++i) {
        bpt_strbuf_clear(&tag);
        status = append_tag(t, i, &tag);
        if (status == BPT_OK && json_array_append_new(tags, json_string(tag.data))) status = no_memory();
    }
    bpt_strbuf_free(&tag);
    return status;
}

static bpt_status_t print_text(const cli_answer_t *a, const tags_t *t) {
    printer_t p = {.tags = t, .before = a->nth};
    if (a->rows) BPT_TRY(bpt_examples_words(a->line, a->options, take_words, &p));
    putchar('\n');
    return BPT_OK;
}

// ---- Several sequences of tags (--n-best)

// Of place i among the best; as JSON into `list`, or as text with a line before it.
static bpt_status_t put_place(const cli_options_t *o, const cli_answer_t *answer, const uint32_t *best, int i, double log_p, json_t *list) {
    cli_answer_t a = *answer;
    tags_t tags = {.answer = &a};
    a.best = best;
    bpt_status_t status = convert(o, &tags);
    if (status == BPT_OK && list) {
        json_t *object = json_object();
        if (json_array_append_new(list, object)) status = no_memory();
        if (status == BPT_OK) status = set_tags(&tags, object);
        if (status == BPT_OK) status = bpt_json_set_real(object, "log_probability", log_p);
    } else if (status == BPT_OK) {
        printf("# tags %d %.9g\n", i + 1, log_p);
        status = print_text(&a, &tags);
    }
    bpt_free(tags.letter);
    return status;
}

static bpt_status_t put_places(const cli_options_t *o, const cli_answer_t *a, json_t *list) {
    const int k = (int)o->use.n_best;
    uint32_t *best;
    double *log_p = NULL;
    int count = 0;
    if (!a->rows) return BPT_OK;
    BPT_TRY(bpt_alloc((size_t)(k * a->rows), sizeof *best, &best));
    bpt_status_t status = bpt_alloc((size_t)k, sizeof *log_p, &log_p);
    if (status == BPT_OK) status = bpt_best_tags(a->logits, a->rows, a->classes, a->transitions, k, best, log_p, &count);
    for (int i = 0; i < count && status == BPT_OK; ++i) status = put_place(o, a, best + i * a->rows, i, log_p[i], list);
    bpt_free(best);
    bpt_free(log_p);
    return status;
}

static bpt_status_t add_places(const cli_options_t *o, const cli_answer_t *a, json_t *object) {
    json_t *list = json_array();
    if (json_object_set_new(object, "n_best", list)) return no_memory();
    return put_places(o, a, list);
}

// ---- One

static bpt_status_t print_json(const cli_options_t *o, const cli_answer_t *a, const tags_t *t) {
    json_t *object = json_object();
    bpt_status_t status = set_tags(t, object);
    if (status == BPT_OK && o->use.n_best) status = add_places(o, a, object);
    if (status == BPT_OK) status = cli_answer_set_rows(object, "logits", a->logits, a->rows, a->classes);
    if (status == BPT_OK && o->use.with_input) status = add_input(a, t, object);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

static bpt_status_t print(const cli_options_t *o, const cli_answer_t *a) {
    tags_t tags = {.answer = a};
    if (o->use.n_best && a->rows && !o->use.json) return put_places(o, a, NULL);
    bpt_status_t status = convert(o, &tags);
    if (status == BPT_OK) status = o->use.json ? print_json(o, a, &tags) : print_text(a, &tags);
    bpt_free(tags.letter);
    return status;
}

// ---- The command

// Which scheme --tag-scheme data is.
static bpt_status_t resolve_scheme(cli_options_t *o, const cli_trained_t *t) {
    const bool of_data = o->use.tag_scheme == BPT_SCHEME_DATA;
    if (of_data && t->stored.data.tag_scheme == BPT_SCHEME_KEEP) o->use.tag_scheme = BPT_SCHEME_KEEP;
    if (o->use.tag_scheme == BPT_SCHEME_KEEP) return BPT_OK;
    if (!bpt_spans_are_tags((const char *const *)t->labels.name, (int64_t)t->labels.count))
        return bpt_fail(BPT_ERR_USAGE, "--tag-scheme: the tags of %s are not those of spans, such as B-PER I-PER O; leave the option out",
                        o->arguments[0]);
    if (of_data && t->stored.data.data_scheme == BPT_SCHEME_KEEP)
        return bpt_fail(BPT_ERR_USAGE, "--tag-scheme data: %s does not say which scheme its data had; name one, such as iob2",
                        o->arguments[0]);
    if (of_data) o->use.tag_scheme = t->stored.data.data_scheme;
    return BPT_OK;
}

static bpt_status_t check(const cli_options_t *o, const cli_trained_t *t) {
    const bpt_task_spec_t *task = bpt_task_of(&t->config);
    if (task->labelled && task->per_token) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is %s, not a tagger%s", o->arguments[0], task->model, task->labelled ? "; use bpt classify" : "");
}

static bpt_status_t answer(cli_options_t *o, cli_trained_t *t) {
    bpt_token_columns_t columns = {0};
    bpt_csv_columns_t cells = {0};
    const char *path = o->n_arguments < 2 ? "-" : o->arguments[1];
    cli_answers_t answers = {.o = o, .trained = t, .print = print};
    BPT_TRY(check(o, t));
    BPT_TRY(resolve_scheme(o, t));
    BPT_TRY(cli_answer_options(o, t, path, &answers.options));
    answers.options.columns = &columns;
    answers.options.cells = &cells;
    return cli_answer_lines(&answers, path);
}

static bpt_status_t run_tag(cli_options_t *o) {
    if (o->use.with_input && !o->use.json) return bpt_fail(BPT_ERR_USAGE, "--with-input goes with --json");
    cli_trained_t trained;
    BPT_TRY(cli_trained_open(o, &trained));
    const bpt_status_t status = answer(o, &trained);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_tag = {
    .bit = CLI_TAG,
    .name = "tag",
    .arguments = "RUN [FILE]",
    .purpose = "tag every token of a text with a trained tagger",
    .description =
        "Reads FILE or standard input, packed or not. Each line is one sentence, its tokens separated by blanks; what stands behind a tab "
        "is "
        "ignored. Prints `token<TAB>tag` lines and a blank line behind each sentence, as soon as the sentence has been read; for a "
        "blank line a blank line. With --json it prints one object a sentence, with the tags, and the scores (logits) of every tag "
        "for every token; a CRF chooses the tags from the scores and its transitions. A line that cannot be read ends the program, "
        "after the answers to the lines before it.\n"
        "With --format conll or conllu the input is read as the files that taggers are trained on: a token a line, in the column of "
        "the training data or of --text-column, and a blank line between sentences. Other columns, comments, lines of -DOCSTART- and the "
        "ranges of CoNLL-U are not printed. Where the first token's line has a tab, tabs separate the columns, and a token may hold "
        "blanks. "
        "The output is such a file too. With --format jsonl, or a file whose name ends in .jsonl or .ndjson, a line is a JSON object with "
        "a "
        "list of tokens.\n"
        "With --n-best N a sentence is printed N times, each with other tags, the most probable first, behind a line "
        "`# tags PLACE LOG-PROBABILITY` (in nats; with a CRF of the whole sequence, else the sum over the tokens); with --json the list "
        "n_best has them. Of a sentence with fewer different sequences there are fewer.\n"
        "Tags of spans that were converted for training (bpt train --tag-scheme) are written as the model has them; --tag-scheme data "
        "writes them as the data had them.",
    .examples = "  bpt tag run sentences.txt\n  echo 'EU rejects German call' | bpt tag run --json\n"
                "  bpt tag run sentences.txt --n-best 3 --json\n"
                "  bpt tag run test.conllu --format conllu\n  bpt tag run tokens.tsv --format conll --tag-scheme data\n",
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_tag,
};
