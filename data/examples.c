// The store of examples and both passes over a text (examples.h). Readers (data/readers) find examples, which are counted or kept here.
#include "data/examples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/readers/reader.h"
#include "data/trees.h"
#include <xxhash.h>

typedef bpt_word_t word_t;

typedef struct pass {
    bpt_reader_t reader;
    bpt_status_t (*take)(struct pass *pass, const bpt_found_t *found);
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

// ---- What readers share

bpt_status_t bpt_reader_fail(const bpt_range_t *where, const char *what) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %s", where->path, (unsigned long long)where->line, what);
}
static bpt_status_t at(const bpt_range_t *where, const char *what) { return bpt_reader_fail(where, what); }

bpt_status_t bpt_reader_push(bpt_reader_t *r, const char *data, size_t bytes) {
    BPT_TRY(bpt_grow(&r->words, r->n_words, &r->word_capacity, sizeof *r->words));
    r->words[r->n_words++] = (word_t){data, bytes};
    return BPT_OK;
}

bpt_status_t bpt_reader_push_tag(bpt_reader_t *r, size_t word, const char *data, size_t bytes) {
    BPT_TRY(bpt_grow(&r->tags, word, &r->tag_capacity, sizeof *r->tags));
    r->tags[word] = (word_t){data, bytes};
    return BPT_OK;
}

bpt_status_t bpt_reader_push_line(bpt_reader_t *r, size_t word, uint64_t line) {
    BPT_TRY(bpt_grow(&r->lines, word, &r->line_capacity, sizeof *r->lines));
    r->lines[word] = line;
    return BPT_OK;
}

bpt_status_t bpt_reader_push_words(bpt_reader_t *r, bpt_range_t text) {
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&text, &bytes));) BPT_TRY(bpt_reader_push(r, word, bytes));
    return BPT_OK;
}

void bpt_reader_end_item(bpt_reader_t *r) {
    r->item += r->visited;
    r->visited = false;
}

bpt_status_t bpt_reader_lines(bpt_reader_t *r, const bpt_range_t *text, bpt_status_t (*read)(bpt_reader_t *r, const bpt_range_t *line)) {
    bpt_range_t rest = *text, line;
    bpt_open_tree_t open = {0};
    while ((r->found = bpt_examples_next(r->options, &rest, false, &open, &line)) != BPT_LINES_NONE) {
        if (line.bytes == 0 && rest.bytes == 0 && line.line > text->line) break;  // an empty last line
        BPT_TRY(bpt_examples_check_lines(&line));
        BPT_TRY(read(r, &line));
        bpt_reader_end_item(r);
    }
    return BPT_OK;
}

static bpt_read_t *const readers[] = {
#define BPT_READER(id, name, brackets) [BPT_FORM_##id] = bpt_read_##name,
#include "data/readers/readers.def"
#undef BPT_READER
};

// Examples of other parts are passed over.
static bpt_status_t visit(void *user, const bpt_found_t *f) {
    pass_t *p = user;
    const bpt_cut_t *cut = p->reader.options->cut;
    p->reader.visited = true;
    return !cut || cut->part[p->reader.item] == p->reader.options->part ? p->take(p, f) : BPT_OK;
}

static bpt_status_t parse(pass_t *p, const bpt_range_t *text) {
    bpt_status_t status = bpt_range_check_utf8(text);
    p->reader.visit = visit;
    p->reader.user = p;
    if (status == BPT_OK) status = readers[p->reader.options->form](&p->reader, text);
    bpt_free(p->reader.words);
    bpt_free(p->reader.tags);
    bpt_free(p->reader.lines);
    return status;
}

// ---- Which part each has

// The classes of the examples so far, by the order in which they are first met.
typedef struct {
    pass_t pass;
    bpt_labels_t names;
    uint32_t *class;
    uint64_t count;
    size_t capacity;
    bool labelled;  // at least one of them
} survey_t;

