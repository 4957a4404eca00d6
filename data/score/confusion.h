// Which labels were given in place of which, and means of precision, recall and F1 over classes or types of spans, as scikit-learn's
// classification_report has them (with zero_division=0). Knows no task.
#ifndef BPT_DATA_SCORE_CONFUSION_H
#define BPT_DATA_SCORE_CONFUSION_H

#include "data/score/spans.h"

enum { BPT_CONFUSION_MOST = 1024 };  // labels up to which every pair of them is counted

typedef struct {
    size_t labels;
    bpt_span_type_t *classes;  // [labels]: answers in place of spans
    int64_t *pairs;            // [labels of the data, labels found]; NULL where there are too many labels
} bpt_confusion_t;             // zeroed: none

// The names must stay.
bpt_status_t bpt_confusion_create(const char *const *names, size_t labels, bpt_confusion_t *out) BPT_MUST_USE;
void bpt_confusion_free(bpt_confusion_t *confusion);
void bpt_confusion_add(bpt_confusion_t *confusion, uint32_t wanted, uint32_t found);

typedef enum {
    BPT_MEAN_MICRO,     // of all together
    BPT_MEAN_MACRO,     // of the classes that occur, in the data or among the answers
    BPT_MEAN_WEIGHTED,  // of them by how often the data have each
    BPT_MEANS
} bpt_mean_t;
extern const char *const bpt_mean_names[BPT_MEANS];

typedef struct {
    double precision, recall, f1;  // a ratio without denominator is 0
} bpt_prf_t;
bpt_prf_t bpt_mean_of(const bpt_span_type_t *classes, size_t count, bpt_mean_t mean);
bool bpt_class_occurs(const bpt_span_type_t *type);

#endif
