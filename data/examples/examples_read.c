// The store of examples and both passes over a text (examples.h). Readers (data/readers) find examples, which are counted or kept here.
#include "data/examples/examples.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/trees.h"
#include "data/readers/reader.h"
#include <xxhash.h>

typedef bpt_word_t word_t;

typedef struct {
    bpt_reader_t reader;
    bpt_vocab_t *counted;
    bpt_labels_t *collected;
    const bpt_vocab_t *vocab;
    const bpt_labels_t *labels;
    bpt_examples_t *out;
} pass_t;

const char *const bpt_tag_scheme_names[] = {[BPT_SCHEME_KEEP] = "keep",
                                            [BPT_SCHEME_IOB1] = "iob1",
                                            [BPT_SCHEME_IOB2] = "iob2",
                                            [BPT_SCHEME_BIOES] = "bioes",
                                            [BPT_SCHEME_BILOU] = "bilou",
                                            [BPT_SCHEME_BMES] = "bmes",
                                            NULL};

// ---- What is taken of a found example

// Whether all of a word is punctuation.
static bool is_punctuation(const word_t *word) {
    for (size_t i = 0, used; i < word->bytes; i += used) {
        uint32_t c;
        used = (size_t)bpt_utf8_next(word->data + i, word->bytes - i, &c);
        if (!used || !bpt_is_punctuation(c)) return false;
    }
    return true;
}

// The words [0, *n) of a text that are taken, moved to the front of them. Of subwords the first are taken once they are there.
static void choose_words(const bpt_examples_options_t *o, int64_t truncate, word_t *words, size_t *n) {
    size_t kept = 0;
    for (size_t i = 0; o->strip_punctuation && i < *n; ++i)
        if (!is_punctuation(&words[i])) ++kept;
    if (kept) {
        kept = 0;
        for (size_t i = 0; i < *n; ++i)
            if (!is_punctuation(&words[i])) words[kept++] = words[i];
        *n = kept;
    }
    if (truncate && *n > (size_t)truncate) *n = (size_t)truncate;
}

// The texts of a found example, each chosen from.
typedef struct {
    int texts;
    word_t *words[2];
    size_t n[2];
} texts_t;

static bool splits_words(const pass_t *p) {
    const bpt_vocab_t *v = p->counted ? p->counted : p->vocab;
    return v && bpt_unit_of(bpt_vocab_unit(v))->pieces;
}

static texts_t texts_of(const pass_t *p, const bpt_found_t *f) {
    const bpt_examples_options_t *o = p->reader.options;
    const int64_t truncate = splits_words(p) ? 0 : o->truncate;
    texts_t t = {.texts = o->texts == 2 ? 2 : 1, .words = {(word_t *)f->words, (word_t *)f->words + f->second}};
    t.n[0] = t.texts == 2 ? f->second : f->n_words;
    t.n[1] = f->n_words - f->second;
    if (f->tags) {  // every word has a label: only the end can be left out
        if (truncate && t.n[0] > (size_t)truncate) t.n[0] = (size_t)truncate;
        return t;
    }
    for (int i = 0; i < t.texts; ++i) choose_words(o, truncate, t.words[i], &t.n[i]);
    return t;
}

// Whether nodes and words of the example have labels that count.
static bool labels_vertices(const pass_t *p, const bpt_found_t *f) { return p->reader.options->vertex_labels && f->nodes; }

// ---- First pass

static bpt_status_t scan(void *user, const bpt_found_t *f) {
    pass_t *p = user;
    const texts_t t = texts_of(p, f);
    if (p->collected && f->label && !p->reader.options->numbers) {
        const word_t label = bpt_reader_trim(*f->label);
        BPT_TRY(bpt_labels_add(p->collected, f->where, &label));
    }
    for (size_t i = 0; p->collected && labels_vertices(p, f) && i < f->n_nodes; ++i)
        if (f->nodes[i].label.data) BPT_TRY(bpt_labels_add(p->collected, f->where, &f->nodes[i].label));
    for (size_t i = 0; p->collected && labels_vertices(p, f) && i < t.n[0]; ++i)
        if (f->word_labels[i].data) BPT_TRY(bpt_labels_add(p->collected, f->where, &f->word_labels[i]));
    for (size_t i = 0; p->collected && f->tags && i < t.n[0]; ++i) {
        const bpt_range_t place = bpt_reader_place(f, i);
        BPT_TRY(bpt_labels_add(p->collected, &place, &f->tags[i]));
    }
    for (int k = 0; p->counted && k < t.texts; ++k) BPT_TRY(bpt_vocab_count_words(p->counted, f->where, t.words[k], t.n[k]));
    return BPT_OK;
}

