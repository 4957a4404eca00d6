// Span queries that are zero and read zero scores (zero_spans without dropout): their output is the mean of their leaves' values, so
// sums up the tree replace the walk, and sums down the tree its gradient.
#include "backends/cpu/kernels/attention_walk.h"

// Keys of span (level, m): its leaves, and itself (a zero value) with span_self.
BPT_INLINE float key_count(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int level, int64_t m) {
    const int64_t leaf = m << level;
    return (float)(span_end(unit, level, leaf) - leaf + (reads_itself(a, level) ? 1 : 0));
}
BPT_INLINE int64_t level_size(const bpt_attention_unit_t *unit, int level) { return (unit->length + ((int64_t)1 << level) - 1) >> level; }

static void write_mean(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t node, const float *sum, float count) {
    const int64_t row = bpt_attention_out_row(a, unit->sequence, node);
    bpt_write_row(&a->out, row, a->t->head_dim, sum, 1 / count);
    if (a->lse) a->lse[row * a->t->heads + unit->head] = bpt_log(count);
}

// sums: [other nodes][columns] of workspace.
void BPT_KERNEL_NAME(attention_mean)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, float *sums) {
    const int64_t columns = a->columns;
    if (!a->tree) {
        memset(sums, 0, (size_t)columns * sizeof *sums);
        for (int64_t leaf = 0; leaf < unit->length; ++leaf) add_row(sums, 1, unit->v + leaf * columns, columns);
        write_mean(a, unit, a->n, sums, (float)unit->length);
        return;
    }
    for (int level = 1; level < unit->levels; ++level) {
        const int64_t below = level_size(unit, level - 1);
        const float *rows = level == 1 ? unit->v : sums + (unit->first[level - 1] - a->n) * columns;
        float *sum = sums + (unit->first[level] - a->n) * columns;
        for (int64_t m = 0; m < level_size(unit, level); ++m, sum += columns) {
            memcpy(sum, rows + 2 * m * columns, (size_t)columns * sizeof *sum);
            if (2 * m + 1 < below) add_row(sum, 1, rows + (2 * m + 1) * columns, columns);
            write_mean(a, unit, unit->first[level] + m, sum, key_count(a, unit, level, m));
        }
    }
}

// Adds to the unit's dv; the other gradients of these queries are zero or not stored.
void BPT_KERNEL_NAME(attention_mean_grad)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, float *sums) {
    const int64_t columns = a->columns;
    if (!a->tree) {
        bpt_read_row(&a->dout, bpt_attention_out_row(a, unit->sequence, a->n), a->t->head_dim, columns, 1 / (float)unit->length, sums);
        for (int64_t leaf = 0; leaf < unit->length; ++leaf) add_row(unit->dv + leaf * columns, 1, sums, columns);
        return;
    }
    for (int level = unit->levels - 1; level >= 0; --level) {
        const float *above = sums + (unit->first[level + 1] - a->n) * columns;
        for (int64_t m = 0; m < level_size(unit, level); ++m) {
            const int64_t node = unit->first[level] + m;
            const float *parent = above + (m >> 1) * columns;
            if (level == 0) {
                if (unit->levels > 1) add_row(unit->dv + node * columns, 1, parent, columns);
                continue;
            }
            float *sum = sums + (node - a->n) * columns;
            bpt_read_row(&a->dout, bpt_attention_out_row(a, unit->sequence, node), a->t->head_dim, columns,
                         1 / key_count(a, unit, level, m), sum);
            if (level + 1 < unit->levels) add_row(sum, 1, parent, columns);
        }
    }
}
