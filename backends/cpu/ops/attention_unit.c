// Units of attention: heads of a sequence.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"

enum { PIECE_ROWS = 2048 };  // rows of one piece of clearing

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
    for (int j = 0; j <= BPT_MAX_LEVELS; ++j) {
        const int64_t step = bpt_tree_level_step(&a->t->graph, j), exist = a->tree || j == 0 ? bpt_level_size(unit->length, j) : 0;
        unit->first[j] = bpt_tree_level_offset(&a->t->graph, j);
        unit->size[j] = bpt_cpu_min(bpt_tree_level_size(&a->t->graph, j), bpt_cpu_blocks(exist, step));
    }
}

// The lanes of the walk: one per level above the tiles, or only the root.
static void begin_walk(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_walk_t *walk) {
    walk->n = 0, walk->low = false;
    if (a->t->queries == BPT_QUERIES_LEAVES || a->mean_spans) return;
    if (!a->tree) {
        if (a->other) walk->level[walk->n++] = BPT_ATTENTION_WHOLE;
    } else if (a->t->queries == BPT_QUERIES_ROOTS) {
        walk->level[walk->n++] = unit->levels - 1;
    } else {
        walk->low = unit->size[1] > 0;
        for (int level = BPT_ATTENTION_LOW + 1; unit->size[level] > 0; ++level) walk->level[walk->n++] = level;
    }
    memset(walk->max, 0, sizeof walk->max), memset(walk->sum, 0, sizeof walk->sum), memset(walk->constant, 0, sizeof walk->constant);
    memset(walk->delta, 0, sizeof walk->delta), memset(walk->score_sum, 0, sizeof walk->score_sum);
    for (int lane = 0; lane < BPT_ATTENTION_LANES; ++lane) walk->lse[lane] = 1e30f;  // lanes not in use: weights 0
    memset(walk->code, 0, sizeof walk->code), memset(walk->sequence, 0, sizeof walk->sequence);
}

// What the walk through a chunk starts with.
static void begin_chunk(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w,
                        int64_t chunk) {
    begin_walk(a, unit, &w->walk);
    bpt_attention_begin_keys(a, unit, w, chunk);
    w->drel = bpt_attention_group_table(p, unit->sequence, unit->head);
    if (!p->grad || bpt_attention_chunks(unit) == 1) return;
    w->drel = w->own_drel;
    memset(w->drel, 0, (size_t)(a->rel_rows * a->columns) * sizeof(float));
}

void bpt_attention_run_chunk(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_work_t *w, int heads, int64_t chunk) {
    const bpt_cpu_kernels_t *k = p->k;
    void (*const leaves)(const bpt_attention_t *, const bpt_attention_unit_t *, bpt_attention_work_t *) =
        p->grad    ? (a->lists ? k->attention_leaves_grad : k->attention_dense_grad)
        : a->lists ? k->attention_leaves
                   : k->attention_dense;
    void (*const spans)(const bpt_attention_t *, const bpt_attention_unit_t *, bpt_attention_work_t *, int64_t) =
        p->grad ? k->attention_spans_grad : k->attention_spans;
    const int64_t begin = chunk * BPT_ATTENTION_CHUNK, end = bpt_cpu_min(unit->length, begin + BPT_ATTENTION_CHUNK);
    for (int h = 0; h < heads; ++h) begin_chunk(p, &a[h], &unit[h], &w[h], chunk);
    w->tile->first = begin;
    for (int64_t leaf = begin; leaf < end; leaf += BPT_ATTENTION_BLOCK) {
        const int64_t next = bpt_cpu_min(end, leaf + BPT_ATTENTION_BLOCK);
        bpt_attention_move_keys(p, a, unit, w, heads, w->tile->first, next);
        // A tile across the end of the block waits for the next one.
        for (; w->tile->first < next; w->tile->first = w->tile->end) {
            w->tile->end = bpt_cpu_min(end, bpt_attention_tile_end(a, w->tile->first));
            if (w->tile->end > next) break;
            if (a->t->queries == BPT_QUERIES_ROOTS) continue;
            if (a->lists) bpt_attention_tile(a, unit, &w->ring, w->tile);
            for (int h = 0; h < heads; ++h) leaves(&a[h], &unit[h], &w[h]);
        }
        for (int h = 0; h < heads && (w->walk.low || w->walk.n); ++h) spans(&a[h], &unit[h], &w[h], leaf);
    }
    bpt_attention_end_keys(p, a, unit, w, heads);
}

// Calls `visit` for the nodes of the unit beyond the sequence's true length, in pieces; a share of them for each thread that helps.
typedef void visit_t(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end);
static void visit_absent(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_share_t s,
                         bool others, visit_t *visit) {
    int64_t piece = 0;
    for (int j = 0; j < (others && a->tree ? bpt_tree_levels(&a->t->graph) : 1); ++j) {
        const int64_t end = unit->first[j] + bpt_tree_level_size(&a->t->graph, j);
        for (int64_t begin = unit->first[j] + unit->size[j]; begin < end; begin += PIECE_ROWS)
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

void bpt_attention_open_unit(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_share_t s) {
    if (a->t->queries != BPT_QUERIES_ROOTS) visit_absent(p, a, unit, s, a->t->queries == BPT_QUERIES_ALL, zero_queries);
    if (!p->grad) return;
    visit_absent(p, a, unit, s, a->tree && !a->t->zero_spans, zero_keys);
    if (s.share) return;
    if (!a->tree && a->other && !a->t->zero_spans) zero_keys(p, a, unit, a->n, a->n + 1);  // nobody reads a virtual root
    if (a->mean_spans) p->k->attention_mean_grad(a, unit);
}

void bpt_attention_close_unit(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_work_t *w) {
    begin_walk(a, unit, &w->walk);
    if (bpt_attention_chunks(unit) > 1) {
        if (p->grad)
            p->k->attention_spans_grad_merge(a, unit, w);
        else
            p->k->attention_spans_merge(a, unit, w);
    }
    if (a->mean_spans && !p->grad) p->k->attention_mean(a, unit, w);
}
