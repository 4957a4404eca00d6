// Attention of kind TABLE: queries with a list of keys each, one by one; long lists in pieces.
#include "backends/cpu/ops/attention_plan.h"

enum { ROW_PIECE_KEYS = 2048 };  // least keys of a piece

static int64_t keys_of_row(const bpt_attention_t *a, int64_t query) {
    const uint32_t *entry = a->table + query * a->slots * 4;
    int64_t keys = 0;
    for (int64_t s = 0; s < a->slots; ++s, entry += 4) keys += entry[1] > entry[0] ? entry[1] - entry[0] : 0;
    return keys;
}

// Keys of one piece of a query's list; it depends on the list alone.
static int64_t piece_keys(int64_t keys) {
    const int64_t even = bpt_cpu_blocks(bpt_cpu_blocks(keys, BPT_ATTENTION_ROW_PIECES), BPT_ATTENTION_ROW_KEYS) * BPT_ATTENTION_ROW_KEYS;
    return even > ROW_PIECE_KEYS ? even : ROW_PIECE_KEYS;
}

static float *query_room(const bpt_attention_plan_t *p, int thread) { return p->row_q + thread * p->a.t->heads * p->a.columns; }
static float *part_room(const bpt_attention_plan_t *p, int64_t part) { return p->row_parts + part * p->a.t->heads * (p->a.columns + 2); }

// A query whose keys are one piece.
static void run_query(const void *context, int64_t query, int thread) {
    const bpt_attention_plan_t *p = context;
    const int64_t keys = keys_of_row(&p->a, query);
    if (keys > piece_keys(keys)) return;
    p->k->attention_row(&p->a, query, 0, keys, query_room(p, thread), part_room(p, thread));
    p->k->attention_row_write(&p->a, query, 1, part_room(p, thread));
}

typedef struct {
    const bpt_attention_plan_t *p;
    int64_t query, keys, piece;
} long_query_t;

static void run_piece(const void *context, int64_t i, int thread) {
    const long_query_t *q = context;
    q->p->k->attention_row(&q->p->a, q->query, i * q->piece, bpt_cpu_min(q->keys, (i + 1) * q->piece), query_room(q->p, thread),
                           part_room(q->p, i));
}

void bpt_attention_run_rows(const bpt_attention_plan_t *p, int64_t queries) {
    bpt_team_for(p->team, queries, run_query, p);
    for (int64_t i = 0; i < queries; ++i) {
        const int64_t keys = keys_of_row(&p->a, i), piece = piece_keys(keys), pieces = bpt_cpu_blocks(keys, piece);
        if (pieces <= 1) continue;
        bpt_team_for(p->team, pieces, run_piece, &(long_query_t){p, i, keys, piece});
        p->k->attention_row_write(&p->a, i, pieces, p->row_parts);
    }
}
