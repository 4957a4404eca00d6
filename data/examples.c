// Reading labelled sequences (examples.h). One parser hands every example to a visitor; both passes are visitors.
#include "data/examples.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"

typedef struct {
    const char *data;
    size_t bytes;
} word_t;

typedef struct {
    word_t label;
    size_t first;   // number of its first word
    bool has_word;  // it is (label word
} open_t;

// Takes one example: `label` NULL where there is none.
typedef bpt_status_t visit_t(void *reader, const bpt_range_t *where, const word_t *label, const word_t *words, size_t n_words);

typedef struct {
    const bpt_examples_options_t *options;
    bpt_vocab_t *counted;
    bpt_labels_t *collected;
    const bpt_vocab_t *vocab;
    const bpt_labels_t *labels;
    bpt_examples_t *out;
    word_t *words;  // of the current line
    size_t n_words, word_capacity;
    open_t *open;  // brackets that are not closed yet
    size_t depth, open_capacity;
    visit_t *visit;
} reader_t;

static bpt_status_t at(const bpt_range_t *where, const char *what) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %s", where->path, (unsigned long long)where->line, what);
}

static bpt_status_t push_word(reader_t *r, const char *data, size_t bytes) {
    BPT_TRY(bpt_grow(&r->words, r->n_words, &r->word_capacity, sizeof *r->words));
    r->words[r->n_words++] = (word_t){data, bytes};
    return BPT_OK;
}

// ---- label<TAB>text, or text alone

static bpt_status_t parse_line(reader_t *r, const bpt_range_t *line) {
    bpt_range_t rest = *line;
    word_t label = {0};
    const char *tab = memchr(line->data, '\t', line->bytes);
    if (r->options->labelled || tab) {
        if (!tab) return at(line, "no tab; a line is label<TAB>text");
        label = (word_t){line->data, (size_t)(tab - line->data)};
        if (label.bytes == 0) return at(line, "the label is empty; a line is label<TAB>text");
        rest.data = tab + 1;
        rest.bytes = line->bytes - label.bytes - 1;
        if (memchr(rest.data, '\t', rest.bytes)) return at(line, "more than one tab; a line is label<TAB>text");
    }
    size_t bytes;
    r->n_words = 0;
    for (const char *word; (word = bpt_next_token(&rest, &bytes));) BPT_TRY(push_word(r, word, bytes));
    if (r->n_words == 0) return at(line, "no text; every example needs at least one word");
    return r->visit(r, line, label.data ? &label : NULL, r->words, r->n_words);
}

// ---- (label word) or (label (label word) (label (label word) ..)): a bracket holds one word or any number of brackets

static bool in_name(char c) { return c != '(' && c != ')' && c != ' ' && c != '\t'; }

// Takes what stands between brackets and blanks.
static word_t take_name(const char **p, const char *end) {
    const char *start = *p;
    while (*p < end && in_name(**p)) ++*p;
    return (word_t){start, (size_t)(*p - start)};
}

static bpt_status_t open_bracket(reader_t *r, const bpt_range_t *line, const char **p, const char *end) {
    if (r->depth && r->open[r->depth - 1].has_word) return at(line, "a bracket behind a word; a bracket holds one word or brackets");
    ++*p;
    const word_t label = take_name(p, end);
    if (label.bytes == 0) return at(line, "a bracket without a label");
    BPT_TRY(bpt_grow(&r->open, r->depth, &r->open_capacity, sizeof *r->open));
    r->open[r->depth++] = (open_t){label, r->n_words, false};
    return BPT_OK;
}

static bpt_status_t close_bracket(reader_t *r, const bpt_range_t *line, const char **p) {
    if (r->depth == 0) return at(line, "a closing bracket too many");
    const open_t *node = &r->open[--r->depth];
    if (node->first == r->n_words) return at(line, "a bracket without a word");
    ++*p;
    if (r->depth && !r->options->subtrees) return BPT_OK;
    return r->visit(r, line, &node->label, r->words + node->first, r->n_words - node->first);
}

static bpt_status_t take_word(reader_t *r, const bpt_range_t *line, const char **p, const char *end) {
    if (r->depth == 0) return at(line, "a word outside the brackets");
    open_t *node = &r->open[r->depth - 1];
    if (node->has_word || node->first != r->n_words)
        return at(line, "two words or a word behind a bracket; a bracket holds one word or brackets");
    node->has_word = true;
    const word_t word = take_name(p, end);
    return push_word(r, word.data, word.bytes);
}

