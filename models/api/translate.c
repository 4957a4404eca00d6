// Translations for callers outside (see model.h): checks, tokens of the texts, and the search.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "models/api/model_internal.h"
#include "models/api/translate_texts.h"
#include "models/kinds/kind.h"
#include "models/train/evaluate.h"

// ---- Tokens of texts, one behind the other

typedef struct {
    const bpt_vocab_t *vocabulary;
    uint32_t end;
    uint32_t *tokens;
    uint64_t *offsets;  // [count + 1]
    size_t n_tokens, room;
} column_t;

static bpt_status_t add_token(void *user, uint32_t id) {
    column_t *c = user;
    BPT_TRY(bpt_grow(&c->tokens, c->n_tokens, &c->room, sizeof *c->tokens));
    c->tokens[c->n_tokens++] = id;
    return BPT_OK;
}

// The words of a text and its end; of a text without words nothing.
static bpt_status_t add_text(column_t *c, const char *text) {
    const bpt_range_t where = bpt_range_of("the text", text, strlen(text));
    bpt_range_t rest = where;
    bpt_word_t *words = NULL;
    size_t n = 0, room = 0, bytes;
    bpt_status_t status = bpt_range_check_utf8(&where);
    if (status == BPT_OK && memchr(text, '\n', where.bytes))
        status = bpt_fail(BPT_ERR_USAGE, "it has a line end; a text is one line, such as a sentence");
    for (const char *word; status == BPT_OK && (word = bpt_next_token(&rest, &bytes));) {
        status = bpt_grow(&words, n, &room, sizeof *words);
        if (status == BPT_OK) words[n++] = (bpt_word_t){word, bytes};
    }
    if (status == BPT_OK && n) status = bpt_vocab_encode_words(c->vocabulary, &where, words, n, add_token, c);
    if (status == BPT_OK && n) status = add_token(c, c->end);
    bpt_free(words);
    return status;
}

static bpt_status_t fill_column(column_t *c, const char *const *texts, int64_t count, const bpt_model_config_t *stack, const char *what) {
    BPT_TRY(bpt_alloc((size_t)count + 1, sizeof *c->offsets, &c->offsets));
    for (int64_t i = 0; i < count; ++i) {
        if (!texts[i]) return bpt_fail(BPT_ERR_USAGE, "%s %" PRId64 " is a null pointer", what, i);
        BPT_TRY(bpt_context(add_text(c, texts[i]), "%s %" PRId64, what, i));
        c->offsets[i + 1] = c->n_tokens;
        const int64_t length = (int64_t)(c->offsets[i + 1] - c->offsets[i]);
        if (length) BPT_TRY(bpt_context(bpt_model_check_length(stack, length), "%s %" PRId64, what, i));
    }
    return BPT_OK;
}

static void free_column(column_t *c) {
    bpt_free(c->tokens);
    bpt_free(c->offsets);
}

// What every function here needs: a translator that reads text.
static bpt_status_t begin(const bpt_model_t *m, const char *function, column_t *source, column_t *target) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_task_sides(bpt_model_task(m)) == 2, function, "translators"));
    source->vocabulary = m->texts.source_vocabulary ? m->texts.source_vocabulary : m->texts.vocabulary;
    target->vocabulary = m->texts.vocabulary;
    if (!target->vocabulary || !bpt_vocab_end_sign(source->vocabulary, &source->end) ||
        !bpt_vocab_end_sign(target->vocabulary, &target->end))
        return bpt_fail(BPT_ERR_USAGE, "the model reads numbers of tokens; %s needs one that reads words or subwords", function);
    if (!bpt_kind_of(&m->config)->trees) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "the model reads trees over its texts, which %s does not take; use `bpt translate`", function);
}

// ---- Translation

