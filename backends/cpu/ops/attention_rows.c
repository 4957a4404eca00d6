// Attention of kind TABLE row by row: queries with a list of keys each, long lists in pieces, few queries head by head; in the gradient
// also keys with a list of queries.
#include "backends/cpu/ops/attention_plan.h"

enum {
    ROW_PIECE_KEYS = 2048,  // least keys of a piece
    SHARED_KEYS = 128,      // least keys of a query whose heads are worth more than one thread
};

int64_t bpt_attention_edges(const bpt_attention_t *a, bool of_key, int64_t row) {
    int64_t edges = 0, begin;
    for (int64_t s = 0; s < (of_key ? a->back_slots : a->slots); ++s) {
        const int64_t end = bpt_attention_range(a, of_key, row, s, &begin);
        edges += end - begin;
    }
    return edges;
}

// Keys of one piece of a query's list; it depends on the list alone.
static int64_t piece_keys(int64_t keys) {
    const int64_t even = bpt_cpu_blocks(bpt_cpu_blocks(keys, BPT_ATTENTION_ROW_PIECES), BPT_ATTENTION_ROW_KEYS) * BPT_ATTENTION_ROW_KEYS;
    return even > ROW_PIECE_KEYS ? even : ROW_PIECE_KEYS;
}

float *bpt_attention_row_room(const bpt_attention_plan_t *p, int thread) {
    return p->row_q + thread * p->a.t->heads * p->a.columns * (p->grad ? 4 : 1);
}
static float *part_room(const bpt_attention_plan_t *p, int64_t part) { return p->row_parts + part * p->a.t->heads * (p->a.columns + 2); }

// Queries whose heads are shared out in `shares` of them, so that few queries keep all threads busy. A head's result is the same.
typedef struct {
    const bpt_attention_plan_t *p;
    int64_t shares;
    int64_t query, keys, piece;  // of a query with more than one piece
} rows_t;

static bpt_attention_heads_t heads_of(const rows_t *r, int64_t share) {
    const int64_t heads = r->p->a.t->heads;
    return (bpt_attention_heads_t){(int)(share * heads / r->shares), (int)((share + 1) * heads / r->shares)};
}

static int64_t count_shares(const bpt_attention_plan_t *p) {
    int64_t longest = 0;
    if (p->queries >= p->threads) return 1;
    for (int64_t i = 0; i < p->queries; ++i) {
        const int64_t keys = bpt_attention_edges(&p->a, false, i);
        if (keys > longest) longest = keys;
    }
    return longest < SHARED_KEYS ? 1 : bpt_cpu_min(p->a.t->heads, p->threads);
}

// Heads of a query whose keys are one piece.
static void run_query(const void *context, int64_t i, int thread) {
    const rows_t *r = context;
    const bpt_attention_plan_t *p = r->p;
    const int64_t query = i / r->shares;
    const bpt_attention_heads_t heads = heads_of(r, i % r->shares);
    if (bpt_attention_is_tiled(p->query_tiles, query)) return;
    const int64_t keys = bpt_attention_edges(&p->a, false, query);
    if (keys > piece_keys(keys)) return;
    p->k->attention_row(&p->a, query, heads, 0, keys, bpt_attention_row_room(p, thread), part_room(p, thread));
    p->k->attention_row_write(&p->a, query, heads, 1, part_room(p, thread));
    p->k->attention_written();
}

static void run_piece(const void *context, int64_t i, int thread) {
    const rows_t *r = context;
    const int64_t piece = i / r->shares;
    r->p->k->attention_row(&r->p->a, r->query, heads_of(r, i % r->shares), piece * r->piece, bpt_cpu_min(r->keys, (piece + 1) * r->piece),
                           bpt_attention_row_room(r->p, thread), part_room(r->p, piece));
}

static void run_outputs(const bpt_attention_plan_t *p) {
    rows_t r = {.p = p, .shares = count_shares(p)};
    bpt_team_for(p->team, p->queries * r.shares, run_query, &r);
    for (r.query = 0; r.query < p->queries; ++r.query) {
        if (bpt_attention_is_tiled(p->query_tiles, r.query)) continue;
        r.keys = bpt_attention_edges(&p->a, false, r.query), r.piece = piece_keys(r.keys);
        const int64_t pieces = bpt_cpu_blocks(r.keys, r.piece);
        if (pieces <= 1) continue;
        bpt_team_for(p->team, pieces * r.shares, run_piece, &r);
        p->k->attention_row_write(&p->a, r.query, (bpt_attention_heads_t){0, p->a.t->heads}, pieces, p->row_parts);
        p->k->attention_written();
    }
}

static void run_query_gradient(const void *context, int64_t query, int thread) {
    const bpt_attention_plan_t *p = context;
    if (bpt_attention_is_tiled(p->query_tiles, query)) return;
    p->k->attention_row_grad(&p->a, false, query, bpt_attention_row_room(p, thread));
    p->k->attention_written();
}
static void run_key_gradient(const void *context, int64_t key, int thread) {
    const bpt_attention_plan_t *p = context;
    if (bpt_attention_is_tiled(p->key_tiles, key)) return;
    p->k->attention_row_grad(&p->a, true, key, bpt_attention_row_room(p, thread));
    p->k->attention_written();
}

void bpt_attention_run_rows(const bpt_attention_plan_t *p, bpt_attention_pass_t pass) {
    switch (pass) {
    case BPT_ATTENTION_OUT: run_outputs(p); break;
    case BPT_ATTENTION_DQ: bpt_team_for(p->team, p->queries, run_query_gradient, p); break;
    case BPT_ATTENTION_DKV: bpt_team_for(p->team, p->keys, run_key_gradient, p); break;
    }
}
