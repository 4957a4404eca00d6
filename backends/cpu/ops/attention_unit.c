// One unit of attention: a head of a sequence.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"

enum { PIECE_ROWS = 2048 };  // rows of one piece of packing and adding up

static void move_part(bpt_attention_part_t *part, int64_t elements) {
    if (part->data) part->data = (char *)part->data + (size_t)elements * bpt_dtype_size(part->dtype);
}

bpt_attention_t bpt_attention_of_head(const bpt_attention_t *all, int head) {
    bpt_attention_t a = *all;
    bpt_attention_part_t *const parts[] = {&a.q, &a.k, &a.v, &a.out, &a.dout, &a.dq, &a.dk, &a.dv};
    for (size_t i = 0; i < BPT_COUNT(parts); ++i) move_part(parts[i], (int64_t)head * a.t->head_dim);
    return a;
}

void bpt_attention_begin_unit(const bpt_attention_plan_t *p, int64_t index, bpt_attention_unit_t *unit) {
    const bpt_attention_t *a = &p->a;
    unit->sequence = index / a->t->heads, unit->head = (int)(index % a->t->heads);
    unit->length = a->lengths[unit->sequence];
    unit->levels = bpt_levels(unit->length);
    for (int j = 0; j <= BPT_MAX_LEVELS; ++j) unit->first[j] = a->tree && j < bpt_levels(a->n) ? bpt_level_offset(a->n, j) : a->nodes;
    unit->first[0] = 0;
}

int64_t bpt_attention_chunks(const bpt_attention_unit_t *unit) { return bpt_cpu_blocks(unit->length, BPT_ATTENTION_CHUNK); }

// The lanes of the walk: one per level above the tiles, or only the root.
static void begin_walk(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_walk_t *walk) {
    walk->n = 0, walk->low = false;
    if (a->t->queries == BPT_QUERIES_LEAVES || a->mean_spans) return;
    if (!a->tree) {
        if (a->other) walk->level[walk->n++] = BPT_ATTENTION_WHOLE;
    } else if (a->t->queries == BPT_QUERIES_ROOTS) {
        walk->level[walk->n++] = unit->levels - 1;
    } else {
        walk->low = unit->levels > 1;
        for (int level = BPT_ATTENTION_LOW + 1; level < unit->levels; ++level) walk->level[walk->n++] = level;
    }
    memset(walk->max, 0, sizeof walk->max), memset(walk->sum, 0, sizeof walk->sum), memset(walk->constant, 0, sizeof walk->constant);
    memset(walk->delta, 0, sizeof walk->delta), memset(walk->score_sum, 0, sizeof walk->score_sum);
    for (int lane = 0; lane < BPT_ATTENTION_LANES; ++lane) walk->lse[lane] = 1e30f;  // lanes not in use: weights 0
    memset(walk->code, 0, sizeof walk->code), memset(walk->sequence, 0, sizeof walk->sequence);
}

void bpt_attention_run_chunk(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_work_t *w, int64_t chunk) {
    const bpt_cpu_kernels_t *k = p->k;
    void (*const leaves)(const bpt_attention_t *, const bpt_attention_unit_t *, bpt_attention_work_t *, int64_t) =
        p->grad   ? (a->tree ? k->attention_leaves_grad : k->attention_dense_grad)
        : a->tree ? k->attention_leaves
                  : k->attention_dense;
    void (*const spans)(const bpt_attention_t *, const bpt_attention_unit_t *, bpt_attention_work_t *, int64_t) =
        p->grad ? k->attention_spans_grad : k->attention_spans;
    const int64_t begin = chunk * BPT_ATTENTION_CHUNK, end = bpt_cpu_min(unit->length, begin + BPT_ATTENTION_CHUNK);
    begin_walk(a, unit, &w->walk);
    for (int64_t leaf = begin; leaf < end; leaf += BPT_ATTENTION_BLOCK) {
        for (int64_t i = leaf; a->t->queries != BPT_QUERIES_ROOTS && i < leaf + BPT_ATTENTION_BLOCK && i < end; i += BPT_TILE)
            leaves(a, unit, w, i);
        if (w->walk.low || w->walk.n) spans(a, unit, w, leaf);
    }
}

// Calls `visit` for the nodes [begin, end) of the unit that exist (or do not), in pieces; a share of them for each thread that helps.
typedef void visit_t(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end);
static void visit_nodes(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_share_t s,
                        bool exist, bool others, visit_t *visit) {
    int64_t piece = 0;
    for (int j = 0; j < (others && a->tree ? bpt_levels(a->n) : 1); ++j) {
        const int64_t first = unit->first[j], middle = first + (j < unit->levels ? (unit->length + ((int64_t)1 << j) - 1) >> j : 0);
        const int64_t end = exist ? middle : first + bpt_level_size(a->n, j);
        for (int64_t begin = exist ? first : middle; begin < end; begin += PIECE_ROWS)
            if (piece++ % s.shares == s.share) visit(p, a, unit, begin, bpt_cpu_min(end, begin + PIECE_ROWS));
    }
}

static void zero_rows(const bpt_attention_part_t *part, int64_t row, int64_t rows, int64_t head_dim) {
    const size_t size = bpt_dtype_size(part->dtype);
    for (int64_t i = row; i < row + rows; ++i) memset((char *)part->data + (size_t)(i * part->stride) * size, 0, (size_t)head_dim * size);
}

