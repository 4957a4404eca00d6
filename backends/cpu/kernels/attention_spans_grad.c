// Span queries, backward: the walk of attention_spans.c again, with the weights recomputed from the log-sum-exps.
#include "backends/cpu/kernels/attention_walk.h"

// Gradient of a span's edge to itself: adds to dq (without the scale), dk, dv and the table's first row.
static void own_gradient(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int level, int64_t m,
                         const float *q, const float *dout, float lse, float delta, uint32_t code, uint32_t sequence, float *dq) {
    const int64_t columns = a->columns;
    const float *k = own_row(a, w, w->ring.k, level, m), *v = own_row(a, w, w->ring.v, level, m);
    const float weight = expf(own_score(a, w, level, m, q) - lse), factor = own_factor(a, unit, code, code, sequence);
    const float ds = weight * (factor * (v ? bpt_dot(dout, v, columns) : 0) - delta);
    if (k) {
        add_row(dq, ds, k, columns);
        add_row(own_row(a, w, w->ring.dk, level, m), ds, q, columns);
        add_row(own_row(a, w, w->ring.dv, level, m), weight * factor, dout, columns);
    }
    if (a->rel) {
        add_row(dq, ds, a->rel, columns);
        add_row(w->drel, ds, q, columns);
    }
}

// Gradient of the table row that all leaves of a span use, from the sum of their scores' gradients.
static void constant_gradient(const bpt_attention_t *a, bpt_attention_work_t *w, int level, const float *q, float score_sum, float *dq) {
    const int32_t row = span_rel_row(a, level);
    if (row < 0) return;
    add_row(dq, score_sum, a->rel + row * a->columns, a->columns);
    add_row(w->drel + row * a->columns, score_sum, q, a->columns);
}

static tile_t column_sums(const float *product, int64_t n) {
    tile_t sum = tile_set1(0);
    for (int64_t p = 0; p < n; ++p)
        for (int u = 0; u < TV; ++u) sum.v[u] += vf_load(product + p * BPT_TILE + u * BPT_LANES);
    return sum;
}

static void low_tile(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t leaf) {
    const int64_t columns = a->columns, n = unit->length - leaf < BPT_TILE ? unit->length - leaf : BPT_TILE;
    float own[BPT_TILE], lse[BPT_TILE] = {0}, delta[BPT_TILE], score_sum[BPT_TILE];
    low_t t;
    low_begin(a, unit, leaf, &t);
    low_read(a, &t, &a->q, t.query_row, a->t->scale, w->q);
    low_read(a, &t, &a->dout, t.row, 1, w->dout);
    low_read(a, &t, &a->out, t.row, 1, w->out);
    for (int lane = 0; lane < BPT_TILE; ++lane)
        if (t.size[lane]) lse[lane] = a->lse[t.row[lane] * a->t->heads + unit->head];
    bpt_transpose_tile(w->q, columns, w->qt);
    bpt_transpose_tile(w->dout, columns, w->doutt);
    tile_store(delta, take_delta(a, w));
    low_scores(a, &t, leaf, n, w, own);
    bpt_scores(w->ring.v, columns, w->row, n, w->doutt, a->t->head_dim, w->product);
    softmax_gradient(a, unit, &t.dropout, w->order, n, tile_load(lse), tile_load(delta), w->score, w->product);
    bpt_outer(w->ring.dv, columns, w->row, n, w->score, w->dout);
    bpt_outer(w->ring.dk, columns, w->row, n, w->product, w->q);
    bpt_mix(w->ring.k, columns, w->row, n, w->product, w->out);
    tile_store(score_sum, column_sums(w->product, n));
    for (int lane = 0; lane < BPT_TILE; ++lane) {
        const float *q = w->q + lane * columns;
        float *dq = w->out + lane * columns;
        if (!t.size[lane]) continue;
        if (reads_itself(a, t.level[lane])) {
            own_gradient(a, unit, w, t.level[lane], t.m[lane], q, w->dout + lane * columns, lse[lane], delta[lane], t.code[lane],
                         t.sequence[lane], dq);
            constant_gradient(a, w, t.level[lane], q, score_sum[lane], dq);
        }
        bpt_write_row(&a->dq, t.query_row[lane], a->t->head_dim, dq, a->t->scale);
    }
}

static void begin_lane(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int lane, int64_t leaf) {
    bpt_attention_walk_t *walk = &w->walk;
    const int level = walk->level[lane];
    if (!has_span(a, unit, level, leaf)) {
        walk->lse[lane] = 1e30f;  // weights 0
        return;
    }
    const int64_t columns = a->columns, node = span_node(a, unit, level, leaf), row = bpt_attention_out_row(a, unit->sequence, node);
    float *q = walk->q + lane * columns, *dout = walk->dout + lane * columns, *dq = walk->out + lane * columns;
    bpt_read_row(&a->q, bpt_attention_query_row(a, unit->sequence, node), a->t->head_dim, columns, a->t->scale, q);
    bpt_read_row(&a->dout, row, a->t->head_dim, columns, 1, dout);
    bpt_read_row(&a->out, row, a->t->head_dim, columns, 1, dq);
    set_column(walk->qt, lane, q, columns);
    set_column(walk->doutt, lane, dout, columns);
    const int32_t rel_row = span_rel_row(a, level);
    walk->constant[lane] = rel_row < 0 ? 0 : bpt_dot(q, a->rel + rel_row * columns, columns);
    walk->lse[lane] = a->lse[row * a->t->heads + unit->head];
    // dout . out, added up in the order of dout . v: see take_delta
    const int tile = lane / BPT_TILE * BPT_TILE;
    bpt_scores(dq, columns, &(int32_t){0}, 1, walk->doutt + tile * columns, a->t->head_dim, w->product);
    walk->delta[lane] = w->product[lane - tile];
    walk->score_sum[lane] = 0;
    memset(dq, 0, (size_t)columns * sizeof *dq);
    if (a->t->p > 0) {
        const uint32_t *key = a->row_keys + 2 * bpt_attention_row(a, unit->sequence, node);
        walk->code[lane] = key[0], walk->sequence[lane] = key[1];
    }
    if (reads_itself(a, level) && span_begin(level, leaf) == leaf)
        own_gradient(a, unit, w, level, leaf >> level, q, dout, walk->lse[lane], walk->delta[lane], walk->code[lane], walk->sequence[lane],
                     dq);
}

