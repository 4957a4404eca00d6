// A side of a block by fragments. As block_side.h says of own and other rows, x and y; with g = w (f dy . v - D), and the scale where sums leave
// the fragments. Weights and g are f16. A step multiplies the other side's rows, staged, by the block's: a block of keys x and then y, since sums
// over y come first, a block of queries, which have none, y and then x. own_first and own_next have the block's x and y in this order.
#include "cl/attention/fragment_products.h"
#include "cl/attention/sides.h"

// Eight columns, the e-th of a head, of x (beside 0) or y (1) of a row of either side, NO_ROW: zero.
FUNCTION uint4 eight_of_side(CONTEXT, uint row, bool is_key, uint beside, uint head, uint e) {
    OPEN
    uint4 x = UINT4(0u, 0u, 0u, 0u);
    if (row == NO_ROW) return x;
    const uint place = (beside == 0u ? place_of(PASS, row, is_key, head) : place_beside(PASS, row, is_key, head)) + 8u * e;
    if (is_key)
        x = EIGHT(kv, place);
    else if (beside == 0u)
        x = EIGHT(q, place);
    else
        x = EIGHT(dy, place);
    return x;
}
FUNCTION void stage_own(CONTEXT, bool is_key, uint beside_first, uint head) {
    OPEN
    for (uint i = LOCAL_ID; i < ROWS_PER_TILE * EIGHTS; i += WG) {
        const uint u = i / EIGHTS, e = i % EIGHTS;
        own_first[u * LINE + e] = eight_of_side(PASS, own_row[u], is_key, beside_first, head, e);
        own_next[u * LINE + e] = eight_of_side(PASS, own_row[u], is_key, 1u - beside_first, head, e);
    }
}
FUNCTION void stage_others(CONTEXT, bool is_key, uint beside, uint n_rows, uint head) {
    OPEN
    for (uint i = LOCAL_ID; i < STEP_KEYS * EIGHTS; i += WG) {
        const uint t = i / EIGHTS, e = i % EIGHTS;
        uint row = NO_ROW;
        if (t < n_rows) row = row_of_place(PASS, t);
        staged[t * LINE + e] = eight_of_side(PASS, row, is_key, beside, head, e);
    }
}
// The sums of the item's four rows, which lie in by_fours, times a factor.
FUNCTION void put_sums(CONTEXT, block_t block, uint head, uint beside, float factor) {
    OPEN
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        const uint row = own_row[4u * FOUR + i];
        if (row == NO_ROW) continue;
        const uint place = sums_place(PASS, block, row, place_of(PASS, row, KEYS != 0u, head), head) + beside * p.heads * p.head_dim;
        for (uint c = 4u * SIXTEENTH; c < MOST_COLUMNS; c += 64u)
            put_columns(PASS, place, c, factor * stored_columns(PASS, c, i));
    }
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool is_key = KEYS != 0u;
    const uint head = GROUP_ID % p.heads, beside_first = is_key ? 0u : 1u;
    const block_t block = block_of(PASS, GROUP_ID / p.heads);
    open_block(PASS, g, block);
    stage_own(PASS, is_key, beside_first, head);
    const int begin = first_place(PASS, block), list_end = end_place(PASS, block);
    const float4 stored = FLOAT4(1.0f, 1.0f, 1.0f, 1.0f);
    float4 log_sum = zero4(), dot_sum = zero4();
    if (!is_key) {
        log_sum = statistics_of(PASS, false, head);
        dot_sum = statistics_of(PASS, true, head);
    }
    FRAGMENT_SUM sums_x[OWN_TILES], sums_y[OWN_TILES];  // [column][row of the block]
    UNROLL for (uint i = 0u; i < OWN_TILES; ++i) {
        FRAGMENT_ZERO(sums_x[i]);
        FRAGMENT_ZERO(sums_y[i]);
    }
    place_t step_at = list_begin();
    for (int first = begin; first < list_end; first += TO_INT(STEP_KEYS)) {
        const int end = min(first + TO_INT(STEP_KEYS), list_end);
        const uint n_rows = TO_UINT(end - first);
        BARRIER;
        step_at = walk_to(PASS, step_at, first);
        const codes_t codes = begin_step(PASS, g, block, step_at, first, end);
        BARRIER;
        stage_others(PASS, !is_key, beside_first, n_rows, head);
        BARRIER;
        MULTIPLY_STAGED(by_fours, staged, own_first, 0u, n_rows)
        BARRIER;
        float4 product[KEYS_PER_ITEM];
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) product[j] = by_fours[(SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR];
        stage_others(PASS, !is_key, 1u - beside_first, n_rows, head);
        BARRIER;
        MULTIPLY_STAGED(by_fours, staged, own_next, 0u, n_rows)
        BARRIER;
        const uint dropped = dropped_of_side(PASS, head, n_rows);
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
            const uint at = (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR;
            const float4 next = by_fours[at], score = is_key ? product[j] : next, value = is_key ? next : product[j];
            if (is_key) {
                const uint row = row_of_place(PASS, place_of_key(j, end - first));
                log_sum = statistics_of_query(PASS, false, row, head);
                dot_sum = statistics_of_query(PASS, true, row, head);
            }
            const edge_grad_t of_edges = grad_of_edges(PASS, scores_of(PASS, score, stored, codes, j), value, log_sum, dot_sum, dropped, j);
            // What lies behind the last row is not a number of this step.
            PUT_FOUR_HALVES(gradient, at, at / 4u < n_rows ? of_edges.score : zero4())
            if (is_key) PUT_FOUR_HALVES(weight, at, of_edges.kept)
        }
        BARRIER;
        if (is_key) {
            ADD_STAGED(sums_y, staged, weight, 0u, n_rows)
            BARRIER;
            stage_others(PASS, false, 0u, n_rows, head);
            BARRIER;
        }
        ADD_STAGED(sums_x, staged, gradient, 0u, n_rows)
    }
    BARRIER;
    STORE_SUMS(by_fours, sums_x)
    BARRIER;
    put_sums(PASS, block, head, 0u, p.scale);
    if (is_key) {
        BARRIER;
        STORE_SUMS(by_fours, sums_y)
        BARRIER;
        put_sums(PASS, block, head, 1u, 1.0f);
    }
KERNEL_END
