// Tags of spans (see spans.h).
#include "data/score/spans.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

static const bpt_span_tag_t outside = {.prefix = 'O', .type = "", .bytes = 0};

// The letters of a scheme for B, I, E, S.
static const char meanings[] = "BIES";
static const char *const letters_of[] = {[BPT_SCHEME_IOB1] = "BIES",
                                         [BPT_SCHEME_IOB2] = "BIES",
                                         [BPT_SCHEME_BIOES] = "BIES",
                                         [BPT_SCHEME_BILOU] = "BILU",
                                         [BPT_SCHEME_BMES] = "BMES"};
static const bpt_tag_scheme_t styles[] = {BPT_SCHEME_BIOES, BPT_SCHEME_BILOU, BPT_SCHEME_BMES};
enum { STYLES = 3 };  // with types, and as many without

static bool is_outside(const char *label, size_t bytes) { return bytes == 1 && *label == 'O'; }

unsigned bpt_span_styles(const char *label, size_t bytes) {
    unsigned found = 0;
    const bool typed = bytes > 2 && label[1] == '-';
    if (is_outside(label, bytes)) return BPT_SPAN_ALL_STYLES;
    for (int i = 0; (typed || bytes == 1) && i < STYLES; ++i)
        if (memchr(letters_of[styles[i]], *label, 4)) found |= 1u << (typed ? i : STYLES + i);
    return found;
}

bool bpt_span_tag_parse(const char *label, size_t bytes, bpt_span_tag_t *out) {
    const unsigned found = bpt_span_styles(label, bytes);
    if (!found) return false;
    *out = outside;
    if (is_outside(label, bytes)) return true;
    for (int i = 0; i < STYLES; ++i) {
        const char *letters = letters_of[styles[i]], *letter = memchr(letters, *label, 4);
        if (letter) out->prefix = meanings[letter - letters];
    }
    if (bytes > 2) out->type = label + 2, out->bytes = bytes - 2;
    return true;
}

static bool has_label(const char *const *labels, int64_t count, const char *label) {
    for (int64_t i = 0; i < count; ++i)
        if (!strcmp(labels[i], label)) return true;
    return false;
}

// Without types a few letters could be anything, such as parts of speech: spans must have a beginning, or an inside and an outside.
static bool is_complete(const char *const *labels, int64_t count, unsigned style) {
    const bool typed = style & ((1u << STYLES) - 1);
    return typed || has_label(labels, count, "B") || (has_label(labels, count, "I") && has_label(labels, count, "O"));
}

bool bpt_spans_are_tags(const char *const *labels, int64_t count) {
    unsigned common = BPT_SPAN_ALL_STYLES;
    for (int64_t i = 0; i < count; ++i) common &= bpt_span_styles(labels[i], strlen(labels[i]));
    return common && common != BPT_SPAN_ALL_STYLES && is_complete(labels, count, common);
}

int64_t bpt_spans_misfit(const char *const *labels, int64_t count, bool *most) {
    int64_t fitting[2 * STYLES] = {0}, tags = 0;
    int best = 0;
    for (int64_t i = 0; i < count; ++i) {
        const unsigned found = bpt_span_styles(labels[i], strlen(labels[i]));
        tags += found != BPT_SPAN_ALL_STYLES;
        for (int k = 0; k < 2 * STYLES; ++k) fitting[k] += found != BPT_SPAN_ALL_STYLES && (found >> k & 1);
    }
    for (int k = 1; k < 2 * STYLES; ++k)
        if (fitting[k] > fitting[best]) best = k;
    *most = 2 * fitting[best] > tags;
    for (int64_t i = 0; i < count; ++i)
        if (!(bpt_span_styles(labels[i], strlen(labels[i])) >> best & 1)) return i;
    return -1;
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

// B, I, E or S.
static char meaning_of(bool begins, bool ends, bool touches, bpt_tag_scheme_t scheme) {
    switch (scheme) {
    case BPT_SCHEME_IOB1: return begins && touches ? 'B' : 'I';
    case BPT_SCHEME_IOB2: return begins ? 'B' : 'I';
    default: return begins && ends ? 'S' : begins ? 'B' : ends ? 'E' : 'I';
    }
}

// Whether a span of the same type comes directly before.
static bool touches_same(const bpt_span_tag_t *before, const bpt_span_tag_t *tag) {
    return before->prefix != 'O' && same_type(before, tag);
}

void bpt_spans_convert(const bpt_span_tag_t *tags, int64_t n, bpt_tag_scheme_t scheme, char *letter) {
    for (int64_t i = 0; i < n; ++i) {
        const bpt_span_tag_t *before = i ? &tags[i - 1] : &outside, *after = i + 1 < n ? &tags[i + 1] : &outside;
        letter[i] = 'O';
        if (tags[i].prefix == 'O') continue;
        const char meaning =
            meaning_of(bpt_span_begins(before, &tags[i]), bpt_span_ends(&tags[i], after), touches_same(before, &tags[i]), scheme);
        letter[i] = letters_of[scheme][strchr(meanings, meaning) - meanings];
    }
}

void bpt_scheme_signs_add(bpt_scheme_signs_t *signs, const char *letters, const bpt_span_tag_t *tags, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const bpt_span_tag_t *before = i ? &tags[i - 1] : &outside;
        signs->letter[letters[i] - 'A'] = true;
        signs->opening_inside |= tags[i].prefix == 'I' && bpt_span_begins(before, &tags[i]);
        signs->needless_begin |= tags[i].prefix == 'B' && !touches_same(before, &tags[i]);
    }
}

bpt_tag_scheme_t bpt_scheme_of(const bpt_scheme_signs_t *signs) {
    const bool *has = signs->letter;
    if (has['M' - 'A']) return BPT_SCHEME_BMES;
    if (has['L' - 'A'] || has['U' - 'A']) return BPT_SCHEME_BILOU;
    if (has['S' - 'A'] || (has['B' - 'A'] && has['E' - 'A'])) return BPT_SCHEME_BIOES;
    if (has['E' - 'A']) return BPT_SCHEME_KEEP;  // I and E alone: spans are told by their ends
    if (!has['B' - 'A'] && !has['I' - 'A']) return BPT_SCHEME_KEEP;
    return signs->opening_inside && !signs->needless_begin ? BPT_SCHEME_IOB1 : BPT_SCHEME_IOB2;
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
