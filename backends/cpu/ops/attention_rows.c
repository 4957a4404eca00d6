// Attention of kind TABLE row by row: queries with a list of keys each, long lists in pieces; in the gradient also keys with a list of
// queries.
#include "backends/cpu/ops/attention_plan.h"

enum { ROW_PIECE_KEYS = 2048 };  // least keys of a piece

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

// A query whose keys are one piece.
static void run_query(const void *context, int64_t query, int thread) {
    const bpt_attention_plan_t *p = context;
    if (bpt_attention_is_tiled(p->query_tiles, query)) return;
    const int64_t keys = bpt_attention_edges(&p->a, false, query);
    if (keys > piece_keys(keys)) return;
    p->k->attention_row(&p->a, query, 0, keys, bpt_attention_row_room(p, thread), part_room(p, thread));
    p->k->attention_row_write(&p->a, query, 1, part_room(p, thread));
    p->k->attention_written();
}

typedef struct {
    const bpt_attention_plan_t *p;
    int64_t query, keys, piece;
} long_query_t;

static void run_piece(const void *context, int64_t i, int thread) {
    const long_query_t *q = context;
    q->p->k->attention_row(&q->p->a, q->query, i * q->piece, bpt_cpu_min(q->keys, (i + 1) * q->piece), bpt_attention_row_room(q->p, thread),
                           part_room(q->p, i));
}

static void run_outputs(const bpt_attention_plan_t *p) {
    bpt_team_for(p->team, p->queries, run_query, p);
    for (int64_t i = 0; i < p->queries; ++i) {
        if (bpt_attention_is_tiled(p->query_tiles, i)) continue;
        const int64_t keys = bpt_attention_edges(&p->a, false, i), piece = piece_keys(keys), pieces = bpt_cpu_blocks(keys, piece);
        if (pieces <= 1) continue;
        bpt_team_for(p->team, pieces, run_piece, &(long_query_t){p, i, keys, piece});
        p->k->attention_row_write(&p->a, i, pieces, p->row_parts);
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
