// Passes over examples that keep none of them (examples.h).
#include "bpt/alloc.h"
#include "data/readers/reader.h"

// ---- Which part each example has

// The classes of the examples so far, by the order in which they are first met.
typedef struct {
    bpt_reader_t reader;
    bpt_labels_t names;
    uint32_t *class;
    uint64_t count;
    size_t capacity;
    bool labelled;  // at least one of them
} survey_t;

// The whole of a tree comes last of its phrases, and is what counts.
static bpt_status_t see(void *user, const bpt_found_t *f) {
    survey_t *s = user;
    if (s->reader.item == s->count) BPT_TRY(bpt_grow(&s->class, (size_t)s->count, &s->capacity, sizeof *s->class));
    s->class[s->reader.item] = 0;
    s->count = s->reader.item + 1;
    if (!f->label || s->reader.options->numbers) return BPT_OK;
    s->labelled = true;
    const bpt_word_t label = bpt_reader_trim(*f->label);
    BPT_TRY(bpt_labels_add(&s->names, f->where, &label));
    return bpt_labels_find(&s->names, &label, &s->class[s->reader.item]) ? BPT_OK : BPT_ERR_INPUT;
}

// seed NULL: in order.
static bpt_status_t cut_examples(const bpt_range_t *text, const bpt_examples_options_t *options, const uint64_t *seed, bpt_cut_t *cut) {
    survey_t s = {.reader = {.options = options, .visit = see, .user = &s}};
    bpt_status_t status = bpt_reader_run(&s.reader, text);
    *cut = (bpt_cut_t){0};
    if (status == BPT_OK && !seed) status = bpt_cut_make_in_order(text->path, s.count, cut);
    if (status == BPT_OK && seed) status = bpt_cut_make(text->path, s.count, s.labelled ? s.class : NULL, s.names.count, *seed, cut);
    bpt_labels_free(&s.names);
    bpt_free(s.class);
    return status;
}

bpt_status_t bpt_examples_cut(const bpt_range_t *text, const bpt_examples_options_t *options, uint64_t seed, bpt_cut_t *cut) {
    return cut_examples(text, options, &seed, cut);
}

bpt_status_t bpt_examples_cut_in_order(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_cut_t *cut) {
    return cut_examples(text, options, NULL, cut);
}

// ---- Words and tags, for somebody else

typedef struct {
    bpt_take_words_t *take;
    void *user;
} listing_t;

static bpt_status_t list_words(void *user, const bpt_found_t *f) {
    const listing_t *l = user;
    return l->take(l->user, f->words, f->n_words);
}

bpt_status_t bpt_examples_words(const bpt_range_t *text, const bpt_examples_options_t *options, bpt_take_words_t *take, void *user) {
    listing_t l = {take, user};
    return bpt_reader_run(&(bpt_reader_t){.options = options, .visit = list_words, .user = &l}, text);
}

typedef struct {
    const bpt_word_t *tag;
    uint64_t line;  // 0: not found yet
} search_t;

static bpt_status_t search_tag(void *user, const bpt_found_t *f) {
    search_t *s = user;
    for (size_t i = 0; f->tags && i < f->n_words && !s->line; ++i)
        if (bpt_word_same(&f->tags[i], s->tag)) s->line = bpt_reader_place(f, i).line;
    return BPT_OK;
}

bpt_status_t bpt_examples_find_tag(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_word_t *tag, uint64_t *line) {
    search_t s = {.tag = tag};
    const bpt_status_t status = bpt_reader_run(&(bpt_reader_t){.options = options, .visit = search_tag, .user = &s}, text);
    *line = s.line ? s.line : text->line;
    return status;
}
