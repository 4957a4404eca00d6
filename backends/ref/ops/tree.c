// Hierarchical accumulation and its gradient, straight from the definition: for every node, each leaf below it, and the nodes on the path
// between them.
#include "backends/ref/ops/element.h"

typedef struct {
    const bpt_host_run_t *run;
    const bpt_tree_values_attrs_t *attrs;
    const uint32_t *links, *trees;
    int64_t rows, leaves, n_trees, width, first_column, half, tables[2];  // tables: rows of vertical and horizontal, 0 without
    double *dkv, *dweight, *dtable[2];                                    // gradients
} tree_t;

static tree_t tree_of(const bpt_host_run_t *run) {
    const bpt_op_call_t *call = run->call;
    tree_t t = {.run = run, .attrs = &run->attrs->tree_values, .links = run->in[4], .trees = run->in[5]};
    t.rows = bpt_ref_rows(&call->in[0]), t.width = bpt_ref_columns(&call->in[0]), t.leaves = bpt_ref_rows(&call->in[1]);
    t.n_trees = bpt_ref_rows(&call->in[5]), t.half = t.attrs->head_dim / 2;
    t.first_column = t.width - (int64_t)t.attrs->heads * t.attrs->head_dim;
    for (int i = 0; i < 2; ++i) t.tables[i] = run->in[2 + i] ? bpt_ref_rows(&call->in[2 + i]) : 0;
    return t;
}

static bpt_status_t plan_tree_values(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)call->attrs.tree_values.head_dim * sizeof(double);
    return BPT_OK;
}
static bpt_status_t plan_tree_values_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    BPT_TRY(plan_tree_values(call, threads, scratch_bytes));
    for (int i = 0; i < 4; ++i)
        if (call->in[i].present) *scratch_bytes += (size_t)bpt_shape_count(&call->in[i].shape) * sizeof(double);
    return BPT_OK;
}

// The row of vertical or horizontal that node `node`, `depth` nodes above the leaf, reads.
static int64_t entry(const tree_t *t, int table, int64_t leaf, int64_t node, int64_t depth) {
    const int64_t distance = table == 0 ? depth : leaf - (int64_t)t->links[3 * node + 1] + 1;
    return (distance < t->tables[table] ? distance : t->tables[table]) - 1;
}

// The node above `row`, or rows where there is none.
static int64_t above(const tree_t *t, int64_t row) {
    const int64_t up = t->links[3 * row];
    return up >= t->leaves && up < t->rows ? up : t->rows;
}

// sum[c] = what leaf and nodes up to `node` have in head h; returns the share that it has in the
// node's mean, before the leaf's weight.
static double branch(const tree_t *t, int64_t leaf, int64_t node, int h, double *sum) {
    const int64_t n = t->attrs->head_dim, column = t->first_column + h * n;
    for (int64_t c = 0; c < n; ++c) sum[c] = bpt_ref_in(t->run, 0, leaf * t->width + column + c);
    int64_t depth = 0;
    for (int64_t at = above(t, leaf); at < t->rows; at = above(t, at)) {
        ++depth;
        for (int64_t c = 0; c < n; ++c) {
            sum[c] += bpt_ref_in(t->run, 0, at * t->width + column + c);
            const int table = c >= t->half;
            if (t->tables[0]) sum[c] += bpt_ref_in(t->run, 2 + table, entry(t, table, leaf, at, depth) * t->half + c - table * t->half);
        }
        if (at == node) break;
    }
    const double below = (double)t->links[3 * node + 2] - (double)t->links[3 * node + 1];
    return 1 / (below * (double)(depth + t->attrs->counts_leaf));
}

// All but the values of nodes, which become 0.
static void copy_rest(const tree_t *t) {
    for (int64_t r = 0; r < t->rows; ++r)
        for (int64_t c = 0; c < t->width; ++c) {
            const int64_t at = r * t->width + c;
            bpt_ref_out(t->run, 0, at, r < t->leaves || c < t->first_column ? bpt_ref_in(t->run, 0, at) : 0);
        }
}

