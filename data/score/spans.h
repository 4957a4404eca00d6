// Tags of spans, such as B-PER I-PER O: which tokens make a span, conversion between schemes, precision and recall. The rules are those of
// the CoNLL shared tasks' scorer (conlleval; Tjong Kim Sang and Buchholz 2000), with the letters of the other schemes added: E and L end a
// span, S and U are a span of one token, M is I. An illegal sequence has a defined meaning too (I- after another type opens a span). Knows
// no model.
#ifndef BPT_DATA_SCORE_SPANS_H
#define BPT_DATA_SCORE_SPANS_H

#include "bpt/status.h"

// A tag in its parts: "B-PER" is B and PER; O has no type, nor have the tags B and I of data with spans of one kind.
typedef struct {
    char prefix;  // O, B, I, E or S, also where the scheme has other letters for them
    const char *type;
    size_t bytes;
} bpt_span_tag_t;

typedef enum {
    BPT_SCHEME_KEEP,   // as the data have it
    BPT_SCHEME_IOB1,   // B- only where a span of the same type comes directly before
    BPT_SCHEME_IOB2,   // every span begins with B-
    BPT_SCHEME_BIOES,  // E- ends a span, S- is a span of one token
    BPT_SCHEME_BILOU,  // the same with the letters L and U
    BPT_SCHEME_BMES,   // the same with M in place of I
    BPT_SCHEME_DATA,   // that of the data a model was trained on
} bpt_tag_scheme_t;

// False: the label is no tag of a span scheme.
bool bpt_span_tag_parse(const char *label, size_t bytes, bpt_span_tag_t *out);

// The ways to write tags that a label fits, as bits: the letters of BIOES (and of IOB1 and IOB2), of BILOU and of BMES, each with types and
// without. Labels that have one in common are tags of one data set. 0: the label is no tag of spans; O fits all.
unsigned bpt_span_styles(const char *label, size_t bytes);
enum { BPT_SPAN_ALL_STYLES = 63 };
// Whether all labels are tags of spans of one style, and one of them is not O.
bool bpt_spans_are_tags(const char *const *labels, int64_t count);
// The first label that does not fit the style that most labels have, -1: all fit; *most: more than half of the labels but O have it.
int64_t bpt_spans_misfit(const char *const *labels, int64_t count, bool *most);

// Whether a span ends between two neighbouring tags, and whether one begins there.
bool bpt_span_ends(const bpt_span_tag_t *before, const bpt_span_tag_t *tag);
bool bpt_span_begins(const bpt_span_tag_t *before, const bpt_span_tag_t *tag);

// The letters of the same spans in another scheme, but KEEP and DATA; types stay. letter[n].
void bpt_spans_convert(const bpt_span_tag_t *tags, int64_t n, bpt_tag_scheme_t scheme, char *letter);

// What the tags of a text show of their scheme.
typedef struct {
    bool letter[26];      // those that begin a tag
    bool opening_inside;  // an I opens a span, as in IOB1
    bool needless_begin;  // a B stands where IOB1 has an I
} bpt_scheme_signs_t;
// Adds a sequence: tags [n] are what the labels mean that begin with the letters [n].
void bpt_scheme_signs_add(bpt_scheme_signs_t *signs, const char *letters, const bpt_span_tag_t *tags, int64_t n);
// KEEP: there were no tags of spans, or they are of none of these schemes.
bpt_tag_scheme_t bpt_scheme_of(const bpt_scheme_signs_t *signs);

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
