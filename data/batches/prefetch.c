// Batches prepared ahead by one thread (see prefetch.h): a ring of copies, filled by the thread, emptied by the caller.
//
// Only the thread calls the wrapped source. The slot that the caller was given last stays taken until its next call.
#include "data/batches/prefetch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/thread.h"
#include "data/batches/buffer.h"

typedef struct {
    bpt_batch_buffer_t buffer;
    bpt_batch_t batch;
    bool end;
    bpt_status_t status;
    char message[1024];  // of a failure: the record of errors is the thread's own
} slot_t;

typedef struct {
    bpt_batch_source_t base;
    bpt_batch_source_t *source;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    // Guarded by the mutex:
    slot_t *slots;
    int n_slots, first, ready;  // slots [first, first + ready) of the ring hold batches
    bool lent;                  // the caller still reads slot `first`
    bool stop, seek_wanted, seek_done;
    int64_t seek_step;
    slot_t seek_result;
} prefetch_t;

static void note(slot_t *slot, bpt_status_t status) {
    slot->status = status;
    if (status != BPT_OK) snprintf(slot->message, sizeof slot->message, "%s", bpt_error_message());
}

static bpt_status_t told(const slot_t *slot) { return slot->status == BPT_OK ? BPT_OK : bpt_fail(slot->status, "%s", slot->message); }

// Nothing comes after an end or an error until the caller seeks.
static bool finished(const prefetch_t *p) {
    if (!p->ready) return false;
    const slot_t *last = &p->slots[(p->first + p->ready - 1) % p->n_slots];
    return last->end || last->status != BPT_OK;
}

static void fill(prefetch_t *p, slot_t *slot) {
    bpt_batch_t batch = {0};
    slot->end = false;
    bpt_status_t status = p->source->next(p->source, &batch, &slot->end);
    if (status == BPT_OK && !slot->end) status = bpt_batch_buffer_copy(&slot->buffer, &batch, &slot->batch);
    note(slot, status);
}

static void *work(void *argument) {
    prefetch_t *p = argument;
    pthread_mutex_lock(&p->mutex);
    while (!p->stop) {
        if (p->seek_wanted) {
            note(&p->seek_result, p->source->seek(p->source, p->seek_step));
            p->first = p->ready = 0;
            p->seek_wanted = false;
            p->seek_done = true;
            pthread_cond_broadcast(&p->changed);
        } else if (p->ready < p->n_slots && !finished(p)) {
            slot_t *slot = &p->slots[(p->first + p->ready) % p->n_slots];  // nobody else looks at a slot that is not ready
            pthread_mutex_unlock(&p->mutex);
            fill(p, slot);
            pthread_mutex_lock(&p->mutex);
            ++p->ready;
            pthread_cond_broadcast(&p->changed);
        } else {
            pthread_cond_wait(&p->changed, &p->mutex);
        }
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static void give_back(prefetch_t *p) {
    if (!p->lent) return;
    p->lent = false;
    p->first = (p->first + 1) % p->n_slots;
    --p->ready;
    pthread_cond_broadcast(&p->changed);
}

static bpt_status_t prefetch_next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    prefetch_t *p = (prefetch_t *)source;
    pthread_mutex_lock(&p->mutex);
    give_back(p);
    while (!p->ready) pthread_cond_wait(&p->changed, &p->mutex);
    const slot_t *slot = &p->slots[p->first];
    p->lent = slot->status == BPT_OK && !slot->end;
    pthread_mutex_unlock(&p->mutex);
    *end = slot->status == BPT_OK && slot->end;  // a ready slot is not written to
    if (p->lent) *batch = slot->batch;
    return told(slot);
}

static bpt_status_t prefetch_seek(bpt_batch_source_t *source, int64_t step) {
    prefetch_t *p = (prefetch_t *)source;
    pthread_mutex_lock(&p->mutex);
    p->lent = false;
    p->seek_step = step;
    p->seek_wanted = true;
    p->seek_done = false;
    pthread_cond_broadcast(&p->changed);
    while (!p->seek_done) pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return told(&p->seek_result);
}

static void free_all(prefetch_t *p) {
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    for (int i = 0; p->slots && i < p->n_slots; ++i) bpt_batch_buffer_free(&p->slots[i].buffer);
    bpt_free(p->slots);
    bpt_free(p);
}

static void prefetch_destroy(bpt_batch_source_t *source) {
    prefetch_t *p = (prefetch_t *)source;
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    p->source->destroy(p->source);
    free_all(p);
}

static bpt_status_t start(prefetch_t *p) {
    const int error = bpt_thread_start(&p->thread, work, p);
    if (!error) return BPT_OK;
    return bpt_fail(BPT_ERR_NO_MEMORY, "no thread for reading ahead: %s; raise the limit of processes (ulimit -u)", strerror(error));
}

bpt_status_t bpt_prefetch_create(bpt_batch_source_t **source, int depth, bpt_batch_source_t **out) {
    prefetch_t *p;
    BPT_TRY(bpt_alloc(1, sizeof *p, &p));
    p->base = **source;  // steps and shapes are the same
    p->base.next = prefetch_next;
    p->base.seek = prefetch_seek;
    p->base.destroy = prefetch_destroy;
    p->source = *source;
    p->n_slots = (depth > 0 ? depth : 2) + 1;  // one more for the batch that the caller reads
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    bpt_status_t status = bpt_alloc((size_t)p->n_slots, sizeof *p->slots, &p->slots);
    if (status == BPT_OK) status = start(p);
    if (status != BPT_OK) {
        free_all(p);
        return status;
    }
    *source = NULL;
    *out = &p->base;
    return BPT_OK;
}
