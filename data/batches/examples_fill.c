// Filling one micro-batch of examples (see examples_fill.h).
#include "data/batches/examples_fill.h"

#include <string.h>

#include "data/batches/translation_fill.h"
#include "data/examples/trees.h"

typedef bpt_examples_source_t source_t;

static void fill_tree(source_t *s, int64_t sequence, int64_t row, uint64_t text, const bpt_batch_t *out) {
    const bpt_examples_t *e = s->examples;
    const int64_t rows = out->shape.side[0].rows, first = rows + s->n_nodes;
    const uint32_t count = (uint32_t)bpt_source_nodes(s, text, text + 1), length = (uint32_t)bpt_text_length(e, text);
    const bpt_example_node_t *nodes = e->trees.nodes.items + e->trees.offsets[text];
    bpt_side_buffer_t *side = &s->buffer.side[0];
    bpt_trees_link(nodes, count, length, (uint32_t)row, (uint32_t)first, side->links);
    side->node_start[sequence] = (uint32_t)first;
    side->node_counts[sequence] = count;
    for (uint32_t i = 0; i < count; ++i) side->node_labels[s->n_nodes + i] = bpt_trees_symbol(&nodes[i], e->trees.named);
    s->n_nodes += count;
    if (!s->batching.vertices) return;
    for (uint32_t i = 0; i < count; ++i) side->vertex_labels[first + i] = nodes[i].label;
    for (uint32_t i = 0; i < length; ++i) side->vertex_labels[row + i] = e->trees.token_labels[e->offsets[text] + i];
}

static void fill_bags(source_t *s, int64_t row, uint64_t token, int64_t length) {
    const bpt_examples_t *e = s->examples;
    bpt_side_buffer_t *side = &s->buffer.side[0];
    for (int64_t i = 0; i < length; ++i) {
        const uint64_t from = e->bags.offsets[token + (uint64_t)i], count = e->bags.offsets[token + (uint64_t)i + 1] - from;
        memcpy(side->bag + s->n_bag, e->bags.items + from, count * sizeof *e->bags.items);
        side->bag_ranges[2 * (row + i)] = (uint32_t)s->n_bag;
        side->bag_ranges[2 * (row + i) + 1] = (uint32_t)(s->n_bag + count);
        s->n_bag += count;
    }
}

// A target and its weight; false: the label is none that the model knows.
static bool set_label(source_t *s, int64_t place, uint32_t label) {
    const bool known = bpt_knows_label(s->examples, label);
    if (!known) s->buffer.unknown[place] = label;
    s->buffer.targets[place] = known && label != BPT_NO_LABEL ? label : 0;
    s->buffer.weights[place] = !known ? 0 : s->batching.class_weights && label != BPT_NO_LABEL ? s->batching.class_weights[label] : 1;
    return known;
}

static void fill_text(source_t *s, int64_t sequence, int64_t row, uint64_t text, bpt_batch_t *out) {
    const bpt_examples_t *e = s->examples;
    const uint64_t from = e->offsets[text];
    const int64_t length = bpt_text_length(e, text), columns = e->vectors.columns;
    bpt_side_buffer_t *side = &s->buffer.side[0];
    side->start[sequence] = (uint32_t)row;
    side->lengths[sequence] = (uint32_t)length;
    if (columns)
        memcpy(side->numbers + row * columns, e->vectors.of + from * (uint64_t)columns, (size_t)(length * columns) * sizeof *e->vectors.of);
    else
        memcpy(side->tokens + row, e->tokens + from, (size_t)length * sizeof *e->tokens);
    out->n_tokens += length;
    if (e->bags.has) fill_bags(s, row, from, length);
    if (e->trees.has) fill_tree(s, sequence, row, text, out);
    if (!e->labels.per_token) return;
    int64_t known = 0;
    for (int64_t i = 0; i < length; ++i) known += set_label(s, row + i, e->labels.of[from + (uint64_t)i]);
    out->n_unknown += length - known;
    if (!s->batching.scores_texts) {
        out->n_scored += known;
    } else if (known == length) {
        ++out->n_scored;
    } else {  // a text has a likelihood only if all of its labels have
        memset(s->buffer.weights + row, 0, (size_t)length * sizeof *s->buffer.weights);
    }
}

