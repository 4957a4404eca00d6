// Keys of a unit: the rows of k, v, dk and dv that run along with the queries, and the sums of rows that several chunks touch.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"

enum { PIECE_ROWS = 2048 };  // rows of one piece of merging

// How far from the node above it a query reads, in nodes of the level.
static int64_t reach_of(const bpt_attention_t *a) { return a->tree ? 2 * a->reach + 1 : a->reach; }
static int levels_with_keys(const bpt_attention_t *a, int levels) { return a->tree && !a->t->zero_spans ? levels : 1; }
static int levels_of_bucket(const bpt_attention_t *a) { return levels_with_keys(a, bpt_tree_levels(&a->t->graph)); }
static int64_t size_in_bucket(const bpt_attention_t *a, int level) { return bpt_tree_level_size(&a->t->graph, level); }

// What leaves [begin, end) and the spans that end there touch.
static bpt_attention_range_t range_of(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    bpt_attention_range_t r = {.levels = (int)bpt_cpu_min(levels_with_keys(a, unit->levels), levels_of_bucket(a))};
    const int64_t reach = reach_of(a), right = a->t->graph.causal ? 0 : reach;
    for (int j = 0; j < r.levels; ++j) {
        const int64_t low = bpt_attention_place(a, j, (begin >> j) - reach);
        r.low[j] = bpt_cpu_min(unit->size[j], low > 0 ? low : 0);
        r.high[j] = bpt_cpu_min(unit->size[j], bpt_attention_place(a, j, (end - 1) >> j) + 1 + right);
    }
    return r;
}
static bpt_attention_range_t range_of_chunk(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t chunk) {
    const int64_t begin = chunk * BPT_ATTENTION_CHUNK;
    return range_of(a, unit, begin, bpt_cpu_min(unit->length, begin + BPT_ATTENTION_CHUNK));
}

// Most rows of a level that `leaves` leaves touch in a bucket.
static int64_t most_rows(const bpt_attention_t *a, int level, int64_t leaves) {
    const int64_t rows = ((leaves - 1) >> level) + 2 + (a->t->graph.causal ? 1 : 2) * reach_of(a);
    return bpt_cpu_min(rows, size_in_bucket(a, level));
}

int64_t bpt_attention_layout_ring(const bpt_attention_t *a, bpt_attention_ring_t *ring) {
    int64_t rows = 0;
    for (int j = 0; j < levels_of_bucket(a); ++j) {
        const int64_t needed = most_rows(a, j, BPT_ATTENTION_BLOCK + BPT_TILE - 1), size = size_in_bucket(a, j);
        int64_t room = 1;
        while (room < needed) room *= 2;
        ring->base[j] = rows;
        ring->mask[j] = room < size ? room - 1 : -1;
        rows += bpt_cpu_min(room, size);
    }
    return rows;
}

int64_t bpt_attention_border_rows(const bpt_attention_t *a) {
    int64_t rows = 0;
    for (int j = 0; j < levels_of_bucket(a); ++j) rows += most_rows(a, j, BPT_ATTENTION_CHUNK);
    return rows;
}

// ---- The ring --------------------------------------------------------------------------------------------------------

// Rows from place m of a level on that lie one behind the other, up to place `end`.
static int64_t rows_in_line(const bpt_attention_ring_t *ring, int level, int64_t m, int64_t end) {
    const int64_t mask = ring->mask[level];
    return mask < 0 ? end - m : bpt_cpu_min(end - m, mask + 1 - (m & mask));
}

// The chunk's range, what of it no other chunk touches, and where the rest lies.
static void begin_border(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t chunk, bpt_attention_border_t *border) {
    const bool first = chunk == 0, last = chunk + 1 == bpt_attention_chunks(unit);
    const bpt_attention_range_t before = range_of_chunk(a, unit, first ? chunk : chunk - 1),
                                after = range_of_chunk(a, unit, last ? chunk : chunk + 1);
    border->chunk = chunk;
    border->range = range_of_chunk(a, unit, chunk);
    int64_t rows = 0;
    for (int j = 0; j < border->range.levels; ++j) {
        const int64_t low = border->range.low[j], high = border->range.high[j];
        border->own_low[j] = first ? low : bpt_cpu_min(before.high[j], high);
        border->own_high[j] = last ? high : after.low[j];
        if (border->own_high[j] < border->own_low[j]) border->own_high[j] = border->own_low[j];
        border->base[j] = rows - low;
        rows += high - low;
    }
}

