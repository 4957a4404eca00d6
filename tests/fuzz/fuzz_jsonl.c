// libFuzzer: any bytes as JSON lines, or as a value in such a line, for every task. What is accepted gives sound examples, the same from
// the whole text as line by line, and words and labels that survive their files.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/strbuf.h"
#include "data/examples/examples.h"

static void require(bool condition) {
    if (!condition) abort();
}

#define FIELD(name) \
    { name, sizeof name - 1 }

static bpt_examples_options_t options_of(const uint8_t head[2]) {
    bpt_examples_options_t o = {.format = BPT_FORMAT_JSONL,
                                .labelled = head[0] & 1,
                                .skip_empty = head[0] & 2,
                                .per_token = head[0] & 4,
                                .numbers = head[0] & 8 && !(head[0] & 4),
                                .texts = head[0] & 16 && !(head[0] & 4) ? 2 : 1,
                                .truncate = head[0] & 32 ? 3 : 0};
    if (head[0] & 64) o.text_field[0] = (bpt_word_t)FIELD("a"), o.text_field[1] = (bpt_word_t)FIELD("b");
    if (head[0] & 128) o.label_field = (bpt_word_t)FIELD("l");
    if (o.per_token) o.scheme = (bpt_tag_scheme_t)(head[1] >> 5 & 3);
    return o;
}

// The bytes as they are, or between these: in a string, as a value, as a list of tokens, of tags.
static const char *const frames[][2] = {
    {"", ""},
    {"{\"text\": \"", "\", \"label\": 1, \"score\": 2, \"a\": \"a\", \"b\": \"b\", \"l\": \"l\"}\n"},
    {"{\"label\": ", ", \"text\": \"t u\"}\n{\"label\": \"2\", \"text\": \"v\"}"},
    {"{\"tokens\": [", "], \"tags\": [\"B-X\"]}\n"},
    {"{\"tokens\": [\"a\", 1], \"tags\": [", "]}\n"},
    {"{\"sentence1\": \"a\", \"label\": 0.5, \"sentence2\": ", "}"},
    {"{\"a\": ", ", \"b\": \"c\", \"l\": [\"B\", 2]}"},
    {"{\"text\": \"a\", \"label\": 1, ", "}\n"},
};

static void check_examples(const bpt_examples_t *e, const bpt_examples_options_t *o, const bpt_vocab_t *vocab, const bpt_labels_t *labels) {
    const uint64_t texts = e->count * (uint64_t)o->texts, n = o->per_token ? e->n_tokens : e->count;
    require(e->count >= 1 && e->offsets[0] == 0 && e->offsets[texts] == e->n_tokens);
    for (uint64_t t = 0; t < texts; ++t) require(e->offsets[t] < e->offsets[t + 1]);
    for (uint64_t i = 0; i < e->n_tokens; ++i) require((int64_t)e->tokens[i] < bpt_vocab_size(vocab));
    for (uint64_t i = 0; i < n; ++i)
        require(o->numbers ? isfinite(e->values.of[i]) : o->labelled ? e->labels.of[i] < labels->count : e->labels.of[i] == BPT_NO_LABEL);
}

static void check_files(const bpt_vocab_t *vocab, const bpt_labels_t *labels) {
    bpt_strbuf_t text = {0};
    bpt_vocab_t *read;
    require(bpt_vocab_format(vocab, &text) == BPT_OK);
    bpt_range_t range = bpt_range_of("vocab.txt", text.data, text.length);
    require(bpt_vocab_parse(&range, BPT_UNIT_WORD, false, &read) == BPT_OK && bpt_vocab_size(read) == bpt_vocab_size(vocab));
    bpt_vocab_destroy(read);
    bpt_strbuf_clear(&text);
    for (size_t i = 0; i < labels->count; ++i) require(bpt_strbuf_printf(&text, "%s\n", labels->name[i]) == BPT_OK);
    bpt_labels_t again;
    range = bpt_range_of("labels.txt", text.length ? text.data : "", text.length);
    require(bpt_labels_parse(&range, &again) == BPT_OK && again.count == labels->count);
    bpt_labels_free(&again);
    bpt_strbuf_free(&text);
}

