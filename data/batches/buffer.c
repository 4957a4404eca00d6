// Arrays of micro-batches (see buffer.h).
#include "data/batches/buffer.h"

#include <string.h>

#include "bpt/alloc.h"

void bpt_batch_buffer_free(bpt_batch_buffer_t *b) {
    for (int i = 0; i < BPT_SIDES; ++i) {
        bpt_side_buffer_t *side = &b->side[i];
        bpt_free(side->tokens);
        bpt_free(side->start);
        bpt_free(side->lengths);
        bpt_free(side->bag);
        bpt_free(side->bag_ranges);
        bpt_free(side->segment_start);
        bpt_free(side->segment_lengths);
        bpt_free(side->numbers);
        bpt_free(side->links);
        bpt_free(side->node_labels);
        bpt_free(side->node_start);
        bpt_free(side->node_counts);
        bpt_free(side->vertex_labels);
    }
    bpt_free(b->targets);
    bpt_free(b->unknown);
    bpt_free(b->sequences);
    bpt_free(b->first_segment);
    bpt_free(b->weights);
    bpt_free(b->values);
    *b = (bpt_batch_buffer_t){0};
}

// ---- Room

static bpt_status_t reserve_ids(uint32_t **array, size_t *room, int64_t wanted) {
    if ((size_t)wanted <= *room) return BPT_OK;
    BPT_TRY(bpt_realloc(array, (size_t)wanted, sizeof **array));
    *room = (size_t)wanted;
    return BPT_OK;
}

static bpt_status_t reserve_numbers(float **array, size_t *room, int64_t wanted) {
    if ((size_t)wanted <= *room) return BPT_OK;
    BPT_TRY(bpt_realloc(array, (size_t)wanted, sizeof **array));
    *room = (size_t)wanted;
    return BPT_OK;
}

// Elements of the arrays of a side; 0: the array is absent.
typedef struct {
    int64_t tokens, numbers, sequences, bag, bag_ranges, segments;
    int64_t links, nodes, trees, vertices;
} side_sizes_t;

static side_sizes_t sizes_of(const bpt_batch_layout_t *l, int side) {
    const int64_t rows = l->shape.side[side].rows, bag = l->shape.side[side].bag, columns = side == 0 ? l->columns : 0;
    if (rows == 0) return (side_sizes_t){0};
    const int64_t nodes = l->shape.side[side].nodes;
    return (side_sizes_t){.tokens = columns ? 0 : rows,
                          .numbers = rows * columns,
                          .sequences = l->shape.batch,
                          .bag = bag,
                          .bag_ranges = bag ? 2 * rows : 0,
                          .segments = l->segments,
                          .links = nodes ? 3 * (rows + nodes) : 0,
                          .nodes = nodes,
                          .trees = nodes ? l->shape.batch : 0,
                          .vertices = nodes && l->vertex_labels ? rows + nodes : 0};
}

static int64_t first_segments_of(const bpt_batch_layout_t *l) { return l->segments ? l->shape.batch + 1 : 0; }

static bpt_status_t reserve(bpt_batch_buffer_t *b, const bpt_batch_layout_t *l) {
    for (int i = 0; i < BPT_SIDES; ++i) {
        bpt_side_buffer_t *side = &b->side[i];
        const side_sizes_t n = sizes_of(l, i);
        BPT_TRY(reserve_ids(&side->tokens, &side->n_tokens, n.tokens));
        BPT_TRY(reserve_ids(&side->start, &side->n_start, n.sequences));
        BPT_TRY(reserve_ids(&side->lengths, &side->n_lengths, n.sequences));
        BPT_TRY(reserve_ids(&side->bag, &side->n_bag, n.bag));
        BPT_TRY(reserve_ids(&side->bag_ranges, &side->n_bag_ranges, n.bag_ranges));
        BPT_TRY(reserve_ids(&side->segment_start, &side->n_segment_start, n.segments));
        BPT_TRY(reserve_ids(&side->segment_lengths, &side->n_segment_lengths, n.segments));
        BPT_TRY(reserve_numbers(&side->numbers, &side->n_numbers, n.numbers));
        BPT_TRY(reserve_ids(&side->links, &side->n_links, n.links));
        BPT_TRY(reserve_ids(&side->node_labels, &side->n_node_labels, n.nodes));
        BPT_TRY(reserve_ids(&side->node_start, &side->n_node_start, n.trees));
        BPT_TRY(reserve_ids(&side->node_counts, &side->n_node_counts, n.trees));
        BPT_TRY(reserve_ids(&side->vertex_labels, &side->n_vertex_labels, n.vertices));
    }
    BPT_TRY(reserve_ids(&b->targets, &b->n_targets, l->value_columns ? 0 : l->n_targets));
    BPT_TRY(reserve_ids(&b->unknown, &b->n_unknown, l->unknown ? l->n_targets : 0));
    BPT_TRY(reserve_numbers(&b->values, &b->n_values, l->n_targets * l->value_columns));
    BPT_TRY(reserve_ids(&b->first_segment, &b->n_first_segment, first_segments_of(l)));
    BPT_TRY(reserve_numbers(&b->weights, &b->n_weights, l->n_targets));
    return reserve_ids(&b->sequences, &b->n_sequences, l->shape.batch);
}