// The whole of a tree comes last of its phrases, and is what counts.
static bpt_status_t see(pass_t *p, const bpt_found_t *f) {
    survey_t *s = (survey_t *)p;
    if (p->reader.item == s->count) BPT_TRY(bpt_grow(&s->class, (size_t)s->count, &s->capacity, sizeof *s->class));
    s->class[p->reader.item] = 0;
    s->count = p->reader.item + 1;
    if (!f->label || p->reader.options->numbers) return BPT_OK;
    s->labelled = true;
    BPT_TRY(bpt_labels_add(&s->names, f->where, f->label));
    return bpt_labels_find(&s->names, f->label, &s->class[p->reader.item]) ? BPT_OK : BPT_ERR_INPUT;
}

bpt_status_t bpt_examples_cut(const bpt_range_t *text, const bpt_examples_options_t *options, uint64_t seed, bpt_cut_t *cut) {
    survey_t s = {.pass = {.reader = {.options = options}, .take = see}};
    bpt_status_t status = parse(&s.pass, text);
    *cut = (bpt_cut_t){0};
    if (status == BPT_OK) status = bpt_cut_make(text->path, s.count, s.labelled ? s.class : NULL, s.names.count, seed, cut);
    bpt_labels_free(&s.names);
    bpt_free(s.class);
    return status;
}

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

// Where word i stands.
static bpt_range_t place_of(const bpt_found_t *f, size_t i) {
    bpt_range_t place = *f->where;
    if (f->lines) place.line = f->lines[i];
    return place;
}

// Whether nodes and words of the example have labels that count.
static bool labels_vertices(const pass_t *p, const bpt_found_t *f) { return p->reader.options->vertex_labels && f->nodes; }

// ---- First pass

static bpt_status_t scan(pass_t *p, const bpt_found_t *f) {
    const texts_t t = texts_of(p, f);
    if (p->collected && f->label && !p->reader.options->numbers) BPT_TRY(bpt_labels_add(p->collected, f->where, f->label));
    for (size_t i = 0; p->collected && labels_vertices(p, f) && i < f->n_nodes; ++i)
        if (f->nodes[i].label.data) BPT_TRY(bpt_labels_add(p->collected, f->where, &f->nodes[i].label));
    for (size_t i = 0; p->collected && labels_vertices(p, f) && i < t.n[0]; ++i)
        if (f->word_labels[i].data) BPT_TRY(bpt_labels_add(p->collected, f->where, &f->word_labels[i]));
    for (size_t i = 0; p->collected && f->tags && i < t.n[0]; ++i) {
        const bpt_range_t place = place_of(f, i);
        BPT_TRY(bpt_labels_add(p->collected, &place, &f->tags[i]));
    }
    for (int k = 0; p->counted && k < t.texts; ++k) BPT_TRY(bpt_vocab_count_words(p->counted, f->where, t.words[k], t.n[k]));
    return BPT_OK;
}

bpt_status_t bpt_examples_scan(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_vocab_t *vocab, bpt_labels_t *labels) {
    pass_t p = {.reader = {.options = options},
                .take = scan,
                .counted = vocab && bpt_unit_of(bpt_vocab_unit(vocab))->words ? vocab : NULL,
                .collected = labels};
    return parse(&p, text);
}

// ---- Second pass

static bpt_status_t take_unknown(pass_t *p, const bpt_range_t *where, const word_t *label, uint32_t *class) {
    bpt_examples_t *e = p->out;
    BPT_TRY(bpt_labels_other(p->reader.options->others, where, label, class));
    if (e->n_unknown++) return BPT_OK;
    e->unknown_line = where->line;
    e->first_unknown = *class;
    return BPT_OK;
}

static bpt_status_t find_class(pass_t *p, const bpt_range_t *where, const word_t *label, uint32_t *class) {
    *class = BPT_NO_LABEL;
    if (!label || !p->labels || bpt_labels_find(p->labels, label, class)) return BPT_OK;
    if (p->reader.options->others) return take_unknown(p, where, label, class);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: label '%s' is not one of the %zu that the model knows", where->path,
                    (unsigned long long)where->line, bpt_show(label->data, label->bytes).text, p->labels->count);
}

