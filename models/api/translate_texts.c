// Texts through a translator (see translate_texts.h).
#include "models/api/translate_texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/parallel.h"
#include "data/examples/tree_text.h"
#include "data/examples/trees.h"
#include "models/kinds/kind.h"

struct bpt_text_translator {
    bpt_runner_t *runner;
    bpt_translator_options_t options;  // `longest`: that of the translator, 0 before there is one
    bpt_translator_t *translator;
    uint32_t *tokens, *start, *lengths;
    uint32_t *segment_start, *segment_lengths;  // of documents
    bpt_hypothesis_t *found;                    // of a batch
};

bpt_status_t bpt_text_translator_create(bpt_runner_t *runner, const bpt_translator_options_t *options, bpt_text_translator_t **out) {
    bpt_text_translator_t *t;
    const size_t texts = options->documents ? 2 * BPT_MOST_SENTENCES : (size_t)options->texts;
    BPT_TRY(bpt_alloc(1, sizeof *t, &t));
    t->runner = runner;
    t->options = *options;
    t->options.longest = 0;
    bpt_status_t status = bpt_alloc(texts, sizeof *t->start, &t->start);
    if (status == BPT_OK) status = bpt_alloc(texts, sizeof *t->lengths, &t->lengths);
    if (status == BPT_OK) status = bpt_alloc(texts, sizeof *t->segment_start, &t->segment_start);
    if (status == BPT_OK) status = bpt_alloc(texts, sizeof *t->segment_lengths, &t->segment_lengths);
    if (status == BPT_OK) status = bpt_alloc(texts, sizeof *t->found, &t->found);
    if (status == BPT_OK)
        *out = t;
    else
        bpt_text_translator_destroy(t);
    return status;
}

void bpt_text_translator_destroy(bpt_text_translator_t *t) {
    if (!t) return;
    bpt_translator_destroy(t->translator);
    bpt_free(t->tokens);
    bpt_free(t->start);
    bpt_free(t->lengths);
    bpt_free(t->segment_start);
    bpt_free(t->segment_lengths);
    bpt_free(t->found);
    bpt_free(t);
}

// A translator for texts of `longest` tokens: the one that there is, unless it is too small.
static bpt_status_t need_translator(bpt_text_translator_t *t, int64_t longest) {
    if (t->translator && t->options.longest >= longest) return BPT_OK;
    bpt_translator_destroy(t->translator);
    t->translator = NULL;
    t->options.longest = longest;
    BPT_TRY(bpt_realloc(&t->tokens, (size_t)(t->options.texts * longest), sizeof *t->tokens));
    return bpt_translator_create(t->runner, &t->options, &t->translator);
}

// Few lengths of buckets, so that few programs are made: 8, 16, 24, 32, 48, 64, 96, ..
static int64_t bucket_of(int64_t length) {
    int64_t n = 8;
    while (n < length) n += n < 32 ? 8 : n & (n - 1) ? n / 3 : n / 2;
    return n;
}

// ---- Texts alone

