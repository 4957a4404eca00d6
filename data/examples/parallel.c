// Texts and their translations (see parallel.h).
#include "data/examples/parallel.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/tree_text.h"
#include "data/readers/reader.h"

// A line of each side, as words.
typedef struct {
    bpt_range_t where[2];
    bpt_range_t tree;  // data NULL: none
    bpt_reader_t words[2];
} lines_t;

// What is done with the lines. Both get `user`.
typedef struct {
    bpt_status_t (*take)(void *user, const lines_t *lines);
    bpt_status_t (*end_document)(void *user);
    void *user;
} visitor_t;

// ---- Lines that belong together

static bpt_status_t split_line(lines_t *l) {
    bpt_range_t *source = &l->where[0], *target = &l->where[1];
    const char *tab = source->bytes ? memchr(source->data, '\t', source->bytes) : NULL;
    *target = *source;
    if (!tab) {
        target->bytes = 0;
        return source->bytes ? bpt_reader_fail(source, "no tab; a line is source<TAB>target") : BPT_OK;
    }
    source->bytes = (uint64_t)(tab - source->data);
    target->data = tab + 1;
    target->bytes -= source->bytes + 1;
    if (!memchr(target->data, '\t', target->bytes)) return BPT_OK;
    return bpt_reader_fail(source, "more than one tab; a line is source<TAB>target");
}

static bpt_status_t unequal(const bpt_parallel_t *pair, const lines_t *l, int longer) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has no counterpart: %s ends before it; both files need the same number of lines",
                    pair->text[longer].path, (unsigned long long)l->where[longer].line, pair->text[!longer].path);
}

// The next lines off the front of both texts; *end: there are none.
static bpt_status_t next_lines(const bpt_parallel_t *pair, bpt_range_t rest[2], lines_t *l, bool *end) {
    const bool first = bpt_range_next_line(&rest[0], &l->where[0]);
    *end = !first;
    if (first) bpt_line_skip_mark(&l->where[0]);
    if (first) BPT_TRY(bpt_range_check_line(&l->where[0]));
    if (!pair->text[1].data) return first ? split_line(l) : BPT_OK;
    const bool second = bpt_range_next_line(&rest[1], &l->where[1]);
    if (first != second) return unequal(pair, l, second);
    if (second) bpt_line_skip_mark(&l->where[1]);
    return second ? bpt_range_check_line(&l->where[1]) : BPT_OK;
}

static bpt_status_t visit(const lines_t *l, const visitor_t *v) {
    const bool empty[] = {l->words[0].n_words == 0, l->words[1].n_words == 0};
    if (empty[0] && empty[1]) return v->end_document(v->user);
    if (!empty[0] && !empty[1]) return v->take(v->user, l);
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %llu: the %s is empty, its %s is not; give it a text, or leave both empty where a document ends",
                    l->where[empty[1]].path, (unsigned long long)l->where[empty[1]].line, empty[1] ? "target" : "source",
                    empty[1] ? "source" : "target");
}

static bpt_status_t walk_lines(const bpt_parallel_t *pair, const visitor_t *v, lines_t *l) {
    bpt_range_t rest[] = {pair->text[0], pair->text[1]}, trees = pair->trees;
    for (bool end = false;;) {
        BPT_TRY(next_lines(pair, rest, l, &end));
        if (end && pair->trees.data) BPT_TRY(bpt_tree_text_end(&trees, l->where[0].line));
        if (end) return v->end_document(v->user);
        for (int side = 0; side < 2; ++side) {
            l->words[side].n_words = 0;
            BPT_TRY(bpt_reader_push_words(&l->words[side], l->where[side]));
        }
        if (pair->trees.data) BPT_TRY(bpt_tree_text_next(&trees, &l->where[0], l->words[0].n_words == 0, &l->tree));
        BPT_TRY(visit(l, v));
    }
}

