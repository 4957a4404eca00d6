// Timing translation (see bench_translate.h).
#include "tools/bpt/bench/bench_translate.h"

#include <math.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/rng.h"
#include "data/examples/trees.h"
#include "models/decode/translate.h"
#include "models/kinds/kind.h"
#include "models/nn/names.h"
#include "tools/bpt/report/sort.h"

enum { END = 1 };  // the sign that ends a text

typedef struct {
    bpt_translator_t *translator;
    bpt_batch_t batch;
    uint32_t *tokens, *start, *lengths;
    bpt_hypothesis_t *found;
    double *batches;  // [repeat]: seconds
    double *steps;    // [target tokens][repeat]: seconds until all texts have gone on by a token; that of the first holds the encoder
    double before;    // when the step began
    int repeat, turn;
    int64_t done, target;  // tokens of this turn, of a translation
    bpt_trees_t form;
    uint32_t *trees;  // over the texts, for models that read them
} work_t;

static void release(work_t *w) {
    bpt_translator_destroy(w->translator);
    bpt_free(w->tokens);
    bpt_free(w->start);
    bpt_free(w->lengths);
    bpt_free(w->found);
    bpt_free(w->trees);
    bpt_free(w->batches);
    bpt_free(w->steps);
}

static void on_token(void *user) {
    work_t *w = user;
    const double now = bpt_clock_seconds();
    if (w->turn >= 0 && w->done < w->target) w->steps[w->done * w->repeat + w->turn] = now - w->before;
    ++w->done;
    w->before = now;
}

// No hypothesis chooses an end that is so unlikely, before it has to.
static bpt_status_t forbid_end(bpt_runner_t *runner) {
    const int64_t vocab = bpt_runner_config(runner)->vocab;
    float *bias;
    BPT_TRY(bpt_alloc((size_t)vocab, sizeof *bias, &bias));
    bias[END] = -1e4f;
    const bpt_status_t status = bpt_runner_set(runner, BPT_NAME_HEAD_BIAS, bias);
    bpt_free(bias);
    return status;
}

static bpt_status_t make_texts(work_t *w, int64_t n, int64_t texts, int64_t vocab) {
    BPT_TRY(bpt_alloc((size_t)(n * texts), sizeof *w->tokens, &w->tokens));
    BPT_TRY(bpt_alloc((size_t)texts, sizeof *w->start, &w->start));
    BPT_TRY(bpt_alloc((size_t)texts, sizeof *w->lengths, &w->lengths));
    for (int64_t i = 0; i < n * texts; ++i) w->tokens[i] = (uint32_t)(bpt_mix64((uint64_t)i) % (uint64_t)vocab);
    for (int64_t i = 0; i < texts; ++i) {
        w->start[i] = (uint32_t)(i * n), w->lengths[i] = (uint32_t)n;
        w->tokens[(i + 1) * n - 1] = END;
    }
    w->batch = (bpt_batch_t){
        .shape = bpt_batch_buckets(n, texts), .n_real = texts, .side = {{.tokens = w->tokens, .start = w->start, .lengths = w->lengths}}};
    return BPT_OK;
}

static bpt_status_t prepare(work_t *w, bpt_runner_t *runner, const cli_bench_result_t *r) {
    const bpt_translator_options_t options = {.beam = (int)r->beam,
                                              .length_penalty = 1,
                                              .max_length_b = w->target,
                                              .begin = END,
                                              .end = END,
                                              .forbidden = BPT_NO_ROW,
                                              .texts = r->texts,
                                              .longest = r->n,
                                              .on_token = on_token,
                                              .user = w};
    BPT_TRY(make_texts(w, r->n, r->texts, bpt_runner_config(runner)->source_vocab));
    if (bpt_kind_of(bpt_runner_config(runner))->trees) BPT_TRY(bpt_trees_add(w->form, &w->batch, &w->trees));
    BPT_TRY(bpt_alloc((size_t)r->texts, sizeof *w->found, &w->found));
    BPT_TRY(bpt_alloc((size_t)w->repeat, sizeof *w->batches, &w->batches));
    BPT_TRY(bpt_alloc((size_t)(w->target * w->repeat), sizeof *w->steps, &w->steps));
    BPT_TRY(forbid_end(runner));
    return bpt_translator_create(runner, &options, &w->translator);
}

static bpt_status_t translate(work_t *w) {
    const double start = w->before = bpt_clock_seconds();
    w->done = 0;
    BPT_TRY(bpt_translator_run(w->translator, &w->batch, w->found, NULL));
    if (w->turn >= 0) w->batches[w->turn] = bpt_clock_seconds() - start;
    if (w->done == w->target) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "translations of %lld tokens ended after %lld", (long long)w->target, (long long)w->done);
}

// The mean over tokens of the medians of their times.
static double seconds_of(work_t *w, int64_t from, int64_t to) {
    double sum = 0;
    for (int64_t i = from; i < to; ++i) sum += cli_quantile(w->steps + i * w->repeat, (size_t)w->repeat, 0.5);
    return sum / (double)(to - from);
}

bpt_status_t cli_bench_translate(bpt_runner_t *runner, int repeat, bpt_trees_t trees, cli_bench_result_t *r) {
    work_t w = {.repeat = repeat, .form = trees, .target = r->n < BPT_MOST_TRANSLATED ? r->n : BPT_MOST_TRANSLATED};
    bpt_status_t status = prepare(&w, runner, r);
    for (w.turn = -1; w.turn < repeat && status == BPT_OK; ++w.turn) status = translate(&w);
    if (status == BPT_OK) {
        const int64_t quarter = w.target / 4;
        r->most_tokens = w.target;
        r->s_per_step = cli_quantile(w.batches, (size_t)repeat, 0.5);
        r->texts_per_s = (double)r->texts / r->s_per_step;
        r->tokens_per_s = (double)(r->texts * w.target) / r->s_per_step;
        r->source_tokens_per_s = (double)(r->texts * r->n) / r->s_per_step;
        r->first_s_per_token = quarter > 1 ? seconds_of(&w, 1, quarter) : NAN;  // without the encoder
        r->last_s_per_token = quarter > 1 ? seconds_of(&w, w.target - quarter, w.target) : NAN;
        r->device_bytes = bpt_runner_device_bytes(runner) + bpt_translator_device_bytes(w.translator);
    }
    release(&w);
    return status;
}