bpt_status_t bpt_examples_scan(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_vocab_t *vocab, bpt_labels_t *labels) {
    pass_t p = {.reader = {.options = options, .visit = scan, .user = &p},
                .counted = vocab && bpt_unit_of(bpt_vocab_unit(vocab))->words ? vocab : NULL,
                .collected = labels};
    return bpt_reader_run(&p.reader, text);
}

// ---- Second pass

static bpt_status_t take_unknown(pass_t *p, const bpt_range_t *where, const word_t *label, uint32_t *class) {
    bpt_examples_t *e = p->out;
    BPT_TRY(bpt_labels_other(p->reader.options->others, where, label, class));
    if (e->labels.n_unknown++) return BPT_OK;
    e->labels.unknown_line = where->line;
    e->labels.first_unknown = *class;
    return BPT_OK;
}

// Blanks around a label are no part of it. Runs of versions for which they were have such labels: these come first.
static bpt_status_t find_class(pass_t *p, const bpt_range_t *where, const word_t *label, uint32_t *class) {
    *class = BPT_NO_LABEL;
    if (!label || !p->labels || bpt_labels_find(p->labels, label, class)) return BPT_OK;
    const word_t trimmed = bpt_reader_trim(*label);
    if (bpt_labels_find(p->labels, &trimmed, class)) return BPT_OK;
    if (p->reader.options->others) return take_unknown(p, where, &trimmed, class);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: label '%s' is not one of the %zu that the model knows", where->path,
                    (unsigned long long)where->line, bpt_show(trimmed.data, trimmed.bytes).text, p->labels->count);
}

static bpt_status_t read_number(const bpt_range_t *where, const word_t *label, float *out) {
    const word_t number = label ? bpt_reader_trim(*label) : (word_t){0};
    const char *remedy = where->line == 1 ? "; --header leaves out a first line that names the columns" : "";
    if (!label) return bpt_reader_fail(where, "no number in the label column");
    if (bpt_reader_number(&number, out)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' in the label column is not a finite number%s", where->path,
                    (unsigned long long)where->line, bpt_show(number.data, number.bytes).text, remedy);
}

// ---- Character n-grams

enum { MOST_CHARACTERS = 256 };  // of a word, the signs at its ends included; what is longer is read up to there

// Byte places of the characters of ^word$, in `text`; returns how many there are.
static size_t mark_ends(const word_t *word, char *text, size_t starts[MOST_CHARACTERS + 1]) {
    size_t n = 0, used = 0;
    text[0] = '^';
    starts[n++] = used++;
    for (size_t i = 0; i < word->bytes && n + 1 < MOST_CHARACTERS;) {
        uint32_t c;
        const int bytes = bpt_utf8_next(word->data + i, word->bytes - i, &c);
        const size_t step = bytes > 0 ? (size_t)bytes : 1;
        memcpy(text + used, word->data + i, step);
        starts[n++] = used;
        used += step, i += step;
    }
    text[used] = '$';
    starts[n++] = used++;
    starts[n] = used;
    return n;
}

static bpt_status_t add_ngrams(const bpt_examples_options_t *o, const word_t *word, bpt_examples_t *e) {
    char text[4 * MOST_CHARACTERS];
    size_t starts[MOST_CHARACTERS + 1];
    BPT_TRY(bpt_grow(&e->bags.offsets, e->n_tokens + 1, &e->bags.offset_capacity, sizeof *e->bags.offsets));
    if (e->n_tokens == 0) e->bags.offsets[0] = 0;
    uint64_t count = e->bags.offsets[e->n_tokens];
    const size_t n = mark_ends(word, text, starts);
    for (size_t length = (size_t)o->ngram_min; length <= (size_t)o->ngram_max; ++length)
        for (size_t i = 0; i + length <= n; ++i) {
            BPT_TRY(bpt_grow(&e->bags.items, count, &e->bags.capacity, sizeof *e->bags.items));
            e->bags.items[count++] = (uint32_t)(XXH3_64bits(text + starts[i], starts[i + length] - starts[i]) % (uint64_t)o->ngram_rows);
        }
    e->bags.offsets[e->n_tokens + 1] = count;
    return BPT_OK;
}

