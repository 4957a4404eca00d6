// With weights w = exp(score - lse), dropout factors f and D = dots, g = w (f dy . v - D) scale: dq = the sum over the keys of g k, dk = the sum
// over the queries of g q, dv of w f dy. *Own* rows are those of the block, x and y of a row what is multiplied: q and dy of a query, k and v of a
// key. So of both sides an edge is own x . other x and own y . other y, and the block's sums are over g and other x, for keys also over w f and
// other y. Rows come from a table (TABLES), of either side (constant KEYS), or are keys of a graph that a rule makes (KEY_RULES).
#include "cl/attention/four_rows.h"
#include "cl/attention/sides.h"
#ifdef KEY_RULES
#include "cl/attention/key_edges.h"
#else
// The row of the other side at place t of the step, in x and in y; the products of edges with it.
FUNCTION uint source_of_place(CONTEXT, block_t block, uint t) { return row_of_place(PASS, t); }
FUNCTION uint upper_of_place(CONTEXT, block_t block, uint t) { return row_of_place(PASS, t); }
FUNCTION float4 product_of_edges(CONTEXT, int4 g, block_t block, codes_t codes, uint j, uint t, float4 product, uint head) { return product; }
#endif
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool is_key = KEYS != 0u;
    const uint columns = p.heads * p.head_dim, pieces = (p.head_dim + MOST_COLUMNS - 1u) / MOST_COLUMNS;
    const uint head = GROUP_ID / pieces % p.heads, c = GROUP_ID % pieces * MOST_COLUMNS + 4u * SIXTEENTH;
    const block_t block = block_of(PASS, GROUP_ID / pieces / p.heads);
    open_block(PASS, g, block);
    const int begin = first_place(PASS, block), list_end = end_place(PASS, block);

    uint own[4], own_y[4];
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        own[i] = place_of(PASS, own_row[4u * FOUR + i], is_key, head);
        own_y[i] = place_beside(PASS, own_row[4u * FOUR + i], is_key, head);
    }
    float4 log_sum = zero4(), dot_sum = zero4(), sums_x[4], sums_y[4];
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        sums_x[i] = zero4();
        sums_y[i] = zero4();
    }
    if (!is_key) {
        log_sum = statistics_of(PASS, false, head);
        dot_sum = statistics_of(PASS, true, head);
    }
    place_t step_at = list_begin();
    for (int first = begin; first < list_end; first += TO_INT(STEP_KEYS)) {
        const int end = min(first + TO_INT(STEP_KEYS), list_end);
        if (first > begin) {
            BARRIER;
        }
        step_at = walk_to(PASS, step_at, first);
        const codes_t codes = begin_step(PASS, g, block, step_at, first, end);
        BARRIER;
        float4 score[KEYS_PER_ITEM], value[KEYS_PER_ITEM];
        {
            uint other[KEYS_PER_ITEM], other_y[KEYS_PER_ITEM];
            UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
                const uint t = place_of_key(j, end - first);
                other[j] = place_of(PASS, source_of_place(PASS, block, t), !is_key, head);
                other_y[j] = place_beside(PASS, upper_of_place(PASS, block, t), !is_key, head);
                score[j] = zero4();
                value[j] = zero4();
            }
            if (is_key) {
                ADD_DOTS(score, KEYS_PER_ITEM, p.head_dim, kv, own, q, other)
                ADD_DOTS(value, KEYS_PER_ITEM, p.head_dim, kv, own_y, dy, other_y)
            } else {
                ADD_DOTS(score, KEYS_PER_ITEM, p.head_dim, q, own, kv, other)
                ADD_DOTS(value, KEYS_PER_ITEM, p.head_dim, dy, own_y, kv, other_y)
            }
        }
        const uint dropped = dropped_of_side(PASS, head, TO_UINT(end - first));
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
            const uint t = place_of_key(j, end - first), at = (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR;
            if (is_key) {
                log_sum = statistics_of_query(PASS, false, upper_of_place(PASS, block, t), head);
                dot_sum = statistics_of_query(PASS, true, upper_of_place(PASS, block, t), head);
            }
            const float4 product = product_of_edges(PASS, g, block, codes, j, t, score[j], head);
            const edge_grad_t of_edges = grad_of_edges(PASS, scores_of(PASS, product, FLOAT4(1.0f, 1.0f, 1.0f, 1.0f), codes, j), value[j],
                                                       log_sum, dot_sum, dropped, j);
            if (is_key) weight[at] = of_edges.kept;
            gradient[at] = p.scale * of_edges.score;
        }
        BARRIER;
        if (c < p.head_dim)
            for (uint t = 0u; t < TO_UINT(end - first); ++t) {
                const uint row = source_of_place(PASS, block, t), place = place_of(PASS, row, !is_key, head);
                const float4 by_x = gradient[t * 4u + FOUR];
                if (is_key) {
                    const uint beside = place_beside(PASS, upper_of_place(PASS, block, t), false, head);
                    const float4 by_y = weight[t * 4u + FOUR], y = COLUMNS_OF(dy, beside, c, p.head_dim);
                    float4 x = zero4();
                    if (row != NO_ROW) x = COLUMNS_OF(q, place, c, p.head_dim);
                    UNROLL for (uint i = 0u; i < 4u; ++i) {
                        sums_x[i] += number_of(by_x, i) * x;
                        sums_y[i] += number_of(by_y, i) * y;
                    }
                } else {
                    const float4 x = COLUMNS_OF(kv, place, c, p.head_dim);
                    UNROLL for (uint i = 0u; i < 4u; ++i) sums_x[i] += number_of(by_x, i) * x;
                }
            }
    }
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        if (own_row[4u * FOUR + i] == NO_ROW) continue;
        const uint place = sums_place(PASS, block, own_row[4u * FOUR + i], own[i], head);
        put_columns(PASS, place, c, sums_x[i]);
        if (is_key) put_columns(PASS, place + columns, c, sums_y[i]);
    }
KERNEL_END
