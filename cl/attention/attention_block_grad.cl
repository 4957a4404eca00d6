// With weights w = exp(score - lse), dropout factors f and D = dots, g = w (f dy . v - D) scale; dq = the sum over the keys of g (k + rel),
// drel[row] = the sum over the edges of the row of g q; dk = the sum over the queries of g q, dv of w f dy. An edge's g is added to its row's
// entry (`by_fours`, [entry][rows], after q . r), so that both sums with the table go over entries, not edges.
#include "cl/attention/item_products.h"
#define EDGE_GRADIENT(i) gradient[i]
#define PUT_ENTRY(i, sum) by_fours[i] = sum
#include "cl/attention/four_rows_grad.h"

// Where a head of the item's row i begins in dout.
FUNCTION uint upper_place(CONTEXT, uint i, uint head) {
    OPEN
    const uint row = own_existing[4u * FOUR + i];
    return ((row == NO_ROW ? 0u : row) * p.heads + head) * p.head_dim;
}
// Column c of the queries of four rows.
FUNCTION float query_number(CONTEXT, uint u, uint c) {
    OPEN
    const uint row = own_source[u];
    return row == NO_ROW ? 0.0f : READ(q, row * query_stride(PASS) + c);
}
// drel += by_fours, transposed, times the queries: an item has a column, and takes four rows of a range at a time.
FUNCTION void add_table_gradient(CONTEXT, place_t at, int n_ranges, int first, int end, uint head, uint first_column, uint area) {
    OPEN
    for (uint c = first_column + LOCAL_ID; c < min(first_column + MOST_COLUMNS, p.head_dim); c += WG) {
        const uint column = head * p.head_dim + c;
        float4 query[4];
        UNROLL for (uint four = 0u; four < 4u; ++four)
            query[four] = FLOAT4(query_number(PASS, 4u * four, column), query_number(PASS, 4u * four + 1u, column),
                                 query_number(PASS, 4u * four + 2u, column), query_number(PASS, 4u * four + 3u, column));
        place_t range_at = at;
        uint before = 0u;
        for (int r = at.range; r < n_ranges && range_at.start < end; ++r) {
            const int4 nodes = union_of[r], entries = entries_of(PASS, r, nodes, range_at.start, first, end);
            const uint to = area + TO_UINT(entries.x) * p.head_dim + c, next = TO_UINT(entries.z) * p.head_dim, count = TO_UINT(entries.y);
            for (uint i = 0u; i < count; i += 4u) {
                float sum[4];
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    sum[j] = AT(drel, to + min(i + j, count - 1u) * next);
                    UNROLL for (uint four = 0u; four < 4u; ++four)
                        sum[j] += dot4(by_fours[(before + min(i + j, count - 1u)) * 4u + four], query[four]);
                }
                UNROLL for (uint j = 0u; j < 4u; ++j)
                    if (i + j < count) AT(drel, to + (i + j) * next) = sum[j];
            }
            before += count;
            range_at.start += nodes.y - nodes.x;
        }
    }
}
// The item's four columns from c on of a head of a row in dout (of_value 1), or in the queries, for row u of the block.
FUNCTION float4 row_of_block(CONTEXT, uint of_value, uint u, uint head, uint c) {
    OPEN
    const uint row = of_value != 0u ? own_existing[u] : own_source[u];
    if (row == NO_ROW) return zero4();
    const uint place = head * p.head_dim + row * (of_value != 0u ? p.heads * p.head_dim : query_stride(PASS));
    if (of_value != 0u) return COLUMNS_OF(dy, place, c, p.head_dim);
    return COLUMNS_OF(q, place, c, p.head_dim);
}
// Four nodes of the step from t on: their rows in key_sums, for columns c .. c + 3 of a head.
FUNCTION void put_key_sums(CONTEXT, uint t, int n_keys, uint row, uint of_value, uint head, uint fours, uint c) {
    OPEN
    float4 sum[4];
    UNROLL for (uint j = 0u; j < 4u; ++j) sum[j] = zero4();
    for (uint four = 0u; four < 4u; ++four) {
        float4 own[4];
        UNROLL for (uint i = 0u; i < 4u; ++i) own[i] = row_of_block(PASS, of_value, 4u * four + i, head, c);
        UNROLL for (uint j = 0u; j < 4u; ++j) {
            const uint at = (t + j) * 4u + four;
            const float4 x = of_value != 0u ? weight[at] : gradient[at];
            UNROLL for (uint i = 0u; i < 4u; ++i) sum[j] += number_of(x, i) * own[i];
        }
    }
    UNROLL for (uint j = 0u; j < 4u; ++j)
        if (t + j < TO_UINT(n_keys) && row_of_place(PASS, t + j) != NO_ROW)
            PUT(key_sums, (2u * (row + t + j) + of_value) * fours + key_sum_four(p.head_dim, head - p.first_head, c), sum[j]);
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool has_rel = (p.calls & CALL_REL) != 0u;
    const grad_group_t group = grad_group(PASS);
    const uint columns = p.heads * p.head_dim, head = group.head, fours = group.fours, own_column = group.first_column + 4u * SIXTEENTH;
    for (uint unit = group.first_unit; unit < group.end_unit; ++unit) {
        const block_t block = block_of(PASS, unit);
        BARRIER;
        open_block(PASS, g, block);
        if (KEY_SUMS != 0u) put_key_ranges(PASS, block);
        const int begin = first_place(PASS, block), list_end = end_place(PASS, block);

        uint query[4], upper[4];
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            query[i] = query_place(PASS, i, head);
            upper[i] = upper_place(PASS, i, head);
        }
        const float4 stored = stored_rows(PASS);
        const float4 log_sum = lse_of_rows(PASS, head), dot_sum = dots_of_rows(PASS, head);
        float4 sums[4u * COLUMN_FOURS];
        UNROLL for (uint i = 0u; i < 4u * COLUMN_FOURS; ++i) sums[i] = zero4();

        place_t step_at = list_begin();
        for (int first = begin; first < list_end; first += TO_INT(STEP_KEYS)) {
            const int end = min(first + TO_INT(STEP_KEYS), list_end);
            if (first > begin) {
                BARRIER;
            }
            step_at = walk_to(PASS, step_at, first);
            const codes_t codes = begin_step(PASS, g, block, step_at, first, end);
            mix_entries(PASS, step_at, block.n_ranges, first, end, head);
            BARRIER;
            {
                float4 score[KEYS_PER_ITEM], value[KEYS_PER_ITEM];
                uint place[KEYS_PER_ITEM], absent = 0u;
                FIND_OWN_KEYS(place, absent, end - first, head)
                UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
                    score[j] = zero4();
                    value[j] = zero4();
                }
                ADD_DOTS(score, KEYS_PER_ITEM, p.head_dim, q, query, kv, place)
                UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) place[j] += columns;
                ADD_DOTS(value, KEYS_PER_ITEM, p.head_dim, dy, upper, kv, place)
                const uint dropped = dropped_edges(PASS, head, TO_UINT(end - first));
                UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
                    const bool zero = (absent >> j & 1u) != 0u;
                    const edge_grad_t of_edges = grad_of_edges(PASS, scores_of(PASS, zero ? zero4() : score[j], stored, codes, j),
                                                               zero ? zero4() : value[j], log_sum, dot_sum, dropped, j);
                    const uint at = (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR;
                    weight[at] = of_edges.kept;
                    gradient[at] = p.scale * of_edges.score;
                }
            }
            BARRIER;
            if (has_rel) pull_entries(PASS, g, block, step_at, first, end);
            const bool works = own_column < p.head_dim;  // for columns of the head
            if (KEY_SUMS != 0u && works)
                for (uint t = 4u * FOUR; t < TO_UINT(end - first); t += 16u)
                    for (uint f = 0u; f < COLUMN_FOURS; ++f)
                        for (uint of_value = 0u; of_value < 2u && own_column + 64u * f < p.head_dim; ++of_value)
                            put_key_sums(PASS, t, end - first, key_sum_row(PASS, block, first), of_value, head, fours, own_column + 64u * f);
            if (works)
                for (uint t = 0u; t < TO_UINT(end - first); ++t) {
                    const uint row = row_of_place(PASS, t);
                    if (row == NO_ROW) continue;
                    const uint place = node_place(PASS, row, 0u, head);
                    const float4 x = gradient[t * 4u + FOUR];
                    UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) {
                        const uint c = own_column + 64u * f;
                        if (c >= p.head_dim) continue;
                        const float4 key = COLUMNS_OF(kv, place, c, p.head_dim);
                        UNROLL for (uint i = 0u; i < 4u; ++i) sums[4u * f + i] += number_of(x, i) * key;
                    }
                }
            if (!has_rel) continue;
            BARRIER;
            add_table_gradient(PASS, step_at, block.n_ranges, first, end, head, group.first_column, group.area);
            if (works) {
                place_t at = step_at;
                uint before = 0u;
                for (int r = at.range; r < block.n_ranges && at.start < end; ++r) {
                    const int4 nodes = union_of[r], entries = entries_of(PASS, r, nodes, at.start, first, end);
                    for (uint i = 0u; i < TO_UINT(entries.y); ++i) {
                        const float4 x = by_fours[(before + i) * 4u + FOUR];
                        const uint place = (TO_UINT(entries.x) + i * TO_UINT(entries.z)) * p.head_dim;
                        UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) {
                            const uint c = own_column + 64u * f;
                            if (c >= p.head_dim) continue;
                            const float4 row = COLUMNS_OF(rel, place, c, p.head_dim);
                            UNROLL for (uint j = 0u; j < 4u; ++j) sums[4u * f + j] += number_of(x, j) * row;
                        }
                    }
                    before += TO_UINT(entries.y);
                    at.start += nodes.y - nodes.x;
                }
            }
        }
        if (has_zero_queries(PASS)) continue;
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            const uint row = own_row[4u * FOUR + i];
            if (row == NO_ROW) continue;
            const uint place = p.parts > 1u ? partial_place(PASS, g, block, row, columns) : row * query_stride(PASS);
            UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) {
                const uint c = own_column + 64u * f;
                if (c < p.head_dim) put_four(PASS, place + head * p.head_dim, c, sums[4u * f + i]);
            }
        }
    }
KERNEL_END