static bpt_status_t walk(const bpt_parallel_t *pair, const visitor_t *v) {
    lines_t l = {0};
    BPT_TRY(bpt_range_check_utf8(&pair->text[0]));
    if (pair->text[1].data) BPT_TRY(bpt_range_check_utf8(&pair->text[1]));
    if (pair->trees.data) BPT_TRY(bpt_range_check_utf8(&pair->trees));
    const bpt_status_t status = walk_lines(pair, v, &l);
    for (int side = 0; side < 2; ++side) bpt_free(l.words[side].words);
    return status;
}

// ---- First pass

typedef struct {
    bpt_vocab_t *const *vocab;
    bpt_labels_t *labels;
} scan_t;

static bpt_tree_text_t tree_text_of(const lines_t *l) {
    return (bpt_tree_text_t){
        .where = &l->where[0], .words = l->words[0].words, .n_words = l->words[0].n_words, .tree = l->tree.data ? &l->tree : NULL};
}

static bpt_status_t count(void *user, const lines_t *l) {
    const scan_t *s = user;
    for (int side = 0; side < 2; ++side)
        if (s->vocab[side] && bpt_unit_of(bpt_vocab_unit(s->vocab[side]))->words)
            BPT_TRY(bpt_vocab_count_words(s->vocab[side], &l->where[side], l->words[side].words, l->words[side].n_words));
    if (!s->labels) return BPT_OK;
    const bpt_tree_text_t text = tree_text_of(l);
    return bpt_tree_text_collect(&text, s->vocab[0] && bpt_unit_of(bpt_vocab_unit(s->vocab[0]))->pieces, s->labels);
}

static bpt_status_t ignore_end(void *user) {
    (void)user;
    return BPT_OK;
}

bpt_status_t bpt_parallel_scan(const bpt_parallel_t *pair, bpt_vocab_t *const vocab[2], bpt_labels_t *labels) {
    return walk(pair, &(visitor_t){.take = count, .end_document = ignore_end, .user = &(scan_t){vocab, labels}});
}

// ---- Second pass

// Texts of a side.
typedef struct {
    uint32_t *tokens;
    uint64_t *offsets;
    uint64_t n_tokens;
    size_t token_room, offset_room;
} column_t;

typedef struct {
    const bpt_parallel_options_t *options;
    const bpt_vocab_t *const *vocab;
    column_t side[2];
    uint64_t texts;  // of each side
    bpt_nodes_t nodes;
    uint64_t *node_offsets;
    size_t node_offset_room;
    // Documents
    bpt_window_t *windows;
    size_t n_windows, window_room;
    uint64_t before, open;  // first text of the segment before and of the one that is open; the same where there is none before
    uint64_t open_tokens;   // of its source texts
} reading_t;

static bpt_status_t add_token(void *user, uint32_t id) {
    column_t *c = user;
    BPT_TRY(bpt_grow(&c->tokens, c->n_tokens, &c->token_room, sizeof *c->tokens));
    c->tokens[c->n_tokens++] = id;
    return BPT_OK;
}

static bpt_status_t add_tree_text(reading_t *r, const lines_t *l) {
    bpt_tree_text_t text = tree_text_of(l);
    text.made = r->options->made;
    text.labels = r->options->labels;
    BPT_TRY(bpt_grow(&r->node_offsets, r->texts + 1, &r->node_offset_room, sizeof *r->node_offsets));
    r->node_offsets[0] = 0;
    BPT_TRY(bpt_tree_text_read(&text, r->vocab[0], add_token, &r->side[0], &r->nodes));
    r->node_offsets[r->texts + 1] = r->nodes.count;
    return BPT_OK;
}

