// As attention_block_grad.cl says, with g = w (f dy . v - D) and the scale where sums leave the fragments: g, weights, and the sums of entries
// (`onto` [entry][rows of the block]) are f16.
#include "cl/attention/fragment_queries.h"
#define EDGE_GRADIENT(i) by_fours[KEY_FOURS + (i)]
#define PUT_ENTRY(i, sum) PUT_FOUR_HALVES(onto, i, sum)
#include "cl/attention/four_rows_grad.h"

FUNCTION void stage_upper(CONTEXT, uint head) {
    OPEN
    for (uint i = LOCAL_ID; i < ROWS_PER_TILE * EIGHTS; i += WG) {
        const uint u = i / EIGHTS, e = i % EIGHTS, row = own_existing[u];
        uint4 x = UINT4(0u, 0u, 0u, 0u);
        if (row != NO_ROW) x = EIGHT(dy, (row * p.heads + head) * p.head_dim + 8u * e);
        upper[u * LINE + e] = x;
    }
}
// A fragment of weights [node or entry][row of the block], from `first` on, times `rows` of the block, `columns` from c on.
#define MULTIPLY_ROWS(product, weights, first, rows, c)                              \
    FRAGMENT_ZERO(product);                                                          \
    for (uint u = 0u; u < ROWS_PER_TILE; u += FRAGMENT_K) {                          \
        FRAGMENT_LEFT left;                                                          \
        FRAGMENT_RIGHT right;                                                        \
        FRAGMENT_LOAD(left, weights, (first) * 2u + u / 8u, 2u);                     \
        FRAGMENT_LOAD(right, rows, u * LINE + (c) / 8u, LINE);                       \
        FRAGMENT_MULTIPLY_ADD(product, left, right);                                 \
    }
#define TILES_BESIDE (MOST_COLUMNS / FRAGMENT_N)  // of a head's columns
// Rows of the step's nodes, each of so many fours, from four `first` of `to` on: weights times rows of the block times a factor.
#define PUT_KEY_SUMS(to, first, row_fours, weights, rows, n_keys, factor)                                              \
    for (uint tile = SUBGROUP_ID; tile < ((n_keys) + FRAGMENT_M - 1u) / FRAGMENT_M * TILES_BESIDE; tile += SUBGROUPS) { \
        const uint t = tile / TILES_BESIDE * FRAGMENT_M;                                                               \
        const uint column = tile % TILES_BESIDE * FRAGMENT_N;                                                          \
        FRAGMENT_SUM product;                                                                                          \
        MULTIPLY_ROWS(product, weights, t, rows, column)                                                               \
        FRAGMENT_SCALE(product, factor);                                                                               \
        FRAGMENT_STORE(product, to, (first) + t * (row_fours) + column / 4u, row_fours);                               \
    }