static void fill_target(source_t *s, int64_t place, uint64_t e, bpt_batch_t *out) {
    const int64_t columns = s->examples->values.columns;
    bool known = true;
    if (columns)
        memcpy(s->buffer.values + place * columns, s->examples->values.of + e * (uint64_t)columns, (size_t)columns * sizeof(float));
    else
        known = set_label(s, place, s->examples->labels.of[e]);
    if (columns) s->buffer.weights[place] = 1;
    out->n_scored += known;
    out->n_unknown += !known;
}

void bpt_fill_translations(source_t *s, const bpt_micro_t *m, bpt_batch_t *out) {
    int64_t segment = 0;
    s->n_nodes = 0;
    for (int64_t i = 0; i < (int64_t)m->count; ++i) {
        const int64_t position = s->members[m->first + (size_t)i].position;
        segment += bpt_translation_fill(s->examples, bpt_source_example(s, position), s->train, i, segment, &s->buffer, out);
        if (s->examples->trees.has) fill_tree(s, i, s->buffer.side[0].start[i], bpt_source_example(s, position), out);
        s->buffer.sequences[i] = (uint32_t)position;
    }
    out->n_real = (int64_t)m->count;
}

int64_t bpt_fill_segments(const source_t *s, const bpt_micro_t *m) {
    int64_t segments = 0;
    for (size_t i = 0; s->examples->windows.has && i < m->count; ++i) {
        const bpt_window_t w = bpt_window_of(s->examples, bpt_source_example(s, s->members[m->first + i].position));
        segments += (int64_t)(w.end - w.first);
    }
    return segments;
}

int64_t bpt_fill_vertices(const source_t *s, uint64_t example) {
    const bpt_examples_t *e = s->examples;
    int64_t count = 0;
    for (uint64_t t = e->offsets[example]; t < e->offsets[example + 1]; ++t) count += e->trees.token_labels[t] != BPT_NO_LABEL;
    for (uint64_t i = e->trees.offsets[example]; i + 1 < e->trees.offsets[example + 1]; ++i)
        count += e->trees.nodes.items[i].label != BPT_NO_LABEL;
    return count + (e->labels.of[example] != BPT_NO_LABEL);
}

static void score_vertices(source_t *s, const bpt_micro_t *m, bpt_batch_t *out) {
    const bpt_side_buffer_t *side = &s->buffer.side[0];
    out->n_scored = 0;
    for (size_t i = 0; i < m->count; ++i) {
        const uint64_t e = bpt_source_first_text(s, m, i);
        side->vertex_labels[side->node_start[i] + side->node_counts[i] - 1] = s->examples->labels.of[e];
        out->n_scored += bpt_fill_vertices(s, e);
    }
}

void bpt_fill_examples(source_t *s, const bpt_micro_t *m, bpt_batch_t *out) {
    int64_t row = 0;
    s->n_bag = 0;
    s->n_nodes = 0;
    for (int64_t i = 0; i < (int64_t)m->count; ++i) {
        const int64_t position = s->members[m->first + (size_t)i].position;
        const uint64_t e = bpt_source_example(s, position);
        for (int64_t k = 0; k < s->texts; ++k) {
            const int64_t sequence = i * s->texts + k;
            const uint64_t text = e * (uint64_t)s->texts + (uint64_t)k;
            fill_text(s, sequence, s->batching.packed ? row : sequence * m->n, text, out);
            row += bpt_text_length(s->examples, text);
            s->buffer.sequences[sequence] = (uint32_t)(position * s->texts + k);
        }
        if (!s->examples->labels.per_token) fill_target(s, i, e, out);
    }
    if (s->batching.vertices) score_vertices(s, m, out);
    out->n_real = (int64_t)m->count * s->texts;
}
