// BLEU of a translator while it is trained (see translation_score.h).
#include "tools/bpt/corpus/translation_score.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/log.h"
#include "data/score/bleu.h"
#include "models/api/translate_texts.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/options/options.h"

enum { BATCH = 32 };

struct cli_translation_score {
    const cli_corpus_t *corpus;
    cli_progress_t *progress;
    bpt_split_t target;        // open as long as `lines` are in it
    bpt_range_t *lines;        // [count]: what is right
    bpt_source_text_t *texts;  // [count]: what is translated
    int64_t count;
    bpt_translator_options_t options;
    int64_t context_tokens;
};

// ---- The lines

static bpt_source_text_t text_of(const bpt_examples_t *e, int64_t text) {
    bpt_source_text_t t = {.tokens = e->tokens + e->offsets[text], .count = (int64_t)(e->offsets[text + 1] - e->offsets[text])};
    if (!e->trees.has) return t;
    t.nodes = e->trees.nodes.items + e->trees.offsets[text];
    t.n_nodes = e->trees.offsets[text + 1] - e->trees.offsets[text];
    return t;
}

// Lines with words are the texts of the examples, in their order; the others end documents.
static bpt_status_t take_lines(cli_translation_score_t *s, int64_t most) {
    const bpt_examples_t *e = &s->corpus->examples[BPT_VALID];
    const uint64_t texts = e->windows.has ? e->windows.items[e->count - 1].end : e->count;
    bpt_range_t rest = s->target.part[BPT_VALID], line;
    size_t line_room = 0, text_room = 0, bytes;
    uint64_t taken = 0;
    while (s->count < most && bpt_range_next_line(&rest, &line)) {
        bpt_range_t words = line;
        const bool blank = !bpt_next_token(&words, &bytes);
        if (!blank && taken == texts) return bpt_fail(BPT_ERR_INPUT, "%s has changed while it was read; start again", line.path);
        BPT_TRY(bpt_grow(&s->lines, (size_t)s->count, &line_room, sizeof *s->lines));
        BPT_TRY(bpt_grow(&s->texts, (size_t)s->count, &text_room, sizeof *s->texts));
        s->lines[s->count] = line;
        s->texts[s->count++] = blank ? (bpt_source_text_t){0} : text_of(e, (int64_t)taken++);
    }
    return BPT_OK;
}

static bpt_status_t open(cli_translation_score_t *s, const cli_options_t *o) {
    uint32_t end;
    if (!bpt_vocab_end_sign(s->corpus->vocab, &end))
        return bpt_fail(BPT_ERR_USAGE, "--best-by bleu compares texts, and with --unit ids there are only numbers; choose loss");
    s->context_tokens = o->data.context_tokens;
    s->options = (bpt_translator_options_t){.beam = 1,
                                            .length_penalty = 1,
                                            .max_length_a = BPT_MAX_LENGTH_A,
                                            .max_length_b = BPT_MAX_LENGTH_B,
                                            .begin = end,
                                            .end = end,
                                            .forbidden = BPT_NO_ROW,
                                            .texts = s->context_tokens ? 1 : BATCH,
                                            .documents = s->context_tokens > 0};
    const bpt_paths_t paths = cli_data_paths(&o->data);
    BPT_TRY(cli_language_open(&o->data, &o->model, &paths, o->data.target, &s->target));
    return take_lines(s, o->data.bleu_sample);
}

bpt_status_t cli_translation_score_create(const cli_options_t *o, const cli_corpus_t *corpus, cli_progress_t *progress,
                                          cli_translation_score_t **out) {
    cli_translation_score_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->corpus = corpus;
    s->progress = progress;
    const bpt_status_t status = open(s, o);
    if (status == BPT_OK)
        *out = s;
    else
        cli_translation_score_destroy(s);
    return status;
}

void cli_translation_score_destroy(cli_translation_score_t *s) {
    if (!s) return;
    bpt_split_close(&s->target);
    bpt_free(s->lines);
    bpt_free(s->texts);
    bpt_free(s);
}

// ---- The score

typedef struct {
    const cli_translation_score_t *score;
    bpt_source_text_t *texts;  // those of this rank, the others blank
    int64_t own, done;
    int64_t lost;  // lines of documents that the model's positions had no room for
    double start;
    bool (*should_stop)(void *user);
    void *user;
    bpt_bleu_counter_t *counter;
    bpt_bleu_counts_t counts;
} work_t;

