// Vocabularies and labels out of files, for tests that write such files.
#ifndef BPT_TESTS_TEXT_FILE_H
#define BPT_TESTS_TEXT_FILE_H

#include "data/examples/examples.h"

static inline bpt_status_t vocab_of_file(const char *path, bpt_unit_t unit, bpt_vocab_t **out) {
    bpt_text_t *text;
    BPT_TRY(bpt_text_open(path, &text));
    const bpt_range_t range = bpt_text_range(text);
    const bpt_status_t status = bpt_vocab_parse(&range, unit, false, out);
    bpt_text_close(text);
    return status;
}

static inline bpt_status_t labels_of_file(const char *path, bpt_labels_t *out) {
    bpt_text_t *text;
    BPT_TRY(bpt_text_open(path, &text));
    const bpt_range_t range = bpt_text_range(text);
    const bpt_status_t status = bpt_labels_parse(&range, out);
    bpt_text_close(text);
    return status;
}

#endif