static bpt_status_t parse_tree(reader_t *r, const bpt_range_t *line) {
    const char *p = line->data, *end = p + line->bytes;
    bool closed = false;
    r->n_words = r->depth = 0;
    while (p < end) {
        if (*p == ' ' || *p == '\t') {
            ++p;
        } else if (closed) {
            return at(line, "text behind the end of the tree; one tree a line");
        } else if (*p == ')') {
            BPT_TRY(close_bracket(r, line, &p));
            closed = r->depth == 0;
        } else {
            BPT_TRY(*p == '(' ? open_bracket(r, line, &p, end) : take_word(r, line, &p, end));
        }
    }
    return closed ? BPT_OK : at(line, "brackets are not closed; the line is cut off");
}

static bpt_status_t pass_over(void *reader, const bpt_range_t *where, const word_t *label, const word_t *words, size_t n_words) {
    (void)reader, (void)where, (void)label, (void)words, (void)n_words;
    return BPT_OK;
}

// A labelled line that begins with a bracket must be a tree. One without labels may also be a text about (for example) this.
static bpt_status_t is_tree(reader_t *r, const bpt_range_t *line, bool *tree) {
    *tree = line->bytes && line->data[0] == '(' && !memchr(line->data, '\t', line->bytes);
    if (!*tree || r->options->labelled) return BPT_OK;
    visit_t *const visit = r->visit;
    r->visit = pass_over;
    const bpt_status_t status = parse_tree(r, line);
    r->visit = visit;
    *tree = status == BPT_OK;
    if (status != BPT_ERR_INPUT) return status;
    bpt_error_clear();
    return BPT_OK;
}

static bpt_status_t parse(reader_t *r, const bpt_range_t *text) {
    bpt_range_t rest = *text, line;
    bpt_status_t status = bpt_range_check_utf8(text);
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        if (line.bytes == 0 && rest.bytes == 0 && line.line > text->line) break;  // an empty last line
        bool tree = false;
        status = bpt_range_check_line(&line);
        if (status == BPT_OK) status = is_tree(r, &line, &tree);
        if (status == BPT_OK) status = tree ? parse_tree(r, &line) : parse_line(r, &line);
    }
    bpt_free(r->words);
    bpt_free(r->open);
    return status;
}

// ---- First pass
static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool find_label(const bpt_labels_t *labels, const word_t *label, uint32_t *index) {
    for (size_t i = 0; i < labels->count; ++i)
        if (strlen(labels->name[i]) == label->bytes && !memcmp(labels->name[i], label->data, label->bytes)) {
            *index = (uint32_t)i;
            return true;
        }
    return false;
}

static bpt_status_t add_label(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label) {
    uint32_t index;
    if (find_label(labels, label, &index)) return BPT_OK;
    for (size_t i = 0; i < label->bytes; ++i)
        if ((unsigned char)label->data[i] < 0x20) return at(where, "a control character in the label");
    if (labels->count == 10000) return at(where, "more than 10,000 different labels; is this label<TAB>text?");
    BPT_TRY(bpt_grow(&labels->name, labels->count, &labels->capacity, sizeof *labels->name));
    char *name;
    BPT_TRY(bpt_alloc(label->bytes + 1, 1, &name));
    memcpy(name, label->data, label->bytes);
    labels->name[labels->count++] = name;
    return BPT_OK;
}

static bpt_status_t scan(void *reader, const bpt_range_t *where, const word_t *label, const word_t *words, size_t n_words) {
    reader_t *r = reader;
    if (r->collected && label) BPT_TRY(add_label(r->collected, where, label));
    for (size_t i = 0; r->counted && i < n_words; ++i)
        BPT_TRY(bpt_context(bpt_vocab_count_word(r->counted, words[i].data, words[i].bytes), "%s: line %llu", where->path,
                            (unsigned long long)where->line));
    return BPT_OK;
}

bpt_status_t bpt_examples_scan(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_vocab_t *vocab, bpt_labels_t *labels) {
    reader_t r = {
        .options = options, .counted = vocab && bpt_vocab_unit(vocab) == BPT_UNIT_WORD ? vocab : NULL, .collected = labels, .visit = scan};
    return parse(&r, text);
}

