// Hierarchical accumulation, leaf by leaf: up the chain of nodes above it, and for gradients down again.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

// run += value + embedding (NULL: none); sum += share run. All of n columns.
BPT_INLINE void climb(float *run, const float *value, const float *embedding, float share, float *sum, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES) {
        vf r = vf_read(run, BPT_F32, i, n - i) + vf_read(value, BPT_F32, i, n - i);
        if (embedding) r += vf_read(embedding, BPT_F32, i, n - i);
        vf_write(run, BPT_F32, i, n - i, r);
        vf_write(sum, BPT_F32, i, n - i, vf_read(sum, BPT_F32, i, n - i) + share * r);
    }
}

// run += value + embedding; returns run . dout.
BPT_INLINE float climb_dot(float *run, const float *value, const float *embedding, const float *dout, int64_t n) {
    vf dot = vf_set1(0);
    for (int64_t i = 0; i < n; i += BPT_LANES) {
        vf r = vf_read(run, BPT_F32, i, n - i) + vf_read(value, BPT_F32, i, n - i);
        if (embedding) r += vf_read(embedding, BPT_F32, i, n - i);
        vf_write(run, BPT_F32, i, n - i, r);
        dot += r * vf_read(dout, BPT_F32, i, n - i);
    }
    return vf_sum(dot);
}

// g += share dout; sum += g, and entry (NULL: none) += g.
BPT_INLINE void descend(float *g, const float *dout, float share, float *sum, float *entry, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES) {
        const vf r = vf_read(g, BPT_F32, i, n - i) + share * vf_read(dout, BPT_F32, i, n - i);
        vf_write(g, BPT_F32, i, n - i, r);
        vf_write(sum, BPT_F32, i, n - i, vf_read(sum, BPT_F32, i, n - i) + r);
        if (entry) vf_write(entry, BPT_F32, i, n - i, vf_read(entry, BPT_F32, i, n - i) + r);
    }
}

BPT_INLINE void add(float *sum, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES)
        vf_write(sum, BPT_F32, i, n - i, vf_read(sum, BPT_F32, i, n - i) + vf_read(x, BPT_F32, i, n - i));
}

// The row of a table that the node reads, `depth` nodes above the leaf: of its distance, and of the leaf's number below it.
BPT_INLINE int64_t entry_of(const bpt_cpu_tree_t *t, int table, int64_t leaf, int64_t node, int64_t depth) {
    const int64_t distance = table == 0 ? depth : leaf - (int64_t)t->links[3 * node + 1] + 1;
    return (distance < t->table_rows[table] ? distance : t->table_rows[table]) - 1;
}
BPT_INLINE const float *embedding(const bpt_cpu_tree_t *t, int table, int64_t leaf, int64_t node, int64_t depth) {
    return t->table[table] + entry_of(t, table, leaf, node, depth) * (t->attrs->head_dim / 2);
}

// The node above a row, or `rows` where there is none or the chain is longer than it may be.
BPT_INLINE int64_t above(const bpt_cpu_tree_t *t, int64_t row, int64_t depth) {
    const int64_t up = t->links[3 * row];
    return up >= t->leaves && up < t->rows && depth < t->depth ? up : t->rows;
}

BPT_INLINE float share_of(const bpt_cpu_tree_t *t, int64_t node, int64_t depth) {
    const int64_t below = (int64_t)t->links[3 * node + 2] - (int64_t)t->links[3 * node + 1];
    return 1 / ((float)below * (float)(depth + t->attrs->counts_leaf));
}

void BPT_KERNEL_NAME(tree_leaf)(const bpt_cpu_tree_t *t, int64_t leaf, int64_t head, float *run) {
    const int64_t n = t->attrs->head_dim, half = n / 2, column = head * n;
    const float weight = t->weight[leaf * t->attrs->heads + head];
    memcpy(run, t->values + leaf * t->values_stride + column, (size_t)n * sizeof *run);
    int64_t depth = 0;
    for (int64_t node = above(t, leaf, 0); node < t->rows; node = above(t, node, depth)) {
        const float *value = t->values + node * t->values_stride + column;
        float *sum = t->sums + node * t->sums_stride + column;
        const float share = weight * share_of(t, node, ++depth);
        if (!t->table[0]) {
            climb(run, value, NULL, share, sum, n);
            continue;
        }
        climb(run, value, embedding(t, 0, leaf, node, depth), share, sum, half);
        climb(run + half, value + half, embedding(t, 1, leaf, node, depth), share, sum + half, half);
    }
}

void BPT_KERNEL_NAME(tree_leaf_grad)(const bpt_cpu_tree_t *t, int64_t leaf, int64_t head, float *run, uint32_t *chain,
                                     float *const dtable[2]) {
    const int64_t n = t->attrs->head_dim, half = n / 2, column = head * n;
    const float weight = t->weight[leaf * t->attrs->heads + head];
    float dweight = 0;
    memcpy(run, t->values + leaf * t->values_stride + column, (size_t)n * sizeof *run);
    int64_t depth = 0;
    for (int64_t node = above(t, leaf, 0); node < t->rows; node = above(t, node, depth)) {
        const float *value = t->values + node * t->values_stride + column, *dout = t->dout + node * t->dout_stride + column;
        chain[depth++] = (uint32_t)node;
        float dot;
        if (!t->table[0])
            dot = climb_dot(run, value, NULL, dout, n);
        else
            dot = climb_dot(run, value, embedding(t, 0, leaf, node, depth), dout, half) +
                  climb_dot(run + half, value + half, embedding(t, 1, leaf, node, depth), dout + half, half);
        dweight += share_of(t, node, depth) * dot;
    }
    t->dweight[leaf * t->attrs->heads + head] = dweight;
    memset(run, 0, (size_t)n * sizeof *run);
    for (; depth > 0; --depth) {
        const int64_t node = chain[depth - 1];
        const float *dout = t->dout + node * t->dout_stride + column, share = weight * share_of(t, node, depth);
        float *sum = t->sums + node * t->sums_stride + column;
        if (!t->table[0]) {
            descend(run, dout, share, sum, NULL, n);
            continue;
        }
        descend(run, dout, share, sum, dtable[0] + entry_of(t, 0, leaf, node, depth) * half, half);
        descend(run + half, dout + half, share, sum + half, dtable[1] + entry_of(t, 1, leaf, node, depth) * half, half);
    }
    add(t->sums + leaf * t->sums_stride + column, run, n);
}
