// Batches against their shapes and models (see batch_check.h).
#include "models/run/batch_check.h"

#include <inttypes.h>

#include "models/config/params_of.h"
#include "models/tasks/task.h"

static bpt_status_t fail(const char *what, int64_t place, int64_t value, int64_t limit) {
    return bpt_fail(BPT_ERR_INPUT,
                    "a batch does not fit its model: %s %" PRId64 " is %" PRId64 ", which must be below %" PRId64
                    "; the data or the options they were read with are not those of the model",
                    what, place, value, limit);
}

// Numbers below a limit, or the sign for none.
static bpt_status_t check_ids(const char *what, const uint32_t *ids, int64_t count, int64_t limit) {
    uint32_t most = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t id = ids[i] == BPT_PLACEHOLDER ? 0 : ids[i];
        if (id > most) most = id;
    }
    if (count < 1 || most < limit) return BPT_OK;
    for (int64_t i = 0; i < count; ++i)
        if (ids[i] != BPT_PLACEHOLDER && ids[i] >= limit) return fail(what, i, ids[i], limit);
    return BPT_OK;
}

// Ranges start[i] .. + lengths[i] - 1 between two rows.
static bpt_status_t check_ranges(const char *what, const uint32_t *start, const uint32_t *lengths, int64_t count, int64_t first,
                                 int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
        const int64_t behind = (int64_t)start[i] + lengths[i];
        if (lengths[i] && start[i] < first) return fail(what, i, start[i], first);
        if (behind > end) return fail(what, i, behind, end + 1);
    }
    return BPT_OK;
}

static bpt_status_t check_buckets(const bpt_side_t *side, int64_t batch, int64_t n) {
    for (int64_t s = 0; s < batch; ++s) {
        if (side->start[s] != s * n) return fail("the first row of sequence", s, side->start[s], s * n + 1);
        if (side->lengths[s] > n) return fail("the length of sequence", s, side->lengths[s], n + 1);
    }
    return BPT_OK;
}

static bpt_status_t check_bags(const bpt_side_t *side, int64_t rows, int64_t entries, int64_t ngrams) {
    int64_t used = 0;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t begin = side->bag_ranges[2 * i], end = side->bag_ranges[2 * i + 1];
        if (begin > end) return fail("the first n-gram of token", i, begin, end + 1);
        if (end > used) used = end;
    }
    if (used > entries) return fail("an n-gram of token", rows - 1, used, entries + 1);
    return check_ids("n-gram", side->bag, used, ngrams);
}

// Parents are nodes; what is below a node are tokens.
static bpt_status_t check_trees(const bpt_side_t *side, const bpt_batch_shape_t *shape, int64_t symbols) {
    const int64_t rows = shape->side[0].rows, all = rows + shape->side[0].nodes;
    for (int64_t i = 0; i < all; ++i) {
        const uint32_t parent = side->links[3 * i];
        if (parent != BPT_PLACEHOLDER && (parent < rows || parent >= all)) return fail("the parent of row", i, parent, all);
    }
    BPT_TRY(check_ranges("the tree of sequence", side->node_start, side->node_counts, shape->batch, rows, all));
    for (int64_t s = 0; s < shape->batch; ++s)
        for (uint32_t k = 0; k < side->node_counts[s]; ++k) {
            const uint32_t *link = side->links + 3 * ((int64_t)side->node_start[s] + k), end = side->start[s] + side->lengths[s];
            if (link[1] > link[2] || link[1] < side->start[s] || link[2] > end)
                return fail("a node of sequence", s, link[2], (int64_t)end + 1);
        }
    return check_ids("the symbol of node", side->node_labels, shape->side[0].nodes, symbols);
}

static bpt_status_t check_side(const bpt_model_config_t *c, const bpt_batch_t *batch, int i) {
    const bpt_side_t *side = &batch->side[i];
    const int64_t n = batch->shape.side[i].n, rows = batch->shape.side[i].rows, sequences = batch->shape.batch;
    const int64_t vocab = i == 0 && bpt_model_stacks(c) == 2 ? c->source_vocab : c->vocab;
    if (n && rows != n * sequences) return fail("the number of rows of side", i, rows, n * sequences + 1);
    BPT_TRY(n ? check_buckets(side, sequences, n) : check_ranges("the end of sequence", side->start, side->lengths, sequences, 0, rows));
    if (side->tokens && !side->numbers) BPT_TRY(check_ids("token", side->tokens, rows, vocab));
    if (side->numbers && side->columns != c->d_input) return fail("the width of vectors of side", i, side->columns, c->d_input + 1);
    if (batch->shape.side[i].bag) BPT_TRY(check_bags(side, rows, batch->shape.side[i].bag, c->ngram_rows));
    if (batch->first_segment)
        BPT_TRY(check_ranges("the end of segment", side->segment_start, side->segment_lengths, batch->segments, 0, rows));
    if (!batch->shape.side[i].nodes) return BPT_OK;
    if (side->vertex_labels) BPT_TRY(check_ids("the label of row", side->vertex_labels, rows + batch->shape.side[i].nodes, c->classes));
    return check_trees(side, &batch->shape, c->node_labels ? c->node_labels : 1);
}

static bpt_status_t check_segments(const bpt_batch_t *batch) {
    for (int64_t s = 0; batch->first_segment && s < batch->shape.batch; ++s)
        if (batch->first_segment[s] > batch->first_segment[s + 1] || batch->first_segment[s + 1] > batch->segments)
            return fail("the segments of sequence", s, batch->first_segment[s + 1], batch->segments + 1);
    return BPT_OK;
}

bpt_status_t bpt_batch_check(const bpt_model_config_t *c, const bpt_batch_t *batch) {
    if (batch->n_real > batch->shape.batch) return fail("the number of sequences", 0, batch->n_real, batch->shape.batch + 1);
    for (int i = 0; i < BPT_SIDES; ++i)
        if (batch->shape.side[i].rows) BPT_TRY(check_side(c, batch, i));
    BPT_TRY(check_segments(batch));
    const bpt_task_spec_t *task = bpt_task_of(c);
    if (!batch->targets || task->values) return BPT_OK;
    return check_ids("target", batch->targets, batch->n_targets, task->labelled ? c->classes : c->vocab);
}
