// Attention of kind TABLE: which 16 neighbouring rows are a tile, and the lists of the tiles. A tile works on the union of what its rows
// have edges with, slot by slot; that pays where a row has at least a quarter of the union. The gradient goes twice over the edges, once
// from either side, but for tables of islands (attention_islands.c). What is chosen depends on the tables alone, so the bits do not depend
// on the number of threads.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"

enum {
    LEAST_SHARE = 4,   // a row of a tile has at least 1 / LEAST_SHARE of the union, on average
    GROUP_TILES = 16,  // most tiles that a thread takes one after the other: they read the same rows again
    ROW_BLOCK = 64,    // rows of one step where each is little work
};

// Rows that slot `slot` of a tile's rows covers: [*low, result).
static int64_t union_of(const bpt_attention_t *a, bool of_key, int64_t first, int lanes, int64_t slot, int64_t *low) {
    int64_t high = 0, begin;
    *low = INT64_MAX;
    for (int lane = 0; lane < lanes; ++lane) {
        const int64_t end = bpt_attention_range(a, of_key, first + lane, slot, &begin);
        if (begin >= end) continue;
        if (begin < *low) *low = begin;
        if (end > high) high = end;
    }
    return high;
}

static int lanes_of(int64_t first, int64_t rows) { return (int)bpt_cpu_min(BPT_TILE, rows - first); }

static bool is_tile(const bpt_attention_t *a, bool of_key, int64_t first, int lanes) {
    int64_t edges = 0, all = 0, low;
    for (int lane = 0; lane < lanes; ++lane) edges += bpt_attention_edges(a, of_key, first + lane);
    for (int64_t s = 0; s < (of_key ? a->back_slots : a->slots); ++s) {
        const int64_t high = union_of(a, of_key, first, lanes, s, &low);
        if (high > 0) all += high - low;
    }
    return edges > 0 && LEAST_SHARE * edges >= BPT_TILE * all;
}

typedef struct {
    const bpt_attention_plan_t *p;
    bpt_attention_pass_t pass;
    bool of_key;
    int64_t rows, tiles, group;  // tiles of a group
    uint8_t *is_tile;
} tiling_t;

static void choose(const void *context, int64_t i, int thread) {
    const tiling_t *t = context;
    (void)thread;
    t->is_tile[i] = is_tile(&t->p->a, t->of_key, i * BPT_TILE, lanes_of(i * BPT_TILE, t->rows));
}

// ---- Lists -----------------------------------------------------------------------------------------------------------------

// Where the next block of a tile's list begins.
typedef struct {
    int64_t slot, next, end;
} cursor_t;

static bool next_slot(const bpt_attention_t *a, const bpt_table_walk_t *w, cursor_t *c) {
    const bool of_key = w->pass == BPT_ATTENTION_DKV;
    while (c->next >= c->end) {
        if (++c->slot >= (of_key ? a->back_slots : a->slots)) return false;
        c->end = union_of(a, of_key, w->first, w->lanes, c->slot, &c->next);
    }
    return true;
}

static bool all_lanes_have(const bpt_attention_t *a, const bpt_table_walk_t *w, int64_t slot, int64_t low, int64_t high) {
    int64_t begin;
    for (int lane = 0; lane < w->lanes; ++lane)
        if (bpt_attention_range(a, w->pass == BPT_ATTENTION_DKV, w->first + lane, slot, &begin) < high || begin > low) return false;
    return w->lanes == BPT_TILE;
}

// Puts rows of the open slot into the block, as many as have places in the ring that no other row of the block has.
static bool take_rows(bpt_table_walk_t *w, cursor_t *c) {
    for (; c->next < c->end && w->n < BPT_ATTENTION_KEYS; ++c->next) {
        const int32_t place = (int32_t)(c->next & (w->ring.rows - 1));
        const uint64_t claim = w->ring.block << 32 | (uint64_t)c->next;
        if (w->ring.claim[place] >> 32 == w->ring.block && (w->ring.sum_x || w->ring.claim[place] != claim))
            return false;  // sums want each row once
        w->ring.claim[place] = claim;
        w->other[w->n] = (uint32_t)c->next, w->row[w->n++] = place;
    }
    return true;
}

