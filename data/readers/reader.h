// Readers of example files: each turns a text into examples and hands them to a visitor, one file a format (formats.def). Inside of data/.
#ifndef BPT_DATA_READERS_READER_H
#define BPT_DATA_READERS_READER_H

#include "data/examples/examples.h"

// A node of the tree over the words of an example, as a reader finds it: over the words [first, end); label.data NULL: it has none.
typedef struct {
    size_t first, end;
    bpt_word_t label;
} bpt_found_node_t;

// One example as a reader finds it.
typedef struct {
    const bpt_range_t *where;
    const bpt_word_t *label;  // NULL: it has none
    const bpt_word_t *words;
    size_t n_words;
    size_t second;           // of a pair: the second text begins with this word
    const bpt_word_t *tags;  // [n_words]: labels of the words; NULL: there are none
    const uint64_t *lines;   // [n_words]: the line of each word; NULL: all are in that of `where`
    // The tree of the first text; NULL: none is in the file. Nodes are in post-order; word_labels [n_words], NULL: the words have none.
    const bpt_found_node_t *nodes;
    size_t n_nodes;
    const bpt_word_t *word_labels;
} bpt_found_t;

typedef struct bpt_reader {
    const bpt_examples_options_t *options;
    bpt_word_t *words, *tags;  // of the current example
    uint64_t *lines;           // of its words, where each has one
    size_t n_words, word_capacity, tag_capacity, line_capacity;
    bpt_lines_t found;                                            // of bpt_reader_lines: what it hands on
    bool brackets;                                                // there was a tree among the lines
    bpt_status_t (*visit)(void *user, const bpt_found_t *found);  // of examples that are wanted
    void *user;
    uint64_t item;                 // number of the line, tree or sentence that is being read, counted where it has an example
    bool visited;                  // there was an example in it
    uint64_t n_empty, empty_line;  // lines that were left out for want of a text, and the first of them
} bpt_reader_t;

// Reads a text by the reader of its format.
bpt_status_t bpt_reader_run(bpt_reader_t *reader, const bpt_range_t *text) BPT_MUST_USE;

// ---- What readers share (reader.c)
bpt_status_t bpt_reader_fail(const bpt_range_t *where, const char *what) BPT_MUST_USE;  // "FILE: line N: what"
bpt_status_t bpt_reader_push(bpt_reader_t *reader, const char *data, size_t bytes) BPT_MUST_USE;
bpt_status_t bpt_reader_push_tag(bpt_reader_t *reader, size_t word, const char *data, size_t bytes) BPT_MUST_USE;
bpt_status_t bpt_reader_push_line(bpt_reader_t *reader, size_t word, uint64_t line) BPT_MUST_USE;
// Takes the blank-separated words of a range.
bpt_status_t bpt_reader_push_words(bpt_reader_t *reader, bpt_range_t text) BPT_MUST_USE;
// A line of `label<TAB>text`, or of text alone where labels are not asked for (text.c); one of `tokens<TAB>tags` (tagged.c); one of
// fastText, whose label is not read where labels are not asked for (fasttext.c).
bpt_status_t bpt_reader_text_line(bpt_reader_t *reader, const bpt_range_t *line) BPT_MUST_USE;
bpt_status_t bpt_reader_tagged_line(bpt_reader_t *reader, const bpt_range_t *line) BPT_MUST_USE;
bpt_status_t bpt_reader_fasttext_line(bpt_reader_t *reader, const bpt_range_t *line) BPT_MUST_USE;
// A cell without the blanks around it; the decimal number in one, false: there is none that is finite.
bpt_word_t bpt_reader_trim(bpt_word_t cell);
bool bpt_reader_number(const bpt_word_t *cell, float *out);
// A line whose text is empty: an error, which is said in these words, unless such lines are left out.
bpt_status_t bpt_reader_empty(bpt_reader_t *reader, const bpt_range_t *where, const char *what) BPT_MUST_USE;
// The place of a word.
bpt_range_t bpt_reader_place(const bpt_found_t *found, size_t word);
// Hands on an example, if it is of the part that is read.
bpt_status_t bpt_reader_visit(bpt_reader_t *reader, const bpt_found_t *found) BPT_MUST_USE;
// Ends a line, tree or sentence, whose examples are in one part together: the phrases of a tree with it.
void bpt_reader_end_item(bpt_reader_t *reader);
// Whether a label is one that treebanks write around a whole tree, which says nothing of it, and is not read (skip_root).
bool bpt_reader_is_root(const bpt_reader_t *reader, const bpt_word_t *label);
// Runs `line` over all lines that are not blank; the lines of a tree are one.
bpt_status_t bpt_reader_lines(bpt_reader_t *reader, const bpt_range_t *text,
                              bpt_status_t (*line)(bpt_reader_t *reader, const bpt_range_t *line)) BPT_MUST_USE;

#endif