static int by_length(const void *a, const void *b) {
    const bpt_source_text_t *x = *(const bpt_source_text_t *const *)a, *y = *(const bpt_source_text_t *const *)b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bpt_batch_t fill_batch(bpt_text_translator_t *t, const bpt_source_text_t *const *texts, int64_t count) {
    const int64_t n = bucket_of(texts[0]->count), batch = t->options.texts;
    bpt_batch_t b = {.shape = bpt_batch_buckets(n, batch), .n_real = count};
    b.side[0] = (bpt_side_t){.tokens = t->tokens, .start = t->start, .lengths = t->lengths};
    memset(t->tokens, 0, (size_t)(n * batch) * sizeof *t->tokens);
    for (int64_t s = 0; s < batch; ++s) {
        t->start[s] = (uint32_t)(s * n);
        t->lengths[s] = s < count ? (uint32_t)texts[s]->count : 1;
        if (s < count) memcpy(t->tokens + s * n, texts[s]->tokens, (size_t)texts[s]->count * sizeof *t->tokens);
    }
    return b;
}

// The trees over the texts of a batch; *memory is the caller's.
static bpt_status_t put_trees(const bpt_source_text_t *const *texts, int64_t count, bool named, bpt_batch_t *batch, uint32_t **memory) {
    bpt_nodes_t all = {0};
    uint64_t *ends;
    BPT_TRY(bpt_alloc((size_t)batch->shape.batch, sizeof *ends, &ends));
    bpt_status_t status = BPT_OK;
    for (int64_t s = 0; s < batch->shape.batch && status == BPT_OK; ++s) {
        for (uint64_t i = 0; s < count && i < texts[s]->n_nodes && status == BPT_OK; ++i) {
            const bpt_example_node_t *node = &texts[s]->nodes[i];
            status = bpt_nodes_add(&all, node->first, node->end, node->label);
        }
        ends[s] = all.count;
    }
    if (status == BPT_OK) status = bpt_trees_put(all.items, ends, named, batch, memory);
    bpt_free(all.items);
    bpt_free(ends);
    return status;
}

static bpt_status_t run_batch(bpt_text_translator_t *t, const bpt_source_text_t *const *texts, int64_t count) {
    bpt_batch_t batch = fill_batch(t, texts, count);
    const bpt_model_config_t *config = bpt_runner_config(t->runner);
    uint32_t *trees = NULL;
    bpt_status_t status = bpt_kind_of(config)->trees ? put_trees(texts, count, config->node_labels > 0, &batch, &trees) : BPT_OK;
    if (status == BPT_OK) status = bpt_translator_run(t->translator, &batch, t->found);
    bpt_free(trees);
    return status;
}

static bpt_status_t run_sorted(bpt_text_translator_t *t, const bpt_source_text_t *texts, const bpt_source_text_t *const *sorted,
                               int64_t count, bpt_on_translation_t on_translation, void *user) {
    const int64_t most = t->options.texts;
    if (count) BPT_TRY(need_translator(t, bucket_of(sorted[0]->count)));
    for (int64_t first = 0; first < count; first += most) {
        const int64_t n = count - first < most ? count - first : most;
        BPT_TRY(run_batch(t, sorted + first, n));
        for (int64_t i = 0; i < n; ++i) BPT_TRY(on_translation(user, sorted[first + i] - texts, &t->found[i]));
    }
    return BPT_OK;
}

bpt_status_t bpt_text_translator_run(bpt_text_translator_t *t, const bpt_source_text_t *texts, int64_t count,
                                     bpt_on_translation_t on_translation, void *user) {
    const bpt_source_text_t **sorted;
    int64_t filled = 0;
    BPT_TRY(bpt_alloc((size_t)count, sizeof *sorted, &sorted));
    for (int64_t i = 0; i < count; ++i)
        if (texts[i].count) sorted[filled++] = &texts[i];
    if (filled) qsort(sorted, (size_t)filled, sizeof *sorted, by_length);
    const bpt_status_t status = run_sorted(t, texts, sorted, filled, on_translation, user);
    bpt_free(sorted);
    return status;
}

// ---- Documents

bool bpt_segment_closes(int64_t tokens, int64_t sentences, int64_t context_tokens) {
    return bpt_segment_is_full((uint64_t)tokens, context_tokens) || sentences == BPT_MOST_SENTENCES;
}

// One text: all sentences one behind the other, each a segment of the batch.
static bpt_batch_t fill_segments(bpt_text_translator_t *t, const bpt_source_text_t *sentences, int64_t count, int64_t n) {
    bpt_batch_t b = {.shape = bpt_batch_buckets(n, 1), .n_real = 1, .segments = count};
    int64_t at = 0;
    memset(t->tokens, 0, (size_t)n * sizeof *t->tokens);
    for (int64_t i = 0; i < count; at += sentences[i].count, ++i) {
        memcpy(t->tokens + at, sentences[i].tokens, (size_t)sentences[i].count * sizeof *t->tokens);
        t->segment_start[i] = (uint32_t)at;
        t->segment_lengths[i] = (uint32_t)sentences[i].count;
    }
    t->start[0] = 0;
    t->lengths[0] = (uint32_t)at;
    b.side[0] = (bpt_side_t){.tokens = t->tokens,
                             .start = t->start,
                             .lengths = t->lengths,
                             .segment_start = t->segment_start,
                             .segment_lengths = t->segment_lengths};
    return b;
}

bpt_status_t bpt_text_translator_run_segment(bpt_text_translator_t *t, const bpt_source_text_t *sentences, int64_t count, int64_t n_given,
                                             bpt_hypothesis_t *found, int64_t *n_known) {
    const bpt_model_config_t encoder = bpt_model_stack(bpt_runner_config(t->runner), 0).config;
    int64_t tokens = 0;
    *n_known = n_given;
    for (int64_t i = 0; i < count; ++i) tokens += sentences[i].count;
    BPT_TRY(bpt_model_check_length(&encoder, tokens));
    BPT_TRY(need_translator(t, bucket_of(tokens)));
    const bpt_batch_t batch = fill_segments(t, sentences, count, bucket_of(tokens));
    return bpt_translator_run_document(t->translator, &batch, n_given, found, found, n_known);
}

bpt_status_t bpt_hypothesis_copy(bpt_hypothesis_t *h) {
    uint32_t *copy;
    BPT_TRY(bpt_alloc((size_t)h->count, sizeof *copy, &copy));
    if (h->count) memcpy(copy, h->tokens, (size_t)h->count * sizeof *copy);
    h->tokens = copy;
    return BPT_OK;
}

typedef struct {
    bpt_text_translator_t *translator;
    const bpt_source_text_t *texts;
    bpt_hypothesis_t *found;  // copies, of all texts
    bpt_on_translation_t on_translation;
    void *user;
    int64_t *lost;
} documents_t;

// Of a segment the sentences from *known on have no translation: they get empty ones, where that is wanted.
static bpt_status_t lose(const documents_t *d, bpt_status_t status, int64_t count, int64_t *known) {
    if (status != BPT_ERR_INPUT || !d->lost) return status;
    bpt_error_clear();
    *d->lost += count - *known;
    for (; *known < count; ++*known) d->translator->found[*known] = (bpt_hypothesis_t){0};
    return BPT_OK;
}

// Sentences own .. end - 1 behind the segment before, first .. own - 1.
static bpt_status_t run_own(const documents_t *d, bpt_window_t w) {
    bpt_hypothesis_t *all = d->translator->found;
    const int64_t given = (int64_t)(w.own - w.first), count = (int64_t)(w.end - w.first);
    int64_t known;
    memcpy(all, d->found + w.first, (size_t)given * sizeof *all);
    bpt_status_t status = bpt_text_translator_run_segment(d->translator, d->texts + w.first, count, given, all, &known);
    status = lose(d, status, count, &known);
    for (int64_t i = given; i < known; ++i) {
        bpt_hypothesis_t copy = all[i];
        BPT_TRY(bpt_hypothesis_copy(&copy));
        d->found[w.first + (uint64_t)i] = copy;
        BPT_TRY(d->on_translation(d->user, (int64_t)w.first + i, &copy));
    }
    return bpt_context(status, "text %" PRIu64, w.first + (uint64_t)known);
}

static bpt_status_t run_segments(const documents_t *d, int64_t count, int64_t context_tokens) {
    bpt_window_t w = {0};
    int64_t tokens = 0;
    for (int64_t i = 0; i < count; ++i) {
        const bool blank = !d->texts[i].count;
        w.end = (uint64_t)(blank ? i : i + 1);
        tokens += d->texts[i].count;
        const bool closes = blank || i + 1 == count || bpt_segment_closes(tokens, (int64_t)(w.end - w.own), context_tokens);
        if (!closes) continue;
        if (w.end > w.own) BPT_TRY(run_own(d, w));
        w.first = blank ? (uint64_t)i + 1 : w.own;
        w.own = blank ? w.first : w.end;
        tokens = 0;
    }
    return BPT_OK;
}

bpt_status_t bpt_text_translator_run_documents(bpt_text_translator_t *t, const bpt_source_text_t *texts, int64_t count,
                                               int64_t context_tokens, bpt_on_translation_t on_translation, void *user, int64_t *lost) {
    documents_t d = {.translator = t, .texts = texts, .on_translation = on_translation, .user = user, .lost = lost};
    BPT_TRY(bpt_alloc((size_t)count, sizeof *d.found, &d.found));
    const bpt_status_t status = run_segments(&d, count, context_tokens);
    for (int64_t i = 0; i < count; ++i) bpt_free((uint32_t *)d.found[i].tokens);
    bpt_free(d.found);
    return status;
}

// ---- Text

bpt_status_t bpt_translation_text(const bpt_vocab_t *vocab, const bpt_hypothesis_t *found, char **out) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (int64_t i = 0; i < found->count && status == BPT_OK; ++i) status = bpt_vocab_decode(vocab, found->tokens[i], i == 0, &text);
    if (status == BPT_OK) status = bpt_strdup(text.length ? text.data : "", out);
    bpt_strbuf_free(&text);
    return status;
}