static bpt_status_t check_options(const bpt_translate_options_t *o) {
    if (o->version != BPT_MODEL_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the options are of version %u, this library knows %d; set them by bpt_translate_options()",
                        o->version, BPT_MODEL_VERSION);
    if (o->beam < 1 || o->beam > 1024) return bpt_fail(BPT_ERR_USAGE, "beam is %d; it must be from 1 to 1024", o->beam);
    if (!(o->length_penalty >= 0 && o->length_penalty <= 100))
        return bpt_fail(BPT_ERR_USAGE, "length_penalty is %g; it must be from 0 to 100", o->length_penalty);
    if (!(o->max_length_a >= 0 && o->max_length_a <= 1000) || o->max_length_b < 0 || o->max_length_b > BPT_MOST_TRANSLATED)
        return bpt_fail(BPT_ERR_USAGE, "max_length_a is %g and max_length_b %" PRId64 "; they must be from 0 to 1000 and from 0 to %d",
                        o->max_length_a, o->max_length_b, BPT_MOST_TRANSLATED);
    if (o->batch < 1 || o->batch > 65536) return bpt_fail(BPT_ERR_USAGE, "batch is %" PRId64 "; it must be from 1 to 65536", o->batch);
    if (o->min_tokens < 0 || o->min_tokens >= BPT_MOST_TRANSLATED || o->no_repeat < 0)
        return bpt_fail(BPT_ERR_USAGE, "min_tokens is %" PRId64 " and no_repeat %" PRId64 "; they must be from 0 to %d, and 0 or more",
                        o->min_tokens, o->no_repeat, BPT_MOST_TRANSLATED - 1);
    if (o->context_tokens >= 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "context_tokens is %" PRId64 "; it must be 0 or more", o->context_tokens);
}

typedef struct {
    const bpt_vocab_t *vocabulary;
    int32_t n;  // of each text
    bpt_translation_t *out;
} notes_t;

static bpt_status_t note(void *user, int64_t text, const bpt_hypothesis_t *found, int count) {
    const notes_t *n = user;
    for (int i = 0; i < count; ++i) {
        bpt_translation_t *out = &n->out[text * n->n + i];
        out->score = found[i].score;
        BPT_TRY(bpt_translation_text(n->vocabulary, &found[i], &out->text));
    }
    return BPT_OK;
}

static bpt_status_t search(bpt_model_t *m, const bpt_source_text_t *texts, int64_t count, const bpt_translate_options_t *o, uint32_t end,
                           int32_t n, bpt_translation_t *out) {
    uint32_t unknown;
    bpt_text_translator_t *t;
    notes_t notes = {.vocabulary = m->texts.vocabulary, .n = n, .out = out};
    if (!o->no_unknown || !bpt_vocab_unknown(m->texts.vocabulary, &unknown)) unknown = BPT_NO_ROW;
    const bpt_translator_options_t options = {.beam = o->beam,
                                              .length_penalty = o->length_penalty,
                                              .max_length_a = o->max_length_a,
                                              .max_length_b = o->max_length_b,
                                              .begin = end,
                                              .end = end,
                                              .forbidden = unknown,
                                              .min_tokens = o->min_tokens,
                                              .no_repeat = o->no_repeat,
                                              .n_best = n,
                                              .texts = o->context_tokens ? 1 : o->batch,
                                              .documents = o->context_tokens > 0};
    for (int64_t i = 0; i < count; ++i)
        if (!texts[i].count) BPT_TRY(bpt_strdup("", &out[i * n].text));
    BPT_TRY(bpt_text_translator_create(m->runner, &options, &t));
    const bpt_status_t status = o->context_tokens
                                    ? bpt_text_translator_run_documents(t, texts, count, o->context_tokens, note, &notes, NULL)
                                    : bpt_text_translator_run(t, texts, count, note, &notes);
    bpt_text_translator_destroy(t);
    return status;
}

static bpt_status_t translate(bpt_model_t *m, const column_t *source, int64_t count, const bpt_translate_options_t *o, uint32_t end,
                              int32_t n, bpt_translation_t *out) {
    bpt_source_text_t *list;
    BPT_TRY(bpt_alloc((size_t)count, sizeof *list, &list));
    for (int64_t i = 0; i < count; ++i)
        list[i] = (bpt_source_text_t){.tokens = source->tokens + source->offsets[i],
                                      .count = (int64_t)(source->offsets[i + 1] - source->offsets[i])};
    const bpt_status_t status = search(m, list, count, o, end, n, out);
    bpt_free(list);
    return status;
}

static bpt_status_t check_n_best(int32_t n, const bpt_translate_options_t *o) {
    if (n < 1 || n > o->beam) return bpt_fail(BPT_ERR_USAGE, "n is %d; a beam of %d finds 1 to %d translations", n, o->beam, o->beam);
    if (n == 1 || !o->context_tokens) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "n is %d, and with context_tokens a text is translated behind the best translations before it: n is 1",
                    n);
}