void bpt_attention_clear_sums(const bpt_attention_plan_t *p, bpt_attention_work_t *w) {
    const size_t bytes = (size_t)(w->ring.rows * p->a.columns) * sizeof(float);
    if (p->grad) memset(w->ring.dk, 0, bytes), memset(w->ring.dv, 0, bytes);
}

void bpt_attention_begin_keys(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t chunk) {
    begin_border(a, unit, chunk, &w->border);
    for (int j = 0; j < w->border.range.levels; ++j) w->ring.begin[j] = w->ring.end[j] = w->border.range.low[j];
}

// Where the heads' rows of place m of a level lie in the ring.
typedef struct {
    float *k[BPT_ATTENTION_SIDE], *v[BPT_ATTENTION_SIDE], *dk[BPT_ATTENTION_SIDE], *dv[BPT_ATTENTION_SIDE];
} rows_t;
static rows_t rows_of(const bpt_attention_t *a, const bpt_attention_work_t *w, int heads, int level, int64_t m) {
    rows_t r = {0};
    for (int h = 0; h < heads; ++h) {
        const bpt_attention_ring_t *ring = &w[h].ring;
        const int64_t at = bpt_attention_ring_row(ring, level, m) * a->columns;
        r.k[h] = ring->k + at, r.v[h] = ring->v + at;
        if (ring->dk) r.dk[h] = ring->dk + at, r.dv[h] = ring->dv + at;
    }
    return r;
}

// Takes n floats to another place; zeros remain.
static void move_out(float *to, float *from, int64_t n) {
    memcpy(to, from, (size_t)n * sizeof *to);
    memset(from, 0, (size_t)n * sizeof *from);
}

// Rows of a level below `to` leave the ring: those that no other chunk touches are done. Zeros remain, for the rows that come.
static void release(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w,
                    int heads, int level, int64_t to) {
    const bpt_attention_border_t *border = &w->border;
    for (int64_t m = w->ring.begin[level], rows; p->grad && m < to; m += rows) {
        const bool own = m >= border->own_low[level] && m < border->own_high[level];
        const int64_t next = m < border->own_low[level] ? border->own_low[level] : own ? border->own_high[level] : to;
        rows = rows_in_line(&w->ring, level, m, bpt_cpu_min(next, to));
        const rows_t r = rows_of(a, w, heads, level, m);
        if (own) p->k->attention_unpack(a, unit, heads, unit->first[level] + m, rows, r.dk, r.dv);
        const int64_t at = (border->base[level] + m) * a->columns;
        for (int h = 0; h < heads && !own; ++h) {
            move_out(w[h].border.dk + at, r.dk[h], rows * a->columns);
            move_out(w[h].border.dv + at, r.dv[h], rows * a->columns);
        }
    }
    for (int h = 0; h < heads; ++h)
        if (w[h].ring.begin[level] < to) w[h].ring.begin[level] = to;
}

// Rows of a level below `to` enter the ring.
static void load(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w,
                 int heads, int level, int64_t to) {
    for (int64_t m = w->ring.end[level], rows; m < to; m += rows) {
        rows = rows_in_line(&w->ring, level, m, to);
        const rows_t r = rows_of(a, w, heads, level, m);
        p->k->attention_pack(a, unit, heads, unit->first[level] + m, rows, r.k, r.v);
    }
    for (int h = 0; h < heads; ++h)
        if (w[h].ring.end[level] < to) w[h].ring.end[level] = to;
}

void bpt_attention_move_keys(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_work_t *w, int heads, int64_t begin, int64_t end) {
    const bpt_attention_range_t r = range_of(a, unit, begin, end);
    for (int j = 0; j < r.levels; ++j) {
        release(p, a, unit, w, heads, j, r.low[j]);
        load(p, a, unit, w, heads, j, r.high[j]);
    }
}

void bpt_attention_end_keys(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                            bpt_attention_work_t *w, int heads) {
    for (int j = 0; j < w->border.range.levels; ++j) release(p, a, unit, w, heads, j, w->border.range.high[j]);
}

// ---- Sums of the gradient --------------------------------------------------------------------------------------------

