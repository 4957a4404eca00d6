// A side of a block by warps. As block_side.h says of own and other rows, x and y; with g = w (f dy . v - D), and the scale where sums leave the
// registers. Rows come from a table (TABLES), of either side (constant OF_KEYS), or are keys of a graph that a rule makes (KEY_RULES).
#define KEYS 16u  // more would take registers that sums need
#include "cl/attention/warp_block.h"
#undef LEAST_ITEMS
#ifdef KEY_RULES
#define LEAST_ITEMS (MOST_COLUMNS > 32u ? 256u : 384u)
#else
#define LEAST_ITEMS (MOST_COLUMNS > 64u ? 256u : OF_KEYS != 0u ? 384u : 512u)
#endif

// Where a head begins in x or y (beside 1) of a row of either side, NO_ROW: there is none.
FUNCTION uint side_place(CONTEXT, uint row, bool is_key, uint beside, uint head) {
    OPEN
    if (row == NO_ROW) return NO_ROW;
    if (is_key) return row * key_stride(PASS) + key_offset(PASS) + (beside * p.heads + head) * p.head_dim;
    return beside == 0u ? row * query_stride(PASS) + head * p.head_dim : (row * p.heads + head) * p.head_dim;
}
// Is the edge of row u of the block to list place t dropped?
FUNCTION bool is_side_dropped(CONTEXT, uint t, uint u, uint head) {
    OPEN
    if (OF_KEYS == 0u) return is_dropped(PASS, t, u, head);
    if (p.threshold == 0u || own_row[u] == NO_ROW) return false;
    const uint row = 2u * list_code[t];
    return dropout_bits(code_of_node(PASS, own_row[u]), AT(row_keys, row), AT(row_keys, row + 1u), p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) <
           p.threshold;
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool is_key = OF_KEYS != 0u;
    const uint head_turns = (p.heads + ALL_WARPS - 1u) / ALL_WARPS, columns = p.heads * p.head_dim;
    const uint head = GROUP_ID % head_turns * ALL_WARPS + OWN_WARP;
    const bool works = head < p.heads;
    const void *const own_y_tensor = is_key ? (const void *)kv : (const void *)dy,
               *const other_y_tensor = is_key ? (const void *)dy : (const void *)kv;
    const void *const own_tensor = is_key ? (const void *)kv : (const void *)q, *const other_tensor = is_key ? (const void *)q : (const void *)kv;
    const block_t block = block_of(PASS, GROUP_ID / head_turns);
    open_block(PASS, g, block);
    const int end = end_place(PASS, block);

    uint own[2];
    UNROLL for (uint far = 0u; far < 2u; ++far) own[far] = works ? own_row[GROUP + 8u * far] : NO_ROW;
    head_rows_t own_x, own_y;
    head_sums_t sums_x = zero_sums(), sums_y = zero_sums();
    float log_sum[2] = {0.0f, 0.0f}, dot_sum[2] = {0.0f, 0.0f};  // of queries: of rows GROUP and GROUP + 8, or of columns PAIR and PAIR + 1
    if (!is_key)
        UNROLL for (uint far = 0u; far < 2u; ++far) {
            log_sum[far] = own[far] != NO_ROW ? AT(lse, own[far] * p.heads + head) : 0.0f;
            dot_sum[far] = own[far] != NO_ROW ? AT(dots, own[far] * p.heads + head) : 0.0f;
        }

    for (int first = first_place(PASS, block); first < end; first += TO_INT(KEYS_PER_STEP)) {
        const uint n_nodes = min(KEYS_PER_STEP, TO_UINT(end - first)), n_filled = (n_nodes + KEYS - 1u) / KEYS * KEYS;
        open_step(PASS, g, block, first, n_nodes, n_filled);
        if (!works) continue;
        for (uint t = 0u; t < n_filled; t += KEYS) {
            if (MOST_COLUMNS > 64u || t == 0u) {  // of wide heads registers have no room for them beside all sums, so that they are read again
                WARP_BARRIER;
                own_x = block_rows(PASS, own_tensor, side_place(PASS, own[0], is_key, 0u, head), side_place(PASS, own[1], is_key, 0u, head));
                own_y = block_rows(PASS, own_y_tensor, side_place(PASS, own[0], is_key, 1u, head), side_place(PASS, own[1], is_key, 1u, head));
            }
            float gradient[KEY_BLOCKS][4], kept_weight[KEY_BLOCKS][4];
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n) {
                const uint other = list_row[t + 8u * n + GROUP];
                const float4 s = dots_of(PASS, own_x, other_tensor, side_place(PASS, other, !is_key, 0u, head));
                const float4 d = dots_of(PASS, own_y, other_y_tensor, side_place(PASS, other, !is_key, 1u, head));
                const float score[4] = {s.x, s.y, s.z, s.w}, value[4] = {d.x, d.y, d.z, d.w};
                if (is_key)
                    UNROLL for (uint j = 0u; j < 2u; ++j) {
                        const uint row = list_row[t + 8u * n + PAIR + j];
                        log_sum[j] = row != NO_ROW ? AT(lse, row * p.heads + head) : 0.0f;
                        dot_sum[j] = row != NO_ROW ? AT(dots, row * p.heads + head) : 0.0f;
                    }
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    const uint u = GROUP + 8u * (j / 2u), node = t + 8u * n + PAIR + j % 2u, query = is_key ? j % 2u : j / 2u;
                    const bool is_edge = edge_at(PASS, node, u) != NO_EDGE;
                    const float weight = is_edge ? exp(score[j] * p.scale - log_sum[query]) : 0.0f;
                    const float kept = weight != 0.0f && is_side_dropped(PASS, node, u, head) ? 0.0f : p.inverse;
                    gradient[n][j] = is_edge ? weight * (kept * value[j] - dot_sum[query]) : 0.0f;
                    kept_weight[n][j] = kept * weight;
                }
            }
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; n += 2u) {
                uint place[4], beside[4];
                UNROLL for (uint k = 0u; k < 4u; ++k) {
                    const uint row = list_row[t + 8u * (n + k / 2u) + PAIR + k % 2u];
                    place[k] = side_place(PASS, row, !is_key, 0u, head);
                    beside[k] = side_place(PASS, row, !is_key, 1u, head);
                }
                add_products(PASS, sums_x, pairs_of(gradient[n], gradient[n + 1u]), other_tensor, place);
                if (is_key) add_products(PASS, sums_y, pairs_of(kept_weight[n], kept_weight[n + 1u]), other_y_tensor, beside);
            }
        }
    }
    if (!works) return;
    scale_rows(sums_x, p.scale, p.scale);
    UNROLL for (uint far = 0u; far < 2u; ++far) {
        if (own[far] == NO_ROW) continue;
#ifdef KEY_RULES
        if (p.parts > 1u) {
            const uint place = key_part_place(PASS, block, own[far], head);
            store_row(PASS, 0u, partial, place, sums_x, far);
            store_row(PASS, 0u, partial, place + columns, sums_y, far);
            continue;
        }
#endif
        store_row(PASS, DT_result, result, side_place(PASS, own[far], is_key, 0u, head), sums_x, far);
        if (is_key) store_row(PASS, DT_result, result, side_place(PASS, own[far], true, 1u, head), sums_y, far);
    }
KERNEL_END
