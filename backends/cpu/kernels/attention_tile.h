// What leaf tiles of all graphs share: loading queries and output gradients, writing outputs, the gradient of the softmax.
#ifndef BPT_CPU_ATTENTION_TILE_H
#define BPT_CPU_ATTENTION_TILE_H

#include "backends/cpu/kernels/attention_products.h"

BPT_INLINE uint32_t key_code(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t node) {
    return a->row_keys[2 * bpt_attention_row(a, unit->sequence, node)];
}

// A tile of consecutive leaf queries.
typedef struct {
    int64_t first, row;  // leaf; row of the first query in q, out, ..
    int lanes;           // queries that exist
    tile_t lse, delta;
    dropout_t dropout;
} leaves_t;

BPT_INLINE leaves_t leaves_begin(const bpt_attention_t *a, const bpt_attention_unit_t *unit, const bpt_cpu_attention_tile_t *tile) {
    leaves_t t;  // the rest of it is long, and set where it is used
    t.first = tile->first, t.row = bpt_attention_row(a, unit->sequence, tile->first), t.lanes = (int)(tile->end - tile->first);
    if (a->t->p > 0) {
        uint32_t code[BPT_TILE] = {0}, sequence[BPT_TILE] = {0};
        for (int q = 0; q < t.lanes; ++q) code[q] = a->row_keys[2 * (t.row + q)], sequence[q] = a->row_keys[2 * (t.row + q) + 1];
        t.dropout = dropout_begin(a, unit->head, code, sequence);
    }
    return t;
}

// w->order, w->row = the n leaves from `begin` on and their rows in the ring.
BPT_INLINE void leaf_rows(bpt_attention_work_t *w, int64_t begin, int64_t n) {
    for (int64_t p = 0; p < n; ++p) w->order[p] = (int32_t)(begin + p), w->row[p] = (int32_t)bpt_attention_ring_row(&w->ring, 0, begin + p);
}

// Rows of the tile: x [16][columns] = scale * part, zeros beyond the last query.
BPT_INLINE void leaves_read(const bpt_attention_t *a, const leaves_t *t, const bpt_attention_part_t *part, float scale, float *x) {
    for (int q = 0; q < BPT_TILE; ++q)
        bpt_read_row(part, q < t->lanes ? t->row + q : -1, a->t->head_dim, a->columns, scale, x + q * a->columns);
}

BPT_INLINE void leaves_read_queries(const bpt_attention_t *a, const leaves_t *t, bpt_attention_work_t *w) {
    leaves_read(a, t, &a->q, a->t->scale, w->q);
    bpt_transpose_tile(w->q, a->columns, w->qt);
}

// The tile's outputs and log-sum-exps from the running sums.
BPT_INLINE void leaves_write(const bpt_attention_t *a, const bpt_attention_unit_t *unit, const leaves_t *t, const float *out, tile_t max,
                             tile_t sum) {
    float maxima[BPT_TILE], sums[BPT_TILE];
    tile_store(maxima, max);
    tile_store(sums, sum);
    for (int q = 0; q < t->lanes; ++q) {
        bpt_write_row(&a->out, t->row + q, a->t->head_dim, out + q * a->columns, 1 / sums[q]);
        if (a->lse) a->lse[(t->row + q) * a->t->heads + unit->head] = maxima[q] + bpt_log(sums[q]);
    }
}

// delta = dout . out of each query of a tile, from w->doutt and w->out; w->out becomes zero: from here on it is dq. The sums run
// in the order of bpt_scores, so that dout . v - delta is exactly 0 for a query with a single key.
BPT_INLINE tile_t take_delta(const bpt_attention_t *a, bpt_attention_work_t *w) {
    tile_t delta = tile_set1(0);
    bpt_transpose_tile(w->out, a->columns, w->outt);
    for (int64_t c = 0; c < a->t->head_dim; ++c) {
        const tile_t x = tile_load(w->outt + c * BPT_TILE), y = tile_load(w->doutt + c * BPT_TILE);
        for (int u = 0; u < TV; ++u) delta.v[u] += x.v[u] * y.v[u];
    }
    memset(w->out, 0, (size_t)(BPT_TILE * a->columns) * sizeof *w->out);
    return delta;
}

// Queries, output gradients, log-sum-exps and delta of the tile.
BPT_INLINE void leaves_read_gradient(const bpt_attention_t *a, const bpt_attention_unit_t *unit, leaves_t *t, bpt_attention_work_t *w) {
    float lse[BPT_TILE] = {0};
    leaves_read_queries(a, t, w);
    leaves_read(a, t, &a->dout, 1, w->dout);
    bpt_transpose_tile(w->dout, a->columns, w->doutt);
    leaves_read(a, t, &a->out, 1, w->out);
    for (int q = 0; q < t->lanes; ++q) lse[q] = a->lse[(t->row + q) * a->t->heads + unit->head];
    t->lse = tile_load(lse), t->delta = take_delta(a, w);
}

// Weights of n keys in place: score = exp(score - max), dropped where dropout says so; adds the undropped ones to sum.
BPT_INLINE tile_t softmax_weights(const bpt_attention_t *a, const bpt_attention_unit_t *unit, dropout_t *dropout, const int32_t *keys,
                                  int64_t n, tile_t max, tile_t sum, float *score) {
    for (int64_t p = 0; p < n; ++p) {
        tile_t weight = tile_load(score + p * BPT_TILE);
        for (int u = 0; u < TV; ++u) weight.v[u] = vf_exp(weight.v[u] - max.v[u]), sum.v[u] += weight.v[u];
        if (a->t->p > 0) {
            const tile_t factor = dropout_factors(dropout, key_code(a, unit, keys[p]));
            for (int u = 0; u < TV; ++u) weight.v[u] *= factor.v[u];
        }
        tile_store(score + p * BPT_TILE, weight);
    }
    return sum;
}

BPT_INLINE tile_t tile_max(tile_t max, const float *score, int64_t n) {
    for (int64_t p = 0; p < n; ++p)
        for (int u = 0; u < TV; ++u) max.v[u] = vf_max(vf_load(score + p * BPT_TILE + u * BPT_LANES), max.v[u]);
    return max;
}

// score = scores -> weights after dropout; product = dout . v -> gradient of the scores; n keys. Masked scores give zeros.
BPT_INLINE void softmax_gradient(const bpt_attention_t *a, const bpt_attention_unit_t *unit, dropout_t *dropout, const int32_t *keys,
                                 int64_t n, tile_t lse, tile_t delta, float *score, float *product) {
    for (int64_t p = 0; p < n; ++p) {
        tile_t weight = tile_load(score + p * BPT_TILE), dp = tile_load(product + p * BPT_TILE);
        for (int u = 0; u < TV; ++u) weight.v[u] = vf_exp(weight.v[u] - lse.v[u]);
        tile_t kept = weight;
        if (a->t->p > 0) {
            const tile_t factor = dropout_factors(dropout, key_code(a, unit, keys[p]));
            for (int u = 0; u < TV; ++u) kept.v[u] *= factor.v[u], dp.v[u] *= factor.v[u];
        }
        for (int u = 0; u < TV; ++u) dp.v[u] = weight.v[u] * (dp.v[u] - delta.v[u]);
        tile_store(score + p * BPT_TILE, kept);
        tile_store(product + p * BPT_TILE, dp);
    }
}

#endif