static bpt_side_t side_of(const bpt_side_buffer_t *b, const side_sizes_t *n, int64_t columns) {
    return (bpt_side_t){.tokens = n->tokens ? b->tokens : NULL,
                        .start = n->sequences ? b->start : NULL,
                        .lengths = n->sequences ? b->lengths : NULL,
                        .numbers = n->numbers ? b->numbers : NULL,
                        .columns = n->numbers ? columns : 0,
                        .bag = n->bag ? b->bag : NULL,
                        .bag_ranges = n->bag ? b->bag_ranges : NULL,
                        .segment_start = n->segments ? b->segment_start : NULL,
                        .segment_lengths = n->segments ? b->segment_lengths : NULL,
                        .links = n->links ? b->links : NULL,
                        .node_labels = n->nodes ? b->node_labels : NULL,
                        .node_start = n->trees ? b->node_start : NULL,
                        .node_counts = n->trees ? b->node_counts : NULL,
                        .vertex_labels = n->vertices ? b->vertex_labels : NULL};
}

static void point(const bpt_batch_buffer_t *b, const bpt_batch_layout_t *l, bpt_batch_t *batch) {
    batch->shape = l->shape;
    for (int i = 0; i < BPT_SIDES; ++i) {
        const side_sizes_t n = sizes_of(l, i);
        batch->side[i] = side_of(&b->side[i], &n, l->columns);
    }
    batch->targets = l->value_columns ? NULL : b->targets;
    batch->unknown = l->unknown ? b->unknown : NULL;
    batch->values = l->value_columns ? b->values : NULL;
    batch->weights = b->weights;
    batch->sequences = b->sequences;
    batch->first_segment = l->segments ? b->first_segment : NULL;
    batch->segments = l->segments;
    batch->n_targets = l->n_targets;
    batch->value_columns = l->value_columns;
}

// ---- Padding

static void clear(void *array, int64_t count, size_t element) {
    if (count) memset(array, 0, (size_t)count * element);
}

static void pad_side(const bpt_side_buffer_t *b, const bpt_batch_layout_t *l, int side) {
    const side_sizes_t n = sizes_of(l, side);
    const int64_t bucket = l->shape.side[side].n, rows = l->shape.side[side].rows;
    clear(b->tokens, n.tokens, sizeof *b->tokens);
    clear(b->numbers, n.numbers, sizeof *b->numbers);
    clear(b->bag, n.bag, sizeof *b->bag);
    clear(b->bag_ranges, n.bag_ranges, sizeof *b->bag_ranges);
    clear(b->segment_start, n.segments, sizeof *b->segment_start);
    clear(b->segment_lengths, n.segments, sizeof *b->segment_lengths);
    for (int64_t s = 0; s < n.sequences; ++s) {
        b->start[s] = (uint32_t)(bucket ? s * bucket : rows);
        b->lengths[s] = bucket ? 1 : 0;
    }
    for (int64_t i = 0; i < n.links; ++i) b->links[i] = i % 3 ? 0 : BPT_PLACEHOLDER;
    for (int64_t i = 0; i < n.nodes; ++i) b->node_labels[i] = BPT_PLACEHOLDER;
    for (int64_t s = 0; s < n.trees; ++s) b->node_start[s] = (uint32_t)(rows + n.nodes), b->node_counts[s] = 0;
    for (int64_t i = 0; i < n.vertices; ++i) b->vertex_labels[i] = BPT_PLACEHOLDER;
}

static bpt_status_t too_large(const bpt_batch_layout_t *l) {
    return bpt_fail(BPT_ERR_NO_MEMORY, "a batch of %lld sequences with %lld rows of tokens is too large; lower --batch-tokens",
                    (long long)l->shape.batch, (long long)l->shape.side[0].rows);
}

