// The best sequences of tags (see best_tags.h).
#include "data/score/best_tags.h"

#include <math.h>

#include "bpt/alloc.h"

// The end of a sequence: its value so far, its tag, and the place of what is before it among the ends of the token before.
typedef struct {
    double value;
    uint32_t tag, before;
} end_t;

// Ends of a token are in groups of up to k, best first: one group for each tag with transitions, else one for all tags.
typedef struct {
    int64_t tags, groups;
    int k;
    const float *transitions;
    end_t *ends;  // [n, groups, k]
    int *counts;  // [n, groups]
} lists_t;

// Of equal values the one that came first stays first.
static void insert(end_t *list, int *count, int k, const end_t *e) {
    int at = *count < k ? (*count)++ : k - 1;
    for (; at > 0 && e->value > list[at - 1].value; --at) list[at] = list[at - 1];
    list[at] = *e;
}

static void offer(end_t *list, int *count, int k, const end_t *e) {
    if (*count < k || e->value > list[k - 1].value) insert(list, count, k, e);
}

static double log_sum(const double *x, int64_t count) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
    for (int64_t i = 0; i < count; ++i) sum += exp(x[i] - largest);
    return largest + log(sum);
}

// ---- Tags that depend on the ones before them

static void extend(const lists_t *l, int64_t t, int64_t tag, const float *scores) {
    end_t *list = l->ends + (t * l->groups + tag) * l->k;
    int *count = &l->counts[t * l->groups + tag];
    for (int64_t from = 0; from < l->tags; ++from) {
        const end_t *before = l->ends + ((t - 1) * l->groups + from) * l->k;
        for (int i = 0; i < l->counts[(t - 1) * l->groups + from]; ++i)
            offer(list, count, l->k,
                  &(end_t){before[i].value + (double)l->transitions[from * l->tags + tag], (uint32_t)tag, (uint32_t)(from * l->k + i)});
    }
    for (int i = 0; i < *count; ++i) list[i].value += (double)scores[t * l->tags + tag];
}

static void run_chain(const lists_t *l, const float *scores, int64_t n) {
    for (int64_t j = 0; j < l->tags; ++j) {
        l->counts[j] = 1;
        l->ends[j * l->k] = (end_t){(double)l->transitions[l->tags * l->tags + j] + (double)scores[j], (uint32_t)j, 0};
    }
    for (int64_t t = 1; t < n; ++t)
        for (int64_t j = 0; j < l->tags; ++j) extend(l, t, j, scores);
}

// The logarithm of what all sequences have together. room: [3, tags].
static double log_total(const lists_t *l, const float *scores, int64_t n, double *room) {
    double *now = room, *then = room + l->tags, *terms = room + 2 * l->tags;
    for (int64_t j = 0; j < l->tags; ++j) now[j] = (double)l->transitions[l->tags * l->tags + j] + (double)scores[j];
    for (int64_t t = 1; t < n; ++t) {
        for (int64_t j = 0; j < l->tags; ++j) {
            for (int64_t i = 0; i < l->tags; ++i) terms[i] = now[i] + (double)l->transitions[i * l->tags + j];
            then[j] = log_sum(terms, l->tags) + (double)scores[t * l->tags + j];
        }
        double *swap = now;
        now = then, then = swap;
    }
    for (int64_t j = 0; j < l->tags; ++j) now[j] += (double)l->transitions[(l->tags + 1) * l->tags + j];
    return log_sum(now, l->tags);
}

// ---- Tags by themselves

static void run_alone(const lists_t *l, const float *scores, int64_t n, double *room) {
    const end_t begin = {0, 0, 0};
    for (int64_t t = 0; t < n; ++t) {
        const end_t *before = t ? l->ends + (t - 1) * l->k : &begin;
        const int fits = t ? l->counts[t - 1] : 1;
        for (int64_t j = 0; j < l->tags; ++j) room[j] = (double)scores[t * l->tags + j];
        const double total = log_sum(room, l->tags);
        for (int i = 0; i < fits; ++i)
            for (int64_t j = 0; j < l->tags; ++j)
                offer(l->ends + t * l->k, &l->counts[t], l->k, &(end_t){before[i].value + room[j] - total, (uint32_t)j, (uint32_t)i});
    }
}

// ---- Both

static void read_back(const lists_t *l, int64_t n, uint32_t place, uint32_t *out) {
    for (int64_t t = n - 1; t >= 0; --t) {
        const end_t *e = &l->ends[t * l->groups * l->k + place];
        out[t] = e->tag;
        place = e->before;
    }
}

static void choose(const lists_t *l, int64_t n, double total, uint32_t *best, double *log_p, int *count, end_t *last) {
    for (int64_t j = 0; j < l->groups; ++j) {
        const end_t *list = l->ends + ((n - 1) * l->groups + j) * l->k;
        const double end = l->transitions ? (double)l->transitions[(l->tags + 1) * l->tags + j] : 0;
        for (int i = 0; i < l->counts[(n - 1) * l->groups + j]; ++i)
            offer(last, count, l->k, &(end_t){list[i].value + end, 0, (uint32_t)(j * l->k + i)});
    }
    for (int i = 0; i < *count; ++i) {
        log_p[i] = last[i].value - total;
        read_back(l, n, last[i].before, best + i * n);
    }
}

bpt_status_t bpt_best_tags(const float *scores, int64_t n, int64_t tags, const float *transitions, int k, uint32_t *best, double *log_p,
                           int *count) {
    lists_t l = {.tags = tags, .groups = transitions ? tags : 1, .k = k, .transitions = transitions};
    end_t *last = NULL;
    double *room = NULL;
    *count = 0;
    bpt_status_t status = bpt_alloc((size_t)(n * l.groups) * (size_t)k, sizeof *l.ends, &l.ends);
    if (status == BPT_OK) status = bpt_alloc((size_t)(n * l.groups), sizeof *l.counts, &l.counts);
    if (status == BPT_OK) status = bpt_alloc((size_t)k, sizeof *last, &last);
    if (status == BPT_OK) status = bpt_alloc(3 * (size_t)tags, sizeof *room, &room);
    if (status == BPT_OK) {
        if (transitions)
            run_chain(&l, scores, n);
        else
            run_alone(&l, scores, n, room);
        choose(&l, n, transitions ? log_total(&l, scores, n, room) : 0, best, log_p, count, last);
    }
    bpt_free(l.ends);
    bpt_free(l.counts);
    bpt_free(last);
    bpt_free(room);
    return status;
}
