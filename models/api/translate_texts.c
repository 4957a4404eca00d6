// Texts through a translator (see translate_texts.h).
#include "models/api/translate_texts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "bpt/parts.h"
#include "data/examples/parallel.h"
#include "data/examples/tree_text.h"
#include "data/examples/trees.h"
#include "models/kinds/kind.h"

// What translates a batch at a time.
typedef struct {
    bpt_translator_t *translator;  // for texts of options.longest tokens; NULL: not made yet
    uint32_t *tokens, *start, *lengths;
    bpt_hypothesis_t *found;  // [texts, n_best] of a batch
    int *counts;              // [texts]
} lane_t;

struct bpt_text_translator {
    bpt_runner_t *runner;
    bpt_translator_options_t options;  // `longest`: that of the translators, 0 before there is one
    lane_t whole;                      // on the device of the runner
    bpt_parts_t *parts;                // of this device, NULL: it is not cut
    lane_t *lanes;                     // one on each part
    bool one;                          // there is no memory for parts
    // Of the sentences of a segment.
    uint32_t *segment_start, *segment_lengths;
    bpt_hypothesis_t *found;
};

static void free_lane(lane_t *lane) {
    bpt_translator_destroy(lane->translator);
    bpt_free(lane->tokens);
    bpt_free(lane->start);
    bpt_free(lane->lengths);
    bpt_free(lane->found);
    bpt_free(lane->counts);
    *lane = (lane_t){0};
}

static bpt_status_t make_lane(bpt_text_translator_t *t, struct bpt_device *device, const bpt_translator_t *weights, lane_t *lane) {
    const size_t texts = (size_t)t->options.texts;
    if (lane->translator) return BPT_OK;
    BPT_TRY(bpt_realloc(&lane->tokens, texts * (size_t)t->options.longest, sizeof *lane->tokens));
    BPT_TRY(bpt_realloc(&lane->start, texts, sizeof *lane->start));
    BPT_TRY(bpt_realloc(&lane->lengths, texts, sizeof *lane->lengths));
    BPT_TRY(bpt_realloc(&lane->found, texts * (size_t)t->options.n_best, sizeof *lane->found));
    BPT_TRY(bpt_realloc(&lane->counts, texts, sizeof *lane->counts));
    return bpt_translator_create_on(t->runner, device, weights, &t->options, &lane->translator);
}

bpt_status_t bpt_text_translator_create(bpt_runner_t *runner, const bpt_translator_options_t *options, bpt_text_translator_t **out) {
    const size_t sentences = options->documents ? 2 * BPT_MOST_SENTENCES : 0;
    bpt_text_translator_t *t;
    BPT_TRY(bpt_alloc(1, sizeof *t, &t));
    t->runner = runner;
    t->options = *options;
    t->options.longest = 0;
    if (t->options.n_best < 1) t->options.n_best = 1;
    bpt_status_t status = bpt_alloc(sentences, sizeof *t->segment_start, &t->segment_start);
    if (status == BPT_OK) status = bpt_alloc(sentences, sizeof *t->segment_lengths, &t->segment_lengths);
    if (status == BPT_OK) status = bpt_alloc(sentences, sizeof *t->found, &t->found);
    if (status == BPT_OK)
        *out = t;
    else
        bpt_text_translator_destroy(t);
    return status;
}

static void drop_lanes(bpt_text_translator_t *t) {
    for (int i = t->lanes ? bpt_parts_count(t->parts) - 1 : -1; i >= 0; --i) free_lane(&t->lanes[i]);
    free_lane(&t->whole);
}

static void drop_parts(bpt_text_translator_t *t) {
    drop_lanes(t);  // whose weights may be those of a lane
    bpt_free(t->lanes);
    bpt_parts_close(t->parts);
    t->lanes = NULL;
    t->parts = NULL;
}

void bpt_text_translator_destroy(bpt_text_translator_t *t) {
    if (!t) return;
    drop_parts(t);
    bpt_free(t->segment_start);
    bpt_free(t->segment_lengths);
    bpt_free(t->found);
    bpt_free(t);
}

