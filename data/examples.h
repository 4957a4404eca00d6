// Labelled sequences for classification: `label<TAB>text`, labelled PTB brackets, decimal ids, or text without labels (trees too).
#ifndef BPT_DATA_EXAMPLES_H
#define BPT_DATA_EXAMPLES_H

#include "data/vocab.h"

// Label strings, sorted by bytes once frozen; the place is the class.
typedef struct {
    char **name;
    size_t count, capacity;
} bpt_labels_t;
bpt_status_t bpt_labels_write(const bpt_labels_t *labels, const char *path) BPT_MUST_USE;  // labels.txt, one a line
bpt_status_t bpt_labels_parse(const bpt_range_t *text, bpt_labels_t *out) BPT_MUST_USE;    // the text of such a file
void bpt_labels_free(bpt_labels_t *labels);

#define BPT_NO_LABEL UINT32_MAX

typedef struct {
    uint32_t *tokens;
    uint64_t *offsets;  // example e is tokens[offsets[e]] .. tokens[offsets[e + 1] - 1], never empty
    uint32_t *labels;   // BPT_NO_LABEL where the text has none
    uint64_t count, n_tokens;
    size_t token_capacity, capacity;
} bpt_examples_t;
void bpt_examples_free(bpt_examples_t *examples);

typedef struct {
    bool subtrees;    // PTB: every phrase is an example, not only the sentence
    bool labelled;    // a line without a label is an error; otherwise a line is text (or ids) alone
    int64_t longest;  // more tokens than this are an error; 0 = any number
} bpt_examples_options_t;

// Lines are `label<TAB>text` with one tab; or, when a labelled line begins with a bracket, a tree: (label word) or (label (label word) ..),
// whose words are kept as they stand (-LRB-). A line without labels is a whole tree, of which the words are read, or else text, split at
// blanks. The text must be UTF-8, also for --unit ids.

// First pass over a text: counts its words in `vocab` and collects its labels. Either may be NULL.
bpt_status_t bpt_examples_scan(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_vocab_t *vocab,
                               bpt_labels_t *labels) BPT_MUST_USE;
void bpt_labels_freeze(bpt_labels_t *labels);
// Second pass. BPT_ERR_INPUT with file and line: a missing or unknown label, an empty text, broken brackets, an unknown word.
bpt_status_t bpt_examples_read(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                               const bpt_labels_t *labels, bpt_examples_t *out) BPT_MUST_USE;
// Adds those of more text to what is there (at first {0}); when it fails, nothing is added.
bpt_status_t bpt_examples_add(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                              const bpt_labels_t *labels, bpt_examples_t *examples) BPT_MUST_USE;

#endif