float *bpt_attention_group_table(const bpt_attention_plan_t *p, int64_t sequence, int head) {
    const int64_t group = sequence * p->sequence_groups / p->a.t->batch;
    return p->grad && p->a.rel_rows ? p->drel + (group * p->a.t->heads + head) * p->a.rel_rows * p->a.columns : NULL;
}

// Rows at the end of a chunk that the next one touches too.
static int64_t rows_across(const bpt_attention_t *a) { return (a->t->graph.causal ? 1 : 2) * reach_of(a); }
// Whether more than two chunks touch a row of this level: then all its rows are kept, else those across the ends of chunks.
static bool keeps_level(const bpt_attention_t *a, int level) { return BPT_ATTENTION_CHUNK >> level <= rows_across(a); }
static int64_t shared_rows_of_level(const bpt_attention_t *a, int level) {
    return keeps_level(a, level) ? size_in_bucket(a, level) : (bpt_cpu_blocks(a->n, BPT_ATTENTION_CHUNK) - 1) * rows_across(a);
}
int64_t bpt_attention_shared_rows(const bpt_attention_t *a) {
    int64_t rows = 0;
    for (int j = 0; j < levels_of_bucket(a); ++j) rows += shared_rows_of_level(a, j);
    return rows;
}
// Where the unit's sums keep row m of a level, which chunks `chunk` and chunk + 1 touch.
static int64_t shared_row(const bpt_attention_t *a, int level, int64_t chunk, int64_t m) {
    int64_t base = 0;
    for (int j = 0; j < level; ++j) base += shared_rows_of_level(a, j);
    if (keeps_level(a, level)) return base + m;
    return base + chunk * rows_across(a) + m - bpt_attention_place(a, level, ((chunk + 1) * BPT_ATTENTION_CHUNK >> level) - reach_of(a));
}

static void merge_rows(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                       const bpt_attention_work_t *w, bpt_attention_share_t s, int level, int64_t begin, int64_t end, bool met_before) {
    const bpt_attention_border_t *border = &w->border;
    const int64_t home = shared_row(a, level, met_before ? border->chunk - 1 : border->chunk, begin) - begin;
    for (int64_t m = begin, next; m < end; m = next) {
        const int64_t piece = m / PIECE_ROWS;  // the same one for every chunk, hence the same thread
        next = bpt_cpu_min(end, (piece + 1) * PIECE_ROWS);
        if ((piece + level) % s.shares != s.share) continue;
        const int64_t from = (border->base[level] + m) * a->columns, to = (home + m) * a->columns, n = (next - m) * a->columns;
        if (met_before) {
            p->k->add(unit->dk + to, border->dk + from, BPT_F32, n);
            p->k->add(unit->dv + to, border->dv + from, BPT_F32, n);
        } else {
            memcpy(unit->dk + to, border->dk + from, (size_t)n * sizeof(float));
            memcpy(unit->dv + to, border->dv + from, (size_t)n * sizeof(float));
        }
    }
}

void bpt_attention_merge_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              const bpt_attention_work_t *w, bpt_attention_share_t s) {
    const bpt_attention_border_t *border = &w->border;
    if (!p->grad || bpt_attention_chunks(unit) == 1) return;
    for (int j = 0; j < border->range.levels; ++j) {
        merge_rows(p, a, unit, w, s, j, border->range.low[j], border->own_low[j], true);
        merge_rows(p, a, unit, w, s, j, border->own_high[j], border->range.high[j], false);
    }
    if (s.share == 0 && a->rel_rows)
        p->k->add(bpt_attention_group_table(p, unit->sequence, unit->head), w->drel, BPT_F32, a->rel_rows * a->columns);
}

void bpt_attention_write_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_share_t s) {
    if (!p->grad) return;
    for (int64_t chunk = s.share; chunk + 1 < bpt_attention_chunks(unit); chunk += s.shares) {
        bpt_attention_border_t border;
        begin_border(a, unit, chunk, &border);
        for (int j = 0; j < border.range.levels; ++j) {
            const int64_t m = border.own_high[j], from = shared_row(a, j, chunk, m) * a->columns;
            float *dk = unit->dk + from, *dv = unit->dv + from;
            p->k->attention_unpack(a, unit, 1, unit->first[j] + m, border.range.high[j] - m, &dk, &dv);
        }
    }
}
