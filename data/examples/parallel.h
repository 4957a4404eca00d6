// Texts and their translations: two files whose lines belong together, or lines `source<TAB>target`. An empty line on both sides ends a
// document.
#ifndef BPT_DATA_PARALLEL_H
#define BPT_DATA_PARALLEL_H

#include "data/examples/examples.h"

// Side 0 is the source, side 1 the target.
typedef struct {
    bpt_range_t text[2];  // text[1].data NULL: the lines of text[0] are source<TAB>target. Both must be UTF-8
    bpt_range_t trees;    // over the source texts, one behind the other (bpt_tree_text_next); data NULL: there are none
} bpt_parallel_t;

typedef struct {
    int64_t longest;   // more tokens than this in a text, its end sign included, are an error; 0 = any number
    int64_t truncate;  // of a text that has more tokens the first ones and its end sign are taken; 0 = all
    bpt_room_t room;   // for each side of an example
    // 0: an example is a pair of texts. Else each document is cut into segments: one is closed when its source texts have at least half as
    // many tokens (rounded down, end signs included). An example is a segment and the one before it in the document, if there is one.
    int64_t context_tokens;
    // A tree is over each source text, of pair->trees or of the form `made`; such a text has no end sign, which no tree has a place for.
    bool trees;
    bpt_trees_t made;
    const bpt_labels_t *labels;  // that nodes begin with; NULL: all nodes begin with one symbol
} bpt_parallel_options_t;

// Whether a segment with so many tokens of its source texts is closed.
static inline bool bpt_segment_is_full(uint64_t tokens, int64_t context_tokens) { return tokens >= (uint64_t)context_tokens / 2; }

// First pass: counts the words of each side in its vocabulary (NULL: they are not counted); both may be the same one. Collects the labels
// of nodes of the trees (NULL: not); where words become several tokens, those of words too. The errors of the format are those of the
// second pass.
bpt_status_t bpt_parallel_scan(const bpt_parallel_t *pair, bpt_vocab_t *const vocab[2], bpt_labels_t *labels) BPT_MUST_USE;
// Second pass, in file order: texts, their translations and, with context_tokens, windows over both. Every text gets the <eos> of its
// vocabulary behind it, and <eos> opens the translations; in a vocabulary without one (BPT_UNIT_IDS) texts end as they do in the file, and
// id 0 opens. BPT_ERR_INPUT with file and line: numbers of lines that differ, a text without its translation, a text that is too long, an
// unknown word; a file without any text.
bpt_status_t bpt_parallel_read(const bpt_parallel_t *pair, const bpt_parallel_options_t *options, const bpt_vocab_t *const vocab[2],
                               bpt_examples_t *out) BPT_MUST_USE;

#endif
