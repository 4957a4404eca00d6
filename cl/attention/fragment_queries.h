// A block of queries for fragment_products.h: the block itself, and what it reads.
#include "cl/attention/fragment_products.h"

// A head of the step's keys (value 0) or values (1); zero behind the last, and where there are none.
FUNCTION void stage_nodes(CONTEXT, uint n_keys, uint value, uint head) {
    OPEN
    for (uint i = LOCAL_ID; i < STEP_KEYS * EIGHTS; i += WG) {
        const uint t = i / EIGHTS, e = i % EIGHTS;
        uint4 x = UINT4(0u, 0u, 0u, 0u);
        if (t < n_keys) {
            const uint row = row_of_place(PASS, t);
            if (row != NO_ROW) x = EIGHT(kv, node_place(PASS, row, value, head) + 8u * e);
        }
        staged[t * LINE + e] = x;
    }
}
FUNCTION void stage_queries(CONTEXT, uint head) {
    OPEN
    for (uint i = LOCAL_ID; i < ROWS_PER_TILE * EIGHTS; i += WG) {
        const uint u = i / EIGHTS, e = i % EIGHTS, row = own_source[u];
        uint4 x = UINT4(0u, 0u, 0u, 0u);
        if (row != NO_ROW) x = EIGHT(q, row * query_stride(PASS) + head * p.head_dim + 8u * e);
        query[u * LINE + e] = x;
    }
}
// by_fours = the step's entries times the queries, and behind them, from KEY_FOURS on, its keys times the queries. Barriers: every item calls it, and
// afterwards has the keys staged.
FUNCTION void multiply_keys(CONTEXT, uint n_keys, uint head) {
    OPEN
    const uint n_entries = count_entries();
    for (uint e = 0u; e < n_entries; e += STEP_KEYS) {
        stage_entries(PASS, e, n_entries);
        BARRIER;
        MULTIPLY_STAGED(by_fours, staged, query, e * 4u, min(n_entries - e, STEP_KEYS))
        BARRIER;
    }
    stage_nodes(PASS, n_keys, 0u, head);
    BARRIER;
    MULTIPLY_STAGED(by_fours, staged, query, KEY_FOURS, n_keys)
    BARRIER;
}
