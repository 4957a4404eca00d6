// Paired bootstrap resampling (see paired.h).
#include "data/score/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/score/numpy_random.h"
#include "data/score/rounding.h"

// Numbers in single precision, if all of them are, or in double precision, as an array of numpy.
typedef struct {
    double *at;
    bool single;
} numbers_t;

void bpt_metric_sum(const bpt_corpus_metric_t *metric, const double *counts, uint32_t segments, double *sums) {
    memset(sums, 0, BPT_METRIC_SUMS * sizeof *sums);
    for (uint32_t s = 0; s < segments; ++s)
        for (int k = 0; k < metric->sums; ++k) sums[k] += counts[(size_t)s * (size_t)metric->sums + (size_t)k];
}

static bpt_metric_score_t score_sample(const bpt_corpus_metric_t *metric, const double *counts, const uint32_t *drawn, uint32_t segments) {
    double sums[BPT_METRIC_SUMS] = {0};
    for (uint32_t s = 0; s < segments; ++s)
        for (int k = 0; k < metric->sums; ++k)
            sums[k] = bpt_round(true, sums[k] + bpt_round(true, counts[(size_t)drawn[s] * (size_t)metric->sums + (size_t)k]));
    return metric->score(sums, true);
}

static double add(bool single, double a, double b) { return bpt_round(single, a + b); }

// numpy's sum: of more than 128 numbers that of both halves, of fewer in eight running sums. These are added without a loop, of which
// GCC 12 with -O3 makes vectors that leave roundings out (findings/gcc-skipped-rounding.sh).
static double sum(const double *at, int64_t n, bool single) {
    enum { LANES = 8, BLOCK = 128 };
    double lane[LANES], total = 0;
    int64_t i = 0;
    if (n > BLOCK) {
        const int64_t half = n / 2 - n / 2 % LANES;
        return add(single, sum(at, half, single), sum(at + half, n - half, single));
    }
    if (n >= LANES) {
        memcpy(lane, at, sizeof lane);
        for (i = LANES; i + LANES <= n; i += LANES)
            for (int64_t k = 0; k < LANES; ++k) lane[k] = add(single, lane[k], at[i + k]);
        total = add(single, add(single, add(single, lane[0], lane[1]), add(single, lane[2], lane[3])),
                    add(single, add(single, lane[4], lane[5]), add(single, lane[6], lane[7])));
    }
    for (; i < n; ++i) total = add(single, total, at[i]);
    return total;
}

static double mean(numbers_t numbers, int64_t n) { return bpt_round(numbers.single, sum(numbers.at, n, numbers.single) / (double)n); }

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts `room`, a copy of the scores.
static void estimate(numbers_t scores, int64_t n, double *room, bpt_paired_t *found) {
    const numbers_t sorted = {room, scores.single};
    memcpy(room, scores.at, (size_t)n * sizeof *room);
    qsort(room, (size_t)n, sizeof *room, compare);
    const int64_t lower = n / 40, upper = n - lower - 1;
    found->mean = mean(sorted, n);
    found->margin = bpt_round(scores.single, 0.5 * bpt_round(scores.single, room[upper] - room[lower]));
}

// Differences of the samples, less their mean, are what chance does; counted are those beyond the difference of all segments.
static double chance_of(double difference, numbers_t baseline, numbers_t system, int64_t n, double *room) {
    const numbers_t away = {room, baseline.single && system.single};
    int64_t beyond = 0;
    for (int64_t i = 0; i < n; ++i) room[i] = fabs(bpt_round(away.single, system.at[i] - baseline.at[i]));
    const double shift = mean(away, n), least = bpt_round(away.single, difference);
    for (int64_t i = 0; i < n; ++i) beyond += bpt_round(away.single, room[i] - shift) > least;
    return (double)(beyond + 1) / (double)(n + 1);
}

static void draw(bpt_numpy_random_t *random, uint32_t segments, uint32_t *drawn) {
    for (uint32_t s = 0; s < segments; ++s) drawn[s] = bpt_numpy_random_below(random, segments);
}

bpt_status_t bpt_paired_bootstrap(const bpt_corpus_metric_t *metric, const double *const *counts, int systems, uint32_t segments,
                                  int64_t samples, uint64_t seed, bpt_paired_t *found) {
    double *scores = NULL, *room = NULL;  // [systems, samples]
    uint32_t *drawn = NULL;
    numbers_t *of = NULL;
    bpt_numpy_random_t random = bpt_numpy_random(seed);
    bpt_status_t status = bpt_alloc((size_t)systems * (size_t)samples, sizeof *scores, &scores);
    if (status == BPT_OK) status = bpt_alloc((size_t)samples, sizeof *room, &room);
    if (status == BPT_OK) status = bpt_alloc(segments, sizeof *drawn, &drawn);
    if (status == BPT_OK) status = bpt_alloc((size_t)systems, sizeof *of, &of);
    for (int s = 0; s < systems && status == BPT_OK; ++s) of[s] = (numbers_t){scores + s * samples, true};
    for (int64_t i = 0; i < samples && status == BPT_OK; ++i) {
        draw(&random, segments, drawn);
        for (int s = 0; s < systems; ++s) {
            const bpt_metric_score_t score = score_sample(metric, counts[s], drawn, segments);
            of[s].at[i] = score.value;
            of[s].single &= score.single;
        }
    }
    for (int s = 0; s < systems && status == BPT_OK; ++s) {
        double sums[BPT_METRIC_SUMS];
        bpt_metric_sum(metric, counts[s], segments, sums);
        found[s].score = metric->score(sums, false).value;
        estimate(of[s], samples, room, &found[s]);
        found[s].p = s ? chance_of(fabs(found[0].score - found[s].score), of[0], of[s], samples, room) : 1;
    }
    bpt_free(scores);
    bpt_free(room);
    bpt_free(drawn);
    bpt_free(of);
    return status;
}