static void end_lane(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int lane, int64_t leaf) {
    bpt_attention_walk_t *walk = &w->walk;
    const int level = walk->level[lane];
    float *dq = walk->out + lane * a->columns;
    if (!has_span(a, unit, level, leaf)) return;
    constant_gradient(a, w, level, walk->q + lane * a->columns, walk->score_sum[lane], dq);
    if (span_is_cut(unit, level, leaf))
        memcpy(span_part(a, unit, leaf / BPT_ATTENTION_CHUNK, lane), dq, (size_t)a->columns * sizeof *dq);
    else
        bpt_write_row(&a->dq, bpt_attention_query_row(a, unit->sequence, span_node(a, unit, level, leaf)), a->t->head_dim, dq, a->t->scale);
}

static void step_lanes(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int lane, int64_t n) {
    bpt_attention_walk_t *walk = &w->walk;
    const int64_t columns = a->columns, offset = lane * columns;
    const tile_t constant = tile_load(walk->constant + lane);
    tile_t lse = tile_load(walk->lse + lane), score_sum = tile_load(walk->score_sum + lane);
    for (int u = 0; u < TV; ++u) lse.v[u] -= constant.v[u];
    dropout_t dropout;
    if (a->t->p > 0) dropout = dropout_begin(a, unit->head, walk->code + lane, walk->sequence + lane);
    bpt_scores(w->ring.k, columns, w->row, n, walk->qt + offset, a->t->head_dim, w->score);
    bpt_scores(w->ring.v, columns, w->row, n, walk->doutt + offset, a->t->head_dim, w->product);
    softmax_gradient(a, unit, &dropout, w->order, n, lse, tile_load(walk->delta + lane), w->score, w->product);
    bpt_outer(w->ring.dv, columns, w->row, n, w->score, walk->dout + offset);
    bpt_outer(w->ring.dk, columns, w->row, n, w->product, walk->q + offset);
    bpt_mix(w->ring.k, columns, w->row, n, w->product, walk->out + offset);
    const tile_t more = column_sums(w->product, n);
    for (int u = 0; u < TV; ++u) score_sum.v[u] += more.v[u];
    tile_store(walk->score_sum + lane, score_sum);
}

void BPT_KERNEL_NAME(attention_spans_grad)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w,
                                           int64_t leaf) {
    bpt_attention_walk_t *walk = &w->walk;
    const int64_t n = unit->length - leaf < BPT_ATTENTION_BLOCK ? unit->length - leaf : BPT_ATTENTION_BLOCK;
    for (int64_t i = 0; walk->low && i < n; i += BPT_TILE) low_tile(a, unit, w, leaf + i);
    if (walk->n == 0) return;
    leaf_rows(w, leaf, n);
    for (int lane = 0; lane < walk->n; ++lane)
        if (leaf == span_begin(walk->level[lane], leaf) || leaf % BPT_ATTENTION_CHUNK == 0) begin_lane(a, unit, w, lane, leaf);
    for (int lane = 0; lane < walk->n; lane += BPT_TILE) step_lanes(a, unit, w, lane, n);
    const bool last = (leaf + n) % BPT_ATTENTION_CHUNK == 0;
    for (int lane = 0; lane < walk->n; ++lane)
        if (leaf + n == span_end(unit, walk->level[lane], leaf) || last) end_lane(a, unit, w, lane, leaf);
}

void BPT_KERNEL_NAME(attention_spans_grad_merge)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    float *dq = w->out;
    for (int lane = 0; lane < w->walk.n; ++lane)
        for (int64_t leaf = 0, end; leaf < unit->length; leaf = end) {
            const int level = w->walk.level[lane];
            end = span_end(unit, level, leaf);
            if (!span_is_cut(unit, level, leaf) || !has_span(a, unit, level, leaf)) continue;
            memset(dq, 0, (size_t)a->columns * sizeof *dq);
            for (int64_t chunk = leaf / BPT_ATTENTION_CHUNK; chunk * BPT_ATTENTION_CHUNK < end; ++chunk)
                add_row(dq, 1, span_part(a, unit, chunk, lane), a->columns);
            bpt_write_row(&a->dq, bpt_attention_query_row(a, unit->sequence, span_node(a, unit, level, leaf)), a->t->head_dim, dq,
                          a->t->scale);
        }
}