static bpt_status_t add_text(reading_t *r, int side, const lines_t *l) {
    column_t *c = &r->side[side];
    const uint64_t before = c->n_tokens, truncate = (uint64_t)r->options->truncate, longest = (uint64_t)r->options->longest;
    const bpt_range_t *where = &l->where[side];
    uint32_t eos;
    const bool tree = side == 0 && r->options->trees;
    if (tree)
        BPT_TRY(add_tree_text(r, l));
    else
        BPT_TRY(bpt_vocab_encode_words(r->vocab[side], where, l->words[side].words, l->words[side].n_words, add_token, c));
    if (!tree && bpt_vocab_end_sign(r->vocab[side], &eos)) BPT_TRY(add_token(c, eos));
    if (truncate && c->n_tokens - before > truncate) {
        c->tokens[before + truncate - 1] = c->tokens[c->n_tokens - 1];
        c->n_tokens = before + truncate;
    }
    if (longest && c->n_tokens - before > longest)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %llu tokens with the end sign, more than --max-length %llu; --truncate cuts them",
                        where->path, (unsigned long long)where->line, (unsigned long long)(c->n_tokens - before),
                        (unsigned long long)longest);
    BPT_TRY(bpt_grow(&c->offsets, r->texts + 1, &c->offset_room, sizeof *c->offsets));
    c->offsets[0] = 0;
    c->offsets[r->texts + 1] = c->n_tokens;
    return BPT_OK;
}

static bpt_status_t close_segment(reading_t *r) {
    BPT_TRY(bpt_grow(&r->windows, r->n_windows, &r->window_room, sizeof *r->windows));
    r->windows[r->n_windows++] = (bpt_window_t){.first = r->before, .own = r->open, .end = r->texts};
    r->before = r->open;
    r->open = r->texts;
    r->open_tokens = 0;
    return BPT_OK;
}

// Each side of what is read together: the last text, and in documents those before it.
static bpt_status_t check_room(const reading_t *r, const lines_t *l) {
    const uint64_t last = r->texts, first = r->options->context_tokens ? r->before : last;
    for (int side = 0; side < 2; ++side) {
        const uint64_t *offsets = r->side[side].offsets;
        bpt_room_t room = r->options->room;
        room.taken = (int64_t)(offsets[last] - offsets[first]);
        room.by = "the lines before it";
        BPT_TRY(bpt_room_check(&room, &l->where[side], offsets[last + 1] - offsets[last]));
    }
    return BPT_OK;
}

static bpt_status_t take(void *user, const lines_t *l) {
    reading_t *r = user;
    for (int side = 0; side < 2; ++side) BPT_TRY(add_text(r, side, l));
    BPT_TRY(check_room(r, l));
    r->open_tokens += r->side[0].offsets[r->texts + 1] - r->side[0].offsets[r->texts];
    ++r->texts;
    const int64_t context = r->options->context_tokens;
    return context && bpt_segment_is_full(r->open_tokens, context) ? close_segment(r) : BPT_OK;
}

static bpt_status_t end_document(void *user) {
    reading_t *r = user;
    if (r->options->context_tokens && r->open < r->texts) BPT_TRY(close_segment(r));
    r->before = r->open = r->texts;
    return BPT_OK;
}

static void give(const reading_t *r, bpt_examples_t *out) {
    *out = (bpt_examples_t){
        .tokens = r->side[0].tokens,
        .offsets = r->side[0].offsets,
        .n_tokens = r->side[0].n_tokens,
        .target = {true, r->side[1].tokens, r->side[1].offsets, r->side[1].n_tokens, 0},
        .windows = {.has = r->windows != NULL, .items = r->windows},
        .trees = {.has = r->options->trees, .named = r->options->labels != NULL, .nodes = r->nodes, .offsets = r->node_offsets},
        .count = r->windows ? r->n_windows : r->texts};
    uint32_t eos;
    if (bpt_vocab_end_sign(r->vocab[1], &eos)) out->target.opening = eos;
}

bpt_status_t bpt_parallel_read(const bpt_parallel_t *pair, const bpt_parallel_options_t *options, const bpt_vocab_t *const vocab[2],
                               bpt_examples_t *out) {
    reading_t r = {.options = options, .vocab = vocab};
    bpt_status_t status = walk(pair, &(visitor_t){.take = take, .end_document = end_document, .user = &r});
    give(&r, out);
    if (status == BPT_OK && r.texts == 0) status = bpt_fail(BPT_ERR_INPUT, "%s: no text in it", pair->text[0].path);
    if (status != BPT_OK) bpt_examples_free(out);
    return status;
}
