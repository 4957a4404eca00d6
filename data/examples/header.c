// A first line that names the columns of a file (examples.h).
#include <string.h>

#include "bpt/strbuf.h"
#include "data/readers/reader.h"

// What columns of labels and texts are called, without an s at the end and in lower case.
static const char *const column_words[] = {
    "label",  "labels", "class",   "category", "sentiment", "target",   "tag",       "topic",    "intent",  "polarity",   "emotion",
    "rating", "score",  "star",    "gold",     "relation",  "quality",  "stance",    "domain",   "genre",   "entailment", "duplicate",
    "output", "value",  "y",       "text",     "sentence",  "review",   "comment",   "question", "answer",  "premise",    "hypothesis",
    "title",  "tweet",  "content", "document", "body",      "headline", "utterance", "query",    "message", "phrase",     "string",
    "word",   "token",  "form",    "ner",      "upos",      "xpos",     "chunk",     "id",       "index",   "idx",
};

// ---- Names of columns

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool is_column_word(const char *word, size_t bytes) {
    for (size_t i = 0; i < BPT_COUNT(column_words); ++i) {
        const char *name = column_words[i];
        const size_t length = strlen(name);
        size_t same = 0;
        while (same < length && same < bytes && lower(word[same]) == name[same]) ++same;
        if (same == length && (bytes == length || (bytes == length + 1 && lower(word[length]) == 's'))) return true;
    }
    return false;
}

// "gold_label", "Sentence1", "#1 String": one of its words is such a word, and they are few.
static bool is_column_name(const bpt_word_t *cell) {
    int words = 0;
    bool found = false;
    for (size_t i = 0, n; i < cell->bytes; i += n ? n : 1) {
        for (n = 0; i + n < cell->bytes && is_letter(cell->data[i + n]);) ++n;
        words += n > 0;
        found |= n && is_column_word(cell->data + i, n);
    }
    return found && words <= 3;
}

// ---- The first line

typedef struct {
    const bpt_examples_options_t *options;
    const bpt_labels_t *labels;
    bool any, named, known;  // there is an example in it; a cell is the name of a column; it has a label or number that is one
    bpt_word_t label;        // or the first tag, in `copy`: the reader may take its memory back
    bpt_strbuf_t copy;
} first_t;

static bpt_status_t take_first(void *user, const bpt_found_t *f) {
    first_t *first = user;
    uint32_t class;
    float number;
    const bpt_word_t *label = f->label ? f->label : f->tags;
    if (!label) return BPT_OK;
    const bpt_word_t trimmed = bpt_reader_trim(*label);
    bpt_strbuf_clear(&first->copy);
    BPT_TRY(bpt_strbuf_append(&first->copy, trimmed.data, trimmed.bytes));
    first->any = true;
    first->label = (bpt_word_t){first->copy.data, first->copy.length};
    first->named = is_column_name(&first->label);
    if (f->n_words == 1) first->named |= is_column_name(&f->words[0]);
    first->known = first->options->numbers ? bpt_reader_number(&first->label, &number)
                                           : first->labels && bpt_labels_find(first->labels, &first->label, &class);
    return BPT_OK;
}

// What cannot be read as an example is no header that is taken for one; nor is a tree.
static bpt_status_t read_first(const bpt_range_t *text, const bpt_examples_options_t *options, first_t *first) {
    bpt_range_t rest = *text, line = *text;
    bpt_reader_t reader = {.options = options, .visit = take_first, .user = first};
    if (!bpt_range_next_line(&rest, &(bpt_range_t){0})) return BPT_OK;
    line.bytes = text->bytes - rest.bytes;
    const bpt_status_t status = bpt_reader_run(&reader, &line);
    if (line.bytes && *line.data == '(') first->any = false;
    if (status != BPT_ERR_INPUT) return status;
    bpt_error_clear();
    first->any = false;
    return BPT_OK;
}

// ---- Its label in the lines behind it

typedef struct {
    const bpt_word_t *label;
    uint64_t count;
} tally_t;

static void count_label(tally_t *t, const bpt_word_t *label) {
    const bpt_word_t trimmed = bpt_reader_trim(*label);
    t->count += bpt_word_same(&trimmed, t->label);
}

static bpt_status_t tally(void *user, const bpt_found_t *f) {
    if (f->label) count_label(user, f->label);
    for (size_t i = 0; f->tags && i < f->n_words; ++i) count_label(user, &f->tags[i]);
    return BPT_OK;
}

static bpt_status_t check(const bpt_range_t *text, const bpt_examples_options_t *options, first_t *first, bpt_header_t *out) {
    tally_t t = {.label = &first->label};
    BPT_TRY(read_first(text, first->options, first));
    if (options->header && first->any && first->known && !first->named) *out = BPT_HEADER_DOUBTFUL;
    if (options->header || !first->any || !first->named || options->numbers) return BPT_OK;
    BPT_TRY(bpt_reader_run(&(bpt_reader_t){.options = first->options, .visit = tally, .user = &t}, text));
    if (t.count <= bpt_range_files(text)) *out = BPT_HEADER_SUSPECTED;
    return BPT_OK;
}

bpt_status_t bpt_examples_check_header(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_labels_t *labels,
                                       bpt_header_t *out, bpt_shown_t *label) {
    bpt_examples_options_t all = *options;
    first_t first = {.options = &all, .labels = labels};
    all.cut = NULL;
    all.header = false;
    all.scheme = BPT_SCHEME_KEEP;
    all.signs = NULL;
    *out = BPT_HEADER_NONE;
    if (text->line != 1 || !(bpt_format_of(options->format)->takes & BPT_TAKES_HEADER)) return BPT_OK;
    const bpt_status_t status = check(text, options, &first, out);
    *label = bpt_show(first.label.data, first.label.bytes);
    bpt_strbuf_free(&first.copy);
    return status;
}