static void run_tree_values(const bpt_host_run_t *run) {
    const tree_t t = tree_of(run);
    const int64_t n = t.attrs->head_dim;
    double *sum = run->scratch;
    copy_rest(&t);
    for (int64_t s = 0; s < t.n_trees; ++s)
        for (int64_t i = t.trees[4 * s + 2]; i < t.trees[4 * s + 3]; ++i)
            for (int64_t column = 0; column < t.attrs->heads * n; ++column) {
                const int h = (int)(column / n);
                double mean = 0;
                for (int64_t j = t.links[3 * i + 1]; j < t.links[3 * i + 2]; ++j)
                    mean += bpt_ref_in(run, 1, j * t.attrs->heads + h) * branch(&t, j, i, h, sum) * sum[column % n];
                bpt_ref_out(run, 0, i * t.width + t.first_column + column, mean);
            }
}

// The gradients of the part that leaf j has in node i.
static void backward(const tree_t *t, int64_t j, int64_t i, int h, double *sum) {
    const int64_t n = t->attrs->head_dim, heads = t->attrs->heads, column = t->first_column + h * n;
    const double share = branch(t, j, i, h, sum), weight = bpt_ref_in(t->run, 1, j * heads + h);
    for (int64_t c = 0; c < n; ++c) {
        const double dout = bpt_ref_in(t->run, 6, i * t->width + column + c), g = weight * share * dout;
        const int table = c >= t->half;
        t->dweight[j * heads + h] += share * dout * sum[c];
        t->dkv[j * t->width + column + c] += g;
        int64_t depth = 0;
        for (int64_t at = above(t, j); at < t->rows; at = above(t, at)) {
            t->dkv[at * t->width + column + c] += g;
            ++depth;
            if (t->tables[0]) t->dtable[table][entry(t, table, j, at, depth) * t->half + c - table * t->half] += g;
            if (at == i) break;
        }
    }
}

static void run_tree_values_grad(const bpt_host_run_t *run) {
    tree_t t = tree_of(run);
    double *sum = run->scratch;
    t.dkv = sum + t.attrs->head_dim;
    t.dweight = t.dkv + t.rows * t.width;
    t.dtable[0] = t.dweight + t.leaves * t.attrs->heads;
    t.dtable[1] = t.dtable[0] + t.tables[0] * t.half;
    for (double *x = t.dkv; x < t.dtable[1] + t.tables[1] * t.half; ++x) *x = 0;
    for (int64_t s = 0; s < t.n_trees; ++s)
        for (int64_t i = t.trees[4 * s + 2]; i < t.trees[4 * s + 3]; ++i)
            for (int64_t j = t.links[3 * i + 1]; j < t.links[3 * i + 2]; ++j)
                for (int h = 0; h < t.attrs->heads; ++h) backward(&t, j, i, h, sum);
    for (int64_t r = 0; r < t.rows; ++r)
        for (int64_t c = 0; c < t.width; ++c) {
            const int64_t at = r * t.width + c;
            bpt_ref_out(run, 0, at, t.dkv[at] + (r < t.leaves || c < t.first_column ? bpt_ref_in(run, 6, at) : 0));
        }
    for (int64_t i = 0; i < t.leaves * t.attrs->heads; ++i) bpt_ref_out(run, 1, i, t.dweight[i]);
    for (int table = 0; table < 2; ++table)
        for (int64_t i = 0; i < t.tables[table] * t.half; ++i) bpt_ref_out(run, 2 + table, i, t.dtable[table][i]);
}

const bpt_host_op_t bpt_ref_op_TREE_VALUES = {plan_tree_values, run_tree_values};
const bpt_host_op_t bpt_ref_op_TREE_VALUES_GRAD = {plan_tree_values_grad, run_tree_values_grad};
