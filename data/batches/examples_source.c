// Steps of random examples as micro-batches (examples_source.h).
#include "data/batches/examples_source.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/lists.h"
#include "data/batches/examples_fill.h"
#include "data/batches/translation_fill.h"
#include "data/examples/order.h"
#include "data/examples/trees.h"

typedef bpt_examples_source_t source_t;

// Of an example: its longest text.
static int64_t longest_of(const source_t *s, uint64_t e) {
    int64_t longest = 0;
    if (s->translates) return bpt_translation_rows(s->examples, e);
    for (int64_t k = 0; k < s->texts; ++k)
        if (bpt_text_length(s->examples, e * (uint64_t)s->texts + (uint64_t)k) > longest)
            longest = bpt_text_length(s->examples, e * (uint64_t)s->texts + (uint64_t)k);
    return longest;
}
static int by_bucket(const void *a, const void *b) {
    const bpt_member_t *x = a, *y = b;
    if (x->bucket != y->bucket) return x->bucket < y->bucket ? 1 : -1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static int64_t step_begin(const source_t *s) { return s->step % s->base.steps_per_epoch * s->a_step; }
static int64_t step_count(const source_t *s) {
    const int64_t left = (int64_t)s->examples->count - step_begin(s);
    return left < s->a_step ? left : s->a_step;
}

// ---- The micro-batches of a step

// By length; the texts of a pair have the same bucket.
static void cut_buckets(source_t *s, int64_t count) {
    qsort(s->members, (size_t)count, sizeof *s->members, by_bucket);
    for (int64_t i = 0; i < count; ++i) s->buckets[i] = s->members[i].bucket;
    s->n_micro = bpt_cut_step(s->buckets, (size_t)count, s->batching.batch_tokens / s->texts, s->micro);
}

// In their order, as many as fit.
static void cut_packed(source_t *s, int64_t count) {
    const int64_t room = s->batching.batch_tokens;
    s->n_micro = 0;
    for (int64_t first = 0, at = 0, rows = 0; at <= count; ++at) {
        const int64_t more = at < count ? bpt_source_rows(s, bpt_source_example(s, s->members[at].position)) : 0;
        if (at < count && (at == first || rows + more <= room)) {
            rows += more;
            continue;
        }
        const bool whole = at < count && rows <= room;  // there are more: it is as large as it may be
        s->micro[s->n_micro++] = (bpt_micro_t){.n = whole ? room : bpt_packed_rows(rows, room),
                                               .rows = bpt_row_count(room, at - first),
                                               .first = (size_t)first,
                                               .count = (size_t)(at - first)};
        if (at == count) return;
        first = at;
        rows = more;
    }
}

static void order_epoch(source_t *s, int64_t epoch) {
    const int64_t count = (int64_t)s->examples->count;
    if (s->ordered == epoch) return;
    if (s->lengths)
        bpt_epoch_order_by_length(s->batching.seed, epoch, s->lengths, s->a_step, s->pool, s->order, count);
    else if (s->train)
        bpt_epoch_order(s->batching.seed, epoch, s->order, count);
    s->ordered = epoch;
}

static void lay_out_step(source_t *s) {
    const int64_t first = step_begin(s), count = step_count(s);
    order_epoch(s, s->step / s->base.steps_per_epoch);
    for (int64_t i = 0; i < count; ++i)
        s->members[i] = (bpt_member_t){s->bucket(longest_of(s, bpt_source_example(s, first + i))), first + i};
    if (s->batching.packed)
        cut_packed(s, count);
    else
        cut_buckets(s, count);
    s->next = 0;
}

enum { NGRAMS_OF_TOKEN = 16 };  // that there is room for, on average

// ---- Trees

// Back slots that the tree over a text needs.
static bpt_status_t slots_of(source_t *s, uint64_t text, int64_t *slots) {
    const bpt_examples_t *e = s->examples;
    const uint32_t n = (uint32_t)bpt_text_length(e, text), m = (uint32_t)bpt_source_nodes(s, text, text + 1), zero = 0;
    const bpt_row_space_t tokens = {.rows = n, .sequences = 1, .start = &zero, .length = &n};
    const bpt_row_space_t nodes = {.rows = m, .sequences = 1, .start = &n, .length = &m};
    uint32_t *links;
    BPT_TRY(bpt_trees_check(e->trees.nodes.items + e->trees.offsets[text], m, n));
    BPT_TRY(bpt_alloc(3 * (size_t)(n + m), sizeof *links, &links));
    bpt_trees_link(e->trees.nodes.items + e->trees.offsets[text], m, n, 0, n, links);
    *slots = bpt_lists_subtrees_back_slots(&tokens, &nodes, links);
    bpt_free(links);
    return BPT_OK;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Few values, as each makes programs of its own.
static int64_t round_slots(int64_t slots) {
    int64_t room = 4;
    while (room < slots) room *= 2;
    return room;
}

// How many nodes a micro-batch has room for, and the slots that its trees need.
static void add_trees(const source_t *s, const bpt_micro_t *m, bpt_batch_shape_t *shape) {
    int64_t nodes = 0, slots = 1;
    for (size_t i = 0; i < m->count; ++i) {
        const uint64_t text = bpt_source_first_text(s, m, i);
        nodes += bpt_source_nodes(s, text, text + (uint64_t)s->texts);
        for (int64_t k = 0; k < s->texts; ++k)
            if (s->slots[text + (uint64_t)k] > slots) slots = s->slots[text + (uint64_t)k];
    }
    const int64_t rows = shape->side[0].rows, quarter = (rows + 3) / 4;
    // Buckets have many shapes already: quarters of the most that there can be.
    shape->side[0].nodes = s->batching.packed ? bpt_packed_rows(nodes, rows) : least((nodes + quarter - 1) / quarter * quarter, rows);
    if (!shape->side[0].nodes) shape->side[0].nodes = 1;
    shape->side[0].node_slots = round_slots(slots);
}

static bpt_batch_shape_t shape_of(const source_t *s, const bpt_micro_t *m) {
    const int64_t batch = m->rows * s->texts;
    bpt_batch_shape_t shape =
        s->batching.packed ? (bpt_batch_shape_t){.batch = batch, .side = {{.n = 0, .rows = m->n}}} : bpt_batch_buckets(m->n, batch);
    if (s->translates) shape.side[1] = shape.side[0];
    if (s->examples->bags.has) shape.side[0].bag = NGRAMS_OF_TOKEN * shape.side[0].rows;
    if (s->examples->trees.has) add_trees(s, m, &shape);
    return shape;
}

// N-grams of all texts of a micro-batch.
static int64_t ngrams_of(const source_t *s, const bpt_micro_t *m) {
    const bpt_examples_t *e = s->examples;
    int64_t count = 0;
    for (size_t i = 0; i < m->count; ++i) {
        const uint64_t text = bpt_source_example(s, s->members[m->first + i].position) * (uint64_t)s->texts;
        count += (int64_t)(e->bags.offsets[e->offsets[text + (uint64_t)s->texts]] - e->bags.offsets[e->offsets[text]]);
    }
    return count;
}

static int64_t scored_of_step(const source_t *s) {
    int64_t scored = 0;
    for (int64_t i = 0; s->translates && i < step_count(s); ++i)
        scored += bpt_translation_scored(s->examples, bpt_source_example(s, step_begin(s) + i), s->train);
    for (int64_t i = 0; s->batching.vertices && i < step_count(s); ++i)
        scored += bpt_fill_vertices(s, bpt_source_example(s, step_begin(s) + i));
    if (s->translates || s->batching.vertices) return scored;
    if (!s->examples->labels.per_token || s->batching.scores_texts) return step_count(s);
    for (int64_t i = 0; i < step_count(s); ++i) scored += bpt_source_rows(s, bpt_source_example(s, step_begin(s) + i));
    return scored;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    source_t *s = (source_t *)source;
    *end = !s->train && s->step > 0;
    if (*end) return BPT_OK;
    if (s->n_micro == 0) lay_out_step(s);
    const bpt_micro_t *m = &s->micro[s->next];
    bpt_batch_shape_t shape = shape_of(s, m);
    const int64_t ngrams = shape.side[0].bag ? ngrams_of(s, m) : 0;
    if (ngrams > shape.side[0].bag) shape.side[0].bag = bpt_packed_rows(ngrams, INT64_MAX);  // words are unusually long
    const bpt_batch_layout_t layout = {.shape = shape,
                                       .columns = s->examples->vectors.columns,
                                       .n_targets = s->translates                   ? shape.side[1].rows
                                                    : s->examples->labels.per_token ? shape.side[0].rows
                                                                                    : shape.batch / s->texts,
                                       .unknown = s->examples->labels.n_unknown > 0,
                                       .vertex_labels = s->batching.vertices,
                                       .value_columns = s->examples->values.columns,
                                       .segments = bpt_fill_segments(s, m)};
    BPT_TRY(bpt_batch_buffer_start(&s->buffer, &layout, out));
    if (s->translates)
        bpt_fill_translations(s, m, out);
    else
        bpt_fill_examples(s, m, out);
    out->window_scored = scored_of_step(s);
    out->first = s->next == 0;
    out->last = ++s->next == s->n_micro;
    out->left = s->n_micro - s->next;
    out->epoch = s->step / source->steps_per_epoch;
    out->epoch_end = (double)out->epoch + (double)(step_begin(s) + step_count(s)) / (double)s->examples->count;
    if (!out->last) return BPT_OK;
    ++s->step;
    s->n_micro = 0;
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    source_t *s = (source_t *)source;
    s->step = step;
    s->n_micro = 0;
    return BPT_OK;
}

static void destroy(bpt_batch_source_t *source) {
    source_t *s = (source_t *)source;
    if (!s) return;
    bpt_free(s->order);
    bpt_free(s->lengths);
    bpt_free(s->pool);
    bpt_free(s->members);
    bpt_free(s->buckets);
    bpt_free(s->micro);
    bpt_free(s->slots);
    bpt_batch_buffer_free(&s->buffer);
    bpt_shapes_free(&s->shapes);
    bpt_free(s);
}

// Of training, whose examples are not known here: with the largest trees.
static void widen_trees(const source_t *s, bpt_batch_shape_t *shape) {
    for (uint64_t t = 0; s->examples->trees.has && t < s->examples->count * (uint64_t)s->texts; ++t) {
        const int64_t slots = round_slots(s->slots[t]);
        if (slots > shape->side[0].node_slots) shape->side[0].node_slots = slots;
    }
    if (s->examples->trees.has) shape->side[0].nodes = shape->side[0].rows;  // a tree has fewer nodes than tokens, or one of each
}

static bpt_status_t add_micro(source_t *s, const bpt_micro_t *m) {
    bpt_batch_shape_t shape = shape_of(s, m);
    if (s->train) widen_trees(s, &shape);
    return bpt_shapes_add(&s->shapes, &shape);
}

// Packed rows have one shape that no other exceeds.
static bpt_status_t add_largest(source_t *s) {
    const int64_t room = s->batching.batch_tokens;
    int64_t longest = 1, most = 0;
    for (uint64_t e = 0; e < s->examples->count; ++e) {
        const int64_t rows = bpt_source_rows(s, e);
        if (rows > longest) longest = rows;
        most += rows;
    }
    const bpt_micro_t largest = {.n = longest > room || most < room ? bpt_packed_rows(longest > room ? longest : most, room) : room,
                                 .rows = bpt_row_count(room, s->a_step < room ? s->a_step : room)};
    bpt_batch_shape_t shape = shape_of(s, &largest);
    widen_trees(s, &shape);
    return bpt_shapes_add(&s->shapes, &shape);
}

// Evaluation has one step, whose shapes are known; training can have every one that its examples allow.
static bpt_status_t list_shapes(source_t *s) {
    int64_t longest = 1;
    bpt_shapes_t cuts = {0};
    if (s->batching.packed) return add_largest(s);
    for (uint64_t e = 0; e < s->examples->count; ++e)
        if (longest_of(s, e) > longest) longest = longest_of(s, e);
    if (!s->train) lay_out_step(s);
    for (size_t i = 0; !s->train && i < s->n_micro; ++i) BPT_TRY(add_micro(s, &s->micro[i]));
    if (!s->train) return BPT_OK;
    bpt_status_t status = bpt_shapes_add_cuts(&cuts, s->bucket, s->bucket(longest), s->a_step, s->batching.batch_tokens / s->texts);
    for (size_t i = 0; i < cuts.count && status == BPT_OK; ++i)
        status = add_micro(s, &(bpt_micro_t){.n = cuts.items[i].side[0].n, .rows = cuts.items[i].batch});
    bpt_shapes_free(&cuts);
    return status;
}

static bpt_status_t list_lengths(source_t *s) {
    BPT_TRY(bpt_alloc((size_t)s->examples->count, sizeof *s->lengths, &s->lengths));
    for (uint64_t e = 0; e < s->examples->count; ++e) s->lengths[e] = (uint32_t)bpt_translation_rows(s->examples, e);
    const int64_t pool = s->a_step * BPT_POOL_STEPS, count = (int64_t)s->examples->count;
    return bpt_alloc((size_t)(pool < count ? pool : count), sizeof *s->pool, &s->pool);
}

static bpt_status_t measure_trees(source_t *s) {
    const uint64_t texts = s->examples->count * (uint64_t)s->texts;
    BPT_TRY(bpt_alloc((size_t)texts, sizeof *s->slots, &s->slots));
    for (uint64_t t = 0; t < texts; ++t) BPT_TRY(slots_of(s, t, &s->slots[t]));
    return BPT_OK;
}

static bpt_status_t allocate(source_t *s) {
    if (s->train) BPT_TRY(bpt_alloc((size_t)s->examples->count, sizeof *s->order, &s->order));
    if (s->train && s->translates) BPT_TRY(list_lengths(s));
    BPT_TRY(bpt_alloc((size_t)s->a_step, sizeof *s->members, &s->members));
    BPT_TRY(bpt_alloc((size_t)s->a_step, sizeof *s->buckets, &s->buckets));
    BPT_TRY(bpt_alloc((size_t)s->a_step, sizeof *s->micro, &s->micro));
    if (s->examples->trees.has) BPT_TRY(measure_trees(s));
    BPT_TRY(list_shapes(s));
    s->base.n_shapes = (int64_t)s->shapes.count;
    s->base.shapes = s->shapes.items;
    return BPT_OK;
}

static bpt_status_t create(const bpt_examples_t *examples, int64_t a_step, const bpt_batching_t *batching, bool train,
                           bpt_batch_source_t **out) {
    const int64_t count = (int64_t)examples->count, texts = examples->texts ? examples->texts : 1;
    source_t *s;
    if (batching->batch_tokens < 1 || a_step < 1) return bpt_fail(BPT_ERR_USAGE, "a batch needs at least one token and one example");
    if (batching->packed && examples->target.has)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "texts and their translations cannot be packed; take a model whose batches are in buckets");
    if (count < 1 || count > UINT32_MAX / texts)
        return bpt_fail(BPT_ERR_INPUT, "%lld examples; there must be 1 to 2^32 - 1 texts", (long long)count);
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->base = (bpt_batch_source_t){.next = next, .seek = seek, .destroy = destroy};
    s->examples = examples;
    s->batching = *batching;
    s->texts = texts;
    s->translates = examples->target.has;
    s->bucket = s->translates ? bpt_fine_length_bucket : bpt_length_bucket;
    s->a_step = a_step < count ? a_step : count;
    s->base.steps_per_epoch = (count + s->a_step - 1) / s->a_step;
    s->train = train;
    s->ordered = -1;
    const bpt_status_t status = allocate(s);
    if (status == BPT_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return status;
}

// Rows of all examples: of translations those of the longer side.
static int64_t padded_tokens(const bpt_examples_t *examples) {
    int64_t rows = 0;
    if (!examples->target.has) return (int64_t)examples->n_tokens;
    for (uint64_t e = 0; e < examples->count; ++e) rows += bpt_translation_rows(examples, e);
    return rows;
}

bpt_status_t bpt_examples_train_source(const bpt_examples_t *examples, const bpt_batching_t *b, bpt_batch_source_t **out) {
    int64_t a_step = b->batch_examples;
    if (a_step == 0 && examples->n_tokens) {
        const double mean = (double)padded_tokens(examples) / (double)examples->count;
        const double steps = (double)b->batch_tokens * (double)(b->accumulate > 0 ? b->accumulate : 1) / mean;
        a_step = steps < 1 ? 1 : steps > (double)examples->count ? (int64_t)examples->count : (int64_t)steps;
    }
    return create(examples, a_step, b, true, out);
}

bpt_status_t bpt_examples_eval_source(const bpt_examples_t *examples, const bpt_batching_t *b, bpt_batch_source_t **out) {
    return create(examples, (int64_t)examples->count, b, false, out);
}

uint64_t bpt_examples_scored(const bpt_examples_t *e, const bpt_batching_t *batching) {
    uint64_t scored = 0;
    if (!e->labels.n_unknown) return e->count;
    for (uint64_t i = 0; i < e->count; ++i) {
        const uint64_t first = e->labels.per_token ? e->offsets[i] : i, end = e->labels.per_token ? e->offsets[i + 1] : i + 1;
        uint64_t known = 0;
        for (uint64_t t = first; t < end; ++t) known += bpt_knows_label(e, e->labels.of[t]);
        scored += batching->scores_texts ? known == end - first : known > 0;
    }
    return scored;
}
