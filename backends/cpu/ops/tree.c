// tree_values, tree_values_grad: a tree and a head at a time. The gradients of the tables of embeddings are summed by groups of trees and
// by heads, whose numbers depend on the shape alone.
#include <string.h>

#include "backends/cpu/cpu.h"

enum { MOST_GROUPS = 16, ROWS = 32 };

typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_tree_t tree;
    bool gradient;
    int64_t width, columns, first_column;  // of kv; of the values, and their first one
    int64_t trees, groups;
    int64_t table_size[2];        // floats of a table
    float *values, *dout, *sums;  // [rows, columns] where the type is not f32, else NULL
    float *work;                  // of a thread: [head_dim] floats and [depth] rows
    int64_t work_size;
    float *partial;  // [groups * heads, both tables]
} tree_t;

static int64_t take(int64_t *used, int64_t count) {
    const int64_t at = *used;
    *used += count;
    return at;
}

// Sizes, and with `scratch` places: how many floats of it are used.
static int64_t lay_out(const bpt_op_call_t *call, int threads, float *scratch, tree_t *t) {
    const bpt_tree_values_attrs_t *a = &call->attrs.tree_values;
    const int64_t rows = bpt_shape_rows(&call->in[0].shape), leaves = bpt_shape_rows(&call->in[1].shape);
    int64_t used = 0;
    t->gradient = call->op == BPT_OP_TREE_VALUES_GRAD;
    t->width = bpt_shape_columns(&call->in[0].shape), t->columns = (int64_t)a->heads * a->head_dim;
    t->first_column = t->width - t->columns;
    t->trees = bpt_shape_rows(&call->in[5].shape);
    for (int i = 0; i < 2; ++i) t->table_size[i] = call->in[2 + i].present ? bpt_shape_count(&call->in[2 + i].shape) : 0;
    t->groups = t->gradient && t->table_size[0] ? bpt_cpu_min(MOST_GROUPS, t->trees) : t->trees;
    t->tree = (bpt_cpu_tree_t){.rows = rows, .leaves = leaves, .depth = a->depth ? bpt_cpu_min(a->depth, rows - leaves) : rows - leaves};
    t->work_size = a->head_dim + (t->gradient ? t->tree.depth : 0);
    t->values = scratch + take(&used, call->in[0].dtype == BPT_F32 ? 0 : rows * t->columns);
    t->dout = scratch + take(&used, !t->gradient || call->in[6].dtype == BPT_F32 ? 0 : rows * t->columns);
    t->sums = scratch + take(&used, call->out[0].dtype == BPT_F32 ? 0 : rows * t->columns);
    t->work = scratch + take(&used, threads * t->work_size);
    t->partial = scratch + take(&used, t->gradient ? t->groups * a->heads * (t->table_size[0] + t->table_size[1]) : 0);
    return used;
}

static bpt_status_t plan_tree_values(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    tree_t t;
    float none;
    *scratch_bytes = (size_t)lay_out(call, threads, &none, &t) * sizeof(float);
    return BPT_OK;
}

// Values of all rows as f32: the operand itself, or a copy in `room`, which prepare_rows fills.
static const float *values_of(const tree_t *t, const void *data, bpt_dtype_t dtype, const float *room, int64_t *stride) {
    *stride = dtype == BPT_F32 ? t->width : t->columns;
    return dtype == BPT_F32 ? (const float *)data + t->first_column : room;
}

static tree_t tree_of(const bpt_host_run_t *run) {
    tree_t t;
    (void)lay_out(run->call, bpt_team_threads(run->team), run->scratch, &t);
    t.run = run;
    bpt_cpu_tree_t *b = &t.tree;
    b->attrs = &run->attrs->tree_values, b->links = run->in[4], b->weight = run->in[1];
    b->values = values_of(&t, run->in[0], run->call->in[0].dtype, t.values, &b->values_stride);
    if (t.gradient) b->dout = values_of(&t, run->in[6], run->call->in[6].dtype, t.dout, &b->dout_stride);
    b->sums = (float *)values_of(&t, run->out[0], run->call->out[0].dtype, t.sums, &b->sums_stride);
    for (int i = 0; i < 2; ++i) b->table[i] = run->in[2 + i], b->table_rows[i] = bpt_shape_rows(&run->call->in[2 + i].shape);
    b->dweight = run->out[1];
    return t;
}

static void as_f32(const tree_t *t, float *room, int slot, int64_t row) {
    const bpt_dtype_t dtype = t->run->call->in[slot].dtype;
    const size_t at = (size_t)(row * t->width + t->first_column) * bpt_dtype_size(dtype);
    if (dtype != BPT_F32) bpt_cpu_kernels()->to_f32(room + row * t->columns, (const char *)t->run->in[slot] + at, dtype, t->columns);
}