// Translators that are too small for texts of `longest` tokens go.
static void need_length(bpt_text_translator_t *t, int64_t longest) {
    if (t->options.longest >= longest) return;
    drop_lanes(t);
    t->options.longest = longest;
}

static bpt_status_t need_whole(bpt_text_translator_t *t) { return make_lane(t, NULL, t->lanes ? t->lanes[0].translator : NULL, &t->whole); }

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

static bpt_batch_t fill_batch(const lane_t *lane, int64_t batch, const bpt_source_text_t *const *texts, int64_t count) {
    const int64_t n = bucket_of(texts[0]->count);
    bpt_batch_t b = {.shape = bpt_batch_buckets(n, batch), .n_real = count};
    b.side[0] = (bpt_side_t){.tokens = lane->tokens, .start = lane->start, .lengths = lane->lengths};
    memset(lane->tokens, 0, (size_t)(n * batch) * sizeof *lane->tokens);
    for (int64_t s = 0; s < batch; ++s) {
        lane->start[s] = (uint32_t)(s * n);
        lane->lengths[s] = s < count ? (uint32_t)texts[s]->count : 1;
        if (s < count) memcpy(lane->tokens + s * n, texts[s]->tokens, (size_t)texts[s]->count * sizeof *lane->tokens);
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

static bpt_status_t run_batch(bpt_text_translator_t *t, lane_t *lane, const bpt_source_text_t *const *texts, int64_t count) {
    bpt_batch_t batch = fill_batch(lane, t->options.texts, texts, count);
    const bpt_model_config_t *config = bpt_runner_config(t->runner);
    uint32_t *trees = NULL;
    bpt_status_t status = bpt_kind_of(config)->trees ? put_trees(texts, count, config->node_labels > 0, &batch, &trees) : BPT_OK;
    if (status == BPT_OK) status = bpt_translator_run(lane->translator, &batch, lane->found, lane->counts);
    bpt_free(trees);
    return status;
}

// ---- Batches side by side. Steps of a few rows are too little work for several threads, so each part of the device takes a batch of its
// own, whose search knows nothing of the others.

typedef struct {
    bpt_text_translator_t *t;
    const bpt_source_text_t *texts;
    const bpt_source_text_t *const *sorted;
    int64_t count, size;  // texts of all, of a batch
    bpt_on_translation_t on_translation;
    void *user;
    atomic_llong next;        // the first text that nobody has taken
    atomic_bool failed;       // no more are taken
    pthread_mutex_t answers;  // one at a time
} job_t;

static bpt_status_t answer(job_t *j, const lane_t *lane, int64_t first, int64_t n) {
    bpt_status_t status = BPT_OK;
    pthread_mutex_lock(&j->answers);
    for (int64_t i = 0; i < n && status == BPT_OK && !atomic_load(&j->failed); ++i)
        status = j->on_translation(j->user, j->sorted[first + i] - j->texts, lane->found + i * j->t->options.n_best, lane->counts[i]);
    if (status != BPT_OK) atomic_store(&j->failed, true);
    pthread_mutex_unlock(&j->answers);
    return status;
}

static bpt_status_t run_lane(job_t *j, lane_t *lane) {
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && !atomic_load(&j->failed)) {
        const int64_t first = atomic_fetch_add(&j->next, j->size);
        if (first >= j->count) break;
        const int64_t n = j->count - first < j->size ? j->count - first : j->size;
        status = run_batch(j->t, lane, j->sorted + first, n);
        if (status == BPT_OK) status = answer(j, lane, first, n);
        if (status != BPT_OK) atomic_store(&j->failed, true);
    }
    return status;
}

static bpt_status_t run_part(void *user, int part) {
    job_t *j = user;
    lane_t *lane = &j->t->lanes[part];
    return lane->translator ? run_lane(j, lane) : BPT_OK;
}

// Translators on as many parts as there is memory for: together they take at most a quarter of it.
static bpt_status_t make_lanes(bpt_text_translator_t *t) {
    const uint64_t most = bpt_runner_device(t->runner)->info.memory_bytes / 4;
    for (int i = 0; i < bpt_parts_count(t->parts); ++i) {
        const bpt_translator_t *weights = i ? t->lanes[0].translator : t->whole.translator;
        if (i && (uint64_t)(i + 1) * bpt_translator_device_bytes(t->lanes[0].translator) > most) break;
        BPT_TRY(make_lane(t, bpt_parts_device(t->parts, i), weights, &t->lanes[i]));
    }
    return BPT_OK;
}

static bpt_status_t cut(bpt_text_translator_t *t, int parts) {
    const int now = t->parts ? bpt_parts_count(t->parts) : 0;
    if (parts > now || 2 * parts <= now) {
        drop_parts(t);
        BPT_TRY(bpt_parts_open(bpt_runner_device(t->runner), parts, &t->parts));
        BPT_TRY(bpt_alloc((size_t)parts, sizeof *t->lanes, &t->lanes));
    }
    return make_lanes(t);
}

static bpt_status_t run_side_by_side(job_t *j, int parts) {
    bpt_text_translator_t *t = j->t;
    const bpt_status_t status = cut(t, parts);
    if (status == BPT_OK) return bpt_parts_run(t->parts, run_part, j);
    drop_parts(t);
    t->one = status == BPT_ERR_NO_MEMORY;
    return status;
}

// Which texts are a batch does not depend on the number of threads, because products of another number of rows may round differently.
static bpt_status_t run_job(job_t *j) {
    const int64_t batches = (j->count + j->size - 1) / j->size, most = j->t->one ? 1 : bpt_parts_most(bpt_runner_device(j->t->runner));
    const int64_t parts = batches < most ? batches : most;
    bpt_status_t status = BPT_OK;
    need_length(j->t, bucket_of(j->sorted[0]->count));
    if (parts > 1) {
        status = run_side_by_side(j, (int)parts);
        if (status != BPT_ERR_NO_MEMORY || !j->t->one) return status;
        bpt_error_clear();
    }
    status = need_whole(j->t);
    return status == BPT_OK ? run_lane(j, &j->t->whole) : status;
}

bpt_status_t bpt_text_translator_run(bpt_text_translator_t *t, const bpt_source_text_t *texts, int64_t count,
                                     bpt_on_translation_t on_translation, void *user) {
    const bpt_source_text_t **sorted;
    int64_t filled = 0;
    BPT_TRY(bpt_alloc((size_t)count, sizeof *sorted, &sorted));
    for (int64_t i = 0; i < count; ++i)
        if (texts[i].count) sorted[filled++] = &texts[i];
    if (filled) qsort(sorted, (size_t)filled, sizeof *sorted, by_length);
    job_t j = {.t = t, .texts = texts, .sorted = sorted, .count = filled, .size = t->options.texts, .on_translation = on_translation};
    j.user = user;
    pthread_mutex_init(&j.answers, NULL);
    const bpt_status_t status = filled ? run_job(&j) : BPT_OK;
    pthread_mutex_destroy(&j.answers);
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
    memset(t->whole.tokens, 0, (size_t)n * sizeof *t->whole.tokens);
    for (int64_t i = 0; i < count; at += sentences[i].count, ++i) {
        memcpy(t->whole.tokens + at, sentences[i].tokens, (size_t)sentences[i].count * sizeof *t->whole.tokens);
        t->segment_start[i] = (uint32_t)at;
        t->segment_lengths[i] = (uint32_t)sentences[i].count;
    }
    t->whole.start[0] = 0;
    t->whole.lengths[0] = (uint32_t)at;
    b.side[0] = (bpt_side_t){.tokens = t->whole.tokens,
                             .start = t->whole.start,
                             .lengths = t->whole.lengths,
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
    need_length(t, bucket_of(tokens));
    BPT_TRY(need_whole(t));
    const bpt_batch_t batch = fill_segments(t, sentences, count, bucket_of(tokens));
    return bpt_translator_run_document(t->whole.translator, &batch, n_given, found, found, n_known);
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
        BPT_TRY(d->on_translation(d->user, (int64_t)w.first + i, &copy, 1));
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