static void zero_queries(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin,
                         int64_t end) {
    const int64_t row = bpt_attention_row(a, unit->sequence, begin);
    if (p->grad) {
        if (bpt_attention_query_row(a, unit->sequence, begin) >= 0) zero_rows(&a->dq, row, end - begin, a->t->head_dim);
        return;
    }
    zero_rows(&a->out, row, end - begin, a->t->head_dim);
    for (int64_t i = row; a->lse && i < row + end - begin; ++i) a->lse[i * a->t->heads + unit->head] = 0;
}
static void zero_keys(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin,
                      int64_t end) {
    (void)p;
    const int64_t row = bpt_attention_row(a, unit->sequence, begin);
    zero_rows(&a->dk, row, end - begin, a->t->head_dim);
    zero_rows(&a->dv, row, end - begin, a->t->head_dim);
}
static void zero_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin,
                      int64_t end) {
    (void)p;
    memset(unit->dk + begin * a->columns, 0, (size_t)((end - begin) * a->columns) * sizeof(float));
    memset(unit->dv + begin * a->columns, 0, (size_t)((end - begin) * a->columns) * sizeof(float));
}
static void pack(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    p->k->attention_pack(a, unit, begin, end);
}
static void unpack(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    p->k->attention_unpack(a, unit, begin, end);
}

static bool spans_have_keys(const bpt_attention_t *a) { return a->tree && !a->t->zero_spans; }

void bpt_attention_open_unit(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_share_t s) {
    const bool spans = spans_have_keys(a);
    visit_nodes(p, a, unit, s, true, spans, pack);
    if (a->t->queries != BPT_QUERIES_ROOTS) visit_nodes(p, a, unit, s, false, a->t->queries == BPT_QUERIES_ALL, zero_queries);
    if (!p->grad) return;
    visit_nodes(p, a, unit, s, true, spans, zero_sums);
    visit_nodes(p, a, unit, s, false, spans, zero_keys);
    if (!a->tree && a->other && !a->t->zero_spans && s.share == 0) zero_keys(p, a, unit, a->n, a->n + 1);  // nobody reads a virtual root
}

void bpt_attention_close_unit(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_work_t *w, float *means) {
    begin_walk(a, unit, &w->walk);
    if (bpt_attention_chunks(unit) > 1) {
        if (p->grad)
            p->k->attention_spans_grad_merge(a, unit, w);
        else
            p->k->attention_spans_merge(a, unit, w);
    }
    if (!a->mean_spans) return;
    if (p->grad)
        p->k->attention_mean_grad(a, unit, means);
    else
        p->k->attention_mean(a, unit, means);
}

// ---- Sums of the gradient --------------------------------------------------------------------------------------------

float *bpt_attention_group_table(const bpt_attention_plan_t *p, int64_t index) {
    return p->a.rel_rows ? p->drel + index * p->groups / p->units * p->a.rel_rows * p->a.columns : NULL;
}

void bpt_attention_begin_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_work_t *w, int64_t chunk, float *drel) {
    if (!p->grad) return;
    const int64_t begin = chunk * BPT_ATTENTION_CHUNK;
    if (bpt_attention_chunks(unit) == 1) {
        w->dk = unit->dk, w->dv = unit->dv, w->drel = drel;
        w->range.levels = unit->levels;
        memcpy(w->range.base, unit->first, sizeof w->range.base);
        return;
    }
    w->dk = w->own_dk, w->dv = w->own_dv, w->drel = w->own_drel;
    bpt_attention_range(a, unit, begin, bpt_cpu_min(unit->length, begin + BPT_ATTENTION_CHUNK), &w->range);
    memset(w->dk, 0, (size_t)(w->range.rows * a->columns) * sizeof(float));
    memset(w->dv, 0, (size_t)(w->range.rows * a->columns) * sizeof(float));
    memset(w->drel, 0, (size_t)(a->rel_rows * a->columns) * sizeof(float));
}

void bpt_attention_merge_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              const bpt_attention_work_t *w, float *drel, bpt_attention_share_t s) {
    const bpt_attention_range_t *r = &w->range;
    int64_t piece = 0;
    if (!p->grad || bpt_attention_chunks(unit) == 1) return;
    for (int j = 0; j < r->levels; ++j)
        for (int64_t m = 0, next; m < r->high[j]; m = next) {
            next = m + PIECE_ROWS;  // the same pieces for every chunk
            const int64_t begin = m > r->low[j] ? m : r->low[j], end = bpt_cpu_min(next, r->high[j]);
            if (piece++ % s.shares != s.share || begin >= end) continue;
            const int64_t from = (r->base[j] + begin) * a->columns, to = (unit->first[j] + begin) * a->columns,
                          n = (end - begin) * a->columns;
            p->k->add(unit->dk + to, w->dk + from, BPT_F32, n);
            p->k->add(unit->dv + to, w->dv + from, BPT_F32, n);
        }
    if (s.share == 0) p->k->add(drel, w->drel, BPT_F32, a->rel_rows * a->columns);
}

void bpt_attention_write_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_share_t s) {
    if (p->grad) visit_nodes(p, a, unit, s, true, spans_have_keys(a), unpack);
}