// drel += scale times onto times the queries, for 16 entries at a time; an item adds to a column.
FUNCTION void add_table_rows(CONTEXT, uint first, uint n_entries, uint area) {
    OPEN
    for (uint c = LOCAL_ID; c < MOST_COLUMNS; c += WG)
        for (uint e = first; e < min(first + 16u, n_entries); ++e)
            AT(drel, area + entry_row(e) * p.head_dim + c) += p.scale * number_of(by_fours[(e - first) * (MOST_COLUMNS / 4u) + c / 4u], c % 4u);
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const grad_group_t group = grad_group(PASS);
    const uint columns = p.heads * p.head_dim, head = group.head, fours = group.fours;
    for (uint unit = group.first_unit; unit < group.end_unit; ++unit) {
        const block_t block = block_of(PASS, unit);
        BARRIER;
        open_block(PASS, g, block);
        if (KEY_SUMS != 0u) put_key_ranges(PASS, block);
        const int begin = first_place(PASS, block), list_end = end_place(PASS, block);
        stage_queries(PASS, head);
        stage_upper(PASS, head);
        const float4 stored = FLOAT4(1.0f, 1.0f, 1.0f, 1.0f);  // rows that are not stored were staged as zeros
        const float4 log_sum = lse_of_rows(PASS, head), dot_sum = dots_of_rows(PASS, head);
        FRAGMENT_SUM sums[OWN_TILES];  // dq [column][row of the block]
        UNROLL for (uint i = 0u; i < OWN_TILES; ++i) FRAGMENT_ZERO(sums[i]);

        place_t step_at = list_begin();
        for (int first = begin; first < list_end; first += TO_INT(STEP_KEYS)) {
            const int end = min(first + TO_INT(STEP_KEYS), list_end);
            const uint n_keys = TO_UINT(end - first);
            BARRIER;
            step_at = walk_to(PASS, step_at, first);
            const codes_t codes = begin_step(PASS, g, block, step_at, first, end);
            set_entries(PASS, step_at, block.n_ranges, first, end);
            BARRIER;
            stage_nodes(PASS, n_keys, 1u, head);
            BARRIER;
            MULTIPLY_STAGED(by_fours, staged, upper, KEY_FOURS, n_keys)
            BARRIER;
            float4 value[KEYS_PER_ITEM];
            UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) value[j] = by_fours[KEY_FOURS + (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR];
            multiply_keys(PASS, n_keys, head);
            const uint dropped = dropped_edges(PASS, head, n_keys);
            UNROLL for (uint j = 0u; j < KEYS_PER_ITEM; ++j) {
                const uint at = (SIXTEENTH * KEYS_PER_ITEM + j) * 4u + FOUR;
                const edge_grad_t of_edges = grad_of_edges(PASS, scores_of(PASS, by_fours[KEY_FOURS + at], stored, codes, j), value[j],
                                                           log_sum, dot_sum, dropped, j);
                // What lies behind the last key is not a number of this step.
                const float4 x = at / 4u < n_keys ? of_edges.score : zero4();
                by_fours[KEY_FOURS + at] = x;
                PUT_FOUR_HALVES(gradient, at, x)
                PUT_FOUR_HALVES(weight, at, of_edges.kept)
            }
            BARRIER;
            ADD_STAGED(sums, staged, gradient, 0u, n_keys)
            if (KEY_SUMS != 0u) {
                const uint to = key_sums_skew + 2u * key_sum_row(PASS, block, first) * fours + (head - p.first_head) * p.head_dim / 4u;
                PUT_KEY_SUMS(key_sums, to, 2u * fours, gradient, query, n_keys, p.scale)
                PUT_KEY_SUMS(key_sums, to + fours, 2u * fours, weight, upper, n_keys, 1.0f)
            }
            const uint n_entries = count_entries();
            if (n_entries == 0u) continue;
            for (uint i = LOCAL_ID + n_entries * 4u; i < (n_entries + 15u) / 16u * 64u; i += WG) PUT_FOUR_HALVES(onto, i, zero4())
            pull_entries(PASS, g, block, step_at, first, end);
            for (uint e = 0u; e < n_entries; e += STEP_KEYS) {
                BARRIER;
                stage_entries(PASS, e, n_entries);
                BARRIER;
                ADD_STAGED(sums, staged, onto, e, min(n_entries - e, STEP_KEYS))
            }
            for (uint e = 0u; e < n_entries; e += 16u) {
                for (uint tile = SUBGROUP_ID; tile < 16u / FRAGMENT_M * TILES_BESIDE; tile += SUBGROUPS) {
                    const uint t = tile / TILES_BESIDE * FRAGMENT_M, c = tile % TILES_BESIDE * FRAGMENT_N;
                    FRAGMENT_SUM product;
                    MULTIPLY_ROWS(product, onto, e + t, query, c)
                    FRAGMENT_STORE(product, by_fours, t * (MOST_COLUMNS / 4u) + c / 4u, MOST_COLUMNS / 4u);
                }
                BARRIER;
                add_table_rows(PASS, e, n_entries, group.area);
                BARRIER;
            }
        }
        if (has_zero_queries(PASS)) continue;
        BARRIER;
        STORE_SUMS(by_fours, sums)
        BARRIER;
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            const uint row = own_row[4u * FOUR + i];
            if (row == NO_ROW) continue;
            const uint place = p.parts > 1u ? partial_place(PASS, g, block, row, columns) : row * query_stride(PASS);
            for (uint c = 4u * SIXTEENTH; c < MOST_COLUMNS; c += 64u)
                put_four(PASS, place + head * p.head_dim, c, p.scale * stored_columns(PASS, c, i));
        }
    }
KERNEL_END