void bpt_labels_freeze(bpt_labels_t *labels) {
    if (labels->count) qsort(labels->name, labels->count, sizeof *labels->name, compare_names);
}

// ---- Second pass
static bpt_status_t read_example(void *reader, const bpt_range_t *where, const word_t *label, const word_t *words, size_t n_words) {
    reader_t *r = reader;
    bpt_examples_t *e = r->out;
    uint32_t class = BPT_NO_LABEL;
    if (label && r->labels && !find_label(r->labels, label, &class))
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: label '%s' is not one of the %zu that the model knows", where->path,
                        (unsigned long long)where->line, bpt_show(label->data, label->bytes).text, r->labels->count);
    if (r->options->longest && n_words > (size_t)r->options->longest)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %zu tokens, more than --max-length %lld", where->path,
                        (unsigned long long)where->line, n_words, (long long)r->options->longest);
    if (e->count == e->capacity) {
        const size_t wanted = e->capacity ? e->capacity * 2 : 256;
        BPT_TRY(bpt_realloc(&e->labels, wanted, sizeof *e->labels));
        BPT_TRY(bpt_realloc(&e->offsets, wanted + 1, sizeof *e->offsets));
        e->capacity = wanted;
    }
    for (size_t i = 0; i < n_words; ++i) {
        BPT_TRY(bpt_grow(&e->tokens, e->n_tokens, &e->token_capacity, sizeof *e->tokens));
        BPT_TRY(bpt_vocab_encode_word(r->vocab, where, words[i].data, words[i].bytes, &e->tokens[e->n_tokens]));
        ++e->n_tokens;
    }
    e->labels[e->count++] = class;
    e->offsets[e->count] = e->n_tokens;
    return BPT_OK;
}

bpt_status_t bpt_examples_add(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                              const bpt_labels_t *labels, bpt_examples_t *examples) {
    const uint64_t count = examples->count;
    reader_t r = {.options = options, .vocab = vocab, .labels = labels, .out = examples, .visit = read_example};
    if (!examples->offsets) BPT_TRY(bpt_alloc(1, sizeof *examples->offsets, &examples->offsets));
    const bpt_status_t status = parse(&r, text);
    if (status == BPT_OK) return BPT_OK;
    examples->count = count;
    examples->n_tokens = examples->offsets[count];
    return status;
}

bpt_status_t bpt_examples_read(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                               const bpt_labels_t *labels, bpt_examples_t *out) {
    *out = (bpt_examples_t){0};
    bpt_status_t status = bpt_examples_add(text, options, vocab, labels, out);
    if (status == BPT_OK && out->count == 0) status = bpt_fail(BPT_ERR_INPUT, "%s: no example in it", text->path);
    if (status != BPT_OK) bpt_examples_free(out);
    return status;
}

void bpt_examples_free(bpt_examples_t *e) {
    bpt_free(e->tokens);
    bpt_free(e->offsets);
    bpt_free(e->labels);
    *e = (bpt_examples_t){0};
}

// ---- labels.txt
bpt_status_t bpt_labels_write(const bpt_labels_t *labels, const char *path) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < labels->count && status == BPT_OK; ++i) status = bpt_strbuf_printf(&text, "%s\n", labels->name[i]);
    if (status == BPT_OK) status = bpt_file_write(path, text.length ? text.data : "", text.length);
    bpt_strbuf_free(&text);
    return status;
}

bpt_status_t bpt_labels_parse(const bpt_range_t *text, bpt_labels_t *out) {
    *out = (bpt_labels_t){0};
    bpt_range_t rest = *text, line;
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        const size_t before = out->count;
        if ((status = bpt_range_check_line(&line)) != BPT_OK) break;
        status = line.bytes ? add_label(out, &line, &(word_t){line.data, line.bytes}) : at(&line, "a label cannot be empty");
        if (status == BPT_OK && out->count == before) status = at(&line, "this label is there twice");
        if (status == BPT_OK && before && strcmp(out->name[before - 1], out->name[before]) > 0) status = at(&line, "labels must be sorted");
    }
    if (status != BPT_OK) bpt_labels_free(out);
    return status;
}

void bpt_labels_free(bpt_labels_t *labels) {
    for (size_t i = 0; i < labels->count; ++i) bpt_free(labels->name[i]);
    bpt_free(labels->name);
    *labels = (bpt_labels_t){0};
}