// Each line alone, one behind the other, as `bpt classify` and `bpt tag` read them.
static void check_lines(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                        const bpt_labels_t *labels, const bpt_examples_t *whole) {
    bpt_range_t rest = *text, line;
    bpt_open_tree_t open = {0};
    bpt_examples_t e = {0};
    bpt_examples_options_t o = *options;
    // A line alone may fit another scheme; one with a carriage return in it looks like a file of many.
    if (o.scheme != BPT_SCHEME_KEEP || memchr(text->data, '\r', text->bytes)) return;
    while (bpt_examples_next(&o, &rest, false, &open, &line) != BPT_LINES_NONE)
        require(bpt_examples_add(&line, &o, vocab, labels, &e) == BPT_OK);
    require(e.count == whole->count && e.n_tokens == whole->n_tokens);
    require(!memcmp(e.tokens, whole->tokens, e.n_tokens * sizeof *e.tokens));
    if (e.labels.has) require(!memcmp(e.labels.of, whole->labels.of, (o.per_token ? e.n_tokens : e.count) * sizeof *e.labels.of));
    bpt_examples_free(&e);
}

static bpt_status_t read_text(const bpt_range_t *text, const bpt_examples_options_t *o, bpt_vocab_t *vocab, bpt_labels_t *labels) {
    bpt_examples_t e;
    BPT_TRY(bpt_examples_scan(text, o, vocab, labels));
    bpt_labels_freeze(labels);
    require(bpt_vocab_freeze(vocab) == BPT_OK);
    check_files(vocab, labels);
    const bpt_labels_t *known = o->labelled && !o->numbers ? labels : NULL;
    BPT_TRY(bpt_examples_read(text, o, vocab, known, &e));
    check_examples(&e, o, vocab, labels);
    check_lines(text, o, vocab, known, &e);
    bpt_examples_free(&e);
    return BPT_OK;
}

// As running text: with a line for each line, and UTF-8.
static void check_running(const bpt_range_t *text, bool by_lines) {
    const bpt_running_t how = {.format = BPT_FORMAT_JSONL, .field = by_lines ? "a" : NULL, .by_lines = by_lines};
    bpt_store_t bytes = {0};
    const void *data;
    uint64_t size, lines = 0, wanted = 0;
    bpt_range_t rest = *text, line;
    const bpt_status_t status = bpt_format_of(BPT_FORMAT_JSONL)->write_running(text, &how, &bytes);
    require(status == BPT_OK || status == BPT_ERR_INPUT);
    require(bpt_store_finish(&bytes, &data, &size) == BPT_OK);
    const bpt_range_t written = bpt_range_of("output", data, size);
    if (size) require(bpt_range_check_utf8(&written) == BPT_OK);
    for (uint64_t i = 0; i < size; ++i) lines += written.data[i] == '\n';
    while (bpt_range_next_line(&rest, &line)) ++wanted;
    require(status != BPT_OK || !by_lines || lines == wanted);
    bpt_store_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { HEAD = 2 };
    if (size < HEAD) return 0;
    const char *const *frame = frames[data[1] % BPT_COUNT(frames)];
    bpt_strbuf_t bytes = {0};
    require(bpt_strbuf_append(&bytes, frame[0], strlen(frame[0])) == BPT_OK);
    require(bpt_strbuf_append(&bytes, data + HEAD, size - HEAD) == BPT_OK);
    require(bpt_strbuf_append(&bytes, frame[1], strlen(frame[1])) == BPT_OK);
    const bpt_range_t text = bpt_range_of("input", bytes.data, bytes.length);
    const bpt_examples_options_t options = options_of(data);
    bpt_labels_t labels = {0};
    bpt_vocab_t *vocab;
    require(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab) == BPT_OK);
    const bpt_status_t status = read_text(&text, &options, vocab, &labels);
    require(status == BPT_OK || (status == BPT_ERR_INPUT && *bpt_error_message()));
    check_running(&text, data[0] & 1);
    bpt_labels_free(&labels);
    bpt_vocab_destroy(vocab);
    bpt_strbuf_free(&bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
