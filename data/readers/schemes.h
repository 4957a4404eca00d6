// Tags of spans that a reader found, in another scheme (--tag-scheme). Inside of data/.
#ifndef BPT_DATA_READERS_SCHEMES_H
#define BPT_DATA_READERS_SCHEMES_H

#include "bpt/strbuf.h"
#include "data/readers/reader.h"

// Begins as BPT_SCHEME_TAGS.
typedef struct {
    bpt_span_tag_t *spans;  // of the sentence
    char *before, *letter;  // the first letters of its tags, and what these are converted to
    size_t room;
    unsigned styles;     // that all tags of the file so far fit
    bpt_strbuf_t names;  // the text of converted tags
} bpt_scheme_tags_t;
#define BPT_SCHEME_TAGS \
    { .styles = BPT_SPAN_ALL_STYLES }

// Converts the tags of the reader's sentence, if that is asked for; `where`: the sentence's line, if its words have none of their own.
bpt_status_t bpt_scheme_convert(bpt_scheme_tags_t *tags, bpt_reader_t *reader, const bpt_range_t *where) BPT_MUST_USE;
void bpt_scheme_tags_free(bpt_scheme_tags_t *tags);

#endif
