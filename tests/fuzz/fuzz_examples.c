// libFuzzer: any bytes as examples in every format: labelled lines, trees, ids, columns with --where, pairs, numbers in place of labels,
// tagged lines, CoNLL, CoNLL-U. What is accepted gives sound examples and batches.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"

static void require(bool condition) {
    if (!condition) abort();
}

static uint64_t texts_of(const bpt_examples_t *e) { return e->texts == 2 ? 2 : 1; }

// What stands in the rows of a text, and its targets where each token has one.
static void check_text(const bpt_examples_t *e, const bpt_batch_t *b, int64_t s, bool train) {
    const bpt_side_t *side = &b->side[0];
    const uint64_t text = b->sequences[s], from = e->offsets[text], length = e->offsets[text + 1] - from;
    require((int64_t)(side->start[s] + side->lengths[s]) <= b->shape.side[0].rows && side->lengths[s] >= 1);
    if (train) return;  // sequences are places in an order
    require(side->lengths[s] == length && !memcmp(side->tokens + side->start[s], e->tokens + from, length * sizeof *e->tokens));
    for (uint64_t i = 0; e->labels.per_token && e->labels.of[from] != BPT_NO_LABEL && i < length; ++i)
        require(b->targets[side->start[s] + i] == e->labels.of[from + i]);
    for (uint64_t i = 0; e->bags.has && i < length; ++i) {
        const uint32_t *range = side->bag_ranges + 2 * (side->start[s] + i);
        require(range[1] - range[0] == e->bags.offsets[from + i + 1] - e->bags.offsets[from + i] && range[1] <= b->shape.side[0].bag);
    }
}

static void check_batches(const bpt_examples_t *examples, uint8_t option, bool train) {
    const bpt_batching_t o = {.batch_examples = option % 5,
                              .batch_tokens = 1 + option,
                              .accumulate = 1,
                              .seed = option,
                              .packed = option & 64,
                              .scores_texts = examples->labels.per_token && option & 128};
    const uint64_t wanted = examples->labels.per_token && !o.scores_texts ? examples->n_tokens : examples->count;
    bpt_batch_source_t *source;
    uint64_t scored = 0, tokens = 0;
    require((train ? bpt_examples_train_source(examples, &o, &source) : bpt_examples_eval_source(examples, &o, &source)) == BPT_OK);
    for (bool end = false; scored < wanted;) {
        bpt_batch_t b;
        require(source->next(source, &b, &end) == BPT_OK && !end);
        for (int64_t s = 0; s < b.n_real; ++s) check_text(examples, &b, s, train);
        bool listed = o.packed;
        for (int64_t i = 0; i < source->n_shapes; ++i) {
            bpt_batch_shape_t shape = source->shapes[i];
            if (b.shape.side[0].bag > shape.side[0].bag) shape.side[0].bag = b.shape.side[0].bag;           // of unusually long words
            if (b.shape.side[0].nodes <= shape.side[0].nodes) shape.side[0].nodes = b.shape.side[0].nodes;  // listed are the most
            if (b.shape.side[0].node_slots <= shape.side[0].node_slots) shape.side[0].node_slots = b.shape.side[0].node_slots;
            listed = listed || bpt_batch_shape_same(&shape, &b.shape);
        }
        require(listed);
        scored += (uint64_t)b.n_scored;
        tokens += (uint64_t)b.n_tokens;
    }
    require(scored == wanted && tokens == examples->n_tokens);
    source->destroy(source);
}

static void check_examples(const bpt_examples_t *e, const bpt_examples_options_t *o, const bpt_vocab_t *vocab, const bpt_labels_t *labels) {
    const uint64_t texts = texts_of(e), n_labels = e->labels.per_token ? e->n_tokens : e->count;
    require(e->count >= 1 && e->offsets[0] == 0 && e->offsets[texts * e->count] == e->n_tokens);
    for (uint64_t t = 0; t < texts * e->count; ++t) {
        require(e->offsets[t] < e->offsets[t + 1]);
        require(!o->longest || (int64_t)(e->offsets[t + 1] - e->offsets[t]) <= o->longest);
        require(!o->truncate || (int64_t)(e->offsets[t + 1] - e->offsets[t]) <= o->truncate);
    }
    if (e->values.has)
        for (uint64_t i = 0; i < e->count * (uint64_t)e->values.columns; ++i) require(isfinite(e->values.of[i]));
    else
        for (uint64_t i = 0; i < n_labels; ++i) require(e->labels.of[i] == BPT_NO_LABEL || !labels || e->labels.of[i] < labels->count);
    if (bpt_vocab_unit(vocab) == BPT_UNIT_WORD)
        for (uint64_t i = 0; i < e->n_tokens; ++i) require((int64_t)e->tokens[i] < bpt_vocab_size(vocab));
    for (uint64_t t = 0; e->trees.has && t < texts * e->count; ++t) {
        const uint64_t n = e->offsets[t + 1] - e->offsets[t];
        require(e->trees.offsets[t] < e->trees.offsets[t + 1] && e->trees.offsets[t + 1] - e->trees.offsets[t] <= n);
        for (uint64_t i = e->trees.offsets[t]; i < e->trees.offsets[t + 1]; ++i)
            require(e->trees.nodes.items[i].first < e->trees.nodes.items[i].end && e->trees.nodes.items[i].end <= n);
        const bpt_example_node_t *root = &e->trees.nodes.items[e->trees.offsets[t + 1] - 1];
        require(root->first == 0 && root->end == n);
    }
    for (uint64_t i = 0; e->bags.has && i < e->bags.offsets[e->n_tokens]; ++i) require(e->bags.items[i] < o->ngram_rows);
}

