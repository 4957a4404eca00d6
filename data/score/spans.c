// Tags of spans (see spans.h).
#include "data/score/spans.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

static const bpt_span_tag_t outside = {.prefix = 'O', .type = "", .bytes = 0};

bool bpt_span_tag_parse(const char *label, size_t bytes, bpt_span_tag_t *out) {
    if (bytes == 1 && *label == 'O') {
        *out = outside;
        return true;
    }
    if (bytes < 3 || label[1] != '-' || !memchr("BIES", *label, 4)) return false;
    *out = (bpt_span_tag_t){.prefix = *label, .type = label + 2, .bytes = bytes - 2};
    return true;
}

bool bpt_spans_are_tags(const char *const *labels, int64_t count) {
    bool any = false;
    bpt_span_tag_t tag;
    for (int64_t i = 0; i < count; ++i) {
        if (!bpt_span_tag_parse(labels[i], strlen(labels[i]), &tag)) return false;
        any = any || tag.prefix != 'O';
    }
    return any;
}

static bool same_type(const bpt_span_tag_t *a, const bpt_span_tag_t *b) {
    return a->bytes == b->bytes && !memcmp(a->type, b->type, a->bytes);
}
static bool among(char prefix, const char *prefixes) { return strchr(prefixes, prefix) != NULL; }

bool bpt_span_ends(const bpt_span_tag_t *before, const bpt_span_tag_t *tag) {
    if (before->prefix == 'O') return false;
    if (among(before->prefix, "ES") || among(tag->prefix, "BSO")) return true;
    return !same_type(before, tag);
}

bool bpt_span_begins(const bpt_span_tag_t *before, const bpt_span_tag_t *tag) {
    if (tag->prefix == 'O') return false;
    if (among(tag->prefix, "BS") || among(before->prefix, "ESO")) return true;
    return !same_type(before, tag);
}

static char prefix_of(bool begins, bool ends, bool touches, bpt_tag_scheme_t scheme) {
    switch (scheme) {
    case BPT_SCHEME_BIOES: return begins && ends ? 'S' : begins ? 'B' : ends ? 'E' : 'I';
    case BPT_SCHEME_IOB2: return begins ? 'B' : 'I';
    default: return begins && touches ? 'B' : 'I';
    }
}

void bpt_spans_convert(const bpt_span_tag_t *tags, int64_t n, bpt_tag_scheme_t scheme, char *prefix) {
    for (int64_t i = 0; i < n; ++i) {
        const bpt_span_tag_t *before = i ? &tags[i - 1] : &outside, *after = i + 1 < n ? &tags[i + 1] : &outside;
        prefix[i] = tags[i].prefix;
        if (scheme == BPT_SCHEME_KEEP || tags[i].prefix == 'O') continue;
        const bool touches = before->prefix != 'O' && same_type(before, &tags[i]);
        prefix[i] = prefix_of(bpt_span_begins(before, &tags[i]), bpt_span_ends(&tags[i], after), touches, scheme);
    }
}

// The counts of a tag's type; without types the only ones.
static bpt_span_counts_t *counts_of(bpt_span_type_t *types, size_t n_types, const bpt_span_tag_t *tag) {
    for (size_t i = 0; i < n_types; ++i)
        if (strlen(types[i].name) == tag->bytes && !memcmp(types[i].name, tag->type, tag->bytes)) return &types[i].counts;
    return &types->counts;
}

void bpt_spans_count_types(const bpt_span_tag_t *wanted, const bpt_span_tag_t *found, int64_t n, bpt_span_type_t *types, size_t n_types) {
    bool agree = false;  // both have a span of the same type open that began at the same token
    for (int64_t i = 0; i <= n; ++i) {
        const bpt_span_tag_t *w = i < n ? &wanted[i] : &outside, *f = i < n ? &found[i] : &outside;
        const bpt_span_tag_t *w_before = i ? &wanted[i - 1] : &outside, *f_before = i ? &found[i - 1] : &outside;
        const bool w_ends = bpt_span_ends(w_before, w), f_ends = bpt_span_ends(f_before, f);
        const bool w_begins = bpt_span_begins(w_before, w), f_begins = bpt_span_begins(f_before, f);
        if (agree && w_ends && f_ends) ++counts_of(types, n_types, w_before)->correct;
        if (w_ends || f_ends) agree = false;
        if (w_begins) ++counts_of(types, n_types, w)->wanted;
        if (f_begins) ++counts_of(types, n_types, f)->found;
        if (w_begins && f_begins) agree = same_type(w, f);
    }
}

void bpt_spans_count(const bpt_span_tag_t *wanted, const bpt_span_tag_t *found, int64_t n, bpt_span_counts_t *counts) {
    bpt_span_type_t all = {.counts = *counts};
    bpt_spans_count_types(wanted, found, n, &all, 0);
    *counts = all.counts;
}

static int by_name(const void *a, const void *b) { return strcmp(((const bpt_span_type_t *)a)->name, ((const bpt_span_type_t *)b)->name); }

bpt_status_t bpt_span_types(const char *const *labels, int64_t count, bpt_span_type_t **types, size_t *n_types) {
    bpt_span_tag_t tag;
    *n_types = 0;
    BPT_TRY(bpt_alloc((size_t)count, sizeof **types, types));
    for (int64_t i = 0; i < count; ++i)
        if (bpt_span_tag_parse(labels[i], strlen(labels[i]), &tag) && tag.bytes) (*types)[(*n_types)++].name = tag.type;
    if (*n_types) qsort(*types, *n_types, sizeof **types, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < *n_types; ++i)
        if (!i || strcmp((*types)[i].name, (*types)[i - 1].name)) (*types)[kept++].name = (*types)[i].name;
    *n_types = kept;
    return BPT_OK;
}

double bpt_spans_precision(const bpt_span_counts_t *c) { return c->found ? (double)c->correct / (double)c->found : 0; }
double bpt_spans_recall(const bpt_span_counts_t *c) { return c->wanted ? (double)c->correct / (double)c->wanted : 0; }
double bpt_spans_f1(const bpt_span_counts_t *c) {
    const double p = bpt_spans_precision(c), r = bpt_spans_recall(c);
    return p + r > 0 ? 2 * p * r / (p + r) : 0;
}