static bpt_status_t read_number(const bpt_range_t *where, const word_t *word, float *out) {
    char text[64], *end;
    if (!word || word->bytes == 0 || word->bytes >= sizeof text) return at(where, "no number in the label column");
    memcpy(text, word->data, word->bytes);
    text[word->bytes] = 0;
    *out = strtof(text, &end);
    if (end != text + word->bytes || !isfinite(*out))
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' in the label column is not a finite number", where->path,
                        (unsigned long long)where->line, bpt_show(word->data, word->bytes).text);
    return BPT_OK;
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
    BPT_TRY(bpt_grow(&e->bag_offsets, e->n_tokens + 1, &e->bag_offset_capacity, sizeof *e->bag_offsets));
    if (e->n_tokens == 0) e->bag_offsets[0] = 0;
    uint64_t count = e->bag_offsets[e->n_tokens];
    const size_t n = mark_ends(word, text, starts);
    for (size_t length = (size_t)o->ngram_min; length <= (size_t)o->ngram_max; ++length)
        for (size_t i = 0; i + length <= n; ++i) {
            BPT_TRY(bpt_grow(&e->bags, count, &e->bag_capacity, sizeof *e->bags));
            e->bags[count++] = (uint32_t)(XXH3_64bits(text + starts[i], starts[i + length] - starts[i]) % (uint64_t)o->ngram_rows);
        }
    e->bag_offsets[e->n_tokens + 1] = count;
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
    const bpt_range_t place = place_of(f, i);
    if (p->reader.options->ngram_max) BPT_TRY(add_ngrams(p->reader.options, &words[i], e));
    if (f->tags || e->per_token) {
        BPT_TRY(bpt_grow(&e->labels, e->n_tokens, &e->label_capacity, sizeof *e->labels));
        BPT_TRY(find_class(p, &place, f->tags ? &f->tags[i] : NULL, &e->labels[e->n_tokens]));
    }
    return bpt_vocab_encode_words(p->vocab, &place, &words[i], 1, add_token, e);
}

// ---- Trees

static bpt_status_t label_token(bpt_examples_t *e, uint64_t token, uint32_t label) {
    BPT_TRY(bpt_grow(&e->token_labels, (size_t)token, &e->token_label_capacity, sizeof *e->token_labels));
    e->token_labels[token] = label;
    return BPT_OK;
}

static bpt_status_t class_of(pass_t *p, const bpt_found_t *f, const word_t *label, uint32_t *class) {
    return find_class(p, f->where, p->reader.options->vertex_labels && label->data ? label : NULL, class);
}

// The nodes over the words of a text.
static bpt_status_t find_nodes(pass_t *p, const bpt_found_t *f, size_t n_words, bpt_nodes_t *of_words) {
    if (p->reader.options->made != BPT_TREES_FILE) return bpt_trees_make(p->reader.options->made, (uint32_t)n_words, of_words);
    if (!f->nodes) return at(f->where, "no tree over this text");
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
    if (status == BPT_OK) status = bpt_trees_split_words(f->where, &of_words, first, classes, &p->out->nodes);
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
    if (!e->per_token && !e->value_columns) BPT_TRY(bpt_realloc(&e->labels, wanted, sizeof *e->labels));
    if (e->value_columns) BPT_TRY(bpt_realloc(&e->values, wanted, sizeof *e->values));
    BPT_TRY(bpt_realloc(&e->offsets, texts * wanted + 1, sizeof *e->offsets));
    if (e->trees) BPT_TRY(bpt_realloc(&e->node_offsets, texts * wanted + 1, sizeof *e->node_offsets));
    e->capacity = wanted;
    return BPT_OK;
}

