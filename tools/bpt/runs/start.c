// Starting from a trained model (see start.h).
#include "tools/bpt/runs/start.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "models/config/config_json.h"
#include "models/config/config_names.h"
#include "tools/bpt/corpus/unknown_words.h"

// ---- The source
static bpt_status_t open_source(const cli_options_t *o, cli_start_t *s) {
    const char *path = o->run.init;
    if (!bpt_file_exists(path)) return cli_trained_open_run(path, NULL, &s->source);
    s->file = path;
    return cli_trained_open_exported(path, &s->source);
}

// ---- Its shape
static bpt_status_t describe_shape(const cli_options_t *o, const cli_trained_t *t, json_t *shape) {
    static const char *const free_keys[] = {"task",         "classes",  "dropout_input", "dropout_hidden", "dropout_attention",
                                            "dropout_head", "smoothing"};
    // What weights depend on, and a configuration says only where it is not the default.
    static const char *const tacit_keys[] = {"norm", "ffn", "embed_scale", "ngram_max"};
    for (size_t i = 0; i < BPT_COUNT(tacit_keys); ++i) BPT_TRY(bpt_model_config_tell(shape, tacit_keys[i], &t->config));
    for (size_t i = 0; i < BPT_COUNT(free_keys); ++i) json_object_del(shape, free_keys[i]);
    if (t->config.task != o->model.task) json_object_del(shape, "tied");  // it is about the head, which is another one
    if (o->run.match_vocabulary) json_object_del(shape, "vocab");
    BPT_TRY(bpt_json_set_text(shape, "unit", bpt_unit_names[t->unit]));
    if (bpt_unit_of(t->unit)->pieces && !o->run.match_vocabulary) BPT_TRY(bpt_json_set_int(shape, "subwords", t->config.vocab));
    return bpt_json_set_bool(shape, "lower", t->stored.data.lower);
}

// Only a habit: weights do not depend on it. A file, and a run that was imported from one, knows the context of evaluations alone.
static void take_context(cli_options_t *o, const cli_trained_t *t) {
    const cli_data_options_t *theirs = &t->stored.data;
    const bool trained_here = cli_option_source(&t->stored, "context") != CLI_FROM_DEFAULT;
    if (cli_option_source(o, "context") != CLI_FROM_DEFAULT) return;
    o->data.context = trained_here || !theirs->eval_context ? theirs->context : theirs->eval_context;
    if (cli_option_source(o, "batch-tokens") == CLI_FROM_DEFAULT && o->data.batch_tokens < o->data.context)
        o->data.batch_tokens = o->data.context;
}

// Weights may go on as those of another task, but only where somebody says so.
static bpt_status_t take_task(cli_options_t *o, const cli_trained_t *t) {
    const cli_option_t *task = cli_option_find(CLI_TRAIN, "task");
    if (cli_option_source(o, task->name) != CLI_FROM_DEFAULT) return BPT_OK;
    return cli_option_set(o, task, bpt_task_names[t->config.task], CLI_FROM_RUN, task->name);
}

static bpt_status_t take_shape(cli_options_t *o, const cli_trained_t *t) {
    json_t *shape;
    BPT_TRY(take_task(o, t));
    BPT_TRY(bpt_model_config_to_json(&t->config, &shape));
    bpt_status_t status = describe_shape(o, t, shape);
    if (status == BPT_OK) status = cli_options_adopt(o, shape, o->run.init);
    json_decref(shape);
    if (status == BPT_OK && t->config.task == o->model.task) take_context(o, t);
    return status;
}

bpt_status_t cli_start_open(cli_options_t *o, cli_start_t *s) {
    *s = (cli_start_t){0};
    if (!*o->run.init || o->run.resume) {
        if (!o->run.match_vocabulary || o->run.resume) return BPT_OK;
        return bpt_fail(BPT_ERR_USAGE, "--match-vocabulary needs --init RUN, whose words are matched");
    }
    s->any = true;
    BPT_TRY(open_source(o, s));
    BPT_TRY(take_shape(o, &s->source));  // first, so that another --unit is refused as what it is
    return s->source.run ? cli_trained_open_texts(o, &s->source) : BPT_OK;
}

static bpt_vocab_t *take(const cli_options_t *o, bpt_vocab_t **vocab) {
    if (o->run.match_vocabulary) return NULL;
    bpt_vocab_t *taken = *vocab;
    *vocab = NULL;
    return taken;
}

bpt_vocab_t *cli_start_take_vocab(const cli_options_t *o, cli_start_t *s) { return take(o, &s->source.vocab); }
bpt_vocab_t *cli_start_take_source_vocab(const cli_options_t *o, cli_start_t *s) { return take(o, &s->source.source_vocab); }

bpt_labels_t cli_start_take_node_labels(const cli_options_t *o, cli_start_t *s) {
    if (!s->any || !o->model.node_labels) return (bpt_labels_t){0};
    const bpt_labels_t taken = s->source.labels;
    s->source.labels = (bpt_labels_t){0};
    return taken;
}

