// The forward of a block, by a rule or over a table (TABLES). A step: the items list its nodes and multiply the queries by the rows of the table of
// positions that it uses (`by_fours` [entry][rows]); scores in registers, largest score of each row over all items (`exchange`); weights (`by_fours`
// [key][rows], behind them the items' sums); weighted sum of the values in registers.
#include "cl/attention/item_products.h"
#include "cl/attention/four_rows_results.h"
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const uint pieces = (p.head_dim + MOST_COLUMNS - 1u) / MOST_COLUMNS;  // of a head's columns: each has all scores
    const uint head = GROUP_ID / pieces % p.heads, own_column = GROUP_ID % pieces * MOST_COLUMNS + 4u * SIXTEENTH;
    const block_t block = block_of(PASS, GROUP_ID / pieces / p.heads);
    open_block(PASS, g, block);
    const int begin = first_place(PASS, block), list_end = end_place(PASS, block);

    uint query[4];
    UNROLL for (uint i = 0u; i < 4u; ++i) query[i] = query_place(PASS, i, head);
    const float4 stored = stored_rows(PASS);
    float4 top = FLOAT4(LOWEST, LOWEST, LOWEST, LOWEST), total = zero4();
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
        float4 score[KEYS_PER_ITEM], largest = top;
        {
            uint place[KEYS_PER_ITEM], absent = 0u;
            FIND_OWN_KEYS(place, absent, end - first, head)
            UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) score[j] = zero4();
            ADD_DOTS(score, KEYS_PER_ITEM, p.head_dim, q, query, kv, place)
            UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
                score[j] = scores_of(PASS, (absent >> j & 1u) != 0u ? zero4() : score[j], stored, codes, j);
                largest = max4(largest, score[j]);
            }
        }
        exchange[LOCAL_ID] = largest;
        BARRIER;
        for (uint other = 0u; other < 16u; ++other) largest = max4(largest, exchange[16u * FOUR + other]);
        const float4 shrink = weights_of(top, largest);
        const uint dropped = dropped_edges(PASS, head, TO_UINT(end - first));
        float4 own_total = zero4();
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
            const float4 weight = weights_of(score[j], largest);
            own_total = add4(own_total, weight);
            by_fours[(SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR] = kept_of(weight, dropped, j);
        }
        by_fours[STEP_KEYS * 4u + LOCAL_ID] = own_total;
        top = largest;
        BARRIER;
        total = total * shrink;
        for (uint other = 0u; other < 16u; ++other) total = add4(total, by_fours[STEP_KEYS * 4u + 16u * FOUR + other]);
        UNROLL for (uint i = 0u; i < 4u; ++i)
            UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) sums[4u * f + i] = number_of(shrink, i) * sums[4u * f + i];
        if (own_column < p.head_dim)
            for (uint t = 0u; t < TO_UINT(end - first); t += 4u) {
                const int4 rows = list_row[t / 4u];
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    const uint row = stored_of(part_of(rows, j)), place = node_place(PASS, row, 1u, head);
                    if (row == NO_ROW || t + j >= TO_UINT(end - first)) continue;
                    const float4 weight = by_fours[(t + j) * 4u + FOUR];
                    UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) {
                        const uint c = own_column + 64u * f;
                        if (c < p.head_dim) {
                            const float4 value = COLUMNS_OF(kv, place, c, p.head_dim);
                            UNROLL for (uint i = 0u; i < 4u; ++i) sums[4u * f + i] += number_of(weight, i) * value;
                        }
                    }
                }
            }
    }
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        const float weights = number_of(total, i);
        if (own_row[4u * FOUR + i] == NO_ROW) continue;
        const uint place = result_place(PASS, g, block, i);
        UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) {
            const uint c = own_column + 64u * f;
            if (c < p.head_dim) put_four(PASS, place + head * p.head_dim, c, factor_of(PASS, weights) * sums[4u * f + i]);
        }
        if (own_column == 0u) put_statistics(PASS, place, i, head, number_of(top, i), weights);
    }
KERNEL_END
