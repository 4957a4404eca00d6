// Tags of spans, such as B-PER I-PER O: which tokens make a span, conversion between schemes, precision and recall. The rules are those of
// the CoNLL shared tasks' scorer (conlleval; Tjong Kim Sang and Buchholz 2000), with E and S added as BIOES needs: an illegal sequence has
// a defined meaning too (I- after another type opens a span). Knows no model.
#ifndef BPT_DATA_SCORE_SPANS_H
#define BPT_DATA_SCORE_SPANS_H

#include "bpt/status.h"

// A tag in its parts: "B-PER" is B and PER; O has no type.
typedef struct {
    char prefix;  // O, B, I, E or S
    const char *type;
    size_t bytes;
} bpt_span_tag_t;

typedef enum {
    BPT_SCHEME_KEEP,   // as the data have it
    BPT_SCHEME_IOB1,   // B- only where a span of the same type comes directly before
    BPT_SCHEME_IOB2,   // every span begins with B-
    BPT_SCHEME_BIOES,  // E- ends a span, S- is a span of one token
} bpt_tag_scheme_t;

// False: the label is no tag of a span scheme.
bool bpt_span_tag_parse(const char *label, size_t bytes, bpt_span_tag_t *out);
// Whether all labels are tags of spans, and one of them is not O.
bool bpt_spans_are_tags(const char *const *labels, int64_t count);

// Whether a span ends between two neighbouring tags, and whether one begins there.
bool bpt_span_ends(const bpt_span_tag_t *before, const bpt_span_tag_t *tag);
bool bpt_span_begins(const bpt_span_tag_t *before, const bpt_span_tag_t *tag);

// The prefixes of the same spans in another scheme; types stay. prefix[n].
void bpt_spans_convert(const bpt_span_tag_t *tags, int64_t n, bpt_tag_scheme_t scheme, char *prefix);

typedef struct {
    int64_t wanted, found, correct;  // spans of the data, spans of the model, spans of both with the same ends and type
} bpt_span_counts_t;
// Adds a sequence of n tokens.
void bpt_spans_count(const bpt_span_tag_t *wanted, const bpt_span_tag_t *found, int64_t n, bpt_span_counts_t *counts);

// Spans of one type.
typedef struct {
    const char *name;  // part of a label, which must stay
    bpt_span_counts_t counts;
} bpt_span_type_t;
// The types of labels that are tags of spans, by name. *types [*n_types] is freed with bpt_free.
bpt_status_t bpt_span_types(const char *const *labels, int64_t count, bpt_span_type_t **types, size_t *n_types) BPT_MUST_USE;
// As bpt_spans_count, for each type; the tags are of these types.
void bpt_spans_count_types(const bpt_span_tag_t *wanted, const bpt_span_tag_t *found, int64_t n, bpt_span_type_t *types, size_t n_types);

// 0 where a ratio has no denominator, as conlleval.
double bpt_spans_precision(const bpt_span_counts_t *counts);
double bpt_spans_recall(const bpt_span_counts_t *counts);
double bpt_spans_f1(const bpt_span_counts_t *counts);

#endif
