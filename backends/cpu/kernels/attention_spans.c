// Span queries, forward: one walk over the leaves in blocks of 32. Spans inside a tile of leaves are done on the spot; the longer
// ones above a leaf, one per level, are lanes with a running softmax, written when their last leaf has passed.
#include "backends/cpu/kernels/attention_walk.h"

static void low_tile(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t leaf) {
    const int64_t columns = a->columns, n = unit->length - leaf < BPT_TILE ? unit->length - leaf : BPT_TILE;
    float own[BPT_TILE], maxima[BPT_TILE], sums[BPT_TILE];
    low_t t;
    low_begin(a, unit, leaf, &t);
    low_read(a, &t, &a->q, t.query_row, a->t->scale, w->q);
    bpt_transpose_tile(w->q, columns, w->qt);
    low_scores(a, &t, leaf, n, w, own);
    const tile_t max = tile_max(tile_load(own), w->score, n);
    tile_t sum = tile_load(own);
    for (int u = 0; u < TV; ++u) sum.v[u] = vf_exp(sum.v[u] - max.v[u]);
    tile_store(own, sum);  // weights
    sum = softmax_weights(a, unit, &t.dropout, w->order, n, max, sum, w->score);
    memset(w->out, 0, (size_t)(BPT_TILE * columns) * sizeof *w->out);
    bpt_mix(w->ring.v, columns, w->row, n, w->score, w->out);
    tile_store(maxima, max);
    tile_store(sums, sum);
    for (int lane = 0; lane < BPT_TILE; ++lane) {
        float *out = w->out + lane * columns;
        if (!t.size[lane]) continue;
        const float *v = reads_itself(a, t.level[lane]) ? own_row(a, w, w->ring.v, t.level[lane], t.m[lane]) : NULL;
        if (v) add_row(out, own[lane] * own_factor(a, unit, t.code[lane], t.code[lane], t.sequence[lane]), v, columns);
        bpt_write_row(&a->out, t.row[lane], a->t->head_dim, out, 1 / sums[lane]);
        if (a->lse) a->lse[t.row[lane] * a->t->heads + unit->head] = maxima[lane] + bpt_log(sums[lane]);
    }
}

// Lane `lane` takes up the span of its level above `leaf`, if there is one: at its first leaf, or at the first leaf of a chunk.
static void begin_lane(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int lane, int64_t leaf) {
    bpt_attention_walk_t *walk = &w->walk;
    const int level = walk->level[lane];
    if (!has_span(a, unit, level, leaf)) return;
    const int64_t columns = a->columns, node = span_node(a, unit, level, leaf);
    float *q = walk->q + lane * columns, *out = walk->out + lane * columns;
    bpt_read_row(&a->q, bpt_attention_query_row(a, unit->sequence, node), a->t->head_dim, columns, a->t->scale, q);
    set_column(walk->qt, lane, q, columns);
    const int32_t row = span_rel_row(a, level);
    walk->constant[lane] = row < 0 ? 0 : bpt_dot(q, a->rel + row * columns, columns);
    walk->max[lane] = BPT_MASKED, walk->sum[lane] = 0;
    memset(out, 0, (size_t)columns * sizeof *out);
    if (a->t->p > 0) {
        const uint32_t *key = a->row_keys + 2 * bpt_attention_row(a, unit->sequence, node);
        walk->code[lane] = key[0], walk->sequence[lane] = key[1];
    }
    if (!reads_itself(a, level) || span_begin(level, leaf) != leaf) return;
    const float *v = own_row(a, w, w->ring.v, level, leaf >> level);
    walk->max[lane] = own_score(a, w, level, leaf >> level, q), walk->sum[lane] = 1;
    if (v) add_row(out, own_factor(a, unit, walk->code[lane], walk->code[lane], walk->sequence[lane]), v, columns);
}

