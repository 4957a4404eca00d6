// Confusion of labels, means over classes (see confusion.h).
#include "data/score/confusion.h"

#include "bpt/alloc.h"

const char *const bpt_mean_names[BPT_MEANS] = {[BPT_MEAN_MICRO] = "micro", [BPT_MEAN_MACRO] = "macro", [BPT_MEAN_WEIGHTED] = "weighted"};

bpt_status_t bpt_confusion_create(const char *const *names, size_t labels, bpt_confusion_t *out) {
    bpt_confusion_t made = {.labels = labels};
    bpt_status_t status = bpt_alloc(labels, sizeof *made.classes, &made.classes);
    if (status == BPT_OK && labels <= BPT_CONFUSION_MOST) status = bpt_alloc(labels * labels, sizeof *made.pairs, &made.pairs);
    for (size_t l = 0; l < labels && status == BPT_OK; ++l) made.classes[l].name = names[l];
    if (status != BPT_OK) bpt_confusion_free(&made);
    *out = made;
    return status;
}

void bpt_confusion_free(bpt_confusion_t *c) {
    bpt_free(c->classes);
    bpt_free(c->pairs);
    *c = (bpt_confusion_t){0};
}

void bpt_confusion_add(bpt_confusion_t *c, uint32_t wanted, uint32_t found) {
    ++c->classes[wanted].counts.wanted;
    ++c->classes[found].counts.found;
    c->classes[wanted].counts.correct += wanted == found;
    if (c->pairs) ++c->pairs[wanted * c->labels + found];
}

// ---- Means

bool bpt_class_occurs(const bpt_span_type_t *type) { return type->counts.wanted || type->counts.found; }

static bpt_prf_t scores_of(const bpt_span_counts_t *c) { return (bpt_prf_t){bpt_spans_precision(c), bpt_spans_recall(c), bpt_spans_f1(c)}; }

static bpt_prf_t of_all(const bpt_span_type_t *classes, size_t count) {
    bpt_span_counts_t all = {0};
    for (size_t i = 0; i < count; ++i) {
        all.wanted += classes[i].counts.wanted;
        all.found += classes[i].counts.found;
        all.correct += classes[i].counts.correct;
    }
    return scores_of(&all);
}

bpt_prf_t bpt_mean_of(const bpt_span_type_t *classes, size_t count, bpt_mean_t mean) {
    bpt_prf_t sum = {0, 0, 0};
    double weights = 0;
    if (mean == BPT_MEAN_MICRO) return of_all(classes, count);
    for (size_t i = 0; i < count; ++i) {
        if (!bpt_class_occurs(&classes[i])) continue;
        const bpt_prf_t of = scores_of(&classes[i].counts);
        const double weight = mean == BPT_MEAN_WEIGHTED ? (double)classes[i].counts.wanted : 1;
        sum.precision += weight * of.precision;
        sum.recall += weight * of.recall;
        sum.f1 += weight * of.f1;
        weights += weight;
    }
    return weights > 0 ? (bpt_prf_t){sum.precision / weights, sum.recall / weights, sum.f1 / weights} : sum;
}
