// The format `fasttext`: a text a line with its label as a word in front, __label__NAME, as fastText trains its classifiers on.
#include <string.h>

#include "data/readers/reader.h"

static const char prefix[] = "__label__";
enum { PREFIX_BYTES = sizeof prefix - 1 };

static bool is_label(const bpt_word_t *word) { return word->bytes >= PREFIX_BYTES && !memcmp(word->data, prefix, PREFIX_BYTES); }

bpt_status_t bpt_reader_fasttext_line(bpt_reader_t *r, const bpt_range_t *line) {
    bpt_found_t found = {.where = line};
    bpt_word_t label;
    r->n_words = 0;
    BPT_TRY(bpt_reader_push_words(r, *line));
    const size_t labels = r->n_words && is_label(&r->words[0]);
    if (r->options->labelled && !labels) return bpt_reader_fail(line, "no label in front; a line is __label__NAME and a text");
    if (labels && r->n_words > 1 && is_label(&r->words[1]))
        return bpt_reader_fail(line, "more than one label; a text has one class here, so leave one of them");
    if (labels) label = (bpt_word_t){r->words[0].data + PREFIX_BYTES, r->words[0].bytes - PREFIX_BYTES};
    if (labels && !label.bytes) return bpt_reader_fail(line, "the label is empty; a line is __label__NAME and a text");
    if (r->n_words == labels) return bpt_reader_empty(r, line, "no text; every example needs at least one word");
    found.label = labels ? &label : NULL;
    found.words = r->words + labels;
    found.n_words = r->n_words - labels;
    return bpt_reader_visit(r, &found);
}

static bpt_status_t read_fasttext(bpt_reader_t *r, const bpt_range_t *text) { return bpt_reader_lines(r, text, bpt_reader_fasttext_line); }

static const char *const suffixes[] = {".ft.txt", ".ft", NULL};

const bpt_format_t bpt_format_fasttext = {
    .suffixes = suffixes,
    .gives = BPT_GIVES_LABELS,
    .fixed = "the label is the first word of a line, __label__NAME",
    .until = BPT_UNTIL_LINE_ENDS,
    .read = read_fasttext,
};
