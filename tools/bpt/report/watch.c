// A watched source of batches (see watch.h).
#include "tools/bpt/report/watch.h"

#include "bpt/alloc.h"
#include "bpt/clock.h"

typedef struct {
    bpt_batch_source_t base, *inner;
    cli_progress_t *progress;
    double start;       // of this evaluation
    double step_begin;  // share of the data before the step that is being read
    double share;       // that has been given out
    int64_t scored;     // of this step
} watch_t;

// A step of a classifier is the whole of its data, in many micro-batches; one of a language model is a batch.
static void advance(watch_t *w, const bpt_batch_t *batch) {
    w->scored += batch->n_scored;
    const double part = batch->last || batch->window_scored < 1 ? 1 : (double)w->scored / (double)batch->window_scored;
    w->share = w->step_begin + (batch->epoch_end - w->step_begin) * part;
    if (!batch->last) return;
    w->step_begin = w->share;
    w->scored = 0;
}

// What was given out before has been computed by now.
static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    watch_t *w = (watch_t *)source;
    if (w->share > 0) cli_progress_evaluation(w->progress, w->share, bpt_clock_seconds() - w->start);
    BPT_TRY(w->inner->next(w->inner, batch, end));
    if (*end)
        cli_progress_clear(w->progress);
    else
        advance(w, batch);
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    watch_t *w = (watch_t *)source;
    w->start = bpt_clock_seconds();
    w->step_begin = w->share = 0;
    w->scored = 0;
    return w->inner->seek(w->inner, step);
}

static void destroy(bpt_batch_source_t *source) { bpt_free(source); }

bpt_status_t cli_watch_create(bpt_batch_source_t *inner, cli_progress_t *progress, bpt_batch_source_t **out) {
    watch_t *w;
    *out = NULL;
    if (!inner) return BPT_OK;
    BPT_TRY(bpt_alloc(1, sizeof *w, &w));
    w->base = *inner;
    w->base.next = next;
    w->base.seek = seek;
    w->base.destroy = destroy;
    w->inner = inner;
    w->progress = progress;
    *out = &w->base;
    return BPT_OK;
}
