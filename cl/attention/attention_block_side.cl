// With weights w = exp(score - lse), dropout factors f and D = dots, g = w (f dy . v - D) scale: dq = the sum over the keys of g k, dk = the sum over the
// queries of g q, dv of w f dy. *Own* rows are those of the block, x and y of a row what is multiplied: q and dy of a query, k and v of a key. So of
// both sides an edge is own x . other x and own y . other y, and the block's sums are over g and other x, for keys also over w f and other y.
#define TABLES
#define SLOT_WORDS (KEYS != 0u ? 2u : 4u)
#include "cl/attention/four_rows.h"

// Where a head begins in x of a row, of either side. What y is lies as far behind it in keys, and in the same place of dy.
FUNCTION uint place_of(CONTEXT, uint row, bool is_key, uint head) {
    OPEN
    return (row == NO_ROW ? 0u : row) * (is_key ? 2u : 1u) * p.heads * p.head_dim + head * p.head_dim;
}
FUNCTION float4 statistics_of(CONTEXT, bool of_dots, uint head) {
    OPEN
    float4 four = zero4();
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        const uint row = own_row[4u * FOUR + i], at = (row == NO_ROW ? 0u : row) * p.heads + head;
        const float x = row == NO_ROW ? 0.0f : of_dots ? AT(dots, at) : AT(lse, at);
        four = FLOAT4(i == 0u ? x : four.x, i == 1u ? x : four.y, i == 2u ? x : four.z, i == 3u ? x : four.w);
    }
    return four;
}
// As dropped_edges, where the block's rows are keys and those of the list queries.
FUNCTION uint dropped_queries(CONTEXT, uint head, uint n_rows) {
    OPEN
    uint bits = 0u;
    if (p.threshold == 0u) return bits;
    for (uint t = SIXTEENTH * KEYS_PER_ITEM; t < min((SIXTEENTH + 1u) * KEYS_PER_ITEM, n_rows); ++t) {
        const uint row = 2u * row_of_place(PASS, t), key0 = AT(row_keys, row), key1 = AT(row_keys, row + 1u);
        for (uint i = 0u; i < 4u; ++i) {
            const uint own = own_row[4u * FOUR + i];
            if (dropout_bits(AT(key_codes, own == NO_ROW ? 0u : own), key0, key1, p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                bits |= 1u << (8u * i + t - SIXTEENTH * KEYS_PER_ITEM);
        }
    }
    return bits;
}
FUNCTION void put_columns(CONTEXT, uint place, uint c, float4 x) {
    OPEN
    UNROLL for (uint j = 0u; j < 4u; ++j)
        if (c + j < p.head_dim) STORE(result, place + c + j, number_of(x, j));
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool is_key = KEYS != 0u;
    const uint columns = p.heads * p.head_dim, pieces = (p.head_dim + MOST_COLUMNS - 1u) / MOST_COLUMNS;
    const uint head = GROUP_ID / pieces % p.heads, c = GROUP_ID % pieces * MOST_COLUMNS + 4u * SIXTEENTH;
    const block_t block = block_of(PASS, GROUP_ID / pieces / p.heads);
    set_row_ranges(PASS, block);
    BARRIER;
    set_block(PASS, g, block);
    BARRIER;
    const int list_end = end_place(PASS, block);

    uint own[4];
    UNROLL for (uint i = 0u; i < 4u; ++i) own[i] = place_of(PASS, own_row[4u * FOUR + i], is_key, head);
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
    for (int first = 0; first < list_end; first += TO_INT(STEP_KEYS)) {
        const int end = min(first + TO_INT(STEP_KEYS), list_end);
        if (first > 0) {
            BARRIER;
        }
        step_at = walk_to(PASS, step_at, first);
        set_list(PASS, g, block.sequence, step_at, first, end);
        const codes_t codes = edge_codes(PASS, g, block, step_at, first, end);
        BARRIER;
        float4 score[KEYS_PER_ITEM], value[KEYS_PER_ITEM];
        {
            uint other[KEYS_PER_ITEM];
            UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
                other[j] = place_of(PASS, row_of_key(PASS, j, end - first), !is_key, head);
                score[j] = zero4();
                value[j] = zero4();
            }
            if (is_key) {
                uint own_y[4];
                UNROLL for (uint i = 0u; i < 4u; ++i) own_y[i] = own[i] + columns;
                ADD_DOTS(score, KEYS_PER_ITEM, p.head_dim, kv, own, q, other)
                ADD_DOTS(value, KEYS_PER_ITEM, p.head_dim, kv, own_y, dy, other)
            } else {
                ADD_DOTS(score, KEYS_PER_ITEM, p.head_dim, q, own, kv, other)
                UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) other[j] += columns;
                ADD_DOTS(value, KEYS_PER_ITEM, p.head_dim, dy, own, kv, other)
            }
        }
        uint dropped;
        if (is_key)
            dropped = dropped_queries(PASS, head, TO_UINT(end - first));
        else
            dropped = dropped_edges(PASS, head, TO_UINT(end - first));
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
            if (is_key) {
                const uint at = row_of_key(PASS, j, end - first) * p.heads + head;
                const float of_query = AT(lse, at), dots_of_query = AT(dots, at);
                log_sum = FLOAT4(of_query, of_query, of_query, of_query);
                dot_sum = FLOAT4(dots_of_query, dots_of_query, dots_of_query, dots_of_query);
            }
            const float4 w = weights_of(scores_of(PASS, score[j], FLOAT4(1.0f, 1.0f, 1.0f, 1.0f), codes, j), log_sum);
            const float4 kept = p.inverse * kept_of(w, dropped, j);
            const uint at = (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR;
            if (is_key) weight[at] = kept;
            gradient[at] = p.scale * add4(kept * value[j], -1.0f * (w * dot_sum));
        }
        BARRIER;
        if (c < p.head_dim)
            for (uint t = 0u; t < TO_UINT(end - first); ++t) {
                const uint place = place_of(PASS, row_of_place(PASS, t), !is_key, head);
                const float4 by_x = gradient[t * 4u + FOUR];
                if (is_key) {
                    const float4 by_y = weight[t * 4u + FOUR], x = COLUMNS_OF(q, place, c, p.head_dim), y = COLUMNS_OF(dy, place, c, p.head_dim);
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
        put_columns(PASS, own[i], c, sums_x[i]);
        if (is_key) put_columns(PASS, own[i] + columns, c, sums_y[i]);
    }
KERNEL_END
