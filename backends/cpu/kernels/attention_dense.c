// Tiles of 16 leaf queries of a graph whose leaves read a window of leaves, forward and backward: blocks of keys with an online softmax.
#include "backends/cpu/kernels/attention_tile.h"

// Keys that the tile reads: [begin, end) for all lanes together, lane q reads [first_begin + q * moves, ..) clipped.
typedef struct {
    int64_t begin, end, length;
    int64_t left, right;  // query i reads [i - left, i + right], clipped to the sequence
} reach_t;

typedef struct {
    int64_t begin;  // first key
    int64_t n;
    int64_t low;  // distance (query - key) of the first table row in the list
    int32_t n_rel;
} block_t;

BPT_INLINE reach_t reach_of(const bpt_attention_t *a, const bpt_attention_unit_t *unit, const leaves_t *t) {
    reach_t r = {.length = unit->length, .left = a->reach};
    r.right = a->t->graph.causal ? 0 : r.left;
    r.begin = t->first > r.left ? t->first - r.left : 0;
    r.end = t->first + t->lanes + r.right < r.length ? t->first + t->lanes + r.right : r.length;
    return r;
}

BPT_INLINE int64_t clamp(int64_t x, int64_t limit) { return x < -limit ? -limit : x > limit ? limit : x; }
// Row of the table for a key at distance d = query - key: 0 itself, 2d - 1 on the left, 2d on the right.
BPT_INLINE int32_t row_of_distance(int64_t d) { return (int32_t)(d > 0 ? 2 * d - 1 : -2 * d); }

BPT_INLINE block_t begin_block(const bpt_attention_t *a, const leaves_t *t, const reach_t *r, int64_t begin, bpt_attention_work_t *w) {
    block_t b = {.begin = begin, .n = r->end - begin};
    if (b.n > BPT_ATTENTION_KEYS) b.n = BPT_ATTENTION_KEYS;
    leaf_rows(w, begin, b.n);
    if (!a->rel) return b;
    const int64_t limit = a->t->graph.rel_levels, high = clamp(t->first + BPT_TILE - 1 - begin, limit);
    b.low = clamp(t->first - (begin + b.n - 1), limit);
    for (int64_t d = b.low; d <= high; ++d) w->tile->rel[b.n_rel++] = row_of_distance(d);
    return b;
}

// Entry of lane 0's row for a key in the list of rows, and whether all lanes use the same entry.
BPT_INLINE int64_t rel_entry(const bpt_attention_t *a, int64_t distance, int64_t low, bool *same) {
    const int64_t limit = a->t->graph.rel_levels;
    *same = distance >= limit || distance + BPT_TILE - 1 <= -limit;
    return clamp(distance, limit) - low;
}

BPT_INLINE void add_rel(const bpt_attention_t *a, const leaves_t *t, const block_t *b, bpt_attention_work_t *w) {
    const int64_t limit = a->t->graph.rel_levels;
    for (int64_t p = 0; p < b->n; ++p) {
        const int64_t distance = t->first - b->begin - p;
        bool same;
        const int64_t entry = rel_entry(a, distance, b->low, &same);
        float *score = w->score + p * BPT_TILE;
        if (same) {
            for (int q = 0; q < BPT_TILE; ++q) score[q] += w->rel_score[entry * BPT_TILE + q];
            continue;
        }
        for (int q = 0; q < BPT_TILE; ++q) score[q] += w->rel_score[(clamp(distance + q, limit) - b->low) * BPT_TILE + q];
    }
}

BPT_INLINE void block_scores(const bpt_attention_t *a, const leaves_t *t, const reach_t *r, const block_t *b, bpt_attention_work_t *w) {
    bpt_scores(w->ring.k, a->columns, w->row, b->n, w->qt, a->t->head_dim, w->score);
    if (a->rel) {
        bpt_scores(a->rel, a->columns, w->tile->rel, b->n_rel, w->qt, a->t->head_dim, w->rel_score);
        add_rel(a, t, b, w);
    }
    const int64_t last = t->first + BPT_TILE - 1;
    if (b->begin >= last - r->left && b->begin + b->n - 1 <= t->first + r->right) return;  // every lane reads all of it
    for (int64_t p = 0; p < b->n; ++p) {
        const int64_t key = b->begin + p, from = key - r->right - t->first, to = key + r->left - t->first + 1;
        const lanes_t read = lanes_between((int)clamp(from, BPT_TILE), (int)clamp(to, BPT_TILE));
        float *score = w->score + p * BPT_TILE;
        for (int u = 0; u < TV; ++u)
            vf_store(score + u * BPT_LANES, vf_select(read.v[u], vf_load(score + u * BPT_LANES), vf_set1(BPT_MASKED)));
    }
}

