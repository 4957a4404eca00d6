// The forward of a block by fragments, by a rule or over a table (TABLES). A step: products of the queries with the rows of the table that it uses
// and with its keys; scores in registers, largest score of each row over all items (`exchange`); weights; their product with the values, which the
// items add to the results in registers.
#include "cl/attention/fragment_queries.h"
#include "cl/attention/four_rows_results.h"
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const uint head = GROUP_ID % p.heads;
    const block_t block = block_of(PASS, GROUP_ID / p.heads);
    open_block(PASS, g, block);
    stage_queries(PASS, head);
    const int begin = first_place(PASS, block), list_end = end_place(PASS, block);
    const float4 stored = FLOAT4(1.0f, 1.0f, 1.0f, 1.0f);  // rows that are not stored were staged as zeros
    float4 top = FLOAT4(LOWEST, LOWEST, LOWEST, LOWEST), total = zero4();
    float4 sums[4u * COLUMN_FOURS];  // of columns 4 SIXTEENTH .. + 3, and of every 64 more, the item's four rows
    UNROLL for (uint i = 0u; i < 4u * COLUMN_FOURS; ++i) sums[i] = zero4();

    place_t step_at = list_begin();
    for (int first = begin; first < list_end; first += TO_INT(STEP_KEYS)) {
        const int end = min(first + TO_INT(STEP_KEYS), list_end);
        const uint n_keys = TO_UINT(end - first);
        if (first > begin) {
            BARRIER;
        }
        step_at = walk_to(PASS, step_at, first);
        const codes_t codes = begin_step(PASS, g, block, step_at, first, end);
        set_entries(PASS, step_at, block.n_ranges, first, end);
        BARRIER;
        multiply_keys(PASS, n_keys, head);
        stage_nodes(PASS, n_keys, 1u, head);
        float4 score[KEYS_PER_ITEM], largest = top;
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
            score[j] = scores_of(PASS, by_fours[KEY_FOURS + (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR], stored, codes, j);
            largest = max4(largest, score[j]);
        }
        exchange[LOCAL_ID] = largest;
        BARRIER;
        for (uint other = 0u; other < 16u; ++other) largest = max4(largest, exchange[16u * FOUR + other]);
        const float4 shrink = weights_of(top, largest);
        const uint dropped = dropped_edges(PASS, head, n_keys);
        float4 own_total = zero4();
        UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
            const float4 x = weights_of(score[j], largest);
            own_total = add4(own_total, x);
            PUT_FOUR_HALVES(weight, (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR, kept_of(x, dropped, j))
        }
        exchange[WG + LOCAL_ID] = own_total;
        top = largest;
        BARRIER;
        FRAGMENT_SUM products[OWN_TILES];
        UNROLL for (uint i = 0u; i < OWN_TILES; ++i) FRAGMENT_ZERO(products[i]);
        ADD_STAGED(products, staged, weight, 0u, n_keys)
        STORE_SUMS(by_fours, products)
        total = total * shrink;
        for (uint other = 0u; other < 16u; ++other) total = add4(total, exchange[WG + 16u * FOUR + other]);
        BARRIER;
        UNROLL for (uint i = 0u; i < 4u * COLUMN_FOURS; ++i) {
            const uint c = i / 4u * 64u + 4u * SIXTEENTH + i % 4u;
            if (c < MOST_COLUMNS) sums[i] = add4(shrink * sums[i], by_fours[c * 4u + FOUR]);
        }
    }
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        const float weights = number_of(total, i);
        if (own_row[4u * FOUR + i] == NO_ROW) continue;
        const uint place = result_place(PASS, g, block, i);
        UNROLL for (uint f = 0u; f < COLUMN_FOURS; ++f) {
            const uint c = 64u * f + 4u * SIXTEENTH;
            if (c < MOST_COLUMNS)
                put_four(PASS, place + head * p.head_dim, c,
                         factor_of(PASS, weights) * FLOAT4(number_of(sums[4u * f], i), number_of(sums[4u * f + 1u], i),
                                                           number_of(sums[4u * f + 2u], i), number_of(sums[4u * f + 3u], i)));
        }
        if (SIXTEENTH == 0u) put_statistics(PASS, place, i, head, number_of(top, i), weights);
    }
KERNEL_END
