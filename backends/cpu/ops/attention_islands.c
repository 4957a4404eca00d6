// The gradient of attention over tables of islands: runs of queries that read a run of keys which nobody else reads, as the sequences of a
// packed batch are. A thread has all edges of an island, so it adds to dk and dv while it makes dq: five products of scores and rows in the
// place of seven.
#include "backends/cpu/ops/attention_plan.h"

enum { LEAST_SHARE = 4 };  // edges of islands are at least 1 / LEAST_SHARE of what their tiles compute

typedef struct {
    int64_t begin, end;
} span_t;

static bool widen(span_t *s, int64_t begin, int64_t end) {
    if (begin >= end) return false;
    const span_t old = *s;
    if (old.begin >= old.end) {
        *s = (span_t){begin, end};
        return true;
    }
    s->begin = bpt_cpu_min(old.begin, begin), s->end = old.end > end ? old.end : end;
    return s->begin != old.begin || s->end != old.end;
}

// Widens `to` by all ranges of a row.
static void widen_by_row(const bpt_attention_t *a, bool of_key, int64_t row, span_t *to) {
    int64_t begin;
    for (int64_t s = 0; s < (of_key ? a->back_slots : a->slots); ++s) {
        const int64_t end = bpt_attention_range(a, of_key, row, s, &begin);
        (void)widen(to, begin, end);
    }
}

// The island that begins with a query; no keys: the query reads none. False when its queries begin earlier, or it is too large.
static bool island_at(const bpt_attention_plan_t *p, int64_t query, span_t *queries, span_t *keys) {
    const int64_t most = p->table[0].ring.rows;
    span_t seen = {0, 0};
    *queries = (span_t){query, query + 1}, *keys = (span_t){0, 0};
    for (int64_t q = query; q < queries->end; ++q) {
        widen_by_row(&p->a, false, q, keys);
        if (keys->end - keys->begin > most) return false;
        // Readers of the keys that are new; each key is looked at once.
        if (seen.begin >= seen.end) seen = (span_t){keys->begin, keys->begin};
        for (; seen.end < keys->end; ++seen.end) widen_by_row(&p->a, true, seen.end, queries);
        for (; seen.begin > keys->begin; --seen.begin) widen_by_row(&p->a, true, seen.begin - 1, queries);
        if (queries->begin < query) return false;
    }
    return true;
}

// Fills p->island; -1: the table is not made of dense islands.
static int64_t find_islands(const bpt_attention_plan_t *p) {
    int64_t n = 0, edges = 0, work = 0;
    span_t queries, keys;
    for (int64_t q = 0; q < p->queries; q = queries.end) {
        if (!island_at(p, q, &queries, &keys)) return -1;
        if (keys.begin >= keys.end) continue;
        for (int64_t i = queries.begin; i < queries.end; ++i) edges += bpt_attention_edges(&p->a, false, i);
        work += bpt_cpu_blocks(queries.end - queries.begin, BPT_TILE) * BPT_TILE * (keys.end - keys.begin);
        p->island[n++] = (bpt_attention_island_t){(uint32_t)queries.begin, (uint32_t)queries.end, (uint32_t)keys.begin, (uint32_t)keys.end};
    }
    return LEAST_SHARE * edges >= work ? n : -1;
}

typedef struct {
    const bpt_attention_plan_t *p;
    int64_t islands;
} run_t;

// One head of an island.
static void run_island(const void *context, int64_t i, int thread) {
    const run_t *r = context;
    const bpt_attention_plan_t *p = r->p;
    const bpt_attention_island_t *island = &p->island[i % r->islands];
    const int head = (int)(i / r->islands);
    const bpt_attention_t a = bpt_attention_of_head(&p->a, head);
    bpt_table_walk_t *w = bpt_attention_open_table(p, thread, BPT_ATTENTION_DQ, head);
    p->k->attention_table_clear(&a, w, island->k_begin, island->k_end);
    for (int64_t q = island->q_begin; q < island->q_end; q += BPT_TILE) bpt_attention_run_tile(p, &a, w, q, island->q_end);
    p->k->attention_table_write(&a, w, island->k_begin, island->k_end);
    p->k->attention_written();
}

// Rows that are in no island have no edges: zeros.
static void run_query_without_keys(const void *context, int64_t query, int thread) {
    const bpt_attention_plan_t *p = context;
    if (bpt_attention_edges(&p->a, false, query) == 0) p->k->attention_row_grad(&p->a, false, query, bpt_attention_row_room(p, thread));
}
static void run_key_without_queries(const void *context, int64_t key, int thread) {
    const bpt_attention_plan_t *p = context;
    if (bpt_attention_edges(&p->a, true, key) == 0) p->k->attention_row_grad(&p->a, true, key, bpt_attention_row_room(p, thread));
}

bool bpt_attention_run_islands(const bpt_attention_plan_t *p) {
    const int64_t islands = find_islands(p);
    for (int i = 0; islands < 0 && i < p->threads; ++i) p->table[i].ring.sum_x = NULL;
    if (islands < 0) return false;
    // First those without edges: some lie inside islands, whose results are zeros as well.
    bpt_team_for(p->team, p->queries, run_query_without_keys, p);
    bpt_team_for(p->team, p->keys, run_key_without_queries, p);
    if (islands) bpt_team_for(p->team, islands * p->a.t->heads, run_island, &(run_t){p, islands});
    return true;
}