// Dealt out to three parts, each example is in one of them.
static void check_cut(const bpt_range_t *text, const bpt_examples_options_t *o, uint64_t seed, const bpt_vocab_t *vocab,
                      const bpt_labels_t *labels, const bpt_examples_t *whole) {
    bpt_cut_t cut;
    uint64_t count = 0, tokens = 0;
    const bpt_status_t status = bpt_examples_cut(text, o, seed, &cut);
    require(status == BPT_OK || (status == BPT_ERR_INPUT && (whole->count < 3 || o->subtrees)));  // phrases stay together
    if (status != BPT_OK) return;
    bpt_examples_options_t options = *o;
    options.cut = &cut;
    for (options.part = 0; options.part < BPT_PARTS; ++options.part) {
        bpt_examples_t e;
        if (!memchr(cut.part, options.part, cut.count)) continue;
        require(bpt_examples_read(text, &options, vocab, labels, &e) == BPT_OK);
        count += e.count;
        tokens += e.n_tokens;
        bpt_examples_free(&e);
    }
    require(count == whole->count && tokens == whole->n_tokens);
    bpt_free(cut.part);
}

static void check_header(const bpt_range_t *text, const bpt_examples_options_t *o, const bpt_labels_t *labels) {
    bpt_header_t found;
    bpt_shown_t label;
    require(bpt_examples_check_header(text, o, labels, &found, &label) == BPT_OK);
    require(found == BPT_HEADER_NONE || (found == BPT_HEADER_DOUBTFUL) == o->header);
}

// Every word that a reader finds must survive its file.
static void check_vocab_file(const bpt_vocab_t *vocab, bool lower) {
    bpt_vocab_t *read;
    bpt_strbuf_t text = {.limit = SIZE_MAX / 4};
    if (bpt_vocab_unit(vocab) != BPT_UNIT_WORD) return;
    require(bpt_vocab_format(vocab, &text) == BPT_OK);
    const bpt_range_t range = bpt_range_of("vocab.txt", text.data, text.length);
    require(bpt_vocab_parse(&range, BPT_UNIT_WORD, lower, &read) == BPT_OK);
    require(bpt_vocab_size(read) == bpt_vocab_size(vocab));
    bpt_vocab_destroy(read);
    bpt_strbuf_free(&text);
}

// The next example's lines, from a text of which `there` bytes have come; line by line more come as long as brackets are open.
static bpt_lines_t next_lines(const bpt_range_t *text, const bpt_examples_options_t *o, bpt_range_t *rest, bpt_range_t *lines) {
    bpt_open_tree_t open = {0};
    for (const char *end = text->data + text->bytes;;) {
        const char *there = rest->data + rest->bytes;
        const bpt_lines_t found = bpt_examples_next(o, rest, there < end, &open, lines);
        if (there == end || (found != BPT_LINES_NONE && found != BPT_LINES_OPEN)) return found;
        const char *newline = memchr(there, '\n', (size_t)(end - there));
        rest->bytes = (uint64_t)((newline ? newline + 1 : end) - rest->data);
    }
}

// Which lines belong together does not depend on when they come, and all are there.
static void check_lines(const bpt_range_t *text, const bpt_examples_options_t *o) {
    bpt_range_t whole = *text, little = *text, a, b;
    bpt_open_tree_t open = {0};
    uint64_t line = text->line;
    little.bytes = 0;
    for (;;) {
        const bpt_lines_t found = bpt_examples_next(o, &whole, false, &open, &a);
        require(next_lines(text, o, &little, &b) == found && found != BPT_LINES_OPEN);
        if (found == BPT_LINES_NONE) break;
        require(a.data == b.data && a.bytes == b.bytes && a.line == b.line && a.line == line && whole.data == little.data);
        line = whole.line;
    }
    require(whole.bytes == 0);
}

