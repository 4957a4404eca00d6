// Labelled sequences for classification: `label<TAB>text`, labelled PTB brackets, decimal ids, or text without labels (trees too).
#ifndef BPT_DATA_EXAMPLES_H
#define BPT_DATA_EXAMPLES_H

#include "data/examples/cut.h"
#include "data/examples/formats.h"
#include "data/examples/room.h"
#include "data/readers/csv_record.h"
#include "data/score/spans.h"
#include "data/vocab/vocab.h"

// Label strings, sorted by bytes once frozen; the place is the class.
typedef struct {
    char **name;
    uint32_t *sorted;  // the places of all names, the others among them, in the order of the names' bytes
    size_t count, capacity;
    size_t others;  // names behind them that are no classes: those of data whose labels a model does not know (bpt_labels_other)
} bpt_labels_t;
bpt_status_t bpt_labels_write(const bpt_labels_t *labels, const char *path) BPT_MUST_USE;  // labels.txt, one a line
bpt_status_t bpt_labels_parse(const bpt_range_t *text, bpt_labels_t *out) BPT_MUST_USE;    // the text of such a file
void bpt_labels_free(bpt_labels_t *labels);
bpt_status_t bpt_labels_numbers(bpt_labels_t *labels, int64_t count) BPT_MUST_USE;  // adds 0 .. count - 1, of classes without names
// Adds a label that is not there yet; BPT_ERR_INPUT with file and line of `where`: it cannot be one, or there are too many.
bpt_status_t bpt_labels_add(bpt_labels_t *labels, const bpt_range_t *where, const bpt_word_t *label) BPT_MUST_USE;
bool bpt_labels_find(const bpt_labels_t *labels, const bpt_word_t *label, uint32_t *index);
// Finds or adds a name that is no class; its number is count or more. No class can be added after it.
bpt_status_t bpt_labels_other(bpt_labels_t *labels, const bpt_range_t *where, const bpt_word_t *label, uint32_t *index) BPT_MUST_USE;

#define BPT_NO_LABEL UINT32_MAX

// What texts are translated to: text t of all examples has the translation tokens[offsets[t]] .. tokens[offsets[t + 1] - 1], never empty,
// as it is predicted. A model reads `opening` and then all but its last token.
typedef struct {
    bool has;
    uint32_t *tokens;
    uint64_t *offsets;
    uint64_t n_tokens;
    uint32_t opening;
} bpt_translations_t;

// Texts first .. end - 1 of a document, read together; an evaluation counts those from `own` on, which are in no other window.
typedef struct {
    uint64_t first, own, end;
} bpt_window_t;

// A node of the tree over a text: the tokens [first, end) are below it.
typedef struct {
    uint32_t first, end, label;  // label: its class, or BPT_NO_LABEL
} bpt_example_node_t;

// Nodes of texts, one text behind the other, each in post-order. Zero-initialised: empty. `items` is freed with bpt_free.
typedef struct {
    bpt_example_node_t *items;
    uint64_t count;
    size_t capacity;
} bpt_nodes_t;

// Where the tree over a text is from: the brackets of the file, or it is made, whatever brackets say.
typedef enum { BPT_TREES_FILE, BPT_TREES_BALANCED, BPT_TREES_RIGHT, BPT_TREES_FLAT } bpt_trees_t;
extern const char *const bpt_trees_names[];  // "file", "balanced", ..

// ---- Examples, part by part. `has` says whether examples have the part; one that they have not is zero.

typedef struct {
    bool has;
    bool per_token;  // they are of tokens, else of examples; also where only that is known, and there are none yet
    uint32_t *of;    // BPT_NO_LABEL where the text has none
    // Labels from `classes` on are none that the model knows (0: it knows them all): how many there are, the first one and its line.
    uint32_t classes, first_unknown;
    uint64_t n_unknown, unknown_line;
    size_t capacity;  // of those of tokens
} bpt_example_labels_t;

typedef struct {
    bool has;
    float *of;  // [.., columns]
    int64_t columns;
} bpt_example_numbers_t;

// Character n-grams of the tokens: those of token t are items[offsets[t]] .. items[offsets[t + 1] - 1].
typedef struct {
    bool has;
    uint32_t *items;
    uint64_t *offsets;  // [n_tokens + 1]
    size_t capacity, offset_capacity;
} bpt_example_bags_t;