static bpt_status_t read_example(pass_t *p, const bpt_found_t *f) {
    bpt_examples_t *e = p->out;
    const texts_t t = texts_of(p, f);
    BPT_TRY(make_room(e));
    if (e->value_columns) BPT_TRY(read_number(f->where, f->label, &e->values[e->count]));
    if (!e->value_columns && !e->per_token) BPT_TRY(find_class(p, f->where, f->label, &e->labels[e->count]));
    for (int i = 0; i < t.texts; ++i) {
        BPT_TRY(add_text(p, f, t.words[i], t.n[i]));
        e->offsets[e->count * (uint64_t)t.texts + (uint64_t)i + 1] = e->n_tokens;
        if (e->trees) e->node_offsets[e->count * (uint64_t)t.texts + (uint64_t)i + 1] = e->nodes.count;
    }
    ++e->count;
    return BPT_OK;
}

bpt_status_t bpt_examples_add(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_vocab_t *vocab,
                              const bpt_labels_t *labels, bpt_examples_t *examples) {
    const uint64_t count = examples->count;
    pass_t p = {.reader = {.options = options}, .take = read_example, .vocab = vocab, .labels = labels, .out = examples};
    examples->texts = options->texts;
    examples->per_token = options->form == BPT_FORM_TAGGED || options->form == BPT_FORM_CONLL;
    examples->value_columns = options->numbers ? 1 : 0;
    examples->trees = options->trees;
    examples->classes = options->others ? (uint32_t)options->others->count : 0;
    if (!examples->offsets) BPT_TRY(bpt_alloc(1, sizeof *examples->offsets, &examples->offsets));
    if (options->trees && !examples->node_offsets) BPT_TRY(bpt_alloc(1, sizeof *examples->node_offsets, &examples->node_offsets));
    const bpt_status_t status = parse(&p, text);
    if (status == BPT_OK) return BPT_OK;
    examples->count = count;
    examples->n_tokens = examples->offsets[count * (options->texts == 2 ? 2 : 1)];
    if (options->trees) examples->nodes.count = examples->node_offsets[count * (options->texts == 2 ? 2 : 1)];
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

// What a reader finds, for somebody else.
typedef struct {
    pass_t pass;
    bpt_take_words_t *take;
    void *user;
} listing_t;

static bpt_status_t list_words(pass_t *p, const bpt_found_t *f) {
    const listing_t *l = (const listing_t *)p;
    return l->take(l->user, f->words, f->n_words);
}

bpt_status_t bpt_examples_words(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_take_words_t *take, void *user) {
    listing_t l = {.pass = {.reader = {.options = options}, .take = list_words}, .take = take, .user = user};
    return parse(&l.pass, text);
}

typedef struct {
    pass_t pass;
    const word_t *tag;
    uint64_t line;  // 0: not found yet
} search_t;

static bpt_status_t search_tag(pass_t *p, const bpt_found_t *f) {
    search_t *s = (search_t *)p;
    for (size_t i = 0; f->tags && i < f->n_words && !s->line; ++i)
        if (f->tags[i].bytes == s->tag->bytes && !memcmp(f->tags[i].data, s->tag->data, s->tag->bytes)) s->line = place_of(f, i).line;
    return BPT_OK;
}

bpt_status_t bpt_examples_find_tag(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_word_t *tag, uint64_t *line) {
    search_t s = {.pass = {.reader = {.options = options}, .take = search_tag}, .tag = tag};
    const bpt_status_t status = parse(&s.pass, text);
    *line = s.line ? s.line : text->line;
    return status;
}

void bpt_examples_free(bpt_examples_t *e) {
    bpt_free(e->tokens);
    bpt_free(e->offsets);
    bpt_free(e->labels);
    bpt_free(e->numbers);
    bpt_free(e->bags);
    bpt_free(e->bag_offsets);
    bpt_free(e->values);
    bpt_free(e->target.tokens);
    bpt_free(e->target.offsets);
    bpt_free(e->windows);
    bpt_free(e->nodes.items);
    bpt_free(e->node_offsets);
    bpt_free(e->token_labels);
    *e = (bpt_examples_t){0};
}