// As the program puts them together: what only some forms have is 0 for the others.
static bpt_examples_options_t options_of(const uint8_t head[3]) {
    bpt_examples_options_t o = {.format = (bpt_format_id_t)(head[2] % BPT_N_FORMATS),
                                .labelled = head[0] & 2,
                                .header = head[1] & 64,
                                .skip_empty = head[1] & 128,
                                .longest = head[0] & 4 ? 3 : 0,
                                .truncate = head[0] & 32 ? 2 : 0};
    const int more = head[2] / BPT_N_FORMATS;
    const unsigned gives = bpt_format_of(o.format)->gives;
    o.per_token = gives & BPT_GIVES_TAGS && (!(gives & BPT_GIVES_LABELS) || more & 8);
    if (o.format == BPT_FORMAT_TEXT && !o.per_token) o.subtrees = head[0] & 1;
    o.skip_root = more & 16;
    if (o.format == BPT_FORMAT_CSV) {
        o.by_name = head[0] & 1;
        o.header &= !o.by_name;
        o.label_column = 2, o.text_column[0] = 1;
        if (more & 4) o.where_column = 1 + (more >> 4 & 3), o.where = "x";
    }
    if (o.format == BPT_FORMAT_COLUMNS || (o.format == BPT_FORMAT_CSV && !o.per_token)) {
        o.texts = more & 1 ? 2 : 1;
        o.numbers = more & 2;
        o.label_column = 1 + (more >> 2 & 1);
        o.text_column[0] = 2 - (more >> 2 & 1);
        o.text_column[1] = o.texts == 2 ? 3 : 0;
        if (more & 8) o.where_column = 1 + (more >> 4 & 3), o.where = "x";
    }
    if (o.format == BPT_FORMAT_CONLLU) o.label_column = 4 + (more >> 1 & 1);
    if (o.format == BPT_FORMAT_CONLL) o.label_column = more >> 1 & 3, o.text_column[0] = more >> 3 & 1;
    if (o.per_token && o.format != BPT_FORMAT_TEXT) {
        o.scheme = (bpt_tag_scheme_t)((more >> 4 & 3) + (head[0] & 16 ? 2 : 0));
    }
    if (gives & BPT_GIVES_TREES) {
        o.trees = true;
        o.made = (bpt_trees_t)(more & 3);
        o.vertex_labels = more & 4;
        o.cut_functions = more & 8;
        o.subtrees = head[0] & 1;
        o.truncate = 0;
        return o;
    }
    if (head[0] & 64 && !(head[0] & 8)) o.ngram_min = 1, o.ngram_max = 3, o.ngram_rows = 7;
    if (head[0] & 128 && !(head[0] & 8) && !o.per_token) o.strip_punctuation = true;
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { HEAD = 3 };
    if (size < HEAD) return 0;
    char *bytes;
    require(bpt_alloc(size - HEAD, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + HEAD, size - HEAD);
    const bpt_range_t text = bpt_range_of("input", bytes, size - HEAD);
    const bpt_examples_options_t options = options_of(data);
    check_lines(&text, &options);
    bpt_labels_t labels = {0};
    bpt_examples_t examples;
    bpt_vocab_t *vocab;
    require(bpt_vocab_create(data[0] & 8 ? BPT_UNIT_IDS : BPT_UNIT_WORD, data[0] & 16, &vocab) == BPT_OK);
    bpt_status_t status = bpt_examples_scan(&text, &options, vocab, options.numbers ? NULL : &labels);
    if (status == BPT_OK) {
        bpt_labels_freeze(&labels);
        require(bpt_vocab_freeze(vocab) == BPT_OK);
        check_vocab_file(vocab, data[0] & 16);
        const bpt_labels_t *known = options.labelled && !options.numbers ? &labels : NULL;
        status = bpt_examples_read(&text, &options, vocab, known, &examples);
        if (status == BPT_OK) {
            check_examples(&examples, &options, vocab, known);
            check_batches(&examples, data[1], true);
            check_batches(&examples, data[1], false);
            check_cut(&text, &options, data[1], vocab, known, &examples);
            check_header(&text, &options, known);
            bpt_examples_free(&examples);
        }
    }
    require(status == BPT_OK || (status == BPT_ERR_INPUT && *bpt_error_message()));
    bpt_labels_free(&labels);
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
