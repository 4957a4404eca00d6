// Long arrays between ranks (see sums.h): a queue of jobs, and the thread that does them.
#include "core/ranks/sums.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/ranks.h"
#include "bpt/thread.h"

struct bpt_sums {
    const bpt_ranks_module_t *module;
    double patience;
    // Of the thread alone:
    int *counts, *starts;  // [size]: slices
    float *received;       // [size][slice]
    size_t received_room;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    // Guarded by the mutex:
    bpt_sums_job_t *jobs;  // [n_jobs], those that have not begun
    size_t n_jobs, job_capacity;
    uint64_t begun, done;  // tickets
    bool stop;
    double exchanged, waited;
    bpt_status_t status;  // the first failure
    char message[1024];   // of it: the record of errors is the thread's own
};

// ---- The exchanges

static void cut(bpt_sums_t *s, int64_t count) {
    const int size = s->module->size;
    for (int rank = 0; rank < size; ++rank) {
        s->starts[rank] = (int)bpt_rank_slice(count, rank, size);
        s->counts[rank] = (int)bpt_rank_slice(count, rank + 1, size) - s->starts[rank];
    }
}

static bpt_status_t make_room(bpt_sums_t *s) {
    const size_t needed = (size_t)s->module->size * (size_t)s->counts[s->module->rank] * sizeof *s->received;
    if (needed <= s->received_room) return BPT_OK;
    bpt_free_aligned(s->received);
    s->received = NULL;
    s->received_room = 0;
    BPT_TRY(bpt_alloc_aligned(needed, &s->received));
    s->received_room = needed;
    return BPT_OK;
}

static bpt_status_t explain(const bpt_sums_t *s, const char *reason) {
    if (!reason) return BPT_OK;
    return bpt_fail(BPT_ERR_IO, "the exchange with other ranks failed at rank %d: %s; go on from the last checkpoint with --resume",
                    s->module->rank, reason);
}

static bpt_status_t reduce(bpt_sums_t *s, float *values) {
    BPT_TRY(make_room(s));
    BPT_TRY(explain(s, s->module->exchange(values, s->counts, s->starts, s->received, s->patience)));
    const int64_t own = s->counts[s->module->rank];
    float *sum = values + s->starts[s->module->rank];
    if (own) memcpy(sum, s->received, (size_t)own * sizeof *sum);
    for (int rank = 1; rank < s->module->size; ++rank) {
        const float *term = s->received + rank * own;
        for (int64_t i = 0; i < own; ++i) sum[i] += term[i];
    }
    return BPT_OK;
}

static bpt_status_t run(bpt_sums_t *s, const bpt_sums_job_t *job) {
    cut(s, job->count);
    if (job->reduce) BPT_TRY(reduce(s, job->values));
    return job->collect ? explain(s, s->module->collect(job->values, s->counts, s->starts, s->patience)) : BPT_OK;
}

// ---- The thread

static void note(bpt_sums_t *s, bpt_status_t status) {
    if (status == BPT_OK || s->status != BPT_OK) return;
    s->status = status;
    snprintf(s->message, sizeof s->message, "%s", bpt_error_message());
}

static void *work(void *argument) {
    bpt_sums_t *s = argument;
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (!s->n_jobs && !s->stop) pthread_cond_wait(&s->changed, &s->mutex);
        if (!s->n_jobs) break;
        const bpt_sums_job_t job = s->jobs[0];
        const bool failed = s->status != BPT_OK;
        memmove(s->jobs, s->jobs + 1, --s->n_jobs * sizeof *s->jobs);
        pthread_mutex_unlock(&s->mutex);
        const double start = bpt_clock_seconds();
        const bpt_status_t status = failed ? BPT_OK : run(s, &job);
        pthread_mutex_lock(&s->mutex);
        s->exchanged += bpt_clock_seconds() - start;
        note(s, status);
        ++s->done;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static bpt_status_t start(bpt_sums_t *s) {
    const int error = bpt_thread_start(&s->thread, work, s);
    if (!error) return BPT_OK;
    return bpt_fail(BPT_ERR_NO_MEMORY, "no thread for exchanges between ranks: %s; raise the limit of processes (ulimit -u)",
                    strerror(error));
}

static void free_all(bpt_sums_t *s) {
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    bpt_free(s->counts);
    bpt_free(s->starts);
    bpt_free(s->jobs);
    bpt_free_aligned(s->received);
    bpt_free(s);
}

bpt_status_t bpt_sums_create(const bpt_ranks_module_t *module, double patience, bpt_sums_t **out) {
    bpt_sums_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->module = module;
    s->patience = patience;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    bpt_status_t status = bpt_alloc((size_t)module->size, sizeof *s->counts, &s->counts);
    if (status == BPT_OK) status = bpt_alloc((size_t)module->size, sizeof *s->starts, &s->starts);
    if (status == BPT_OK) status = start(s);
    if (status == BPT_OK)
        *out = s;
    else
        free_all(s);
    return status;
}

void bpt_sums_destroy(bpt_sums_t *s) {
    if (!s) return;
    pthread_mutex_lock(&s->mutex);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    free_all(s);
}

// ---- For callers

bpt_status_t bpt_sums_begin(bpt_sums_t *s, const bpt_sums_job_t *job, uint64_t *ticket) {
    pthread_mutex_lock(&s->mutex);
    const bpt_status_t status = bpt_grow(&s->jobs, s->n_jobs, &s->job_capacity, sizeof *s->jobs);
    if (status == BPT_OK) {
        s->jobs[s->n_jobs++] = *job;
        *ticket = ++s->begun;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return status;
}

bpt_status_t bpt_sums_wait(bpt_sums_t *s, uint64_t ticket) {
    const double start = bpt_clock_seconds();
    pthread_mutex_lock(&s->mutex);
    while (s->done < ticket) pthread_cond_wait(&s->changed, &s->mutex);
    s->waited += bpt_clock_seconds() - start;
    const bpt_status_t status = s->status;  // the message is not written again
    pthread_mutex_unlock(&s->mutex);
    return status == BPT_OK ? BPT_OK : bpt_fail(status, "%s", s->message);
}

void bpt_sums_seconds(bpt_sums_t *s, double *exchanged, double *waited) {
    pthread_mutex_lock(&s->mutex);
    *exchanged = s->exchanged;
    *waited = s->waited;
    pthread_mutex_unlock(&s->mutex);
}
