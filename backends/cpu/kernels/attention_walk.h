// What the forward and backward walks over the leaves share: the spans above a leaf as lanes, and the spans inside a tile of leaves.
#ifndef BPT_CPU_ATTENTION_WALK_H
#define BPT_CPU_ATTENTION_WALK_H

#include "backends/cpu/kernels/attention_tile.h"

BPT_INLINE int64_t span_node(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int level, int64_t leaf) {
    return level == BPT_ATTENTION_WHOLE ? a->n : unit->first[level] + bpt_attention_place(a, level, leaf >> level);
}
BPT_INLINE bool has_span(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int level, int64_t leaf) {
    if (level == BPT_ATTENTION_WHOLE) return true;
    const int64_t m = leaf >> level, place = bpt_attention_place(a, level, m);
    return m == place << a->span_shift && place < unit->size[level];
}
BPT_INLINE int64_t span_begin(int level, int64_t leaf) { return leaf >> level << level; }
BPT_INLINE int64_t span_end(const bpt_attention_unit_t *unit, int level, int64_t leaf) {
    const int64_t end = ((leaf >> level) + 1) << level;
    return end < unit->length ? end : unit->length;
}
// A span that reaches beyond the chunk of this leaf leaves parts, which are put together in the end.
BPT_INLINE bool span_is_cut(const bpt_attention_unit_t *unit, int level, int64_t leaf) {
    return span_begin(level, leaf) / BPT_ATTENTION_CHUNK != (span_end(unit, level, leaf) - 1) / BPT_ATTENTION_CHUNK;
}
BPT_INLINE float *span_part(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t chunk, int lane) {
    return unit->spans + (chunk * BPT_ATTENTION_LANES + lane) * (a->columns + 2);
}

BPT_INLINE bool reads_itself(const bpt_attention_t *a, int level) { return level > 0 && level != BPT_ATTENTION_WHOLE && a->span_self; }
// Row of the table for a span's leaves, -1: none. (A leaf as the root of a sequence of one leaf reads itself.)
BPT_INLINE int32_t span_rel_row(const bpt_attention_t *a, int level) {
    const int32_t levels = a->t->graph.rel_levels;
    if (!a->rel || (level && !reads_itself(a, level))) return -1;
    return level == 0 ? 0 : 2 * levels + (level < levels ? level : levels);
}

// The row of node (level, m) as a key of itself in k, v, dk or dv of the ring; with zero_spans it is not stored and zero (NULL).
BPT_INLINE float *own_row(const bpt_attention_t *a, const bpt_attention_work_t *w, float *rows, int level, int64_t m) {
    return a->t->zero_spans ? NULL : rows + bpt_attention_ring_row(&w->ring, level, bpt_attention_place(a, level, m)) * a->columns;
}
BPT_INLINE float own_score(const bpt_attention_t *a, const bpt_attention_work_t *w, int level, int64_t m, const float *q) {
    const float *k = own_row(a, w, w->ring.k, level, m);
    return (k ? bpt_dot(q, k, a->columns) : 0) + (a->rel ? bpt_dot(q, a->rel, a->columns) : 0);
}
BPT_INLINE float own_factor(const bpt_attention_t *a, const bpt_attention_unit_t *unit, uint32_t key_code, uint32_t code,
                            uint32_t sequence) {
    if (a->t->p <= 0) return 1;
    const uint32_t bits = bpt_dropout_bits(key_code, code, sequence, a->t->uid << 8 | (uint32_t)unit->head, a->rng);
    return bits < a->threshold ? 0 : a->inverse;
}
BPT_INLINE void set_column(float *t, int lane, const float *x, int64_t columns) {
    t += lane / BPT_TILE * columns * BPT_TILE + lane % BPT_TILE;
    for (int64_t c = 0; c < columns; ++c) t[c * BPT_TILE] = x[c];
}