static bpt_status_t add_token(void *user, uint32_t id) {
    bpt_examples_t *e = user;
    BPT_TRY(bpt_grow(&e->tokens, e->n_tokens, &e->token_capacity, sizeof *e->tokens));
    e->tokens[e->n_tokens++] = id;
    return BPT_OK;
}

// What a word has beside its token: n-grams of its characters, a label.
static bpt_status_t add_word(pass_t *p, const bpt_found_t *f, const word_t *words, size_t i) {
    bpt_examples_t *e = p->out;
    const bpt_range_t place = bpt_reader_place(f, i);
    if (p->reader.options->ngram_max) BPT_TRY(add_ngrams(p->reader.options, &words[i], e));
    if (f->tags || e->labels.per_token) {
        BPT_TRY(bpt_grow(&e->labels.of, e->n_tokens, &e->labels.capacity, sizeof *e->labels.of));
        BPT_TRY(find_class(p, &place, f->tags ? &f->tags[i] : NULL, &e->labels.of[e->n_tokens]));
    }
    return bpt_vocab_encode_words(p->vocab, &place, &words[i], 1, add_token, e);
}

// ---- Trees

static bpt_status_t label_token(bpt_examples_t *e, uint64_t token, uint32_t label) {
    BPT_TRY(bpt_grow(&e->trees.token_labels, (size_t)token, &e->trees.token_label_capacity, sizeof *e->trees.token_labels));
    e->trees.token_labels[token] = label;
    return BPT_OK;
}

static bpt_status_t class_of(pass_t *p, const bpt_found_t *f, const word_t *label, uint32_t *class) {
    return find_class(p, f->where, p->reader.options->vertex_labels && label->data ? label : NULL, class);
}

// The nodes over the words of a text.
static bpt_status_t find_nodes(pass_t *p, const bpt_found_t *f, size_t n_words, bpt_nodes_t *of_words) {
    if (p->reader.options->made != BPT_TREES_FILE) return bpt_trees_make(p->reader.options->made, (uint32_t)n_words, of_words);
    if (!f->nodes) return bpt_reader_fail(f->where, "no tree over this text");
    for (size_t i = 0; i < f->n_nodes; ++i) {
        uint32_t class;
        BPT_TRY(class_of(p, f, &f->nodes[i].label, &class));
        BPT_TRY(bpt_nodes_add(of_words, (uint32_t)f->nodes[i].first, (uint32_t)f->nodes[i].end, class));
    }
    return BPT_OK;
}

// Word by word, as each has a place in the tree. classes[i] is that of word i, whose tokens are first[i] .. first[i + 1] - 1; where it has
// several, the class is that of the node over them.
static bpt_status_t add_tree_words(pass_t *p, const bpt_found_t *f, const word_t *words, size_t n_words, uint32_t *first,
                                   uint32_t *classes) {
    bpt_examples_t *e = p->out;
    const uint64_t before = e->n_tokens;
    for (size_t i = 0; i < n_words; ++i) {
        classes[i] = BPT_NO_LABEL;
        BPT_TRY(add_word(p, f, words, i));
        first[i + 1] = (uint32_t)(e->n_tokens - before);
        if (f->nodes) BPT_TRY(class_of(p, f, &f->word_labels[i], &classes[i]));
        for (uint32_t t = first[i]; t < first[i + 1]; ++t)
            BPT_TRY(label_token(e, before + t, first[i + 1] - first[i] == 1 ? classes[i] : BPT_NO_LABEL));
    }
    return BPT_OK;
}

static bpt_status_t add_tree_text(pass_t *p, const bpt_found_t *f, const word_t *words, size_t n_words) {
    bpt_nodes_t of_words = {0};
    uint32_t *first;
    BPT_TRY(bpt_alloc(2 * n_words + 1, sizeof *first, &first));
    uint32_t *classes = first + n_words + 1;
    bpt_status_t status = add_tree_words(p, f, words, n_words, first, classes);
    if (status == BPT_OK) status = find_nodes(p, f, n_words, &of_words);
    if (status == BPT_OK) status = bpt_trees_split_words(f->where, &of_words, first, classes, &p->out->trees.nodes);
    bpt_free(of_words.items);
    bpt_free(first);
    return status;
}

