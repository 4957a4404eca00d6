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

// Sums go to unit->means; w->out is workspace.
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
    for (int level = 1; level < unit->levels; ++level) {
        const int64_t below = bpt_attention_level_size(unit, level - 1);
        const float *rows = unit->means + (unit->first[level - 1] - a->n) * columns;
        float *sum = unit->means + (unit->first[level] - a->n) * columns;
        for (int64_t m = 0; m < bpt_attention_level_size(unit, level); ++m, sum += columns) {
            if (level == 1) {
                sum_leaves(a, unit, m, w->out, sum);
            } else {
                memcpy(sum, rows + 2 * m * columns, (size_t)columns * sizeof *sum);
                if (2 * m + 1 < below) add_row(sum, 1, rows + (2 * m + 1) * columns, columns);
            }
            write_mean(a, unit, unit->first[level] + m, sum, key_count(a, unit, level, m));
        }
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
    for (int level = unit->levels - 1; level > 0; --level) {
        const float *above = unit->means + (unit->first[level + 1] - a->n) * columns;
        float *sum = unit->means + (unit->first[level] - a->n) * columns;
        for (int64_t m = 0; m < bpt_attention_level_size(unit, level); ++m, sum += columns) {
            bpt_read_row(&a->dout, bpt_attention_out_row(a, unit->sequence, unit->first[level] + m), a->t->head_dim, columns,
                         1 / key_count(a, unit, level, m), sum);
            if (level + 1 < unit->levels) add_row(sum, 1, above + (m >> 1) * columns, columns);
        }
    }
}