bpt_status_t bpt_model_translate_n_best(bpt_model_t *m, const char *const *texts, int64_t count, int32_t n,
                                        const bpt_translate_options_t *options, bpt_translation_t *translations) {
    const bpt_translate_options_t defaults = bpt_translate_options(), *o = options ? options : &defaults;
    column_t source = {0}, target = {0};
    BPT_TRY(begin(m, "bpt_model_translate", &source, &target));
    BPT_TRY(check_options(o));
    if (!texts || count < 1 || !translations)
        return bpt_fail(BPT_ERR_USAGE, "there is nothing to translate: texts, their count and room for translations must be given");
    BPT_TRY(check_n_best(n, o));
    memset(translations, 0, (size_t)count * (size_t)n * sizeof *translations);
    const bpt_model_config_t encoder = bpt_model_stack(&m->config, 0).config;
    bpt_status_t status = fill_column(&source, texts, count, &encoder, "text");
    if (status == BPT_OK) status = translate(m, &source, count, o, target.end, n, translations);
    free_column(&source);
    return status;
}

bpt_status_t bpt_model_translate(bpt_model_t *m, const char *const *texts, int64_t count, const bpt_translate_options_t *options,
                                 bpt_translation_t *translations) {
    return bpt_model_translate_n_best(m, texts, count, 1, options, translations);
}

void bpt_translations_free(bpt_translation_t *translations, int64_t count) {
    for (int64_t i = 0; translations && i < count; ++i) {
        bpt_free(translations[i].text);
        translations[i] = (bpt_translation_t){0};
    }
}

// ---- Likelihoods of given translations

static bpt_status_t check_filled(const column_t *c, int64_t count, const char *what) {
    for (int64_t i = 0; i < count; ++i)
        if (c->offsets[i + 1] == c->offsets[i]) return bpt_fail(BPT_ERR_USAGE, "%s %" PRId64 " is empty", what, i);
    return BPT_OK;
}

static bpt_status_t evaluate(bpt_model_t *m, const column_t *source, const column_t *target, int64_t count, double *nll, int64_t *tokens) {
    const bpt_examples_t examples = {.tokens = source->tokens,
                                     .offsets = source->offsets,
                                     .n_tokens = source->n_tokens,
                                     .target = {true, target->tokens, target->offsets, target->n_tokens, target->end},
                                     .count = (uint64_t)count};
    const bpt_batching_t batching = {.batch_tokens = m->options.batch_tokens};
    bpt_batch_source_t *batches;
    bpt_evaluation_t evaluation;
    float *all = NULL;
    size_t n;
    BPT_TRY(bpt_examples_eval_source(&examples, &batching, &batches));
    bpt_status_t status = bpt_evaluate_nll(m->runner, batches, NULL, NULL, &evaluation, &all, &n);
    if (status == BPT_OK) status = bpt_model_check_finite(all, (int64_t)n);
    for (int64_t i = 0; i < count && status == BPT_OK; ++i) {
        nll[i] = 0;
        for (uint64_t t = target->offsets[i]; t < target->offsets[i + 1]; ++t) nll[i] += all[t];
        if (tokens) tokens[i] = (int64_t)(target->offsets[i + 1] - target->offsets[i]);
    }
    bpt_free(all);
    batches->destroy(batches);
    return status;
}

bpt_status_t bpt_model_score_translations(bpt_model_t *m, const char *const *texts, const char *const *translations, int64_t count,
                                          double *nll, int64_t *tokens) {
    column_t source = {0}, target = {0};
    BPT_TRY(begin(m, "bpt_model_score_translations", &source, &target));
    if (!texts || !translations || count < 1 || !nll)
        return bpt_fail(BPT_ERR_USAGE, "there is nothing to score: texts, translations, their count and room for results must be given");
    const bpt_model_config_t encoder = bpt_model_stack(&m->config, 0).config, decoder = bpt_model_last_stack(&m->config).config;
    bpt_status_t status = fill_column(&source, texts, count, &encoder, "text");
    if (status == BPT_OK) status = fill_column(&target, translations, count, &decoder, "translation");
    if (status == BPT_OK) status = check_filled(&source, count, "text");
    if (status == BPT_OK) status = check_filled(&target, count, "translation");
    if (status == BPT_OK) status = evaluate(m, &source, &target, count, nll, tokens);
    free_column(&source);
    free_column(&target);
    return status;
}