static bpt_status_t add_text(pass_t *p, const bpt_found_t *f, const word_t *words, size_t n_words) {
    const bpt_examples_options_t *o = p->reader.options;
    bpt_examples_t *e = p->out;
    const uint64_t before = e->n_tokens;
    if (o->trees)
        BPT_TRY(add_tree_text(p, f, words, n_words));
    else if (splits_words(p))
        BPT_TRY(bpt_vocab_encode_words(p->vocab, f->where, words, n_words, add_token, e));
    else
        for (size_t i = 0; i < n_words; ++i) BPT_TRY(add_word(p, f, words, i));
    if (o->truncate && e->n_tokens - before > (uint64_t)o->truncate) e->n_tokens = before + (uint64_t)o->truncate;
    if (!o->longest || e->n_tokens - before <= (uint64_t)o->longest) return bpt_room_check(&o->room, f->where, e->n_tokens - before);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %llu tokens, more than --max-length %lld", f->where->path,
                    (unsigned long long)f->where->line, (unsigned long long)(e->n_tokens - before), (long long)o->longest);
}

static bpt_status_t make_room(bpt_examples_t *e) {
    if (e->count < e->capacity) return BPT_OK;
    const size_t wanted = e->capacity ? e->capacity * 2 : 256, texts = e->texts == 2 ? 2 : 1;
    if (!e->labels.per_token && !e->values.has) BPT_TRY(bpt_realloc(&e->labels.of, wanted, sizeof *e->labels.of));
    if (e->values.has) BPT_TRY(bpt_realloc(&e->values.of, wanted, sizeof *e->values.of));
    BPT_TRY(bpt_realloc(&e->offsets, texts * wanted + 1, sizeof *e->offsets));
    if (e->trees.has) BPT_TRY(bpt_realloc(&e->trees.offsets, texts * wanted + 1, sizeof *e->trees.offsets));
    e->capacity = wanted;
    return BPT_OK;
}

static bpt_status_t read_example(void *user, const bpt_found_t *f) {
    pass_t *p = user;
    bpt_examples_t *e = p->out;
    const texts_t t = texts_of(p, f);
    BPT_TRY(make_room(e));
    if (e->values.has) BPT_TRY(read_number(f->where, f->label, &e->values.of[e->count]));
    if (!e->values.has && !e->labels.per_token) BPT_TRY(find_class(p, f->where, f->label, &e->labels.of[e->count]));
    for (int i = 0; i < t.texts; ++i) {
        BPT_TRY(add_text(p, f, t.words[i], t.n[i]));
        e->offsets[e->count * (uint64_t)t.texts + (uint64_t)i + 1] = e->n_tokens;
        if (e->trees.has) e->trees.offsets[e->count * (uint64_t)t.texts + (uint64_t)i + 1] = e->trees.nodes.count;
    }
    ++e->count;
    return BPT_OK;
}

bpt_status_t bpt_examples_add(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                              const bpt_labels_t *labels, bpt_examples_t *examples) {
    const uint64_t count = examples->count;
    pass_t p = {.reader = {.options = options, .visit = read_example, .user = &p}, .vocab = vocab, .labels = labels, .out = examples};
    examples->texts = options->texts;
    examples->labels.per_token = options->per_token;
    examples->labels.has = !options->numbers;
    examples->values.has = options->numbers;
    examples->values.columns = options->numbers ? 1 : 0;
    examples->bags.has = options->ngram_max > 0;
    examples->trees.has = options->trees;
    examples->labels.classes = options->others ? (uint32_t)options->others->count : 0;
    if (!examples->offsets) BPT_TRY(bpt_alloc(1, sizeof *examples->offsets, &examples->offsets));
    if (options->trees && !examples->trees.offsets) BPT_TRY(bpt_alloc(1, sizeof *examples->trees.offsets, &examples->trees.offsets));
    const bpt_status_t status = bpt_reader_run(&p.reader, text);
    if (status == BPT_OK && p.reader.n_empty && !examples->n_empty) examples->empty_line = p.reader.empty_line;
    if (status == BPT_OK) examples->n_empty += p.reader.n_empty;
    if (status == BPT_OK) return BPT_OK;
    examples->count = count;
    examples->n_tokens = examples->offsets[count * (options->texts == 2 ? 2 : 1)];
    if (options->trees) examples->trees.nodes.count = examples->trees.offsets[count * (options->texts == 2 ? 2 : 1)];
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
