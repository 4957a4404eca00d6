// Hierarchical accumulation and its gradient: an item for each tree and column of the values.
#include "backends/gpu/lower/lower.h"

enum { MOST_PARTIAL = 1 << 22 };  // floats of gradients of the tables that are summed apart

typedef struct {
    int64_t rows, leaves, trees, width, columns, heads, head_dim, depth, table_rows[2];
    int64_t leaf_count;  // of a launch
    bool tables;
} tree_t;

// `passes`: how often an item goes along a chain.
static tree_t tree_of(bpt_lower_t *l, int passes) {
    const bpt_tree_values_attrs_t *a = &l->call->attrs.tree_values;
    tree_t t = {.heads = a->heads, .head_dim = a->head_dim, .columns = (int64_t)a->heads * a->head_dim, .tables = l->call->in[2].present};
    const uint32_t loops = l->device->api->limits.max_loops;
    t.rows = bpt_rows(&l->call->in[0]), t.width = bpt_columns(&l->call->in[0]), t.leaves = bpt_rows(&l->call->in[1]);
    t.trees = bpt_rows(&l->call->in[5]);
    t.depth = a->depth ? bpt_min(a->depth, t.rows - t.leaves) : t.rows - t.leaves;
    for (int i = 0; i < 2 && t.tables; ++i) t.table_rows[i] = bpt_rows(&l->call->in[2 + i]);
    const int64_t fit = loops ? (int64_t)loops / 2 / (passes * t.depth + 1) : t.leaves;
    t.leaf_count = fit < 1 ? 1 : fit;
    if (bpt_lower_window(l, t.rows, (size_t)t.width * 4) < t.rows)
        bpt_lower_refuse(l, "%s: %lld rows of %lld columns are larger than what a kernel of this device can address; lower --batch-tokens",
                         bpt_op_name(l->call->op), (long long)t.rows, (long long)t.width);
    return t;
}

// Columns of `from` that are not made come to `to`.
static void copy_rows(bpt_lower_t *l, const bpt_view_t *from, const bpt_view_t *to, int64_t count) {
    if (from->dtype == to->dtype)
        bpt_lower_copy(l, from, to, count);
    else
        bpt_lower_convert(l, from, to, count);
}

static void place(bpt_lower_t *l, const tree_t *t, const bpt_view_t *sums, const bpt_view_t *x, int64_t first, int64_t add_below) {
    const bpt_view_t y = bpt_lower_out(l, 0);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_tree_place);
    const int64_t rows = t->rows - first;
    k.bindings[tree_place_sums] = *sums;
    k.bindings[tree_place_x] = *x;
    k.bindings[tree_place_y] = bpt_lower_part(&y, first * t->width, rows * t->width);
    tree_place_params_t p = {.count = (uint32_t)(rows * t->columns),
                             .columns = (uint32_t)t->columns,
                             .width = (uint32_t)t->width,
                             .add_below = (uint32_t)add_below};
    if (rows) bpt_lower_emit_items(l, &k, &p, rows * t->columns);
}

static void sum_middle(bpt_lower_t *l, const bpt_view_t *x, int64_t outer, int64_t terms, int64_t inner, const bpt_view_t *y) {
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_tree_sum);
    k.bindings[tree_sum_x] = *x;
    k.bindings[tree_sum_y] = *y;
    tree_sum_params_t p = {.count = (uint32_t)(outer * inner), .terms = (uint32_t)terms, .inner = (uint32_t)inner};
    if (outer > 0 && inner > 0) bpt_lower_emit_items(l, &k, &p, outer * inner);
}

void bpt_lower_TREE_VALUES(bpt_lower_t *l) {
    const tree_t t = tree_of(l, 1);
    const int64_t nodes = t.rows - t.leaves;
    const bpt_view_t kv = bpt_lower_in(l, 0), out = bpt_lower_out(l, 0), none = {0};
    const bpt_view_t sums = bpt_lower_scratch(l, BPT_F32, nodes * t.columns);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_tree_values);
    k.constants[tree_values_TABLES] = t.tables;
    k.constants[tree_values_COUNTS_LEAF] = l->call->attrs.tree_values.counts_leaf;
    for (int i = 0; i < 6; ++i) k.bindings[i] = bpt_lower_in(l, i);
    k.bindings[tree_values_sums] = sums;
    copy_rows(l, &kv, &out, t.rows * t.width);
    bpt_lower_fill(l, &sums, nodes * t.columns, 0);
    for (int64_t leaf = 0; leaf < t.leaves && t.trees; leaf += t.leaf_count) {
        tree_values_params_t p = {.count = (uint32_t)(t.trees * t.columns),
                                  .columns = (uint32_t)t.columns,
                                  .head_dim = (uint32_t)t.head_dim,
                                  .width = (uint32_t)t.width,
                                  .leaves = (uint32_t)t.leaves,
                                  .rows = (uint32_t)t.rows,
                                  .depth = (uint32_t)t.depth,
                                  .first_leaf = (uint32_t)leaf,
                                  .leaf_count = (uint32_t)t.leaf_count,
                                  .vertical_rows = (uint32_t)t.table_rows[0],
                                  .horizontal_rows = (uint32_t)t.table_rows[1]};
        bpt_lower_barrier(l);
        bpt_lower_emit_items(l, &k, &p, t.trees * t.columns);
    }
    bpt_lower_barrier(l);
    place(l, &t, &sums, &none, t.leaves, 0);
}

