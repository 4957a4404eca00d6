// Tags of spans in another scheme (see schemes.h).
#include "data/readers/schemes.h"

#include "bpt/alloc.h"

static bpt_status_t reserve(bpt_scheme_tags_t *t, size_t n) {
    if (n <= t->room) return BPT_OK;
    BPT_TRY(bpt_realloc(&t->spans, n, sizeof *t->spans));
    BPT_TRY(bpt_realloc(&t->before, n, sizeof *t->before));
    BPT_TRY(bpt_realloc(&t->letter, n, sizeof *t->letter));
    t->room = n;
    return BPT_OK;
}

static bpt_status_t parse(bpt_scheme_tags_t *t, const bpt_reader_t *r, const bpt_range_t *where, size_t i) {
    const bpt_word_t *tag = &r->tags[i];
    t->styles &= bpt_span_styles(tag->data, tag->bytes);
    t->before[i] = *tag->data;
    if (t->styles && bpt_span_tag_parse(tag->data, tag->bytes, &t->spans[i])) return BPT_OK;
    return bpt_fail(
        BPT_ERR_INPUT,
        "%s: line %llu: tag '%s' does not fit the tags before it, which --tag-scheme needs: O, and the letters of BIOES, BILOU or "
        "BMES, all with - and a type or all without; leave the option out",
        where->path, (unsigned long long)(r->lines ? r->lines[i] : where->line), bpt_show(tag->data, tag->bytes).text);
}

bpt_status_t bpt_scheme_convert(bpt_scheme_tags_t *t, bpt_reader_t *r, const bpt_range_t *where) {
    const size_t n = r->n_words;
    if (r->options->scheme == BPT_SCHEME_KEEP || !r->options->labelled) return BPT_OK;
    BPT_TRY(reserve(t, n));
    for (size_t i = 0; i < n; ++i) BPT_TRY(parse(t, r, where, i));
    if (r->options->signs) bpt_scheme_signs_add(r->options->signs, t->before, t->spans, (int64_t)n);
    bpt_spans_convert(t->spans, (int64_t)n, r->options->scheme, t->letter);
    bpt_strbuf_clear(&t->names);
    for (size_t i = 0; i < n; ++i) {  // as long as before: only the first letter differs
        BPT_TRY(bpt_strbuf_append(&t->names, &t->letter[i], 1));
        BPT_TRY(bpt_strbuf_append(&t->names, r->tags[i].data + 1, r->tags[i].bytes - 1));
    }
    const char *name = t->names.data;
    for (size_t i = 0; i < n; ++i) {
        r->tags[i].data = name;
        name += r->tags[i].bytes;
    }
    return BPT_OK;
}

void bpt_scheme_tags_free(bpt_scheme_tags_t *t) {
    bpt_free(t->spans);
    bpt_free(t->before);
    bpt_free(t->letter);
    bpt_strbuf_free(&t->names);
}
