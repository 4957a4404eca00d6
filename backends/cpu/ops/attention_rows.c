// Attention of kind TABLE: queries with a list of keys each, one by one; long lists in pieces.
#include <omp.h>

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

void bpt_attention_run_rows(const bpt_attention_plan_t *p, int64_t queries) {
    const bpt_attention_t *a = &p->a;
    const int64_t q_size = a->t->heads * a->columns, part_size = a->t->heads * (a->columns + 2);
#pragma omp parallel for num_threads(p->threads) schedule(dynamic)
    for (int64_t i = 0; i < queries; ++i) {  // queries of one piece
        const int64_t keys = keys_of_row(a, i);
        float *part = p->row_parts + omp_get_thread_num() * part_size;
        if (keys > piece_keys(keys)) continue;
        p->k->attention_row(a, i, 0, keys, p->row_q + omp_get_thread_num() * q_size, part);
        p->k->attention_row_write(a, i, 1, part);
    }
    for (int64_t i = 0; i < queries; ++i) {
        const int64_t keys = keys_of_row(a, i), piece = piece_keys(keys), pieces = bpt_cpu_blocks(keys, piece);
        if (pieces <= 1) continue;
#pragma omp parallel for num_threads(p->threads) schedule(dynamic)
        for (int64_t j = 0; j < pieces; ++j)
            p->k->attention_row(a, i, j * piece, bpt_cpu_min(keys, (j + 1) * piece), p->row_q + omp_get_thread_num() * q_size,
                                p->row_parts + j * part_size);
        p->k->attention_row_write(a, i, pieces, p->row_parts);
    }
}