// ---- Rows
static bool same_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes) { return a_bytes == b_bytes && !memcmp(a, b, a_bytes); }

// A word that is not known is found as <unk>, which is another word.
static int64_t row_of_token(const bpt_vocab_t *from, const char *token, size_t bytes) {
    uint32_t id;
    size_t found_bytes;
    if (!bpt_vocab_find(from, token, bytes, &id)) return -1;
    const char *found = bpt_vocab_token(from, id, &found_bytes);
    return same_text(found, found_bytes, token, bytes) ? (int64_t)id : -1;
}

static bpt_status_t match_tokens(const cli_options_t *o, const cli_corpus_t *corpus, cli_start_t *s) {
    const int64_t size = bpt_vocab_size(corpus->vocab);
    int64_t known = 0;
    if (!o->run.match_vocabulary) return BPT_OK;
    if (!size || !bpt_vocab_size(s->source.vocab))
        return bpt_fail(BPT_ERR_USAGE, "--match-vocabulary matches words: with --unit ids there are none; leave it out");
    BPT_TRY(bpt_alloc((size_t)size, sizeof *s->tokens, &s->tokens));
    for (int64_t i = 0; i < size; ++i) {
        size_t bytes;
        const char *token = bpt_vocab_token(corpus->vocab, (uint32_t)i, &bytes);
        s->tokens[i] = row_of_token(s->source.vocab, token, bytes);
        known += s->tokens[i] >= 0;
    }
    bpt_info("vocabulary: %" PRId64 " of %" PRId64 " tokens are those of %s and keep their rows, %" PRId64 " are new", known, size,
             o->run.init, size - known);
    return BPT_OK;
}

static int64_t row_of_label(const bpt_labels_t *from, const char *name) {
    for (size_t i = 0; i < from->count; ++i)
        if (!strcmp(from->name[i], name)) return (int64_t)i;
    return -1;
}

// What becomes of labels, where they are not those of the source.
static void say_labels(const cli_options_t *o, const cli_corpus_t *corpus, const cli_start_t *s) {
    const int64_t count = (int64_t)corpus->labels.count, before = (int64_t)s->source.labels.count;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) kept += s->outputs[i] >= 0;
    if (kept == count && kept == before) return;
    bpt_info("labels: %" PRId64 " of %" PRId64 " are those of %s and keep their rows of the output layer, %" PRId64 " are new; %" PRId64
             " labels of that model are not in these data and are left out",
             kept, count, o->run.init, count - kept, before - kept);
}

// Outputs are tokens or labels: those of another task are all new.
static bpt_status_t match_outputs(const cli_options_t *o, const cli_corpus_t *corpus, cli_start_t *s) {
    const bpt_model_config_t *m = &o->model;
    const bool labels = bpt_task_of(m)->labelled, same_task = m->task == s->source.config.task;
    const int64_t count = labels ? m->classes : m->vocab;
    if (same_task && !labels && !s->tokens) return BPT_OK;
    BPT_TRY(bpt_alloc((size_t)count, sizeof *s->outputs, &s->outputs));
    for (int64_t i = 0; i < count; ++i)
        s->outputs[i] = !same_task ? -1 : labels ? row_of_label(&s->source.labels, corpus->labels.name[i]) : s->tokens[i];
    if (same_task && labels) say_labels(o, corpus, s);
    return BPT_OK;
}

// How much of the new text the old vocabulary does not know.
static void count_unknown(const cli_options_t *o, const cli_corpus_t *corpus) {
    const double share = 100 * cli_unknown_words_share(cli_unknown_words_count(corpus->vocab, cli_corpus_tokens(corpus, BPT_TRAIN)));
    const char *what = bpt_unit_of(o->data.unit)->pieces ? "subwords" : "words";
    if (o->run.match_vocabulary || isnan(share)) return;
    if (share > 25)
        bpt_warn("%.1f %% of the training %s are not in the vocabulary of %s (<unk>); --match-vocabulary gives them rows of their own",
                 share, what, o->run.init);
    else
        bpt_info("%.1f %% of the training %s are not in the vocabulary of %s (<unk>)", share, what, o->run.init);
}

bpt_status_t cli_start_match(const cli_options_t *o, const cli_corpus_t *corpus, cli_start_t *s) {
    if (!s->any) return BPT_OK;
    count_unknown(o, corpus);
    BPT_TRY(match_tokens(o, corpus, s));
    return match_outputs(o, corpus, s);
}

bpt_taken_rows_t cli_start_rows(const cli_start_t *s, const cli_options_t *o) {
    return (bpt_taken_rows_t){.tokens = s->tokens, .outputs = s->outputs, .other_task = s->any && s->source.config.task != o->model.task};
}

void cli_start_close(cli_start_t *s) {
    if (s->any) cli_trained_close(&s->source);
    bpt_free(s->tokens);
    bpt_free(s->outputs);
    *s = (cli_start_t){0};
}