// Trees over the texts.
typedef struct {
    bool has;           // each text has one
    bool named;         // models read the labels of nodes; else all nodes begin with one symbol
    bpt_nodes_t nodes;  // those of text t are nodes.items[offsets[t]] .. nodes.items[offsets[t + 1] - 1]
    uint64_t *offsets;
    uint32_t *token_labels;  // [n_tokens]: the class of the token, or BPT_NO_LABEL; NULL: tokens have none
    size_t token_label_capacity;
} bpt_example_trees_t;

// Documents: the texts of each example.
typedef struct {
    bool has;  // else example e is text e
    bpt_window_t *items;
} bpt_example_windows_t;

// Examples in columns. Text t of all is tokens[offsets[t]] .. tokens[offsets[t + 1] - 1], never empty; example e has the texts e * texts ..
// e * texts + texts - 1. All of their arrays are listed in examples_arrays.c.
typedef struct {
    int texts;  // of an example: 1, or 2 in pairs; 0 means 1
    uint64_t count, n_tokens;
    uint32_t *tokens;
    uint64_t *offsets;
    bpt_example_numbers_t vectors;  // [n_tokens, columns], in place of tokens
    bpt_example_labels_t labels;
    bpt_example_numbers_t values;  // [count, columns], in place of labels
    bpt_translations_t target;     // likewise
    bpt_example_bags_t bags;
    bpt_example_trees_t trees;
    bpt_example_windows_t windows;
    uint64_t n_empty, empty_line;  // lines that were left out for want of a text, and the first of them
    size_t token_capacity, capacity;
} bpt_examples_t;
void bpt_examples_free(bpt_examples_t *examples);

extern const char *const bpt_tag_scheme_names[];  // "keep", "iob1", ..

// The columns of a file of tokens, as its first line with a token has them. Zero-initialised: not known yet.
typedef struct {
    bool tabs;  // they are between tabs, else between blanks
    int count;  // empty ones at the end not counted
    int cells;  // all of them
    uint64_t line;
} bpt_token_columns_t;

typedef struct {
    bpt_format_id_t format;  // zero-initialised: text
    const bpt_cut_t *cut;    // of these examples those of one part are taken; NULL: all
    int part;                // that one
    bool header;             // the first line of a file names its columns: it is left out
    bool skip_empty;         // lines with an empty text are left out; else such a line is an error
    bool per_token;          // each token has a label, else each text
    bool labelled;           // a line without a label is an error; otherwise a line is text (or ids) alone
    bpt_labels_t *others;    // takes labels that the model does not know (bpt_labels_other); NULL: such a label is an error
    bool subtrees;           // TEXT and TREES, PTB brackets: every phrase is an example, not only the sentence
    int64_t longest;         // more tokens than this in a text are an error; 0 = any number
    int64_t truncate;        // of a text that has more tokens the first ones are taken; 0 = all
    bpt_room_t room;         // for what is taken of a text
    // Character n-grams of each word as it is written, with ^ in front and $ behind, of ngram_min .. ngram_max characters, hashed to
    // numbers below ngram_rows; ngram_max 0: none. (Bojanowski et al. 2017; they take the place of the trained n-grams of Hashimoto et al.
    // 2017.)
    int ngram_min, ngram_max;
    int64_t ngram_rows;
    bool trees;              // each text has a tree over it (not of tokens with labels)
    bpt_trees_t made;        // and where it is from
    bool vertex_labels;      // the labels of all nodes and words are classes; else only that of the whole tree is
    bool cut_functions;      // of TREES: function tags are no part of a label: NP-SBJ=2 is NP
    bool skip_root;          // of TREES and TEXT: the label of (ROOT (S ..)) is that of its child, as that of ( (S ..))
    bool strip_punctuation;  // tokens that are nothing but punctuation are left out, unless a text has no others
    // COLUMNS, counted from 1
    int texts;     // of an example: 1 or 2
    bool numbers;  // the label column has a number
    int label_column, text_column[2];
    int where_column;  // only lines whose column is `where`; 0: all
    const char *where;
    // JSONL: names of the fields of the texts and the label, or of the lists of tokens and tags; of no bytes: usual names
    bpt_word_t text_field[2], label_field;
    bool by_name;              // CSV: the first line of a file has these names; else columns are counted, as those of COLUMNS
    bpt_csv_columns_t *cells;  // CSV that is read in pieces; NULL: a text is a file
    // CONLL, where label_column 0 means the last column, and CONLLU, where it is 4 (upos) or 5 (xpos)
    bpt_token_columns_t *columns;  // of a file that is read in pieces; NULL: a text is a file
    bpt_tag_scheme_t scheme;       // that tags of spans are converted to
    bpt_scheme_signs_t *signs;     // what is seen of the scheme before that; NULL: nobody asks
} bpt_examples_options_t;