bpt_status_t bpt_batch_buffer_start(bpt_batch_buffer_t *b, const bpt_batch_layout_t *l, bpt_batch_t *batch) {
    // Row numbers are u32, and BPT_NO_ROW is none.
    for (int i = 0; i < BPT_SIDES; ++i)
        if (l->shape.side[i].rows + l->shape.side[i].nodes >= UINT32_MAX / 3) return too_large(l);
    BPT_TRY(reserve(b, l));
    for (int i = 0; i < BPT_SIDES; ++i) pad_side(&b->side[i], l, i);
    clear(b->targets, l->value_columns ? 0 : l->n_targets, sizeof *b->targets);
    for (int64_t i = 0; l->unknown && i < l->n_targets; ++i) b->unknown[i] = BPT_PLACEHOLDER;
    clear(b->values, l->n_targets * l->value_columns, sizeof *b->values);
    clear(b->weights, l->n_targets, sizeof *b->weights);
    clear(b->sequences, l->shape.batch, sizeof *b->sequences);
    for (int64_t s = 0; s < first_segments_of(l); ++s) b->first_segment[s] = (uint32_t)l->segments;
    *batch = (bpt_batch_t){0};
    point(b, l, batch);
    return BPT_OK;
}

bpt_status_t bpt_batch_buffer_buckets(bpt_batch_buffer_t *b, int64_t n, int64_t batch, bool per_token, bpt_batch_t *out) {
    int64_t rows;
    if (__builtin_mul_overflow(n, batch, &rows)) rows = INT64_MAX;
    const bpt_batch_layout_t layout = {.shape = {.batch = batch, .side = {{.n = n, .rows = rows}}}, .n_targets = per_token ? rows : batch};
    return bpt_batch_buffer_start(b, &layout, out);
}

// ---- Copies

static void copy_array(void *to, const void *from, int64_t count, size_t element) {
    if (count) memcpy(to, from, (size_t)count * element);
}

static void copy_side(const bpt_side_buffer_t *b, const bpt_side_t *side, const side_sizes_t *n) {
    copy_array(b->tokens, side->tokens, n->tokens, sizeof *b->tokens);
    copy_array(b->start, side->start, n->sequences, sizeof *b->start);
    copy_array(b->lengths, side->lengths, n->sequences, sizeof *b->lengths);
    copy_array(b->bag, side->bag, n->bag, sizeof *b->bag);
    copy_array(b->bag_ranges, side->bag_ranges, n->bag_ranges, sizeof *b->bag_ranges);
    copy_array(b->segment_start, side->segment_start, n->segments, sizeof *b->segment_start);
    copy_array(b->segment_lengths, side->segment_lengths, n->segments, sizeof *b->segment_lengths);
    copy_array(b->numbers, side->numbers, n->numbers, sizeof *b->numbers);
    copy_array(b->links, side->links, n->links, sizeof *b->links);
    copy_array(b->node_labels, side->node_labels, n->nodes, sizeof *b->node_labels);
    copy_array(b->node_start, side->node_start, n->trees, sizeof *b->node_start);
    copy_array(b->node_counts, side->node_counts, n->trees, sizeof *b->node_counts);
    copy_array(b->vertex_labels, side->vertex_labels, n->vertices, sizeof *b->vertex_labels);
}

bpt_status_t bpt_batch_buffer_copy(bpt_batch_buffer_t *b, const bpt_batch_t *batch, bpt_batch_t *copy) {
    const bpt_batch_layout_t layout = {.shape = batch->shape,
                                       .columns = batch->side[0].columns,
                                       .n_targets = batch->n_targets,
                                       .unknown = batch->unknown,
                                       .vertex_labels = batch->side[0].vertex_labels,
                                       .value_columns = batch->value_columns,
                                       .segments = batch->segments};
    BPT_TRY(reserve(b, &layout));
    for (int i = 0; i < BPT_SIDES; ++i) {
        const side_sizes_t n = sizes_of(&layout, i);
        copy_side(&b->side[i], &batch->side[i], &n);
    }
    copy_array(b->targets, batch->targets, batch->value_columns ? 0 : batch->n_targets, sizeof *b->targets);
    copy_array(b->unknown, batch->unknown, batch->unknown ? batch->n_targets : 0, sizeof *b->unknown);
    copy_array(b->values, batch->values, batch->n_targets * batch->value_columns, sizeof *b->values);
    copy_array(b->weights, batch->weights, batch->n_targets, sizeof *b->weights);
    copy_array(b->sequences, batch->sequences, batch->shape.batch, sizeof *b->sequences);
    copy_array(b->first_segment, batch->first_segment, first_segments_of(&layout), sizeof *b->first_segment);
    *copy = *batch;
    point(b, &layout, copy);
    return BPT_OK;
}
