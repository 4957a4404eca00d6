// `tokens<TAB>tags`: a text a line with as many tags as tokens; or tokens alone.
#include <string.h>

#include "data/readers/reader.h"

static bpt_status_t push_tags(bpt_reader_t *r, const bpt_range_t *line, bpt_range_t tags) {
    size_t n = 0, bytes;
    for (const char *tag; (tag = bpt_next_token(&tags, &bytes)); ++n) BPT_TRY(bpt_reader_push_tag(r, n, tag, bytes));
    if (n == r->n_words) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %zu tokens and %zu tags; a line is tokens<TAB>tags, as many of both", line->path,
                    (unsigned long long)line->line, r->n_words, n);
}

bpt_status_t bpt_reader_tagged_line(bpt_reader_t *r, const bpt_range_t *line) {
    const char *tab = line->bytes ? memchr(line->data, '\t', line->bytes) : NULL;
    bpt_range_t words = *line, tags = *line;
    if (!tab && r->options->labelled) return bpt_reader_fail(line, "no tab; a line is tokens<TAB>tags");
    if (tab) {
        words.bytes = (uint64_t)(tab - line->data);
        tags.data = tab + 1;
        tags.bytes = line->bytes - words.bytes - 1;
    }
    r->n_words = 0;
    BPT_TRY(bpt_reader_push_words(r, words));
    if (r->n_words == 0) return bpt_reader_empty(r, line, "no tokens; every text needs at least one");
    if (tab) BPT_TRY(push_tags(r, line, tags));
    return bpt_reader_visit(r, &(bpt_found_t){.where = line, .words = r->words, .n_words = r->n_words, .tags = tab ? r->tags : NULL});
}
