// The formats of example files: what each gives and takes, and its reader. One file of data/readers and one line of formats.def for each;
// all other code asks the properties here, and never which format it is.
#ifndef BPT_DATA_FORMATS_H
#define BPT_DATA_FORMATS_H

#include "data/text/text.h"

typedef enum {
#define BPT_FORMAT(id, name, what) BPT_FORMAT_##id,
#include "data/readers/formats.def"
#undef BPT_FORMAT
    BPT_N_FORMATS
} bpt_format_id_t;

// What examples of a format can have, and what an example needs.
enum {
    BPT_GIVES_LABELS = 1 << 0,   // a label of each text
    BPT_GIVES_NUMBERS = 1 << 1,  // a number in its place
    BPT_GIVES_PAIRS = 1 << 2,    // two texts
    BPT_GIVES_TAGS = 1 << 3,     // a label of each token
    BPT_GIVES_TREES = 1 << 4,    // a tree over the text
    BPT_GIVES_RUNNING = 1 << 5,  // running text, as language models read it
    BPT_GIVES_PHRASES = 1 << 6,  // labels of the phrases of a text in brackets, each of which can be an example
};

// Options that say where in a file things are.
enum {
    BPT_TAKES_HEADER = 1 << 0,        // the first line may name columns
    BPT_TAKES_LABEL_COLUMN = 1 << 1,  // columns by number
    BPT_TAKES_TEXT_COLUMN = 1 << 2,
    BPT_TAKES_WHERE = 1 << 3,
    BPT_TAKES_FIELDS = 1 << 4,  // by name
};

// What separates examples, for those who take them as they come.
typedef enum {
    BPT_UNTIL_LINE_ENDS,       // one a line
    BPT_UNTIL_BRACKETS_CLOSE,  // a line, or the lines of a tree
    BPT_UNTIL_BLANK_LINE,      // a sentence
    BPT_UNTIL_QUOTES_CLOSE,    // a line, or the lines of a record of CSV
} bpt_format_until_t;

// Running text of a file.
typedef struct {
    bpt_format_id_t format;
    const char *field;  // of formats whose fields have names: that of the text; NULL or "": a usual one
    bool by_lines;      // each text is one line, and a blank line is one, so that lines of two such texts belong together
} bpt_running_t;

struct bpt_reader;
typedef struct {
    const char *const *suffixes;  // names of files that end so are of this format; ends with NULL. NULL: no name says it
    unsigned gives, takes;
    const char *fixed;  // where things are that no option can choose, for messages: "the words of .. are in column 2"; NULL: nothing
    bpt_format_until_t until;
    // Reads a whole text that is valid UTF-8.
    bpt_status_t (*read)(struct bpt_reader *reader, const bpt_range_t *text);
    // Appends the running text of some whole lines of a file, or of a whole one. NULL: it is the file as it is, if the format gives one.
    bpt_status_t (*write_running)(const bpt_range_t *lines, const bpt_running_t *how, bpt_store_t *out);
    bool running_whole;  // it needs a whole file: lines depend on those before them
} bpt_format_t;

extern const char *const bpt_format_names[];  // by bpt_format_id_t; ends with NULL
const bpt_format_t *bpt_format_of(bpt_format_id_t id);
// The format that the name of a file says; false: it says none.
bool bpt_format_of_file(const char *path, bpt_format_id_t *out);
// Opens the running text of files, one behind the other; `how` NULL: the files as they are.
bpt_status_t bpt_running_open(const bpt_paths_t *paths, const bpt_running_t *how, bpt_text_t **out) BPT_MUST_USE;

#endif