// Every so manieth line is this rank's, or document, whose sentences stay together.
static void share_out(work_t *w, int rank, int size) {
    const cli_translation_score_t *s = w->score;
    int64_t turn = 0;
    for (int64_t i = 0; i < s->count; ++i) {
        const bool blank = !s->texts[i].count;
        if (!blank && turn % size == rank) w->texts[i] = s->texts[i], ++w->own;
        turn += s->context_tokens ? blank : 1;
    }
}

static bpt_status_t compare(void *user, int64_t text, const bpt_hypothesis_t *found, int count) {
    (void)count;
    work_t *w = user;
    char *written;
    if (w->should_stop(w->user)) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped while evaluating");
    BPT_TRY(bpt_translation_text(w->score->corpus->vocab, found, &written));
    const bpt_range_t hypothesis = bpt_range_of("a translation", written, strlen(written));
    const bpt_status_t status = bpt_bleu_count(w->counter, &hypothesis, &w->score->lines[text], 1, &w->counts);
    bpt_free(written);
    cli_progress_evaluation(w->score->progress, (double)++w->done / (double)w->own, bpt_clock_seconds() - w->start);
    return status;
}

static bpt_status_t translate(work_t *w, bpt_runner_t *runner) {
    const cli_translation_score_t *s = w->score;
    bpt_text_translator_t *t;
    BPT_TRY(bpt_text_translator_create(runner, &s->options, &t));
    const bpt_status_t status = s->context_tokens
                                    ? bpt_text_translator_run_documents(t, w->texts, s->count, s->context_tokens, compare, w, &w->lost)
                                    : bpt_text_translator_run(t, w->texts, s->count, compare, w);
    bpt_text_translator_destroy(t);
    cli_progress_clear(s->progress);
    return status;
}

// Counts are whole numbers far below 2^53, which a double holds.
static bpt_status_t add_ranks(bpt_ranks_t *ranks, work_t *w) {
    bpt_bleu_counts_t *c = &w->counts;
    double sums[2 * BPT_BLEU_ORDER + 3] = {(double)c->hypothesis, (double)c->reference, (double)w->lost};
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) sums[3 + 2 * n] = (double)c->correct[n], sums[4 + 2 * n] = (double)c->total[n];
    BPT_TRY(bpt_ranks_add(ranks, sums, (int)BPT_COUNT(sums)));
    c->hypothesis = (int64_t)sums[0], c->reference = (int64_t)sums[1], w->lost = (int64_t)sums[2];
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) c->correct[n] = (int64_t)sums[3 + 2 * n], c->total[n] = (int64_t)sums[4 + 2 * n];
    return BPT_OK;
}

bpt_status_t cli_translation_score_run(const cli_translation_score_t *s, bpt_runner_t *runner, bool (*should_stop)(void *user), void *user,
                                       double *bleu) {
    bpt_ranks_t *ranks = bpt_runner_ranks(runner);
    work_t w = {.score = s, .start = bpt_clock_seconds(), .should_stop = should_stop, .user = user};
    bpt_status_t status = bpt_alloc((size_t)s->count, sizeof *w.texts, &w.texts);
    if (status == BPT_OK) share_out(&w, bpt_ranks_rank(ranks), bpt_ranks_size(ranks));
    if (status == BPT_OK) status = bpt_bleu_counter_create(BPT_BLEU_13A, false, &w.counter);
    if (status == BPT_OK) status = translate(&w, runner);
    if (ranks) status = bpt_ranks_agree(ranks, status);
    if (ranks && status == BPT_OK) status = add_ranks(ranks, &w);
    if (status == BPT_OK) *bleu = bpt_bleu_score(&w.counts).score;
    if (status == BPT_OK && w.lost && bpt_ranks_rank(ranks) == 0)
        bpt_warn("the translations of documents are so long that %" PRId64 " of %" PRId64
                 " lines find no room in the model's positions; bleu counts these as empty",
                 w.lost, s->count);
    bpt_bleu_counter_destroy(w.counter);
    bpt_free(w.texts);
    return status;
}