void BPT_KERNEL_NAME(attention_dense)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    leaves_t t = leaves_begin(a, unit, w->tile);
    const reach_t r = reach_of(a, unit, &t);
    tile_t max = tile_set1(BPT_MASKED), sum = tile_set1(0);
    leaves_read_queries(a, &t, w);
    memset(w->out, 0, (size_t)(BPT_TILE * a->columns) * sizeof *w->out);
    for (int64_t begin = r.begin; begin < r.end; begin += BPT_ATTENTION_KEYS) {
        const block_t b = begin_block(a, &t, &r, begin, w);
        block_scores(a, &t, &r, &b, w);
        const tile_t larger = tile_max(max, w->score, b.n);
        tile_t shrink;
        for (int u = 0; u < TV; ++u) shrink.v[u] = vf_exp(max.v[u] - larger.v[u]), sum.v[u] *= shrink.v[u];
        if (begin > r.begin) bpt_scale_rows(w->out, a->columns, shrink);
        max = larger;
        sum = softmax_weights(a, unit, &t.dropout, w->order, b.n, max, sum, w->score);
        bpt_mix(w->ring.v, a->columns, w->row, b.n, w->score, w->out);
    }
    leaves_write(a, unit, &t, w->out, max, sum);
}

// w->rel_score = gradient of the product with the table.
BPT_INLINE void rel_gradient(const bpt_attention_t *a, const leaves_t *t, const block_t *b, bpt_attention_work_t *w) {
    const int64_t limit = a->t->graph.rel_levels;
    memset(w->rel_score, 0, (size_t)(b->n_rel * BPT_TILE) * sizeof *w->rel_score);
    for (int64_t p = 0; p < b->n; ++p) {
        const int64_t distance = t->first - b->begin - p;
        bool same;
        const int64_t entry = rel_entry(a, distance, b->low, &same);
        const float *product = w->product + p * BPT_TILE;
        if (same) {
            for (int q = 0; q < BPT_TILE; ++q) w->rel_score[entry * BPT_TILE + q] += product[q];
            continue;
        }
        for (int q = 0; q < BPT_TILE; ++q) w->rel_score[(clamp(distance + q, limit) - b->low) * BPT_TILE + q] += product[q];
    }
}

void BPT_KERNEL_NAME(attention_dense_grad)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    leaves_t t = leaves_begin(a, unit, w->tile);
    const reach_t r = reach_of(a, unit, &t);
    leaves_read_gradient(a, unit, &t, w);
    for (int64_t begin = r.begin; begin < r.end; begin += BPT_ATTENTION_KEYS) {
        const block_t b = begin_block(a, &t, &r, begin, w);
        block_scores(a, &t, &r, &b, w);
        bpt_scores(w->ring.v, a->columns, w->row, b.n, w->doutt, a->t->head_dim, w->product);
        softmax_gradient(a, unit, &t.dropout, w->order, b.n, t.lse, t.delta, w->score, w->product);
        bpt_outer(w->ring.dv, a->columns, w->row, b.n, w->score, w->dout);
        bpt_outer(w->ring.dk, a->columns, w->row, b.n, w->product, w->q);
        bpt_mix(w->ring.k, a->columns, w->row, b.n, w->product, w->out);
        if (!a->rel) continue;
        rel_gradient(a, &t, &b, w);
        bpt_outer(w->drel, a->columns, w->tile->rel, b.n_rel, w->rel_score, w->q);
        bpt_mix(a->rel, a->columns, w->tile->rel, b.n_rel, w->rel_score, w->out);
    }
    for (int q = 0; q < t.lanes; ++q) bpt_write_row(&a->dq, t.row + q, a->t->head_dim, w->out + q * a->columns, a->t->scale);
}