// The next block; false when there is none.
static bool next_block(const bpt_attention_t *a, bpt_table_walk_t *w, cursor_t *c) {
    w->n = w->n_segments = 0;
    w->ring.block = (w->ring.block + 1) & UINT32_MAX;
    for (bool room = true; room && w->n < BPT_ATTENTION_KEYS && w->n_segments < BPT_ATTENTION_SEGMENTS && next_slot(a, w, c);) {
        const int32_t at = w->n;
        const int64_t low = c->next;
        room = take_rows(w, c);
        if (w->n == at) break;
        w->segment[w->n_segments].slot = (int32_t)c->slot;
        w->segment[w->n_segments].at = at, w->segment[w->n_segments].n = w->n - at;
        w->segment[w->n_segments++].whole = all_lanes_have(a, w, c->slot, low, c->next);
    }
    return w->n > 0;
}

// ---- Threads ---------------------------------------------------------------------------------------------------------------

void bpt_attention_run_tile(const bpt_attention_plan_t *p, const bpt_attention_t *a, bpt_table_walk_t *w, int64_t first, int64_t end) {
    cursor_t c = {.slot = -1};
    w->first = first, w->lanes = lanes_of(first, end);
    p->k->attention_table_begin(a, w);
    while (next_block(a, w, &c)) p->k->attention_table_add(a, w);
    p->k->attention_table_end(a, w);
}

bpt_table_walk_t *bpt_attention_open_table(const bpt_attention_plan_t *p, int thread, bpt_attention_pass_t pass, int head) {
    bpt_table_walk_t *w = &p->table[thread];
    if (w->pass != pass || w->ring.head != head) memset(w->ring.tag, 0xFF, (size_t)w->ring.rows * sizeof *w->ring.tag);
    w->pass = pass, w->head = w->ring.head = head;
    return w;
}

// A group of tiles, one head.
static void run_group(const void *context, int64_t i, int thread) {
    const tiling_t *t = context;
    const int64_t groups = bpt_cpu_blocks(t->tiles, t->group), first = i % groups * t->group;
    const int head = (int)(i / groups);
    const bpt_attention_t a = bpt_attention_of_head(&t->p->a, head);
    bpt_table_walk_t *w = bpt_attention_open_table(t->p, thread, t->pass, head);
    for (int64_t tile = first; tile < bpt_cpu_min(first + t->group, t->tiles); ++tile)
        if (t->is_tile[tile]) bpt_attention_run_tile(t->p, &a, w, tile * BPT_TILE, t->rows);
    t->p->k->attention_written();
}

static void run_dots(const void *context, int64_t i, int thread) {
    const bpt_attention_plan_t *p = context;
    (void)thread;
    for (int64_t row = i * ROW_BLOCK; row < bpt_cpu_min((i + 1) * ROW_BLOCK, p->queries); ++row)
        p->k->attention_row_dots(&p->a, row, p->dots + row * p->a.t->heads);
}

static void run_pass(const bpt_attention_plan_t *p, bpt_attention_pass_t pass) {
    tiling_t t = {.p = p, .pass = pass, .of_key = pass == BPT_ATTENTION_DKV};
    t.rows = t.of_key ? p->keys : p->queries, t.is_tile = t.of_key ? p->key_tiles : p->query_tiles;
    t.tiles = bpt_cpu_blocks(t.rows, BPT_TILE);
    // Groups of as many tiles as leave every thread some.
    t.group = bpt_cpu_min(GROUP_TILES, bpt_cpu_blocks(t.tiles * p->a.t->heads, 4 * (int64_t)p->threads));
    if (t.is_tile && t.tiles > 0) {
        bpt_team_for(p->team, t.tiles, choose, &t);
        bpt_team_for(p->team, bpt_cpu_blocks(t.tiles, t.group) * p->a.t->heads, run_group, &t);
    }
    bpt_attention_run_rows(p, pass);
}

void bpt_attention_run_table(const bpt_attention_plan_t *p) {
    if (!p->grad) {
        run_pass(p, BPT_ATTENTION_OUT);
        return;
    }
    bpt_team_for(p->team, bpt_cpu_blocks(p->queries, ROW_BLOCK), run_dots, p);
    if (p->a.rel_rows) {
        bpt_attention_run_relative(p);
        return;
    }
    if (bpt_attention_run_islands(p)) return;
    run_pass(p, BPT_ATTENTION_DQ);
    run_pass(p, BPT_ATTENTION_DKV);
}