// Where the gradient is collected: see cl/tree/tree_values_grad.inc.
typedef struct {
    bpt_view_t sums, dots, chain, partial;
} room_t;

// Leaves of `n` trees from `first` on.
static void backward(bpt_lower_t *l, const tree_t *t, const room_t *room, int64_t first, int64_t n) {
    const bpt_view_t trees = bpt_lower_in(l, 5);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_tree_values_grad);
    k.constants[tree_values_grad_TABLES] = t->tables;
    k.constants[tree_values_grad_COUNTS_LEAF] = l->call->attrs.tree_values.counts_leaf;
    for (int i = 0; i < 7; ++i) k.bindings[i] = bpt_lower_in(l, i);
    k.bindings[tree_values_grad_trees] = bpt_lower_part(&trees, 4 * first, 4 * n);
    k.bindings[tree_values_grad_sums] = room->sums;
    k.bindings[tree_values_grad_dots] = room->dots;
    k.bindings[tree_values_grad_chain] = room->chain;
    k.bindings[tree_values_grad_partial] = room->partial;
    for (int64_t leaf = 0; leaf < t->leaves; leaf += t->leaf_count) {
        tree_values_grad_params_t p = {.count = (uint32_t)(n * t->columns),
                                       .columns = (uint32_t)t->columns,
                                       .head_dim = (uint32_t)t->head_dim,
                                       .width = (uint32_t)t->width,
                                       .leaves = (uint32_t)t->leaves,
                                       .rows = (uint32_t)t->rows,
                                       .depth = (uint32_t)t->depth,
                                       .first_leaf = (uint32_t)leaf,
                                       .leaf_count = (uint32_t)t->leaf_count,
                                       .vertical_rows = (uint32_t)t->table_rows[0],
                                       .horizontal_rows = (uint32_t)t->table_rows[1]};
        bpt_lower_barrier(l);
        bpt_lower_emit_items(l, &k, &p, n * t->columns);
    }
}

void bpt_lower_TREE_VALUES_GRAD(bpt_lower_t *l) {
    const tree_t t = tree_of(l, 2);
    const int64_t nodes = t.rows - t.leaves, entry = t.heads * (t.head_dim / 2), area = (t.table_rows[0] + t.table_rows[1]) * entry;
    // Trees whose gradients of the tables are kept apart.
    const int64_t fit = t.tables ? bpt_lower_window(l, t.trees, (size_t)area * 4) : t.trees;
    int64_t group = t.tables ? bpt_min(fit, MOST_PARTIAL / area) : fit;
    if (group < 1) group = 1;
    group = bpt_min(group, t.trees);
    const bpt_view_t dout = bpt_lower_in(l, 6), out = bpt_lower_out(l, 0), dweight = bpt_lower_out(l, 1);
    const room_t room = {.sums = bpt_lower_scratch(l, BPT_F32, t.rows * t.columns),
                         .dots = bpt_lower_scratch(l, BPT_F32, t.leaves * t.columns),
                         .chain = bpt_lower_scratch(l, BPT_U32, nodes * t.columns),
                         .partial = t.tables ? bpt_lower_scratch(l, BPT_F32, group * area) : (bpt_view_t){0}};
    copy_rows(l, &dout, &out, t.rows * t.width);
    bpt_lower_fill(l, &room.sums, t.rows * t.columns, 0);
    bpt_lower_fill(l, &room.dots, t.leaves * t.columns, 0);
    if (t.tables) bpt_lower_fill(l, &room.partial, group * area, 0);
    for (int64_t tree = 0; tree < t.trees; tree += group) backward(l, &t, &room, tree, bpt_min(group, t.trees - tree));
    bpt_lower_barrier(l);
    place(l, &t, &room.sums, &dout, 0, t.leaves);
    sum_middle(l, &room.dots, t.leaves * t.heads, t.head_dim, 1, &dweight);
    if (!t.tables) return;
    const bpt_view_t all = bpt_lower_scratch(l, BPT_F32, area);
    bpt_lower_sum_rows(l, &room.partial, group, area, &all, false);
    bpt_lower_barrier(l);
    for (int i = 0; i < 2; ++i) {
        const bpt_view_t of_heads = bpt_lower_part(&all, i ? t.table_rows[0] * entry : 0, t.table_rows[i] * entry),
                         dtable = bpt_lower_out(l, 2 + i);
        sum_middle(l, &of_heads, t.table_rows[i], t.heads, t.head_dim / 2, &dtable);
    }
}