// ---- Spans inside a tile of 16 leaves: lanes 0-7 level 1, 8-11 level 2, 12-13 level 3, 14 level 4 -----------------------------

typedef struct {
    int32_t start[BPT_TILE], size[BPT_TILE];  // leaves of a lane's span within the tile, of size 0: no span
    int level[BPT_TILE];
    int64_t m[BPT_TILE];                         // the span is number m of its level
    int64_t row[BPT_TILE], query_row[BPT_TILE];  // of the output, of the query
    dropout_t dropout;
    uint32_t code[BPT_TILE], sequence[BPT_TILE];
} low_t;

BPT_INLINE void low_begin(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t leaf, low_t *t) {
    memset(t, 0, sizeof *t);
    for (int lane = 0; lane < BPT_TILE - 1; ++lane) {
        const int level = lane < 8    ? 1
                          : lane < 12 ? 2
                          : lane < 14 ? 3
                                      : 4,
                  index = lane < 8    ? lane
                          : lane < 12 ? lane - 8
                          : lane < 14 ? lane - 12
                                      : 0;
        const int64_t begin = leaf + ((int64_t)index << level);
        if (begin >= unit->length || !has_span(a, unit, level, begin)) continue;
        t->start[lane] = index << level, t->size[lane] = 1 << level, t->level[lane] = level;
        const int64_t node = span_node(a, unit, level, begin);
        t->m[lane] = begin >> level;
        t->row[lane] = bpt_attention_out_row(a, unit->sequence, node);
        t->query_row[lane] = bpt_attention_query_row(a, unit->sequence, node);
        if (a->t->p <= 0) continue;
        const uint32_t *key = a->row_keys + 2 * bpt_attention_row(a, unit->sequence, node);
        t->code[lane] = key[0], t->sequence[lane] = key[1];
    }
    if (a->t->p > 0) t->dropout = dropout_begin(a, unit->head, t->code, t->sequence);
}

// Rows of the tile: x [16][columns] = scale * the queries' rows of the part (query_row or row of low_t), zeros where there is none.
BPT_INLINE void low_read(const bpt_attention_t *a, const low_t *t, const bpt_attention_part_t *part, const int64_t *rows, float scale,
                         float *x) {
    for (int lane = 0; lane < BPT_TILE; ++lane)
        bpt_read_row(part, t->size[lane] ? rows[lane] : -1, a->t->head_dim, a->columns, scale, x + lane * a->columns);
}

// w->score = scores of the tile's leaves, masked outside of each span; own = the scores of the spans as their own keys.
BPT_INLINE void low_scores(const bpt_attention_t *a, const low_t *t, int64_t leaf, int64_t n, bpt_attention_work_t *w, float *own) {
    float constant[BPT_TILE] = {0};
    leaf_rows(w, leaf, n);
    bpt_scores(w->ring.k, a->columns, w->row, n, w->qt, a->t->head_dim, w->score);
    for (int lane = 0; lane < BPT_TILE; ++lane) {
        own[lane] = BPT_MASKED;
        if (!reads_itself(a, t->level[lane])) continue;
        const float *q = w->q + lane * a->columns;
        const int32_t row = span_rel_row(a, t->level[lane]);
        own[lane] = own_score(a, w, t->level[lane], t->m[lane], q);
        if (row >= 0) constant[lane] = bpt_dot(q, a->rel + row * a->columns, a->columns);
    }
    const tile_t add = tile_load(constant);
    for (int u = 0; u < TV; ++u) {
        vi start, size;
        memcpy(&start, t->start + u * BPT_LANES, sizeof start);
        memcpy(&size, t->size + u * BPT_LANES, sizeof size);
        for (int32_t p = 0; p < n; ++p) {
            float *score = w->score + p * BPT_TILE + u * BPT_LANES;
            vf_store(score, vf_select((p >= start) & (p < start + size), vf_load(score) + add.v[u], vf_set1(BPT_MASKED)));
        }
    }
}

#endif