// Rows of the result as they are before anything is summed, and of what is read.
static void prepare_rows(const void *context, int64_t block, int thread) {
    (void)thread;
    const tree_t *t = context;
    const bpt_operand_t *from = &t->run->call->in[t->gradient ? 6 : 0], *to = &t->run->call->out[0];
    const char *source = t->run->in[t->gradient ? 6 : 0];
    for (int64_t r = block * ROWS; r < bpt_cpu_min((block + 1) * ROWS, t->tree.rows); ++r) {
        bpt_cpu_convert_piece((char *)t->run->out[0] + (size_t)(r * t->width) * bpt_dtype_size(to->dtype), to->dtype,
                              source + (size_t)(r * t->width) * bpt_dtype_size(from->dtype), from->dtype, t->width);
        as_f32(t, t->values, 0, r);
        if (t->gradient) as_f32(t, t->dout, 6, r);
        float *sums = t->tree.sums + r * t->tree.sums_stride;
        if (r >= t->tree.leaves || to->dtype != BPT_F32) memset(sums, 0, (size_t)t->columns * sizeof *sums);
        if (t->gradient && r < t->tree.leaves)
            memset(t->tree.dweight + r * t->tree.attrs->heads, 0, (size_t)t->tree.attrs->heads * sizeof(float));
    }
}

// Sums that are not in their place yet.
static void finish_rows(const void *context, int64_t block, int thread) {
    (void)thread;
    const tree_t *t = context;
    const bpt_dtype_t dtype = t->run->call->out[0].dtype;
    for (int64_t r = block * ROWS; r < bpt_cpu_min((block + 1) * ROWS, t->tree.rows); ++r) {
        float *sums = t->tree.sums + r * t->tree.sums_stride;
        char *row = (char *)t->run->out[0] + (size_t)(r * t->width + t->first_column) * bpt_dtype_size(dtype);
        if (r < t->tree.leaves && !t->gradient) continue;
        if (r < t->tree.leaves)
            for (int64_t c = 0; c < t->columns; ++c) sums[c] += t->tree.dout[r * t->tree.dout_stride + c];
        bpt_cpu_kernels()->from_f32(row, dtype, sums, t->columns);
    }
}

static void group_of_trees(const void *context, int64_t index, int thread) {
    const tree_t *t = context;
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const int64_t head = index % t->tree.attrs->heads, tables = t->table_size[0] + t->table_size[1];
    const uint32_t *trees = t->run->in[5];
    float *run = t->work + thread * t->work_size;
    uint32_t *chain = (uint32_t *)(void *)(run + t->tree.attrs->head_dim);
    float *const dtable[] = {t->partial + index * tables, t->partial + index * tables + t->table_size[0]};
    if (t->gradient) memset(dtable[0], 0, (size_t)tables * sizeof(float));
    for (int64_t s = index / t->tree.attrs->heads; s < t->trees; s += t->groups)
        for (int64_t leaf = trees[4 * s]; leaf < bpt_cpu_min(trees[4 * s + 1], t->tree.leaves); ++leaf)
            if (t->gradient)
                k->tree_leaf_grad(&t->tree, leaf, head, run, chain, dtable);
            else
                k->tree_leaf(&t->tree, leaf, head, run);
}

static void accumulate(const tree_t *t) {
    const int64_t blocks = bpt_cpu_blocks(t->tree.rows, ROWS);
    bpt_team_for(t->run->team, blocks, prepare_rows, t);
    bpt_team_for(t->run->team, t->groups * t->tree.attrs->heads, group_of_trees, t);
    if (t->run->call->out[0].dtype != BPT_F32) bpt_team_for(t->run->team, blocks, finish_rows, t);
}

static void run_tree_values(const bpt_host_run_t *run) {
    const tree_t t = tree_of(run);
    accumulate(&t);
}

static void run_tree_values_grad(const bpt_host_run_t *run) {
    const tree_t t = tree_of(run);
    const int64_t tables = t.table_size[0] + t.table_size[1], parts = t.groups * t.tree.attrs->heads;
    accumulate(&t);
    for (int i = 0; i < 2 && tables; ++i)
        bpt_cpu_sum_partials(t.partial + i * t.table_size[0], parts, tables, t.table_size[i], run->out[2 + i]);
}

const bpt_host_op_t bpt_cpu_op_TREE_VALUES = {plan_tree_values, run_tree_values};
const bpt_host_op_t bpt_cpu_op_TREE_VALUES_GRAD = {plan_tree_values, run_tree_values_grad};