static void write_span(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t node, const float *out, float max, float sum) {
    const int64_t row = bpt_attention_out_row(a, unit->sequence, node);
    bpt_write_row(&a->out, row, a->t->head_dim, out, 1 / sum);
    if (a->lse) a->lse[row * a->t->heads + unit->head] = max + bpt_log(sum);
}

static void end_lane(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_walk_t *walk, int lane, int64_t leaf) {
    const float *out = walk->out + lane * a->columns;
    if (!has_span(a, unit, walk->level[lane], leaf)) return;
    if (!span_is_cut(unit, walk->level[lane], leaf)) {
        write_span(a, unit, span_node(a, unit, walk->level[lane], leaf), out, walk->max[lane], walk->sum[lane]);
        return;
    }
    float *part = span_part(a, unit, leaf / BPT_ATTENTION_CHUNK, lane);
    memcpy(part, out, (size_t)a->columns * sizeof *part);
    part[a->columns] = walk->max[lane], part[a->columns + 1] = walk->sum[lane];
}

// 16 lanes read n leaves: one step of the online softmax.
static void step_lanes(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int lane, int64_t n) {
    bpt_attention_walk_t *walk = &w->walk;
    float *out = walk->out + lane * a->columns;
    const tile_t constant = tile_load(walk->constant + lane), old = tile_load(walk->max + lane);
    tile_t sum = tile_load(walk->sum + lane), shrink;
    bpt_scores(w->ring.k, a->columns, w->row, n, walk->qt + lane * a->columns, a->t->head_dim, w->score);
    for (int64_t p = 0; p < n; ++p)
        for (int u = 0; u < TV; ++u) {
            float *score = w->score + p * BPT_TILE + u * BPT_LANES;
            vf_store(score, vf_load(score) + constant.v[u]);
        }
    const tile_t max = tile_max(old, w->score, n);
    for (int u = 0; u < TV; ++u) shrink.v[u] = vf_exp(old.v[u] - max.v[u]), sum.v[u] *= shrink.v[u];
    bpt_scale_rows(out, a->columns, shrink);
    dropout_t dropout;
    if (a->t->p > 0) dropout = dropout_begin(a, unit->head, walk->code + lane, walk->sequence + lane);
    sum = softmax_weights(a, unit, &dropout, w->order, n, max, sum, w->score);
    bpt_mix(w->ring.v, a->columns, w->row, n, w->score, out);
    tile_store(walk->max + lane, max);
    tile_store(walk->sum + lane, sum);
}

void BPT_KERNEL_NAME(attention_spans)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t leaf) {
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
        if (leaf + n == span_end(unit, walk->level[lane], leaf) || last) end_lane(a, unit, walk, lane, leaf);
}

// Puts the parts of spans that several chunks share together, chunk by chunk.
void BPT_KERNEL_NAME(attention_spans_merge)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    const int64_t columns = a->columns;
    float *out = w->out;
    for (int lane = 0; lane < w->walk.n; ++lane)
        for (int64_t leaf = 0, end; leaf < unit->length; leaf = end) {
            const int level = w->walk.level[lane];
            end = span_end(unit, level, leaf);
            if (!span_is_cut(unit, level, leaf) || !has_span(a, unit, level, leaf)) continue;
            float max = BPT_MASKED, sum = 0;
            memset(out, 0, (size_t)columns * sizeof *out);
            for (int64_t chunk = leaf / BPT_ATTENTION_CHUNK; chunk * BPT_ATTENTION_CHUNK < end; ++chunk) {
                const float *part = span_part(a, unit, chunk, lane);
                const float larger = part[columns] > max ? part[columns] : max, old = expf(max - larger),
                            new = expf(part[columns] - larger);
                for (int64_t c = 0; c < columns; c += BPT_LANES) vf_store(out + c, vf_load(out + c) * old + vf_load(part + c) * new);
                sum = sum * old + part[columns + 1] * new, max = larger;
            }
            write_span(a, unit, span_node(a, unit, level, leaf), out, max, sum);
        }
}