// TEXT: lines are `label<TAB>text` with one tab; or, when a labelled line begins with a bracket, a tree: (label word) or (label (label
// word) ..), over as many lines as its brackets need, whose words are kept as they stand (-LRB-). Lines without labels are a whole tree, of
// which the words are read, or else each a text, split at blanks. COLUMNS: lines of columns between tabs, a label or a number in one, texts
// in others; unlabelled lines are text, or text<TAB>text. With per_token: `tokens<TAB>tags`, as many of both. CONLL: a token a line, a
// blank line between sentences, lines of -DOCSTART- left out; columns are between tabs where the first line with a token has a tab, else
// between blanks. TREES: trees of the Penn Treebank, one behind the other, each over as many lines as it likes: (label child ..), where a
// child is a word or a tree; or lines of TEXT, where trees are made. The tree over the words has a node for every bracket of two or more
// children; what has one child alone is its child, with the label of the child, and a text of one word has one node. -NONE- is left out
// with the brackets that hold nothing else. Files must be UTF-8, also for --unit ids.

// For those who take examples as they come: how many lines the next one has.
typedef enum {
    BPT_LINES_NONE,  // there are none
    BPT_LINES_TEXT,  // one line, which may be empty
    BPT_LINES_TREE,  // a tree: one line, or more
    BPT_LINES_OPEN,  // a tree whose brackets are not closed yet
} bpt_lines_t;
// What was looked at of a tree that is open. Zero-initialised: nothing.
typedef struct {
    uint64_t bytes, lines, depth;
    int inside;
} bpt_open_tree_t;
// The rest of a text without what was looked at.
bpt_range_t bpt_examples_behind(const bpt_range_t *text, const bpt_open_tree_t *open);
// Takes the lines of the next example (of CONLL: the next line) off the front of `rest`. `more`: text may follow behind `rest`, and nothing
// is taken of a tree that is not closed in it (OPEN); call again with the same text and more behind it, and with *open as it is. Without
// `more` it is a tree that cannot be read, or the first line is a text. Of a tree only its brackets are known to be closed.
bpt_lines_t bpt_examples_next(const bpt_examples_options_t *options, bpt_range_t *rest, bool more, bpt_open_tree_t *open,
                              bpt_range_t *lines);
// Parts of one text, one behind the other, that were cut between lines: a cut inside of a tree moves behind it.
void bpt_examples_cut_between(const bpt_examples_options_t *options, bpt_range_t *part, int parts);
// What is held as a whole has a limit (BPT_LINE_BYTES).
bpt_status_t bpt_examples_check_lines(const bpt_range_t *lines) BPT_MUST_USE;

// Deals the examples of a text out to three parts (data/examples/cut.h), those of each class alike where a text has one. The phrases of a
// tree stay together. cut->part is freed with bpt_free.
bpt_status_t bpt_examples_cut(const bpt_range_t *text, const bpt_examples_options_t *options, uint64_t seed, bpt_cut_t *cut) BPT_MUST_USE;
// The same in the order of the file, for formats whose files cannot be cut at any line.
bpt_status_t bpt_examples_cut_in_order(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_cut_t *cut) BPT_MUST_USE;
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
// Hands on the words of each text, as they are in the file and before any is left out.
typedef bpt_status_t bpt_take_words_t(void *user, const bpt_word_t *words, size_t n);
bpt_status_t bpt_examples_words(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_take_words_t *take,
                                void *user) BPT_MUST_USE;
// The line of the first word with this tag; where there is none, the text's first.
bpt_status_t bpt_examples_find_tag(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_word_t *tag,
                                   uint64_t *line) BPT_MUST_USE;
// Whether the first line of a file names its columns.
typedef enum {
    BPT_HEADER_NONE,       // nothing speaks for it, or against what the options say
    BPT_HEADER_SUSPECTED,  // it is read as an example, but looks like names of columns, and no other line has its label
    BPT_HEADER_DOUBTFUL,   // it is left out, but its label is one of `labels`, or the number that is asked for
} bpt_header_t;
// *label: of that line.
bpt_status_t bpt_examples_check_header(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_labels_t *labels,
                                       bpt_header_t *out, bpt_shown_t *label) BPT_MUST_USE;
// Puts `count` placeholders (bpt/batch.h) in front of every text. BPT_ERR_USAGE where each token has a label, or vectors are read.
bpt_status_t bpt_examples_shift(bpt_examples_t *examples, int64_t count) BPT_MUST_USE;

#endif
