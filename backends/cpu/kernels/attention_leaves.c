// Tiles of 16 leaf queries by key lists, forward and backward: whole columns of scores, no online rescaling. The tile's key
// lists are made.
#include "backends/cpu/kernels/attention_tile.h"

// With zero_spans only leaves have keys and values: the other scores are q . rel alone.
BPT_INLINE int64_t stored_keys(const bpt_attention_t *a, const bpt_cpu_attention_tile_t *tile) {
    return a->t->zero_spans ? tile->n_leaves : tile->n_keys;
}

// Rows k + rel of whole keys.
BPT_INLINE void sum_whole_keys(const bpt_attention_t *a, bpt_attention_work_t *w) {
    const bpt_cpu_attention_tile_t *tile = w->tile;
    for (int64_t p = tile->n_grouped; p < tile->n_keys; ++p) {
        const float *k = w->ring.k + tile->row[p] * a->columns, *rel = a->rel + tile->key_rel[p] * a->columns;
        float *sum = w->ring.k + tile->sum_row[p] * a->columns;
        for (int64_t c = 0; c < a->columns; c += BPT_LANES) vf_store(sum + c, vf_load(k + c) + vf_load(rel + c));
    }
}

// w->score[key][query] of the tile's keys, masked where the query does not read the key. q . rel of grouped keys is one product with
// the table rows in use, read back by the key's distance for every group of queries that read the same keys.
BPT_INLINE void tile_scores(const bpt_attention_t *a, bpt_attention_work_t *w) {
    const bpt_cpu_attention_tile_t *tile = w->tile;
    const int64_t stored = stored_keys(a, tile), head_dim = a->t->head_dim;
    sum_whole_keys(a, w);
    bpt_scores(w->ring.k, a->columns, tile->sum_row, stored, w->qt, head_dim, w->raw);
    if (stored < tile->n_keys) memset(w->raw + stored * BPT_TILE, 0, (size_t)((tile->n_keys - stored) * BPT_TILE) * sizeof *w->raw);
    if (a->rel) bpt_scores(a->rel, a->columns, tile->rel, tile->n_rel, w->qt, head_dim, w->rel_score);
    for (int64_t p = 0; p < tile->n_grouped; ++p) tile_store(w->score + p * BPT_TILE, tile_set1(BPT_MASKED));
    for (int64_t p = tile->n_grouped; p < tile->n_keys; ++p) tile_store(w->score + p * BPT_TILE, tile_load(w->raw + p * BPT_TILE));
    for (int g = 0; g < tile->n_groups; ++g) {
        const bpt_attention_group_t *group = &tile->group[g];
        const lanes_t lanes = lanes_between(group->lane, group->lane + group->lanes);
        const float *raw = w->raw + (int64_t)group->key * BPT_TILE;
        const float *rel = group->rel >= 0 ? w->rel_score + (int64_t)group->rel * BPT_TILE : NULL;
        float *score = w->score + (int64_t)group->key * BPT_TILE;
        const int64_t step = group->step * BPT_TILE;
        for (int64_t i = 0; i < group->keys; ++i, raw += BPT_TILE, score += BPT_TILE) {
            tile_t x = tile_load(raw);
            if (rel) {
                const tile_t y = tile_load(rel + i * step);
                for (int u = 0; u < TV; ++u) x.v[u] += y.v[u];
            }
            tile_store_lanes(score, lanes, x);
        }
    }
}

void BPT_KERNEL_NAME(attention_leaves)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    const bpt_cpu_attention_tile_t *tile = w->tile;
    leaves_t t = leaves_begin(a, unit, w->tile);
    leaves_read_queries(a, &t, w);
    tile_scores(a, w);
    const tile_t max = tile_max(tile_load(w->score), w->score, tile->n_keys);
    const tile_t sum = softmax_weights(a, unit, &t.dropout, tile->keys, tile->n_keys, max, tile_set1(0), w->score);
    memset(w->out, 0, (size_t)(BPT_TILE * a->columns) * sizeof *w->out);
    bpt_mix(w->ring.v, a->columns, tile->row, stored_keys(a, tile), w->score, w->out);
    leaves_write(a, unit, &t, w->out, max, sum);
}

// w->rel_score = gradient of the product with the table: the scores' gradients, summed over the keys that use a row.
BPT_INLINE void rel_gradient(bpt_attention_work_t *w) {
    const bpt_cpu_attention_tile_t *tile = w->tile;
    memset(w->rel_score, 0, (size_t)(tile->n_rel * BPT_TILE) * sizeof *w->rel_score);
    for (int g = 0; g < tile->n_groups; ++g) {
        const bpt_attention_group_t *group = &tile->group[g];
        if (group->rel < 0) continue;
        const lanes_t lanes = lanes_between(group->lane, group->lane + group->lanes);
        const float *product = w->product + (int64_t)group->key * BPT_TILE;
        float *rel = w->rel_score + (int64_t)group->rel * BPT_TILE;
        const int64_t step = group->step * BPT_TILE;
        for (int64_t i = 0; i < group->keys; ++i, product += BPT_TILE, rel += step)
            for (int u = 0; u < TV; ++u)
                vf_store(rel + u * BPT_LANES, vf_load(rel + u * BPT_LANES) + vf_if(lanes.v[u], vf_load(product + u * BPT_LANES)));
    }
}

void BPT_KERNEL_NAME(attention_leaves_grad)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    const bpt_cpu_attention_tile_t *tile = w->tile;
    leaves_t t = leaves_begin(a, unit, w->tile);
    leaves_read_gradient(a, unit, &t, w);
    tile_scores(a, w);
    const int64_t stored = stored_keys(a, tile);
    bpt_scores(w->ring.v, a->columns, tile->row, stored, w->doutt, a->t->head_dim, w->product);
    if (stored < tile->n_keys) memset(w->product + stored * BPT_TILE, 0, (size_t)((tile->n_keys - stored) * BPT_TILE) * sizeof *w->product);
    softmax_gradient(a, unit, &t.dropout, tile->keys, tile->n_keys, t.lse, t.delta, w->score, w->product);
    bpt_outer(w->ring.dv, a->columns, tile->row, stored, w->score, w->dout);
    const int64_t grouped = stored < tile->n_grouped ? stored : tile->n_grouped;
    bpt_outer(w->ring.dk, a->columns, tile->row, grouped, w->product, w->q);
    bpt_mix(w->ring.k, a->columns, tile->sum_row, stored, w->product, w->out);
    if (a->rel) {
        rel_gradient(w);
        bpt_outer_twice((sums_t){w->ring.dk, tile->row + grouped}, (sums_t){w->drel, tile->key_rel + grouped}, a->columns, stored - grouped,
                        w->product + grouped * BPT_TILE, w->q);
        bpt_outer(w->drel, a->columns, tile->rel, tile->n_rel, w->rel_score, w->q);
        bpt_mix(a->rel, a->columns, tile->rel, tile->n_rel, w->rel_score, w->out);
    }
    for (int q = 0; q < t.lanes; ++q) bpt_write_row(&a->dq, t.row + q, a->t->head_dim, w->out + q * a->columns, a->t->scale);
}
