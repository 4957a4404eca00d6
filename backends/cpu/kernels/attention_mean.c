// Span queries that are zero and read zero scores (zero_spans without dropout): their output is the mean of their leaves' values, so
// sums up the tree replace the walk, and sums down the tree its gradient.
#include "backends/cpu/kernels/attention_walk.h"

// Keys of span (level, m): its leaves, and itself (a zero value) with span_self.
BPT_INLINE float key_count(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int level, int64_t m) {
    const int64_t leaf = m << level;
    return (float)(span_end(unit, level, leaf) - leaf + (reads_itself(a, level) ? 1 : 0));
}

static void write_mean(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t node, const float *sum, float count) {
    const int64_t row = bpt_attention_out_row(a, unit->sequence, node);
    bpt_write_row(&a->out, row, a->t->head_dim, sum, 1 / count);
    if (a->lse) a->lse[row * a->t->heads + unit->head] = bpt_log(count);
}

// The sum of leaves 2m and 2m + 1, of leaf 2m alone where there is no other; `row` is workspace.
static void sum_leaves(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t m, float *row, float *sum) {
    const int64_t leaf = bpt_attention_row(a, unit->sequence, 2 * m);
    bpt_read_row(&a->v, leaf, a->t->head_dim, a->columns, 1, sum);
    if (2 * m + 1 >= unit->length) return;
    bpt_read_row(&a->v, leaf + 1, a->t->head_dim, a->columns, 1, row);
    add_row(sum, 1, row, a->columns);
}

// Sums of all spans of the whole tree, as those of a level are made of the level's below, go to unit->means; w->out is workspace.
void BPT_KERNEL_NAME(attention_mean)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    const int64_t columns = a->columns;
    if (!a->tree) {
        memset(unit->means, 0, (size_t)columns * sizeof *unit->means);
        for (int64_t m = 0; 2 * m < unit->length; ++m) {
            sum_leaves(a, unit, m, w->out, w->out + columns);
            add_row(unit->means, 1, w->out + columns, columns);
        }
        write_mean(a, unit, a->n, unit->means, (float)unit->length);
        return;
    }
    float *sum = unit->means;
    for (int level = 1; unit->size[level] > 0; ++level) {
        const int64_t size = bpt_level_size(unit->length, level), size_below = bpt_level_size(unit->length, level - 1);
        const float *below = level > 1 ? sum - bpt_level_size(a->n, level - 1) * columns : NULL;
        for (int64_t m = 0; m < size; ++m) {
            float *row = sum + m * columns;
            if (level == 1) {
                sum_leaves(a, unit, m, w->out, row);
            } else {
                memcpy(row, below + 2 * m * columns, (size_t)columns * sizeof *row);
                if (2 * m + 1 < size_below) add_row(row, 1, below + (2 * m + 1) * columns, columns);
            }
            if (has_span(a, unit, level, m << level))
                write_mean(a, unit, span_node(a, unit, level, m << level), row, key_count(a, unit, level, m));
        }
        sum += bpt_level_size(a->n, level) * columns;
    }
}

// unit->means = for every span what each of its leaves gets for dv: the sum of dout / keys of the span and of those above it. The other
// gradients of these queries are zero or not stored.
void BPT_KERNEL_NAME(attention_mean_grad)(const bpt_attention_t *a, const bpt_attention_unit_t *unit) {
    const int64_t columns = a->columns;
    if (!a->tree) {
        bpt_read_row(&a->dout, bpt_attention_out_row(a, unit->sequence, a->n), a->t->head_dim, columns, 1 / (float)unit->length,
                     unit->means);
        return;
    }
    int top = 0;
    float *sum = unit->means;
    while (unit->size[top + 1] > 0) sum += bpt_level_size(a->n, ++top) * columns;
    for (int level = top; level > 0; --level) {
        const int64_t size = bpt_level_size(unit->length, level);
        const float *above = sum;
        sum -= bpt_level_size(a->n, level) * columns;
        for (int64_t m = 0; m < size; ++m) {
            const bool here = has_span(a, unit, level, m << level);
            const int64_t query = here ? bpt_attention_out_row(a, unit->sequence, span_node(a, unit, level, m << level)) : -1;
            bpt_read_row(&a->dout, query, a->t->head_dim, columns, 1 / key_count(a, unit, level, m), sum + m * columns);
            if (level < top) add_row(sum + m * columns, 1, above + (m >> 1) * columns, columns);
        }
    }
}
