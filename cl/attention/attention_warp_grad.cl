// With weights w = exp(score - lse), dropout factors f and D = dots, g = w (f dy . v - D); dq = scale times the sum over the keys of g (k + rel),
// drel[row] = sum over the edges of the row of g q scale; dk = scale times the sum over the queries of g q, dv of w f dy. An edge's g is added to
// its row's entry in `onto`, so that both sums with the table are products over entries, not edges.
#define KEYS 16u  // more would take registers that sums need
#include "cl/attention/warp_block.h"
#undef LEAST_ITEMS
#define LEAST_ITEMS (MOST_COLUMNS > 32u ? 256u : 384u)
#include "cl/attention/block_sums.h"

// Entries of different ranges may have one row of the table. entry_turn: how many entries before have the same one.
FUNCTION void set_turns(CONTEXT, uint n_entries) {
    OPEN
    for (uint e = LOCAL_ID; e < n_entries; e += WG) {
        uint turn = 0u;
        for (uint before = 0u; before < e; ++before) turn += entry_row[before] == entry_row[e] ? 1u : 0u;
        entry_turn[e] = turn;
    }
}
FUNCTION uint count_turns(CONTEXT, uint n_entries) {
    OPEN
    uint turns = 0u;
    for (uint e = 0u; e < n_entries; ++e) turns = max(turns, entry_turn[e] + 1u);
    return turns;
}
// drel += scale times onto, transposed, times the queries, for the entries of one turn.
FUNCTION void add_table_gradient(CONTEXT, const float *from, uint head, uint area, uint n_entries, uint turn) {
    OPEN
    uint place[4];
    UNROLL for (uint k = 0u; k < 4u; ++k) place[k] = query_place(PASS, PAIR + 8u * (k / 2u) + k % 2u, head);
    for (uint e = 0u; e < n_entries; e += 16u) {
        const float *const near = from + PAIR * MIX_STRIDE + e + GROUP, *const far = near + 8u * MIX_STRIDE;
        const bool second = e + GROUP + 8u < n_entries, exists = e + GROUP < n_entries;
        const uint4 weights = make_uint4(pair_of(exists ? near[0] : 0.0f, exists ? near[MIX_STRIDE] : 0.0f),
                                         pair_of(second ? near[8] : 0.0f, second ? near[MIX_STRIDE + 8u] : 0.0f),
                                         pair_of(exists ? far[0] : 0.0f, exists ? far[MIX_STRIDE] : 0.0f),
                                         pair_of(second ? far[8] : 0.0f, second ? far[MIX_STRIDE + 8u] : 0.0f));
        UNROLL for (uint b = 0u; b < COLUMNS_64; ++b) {
            float4 sums[8];
            zero_columns(sums);
            add_columns(PASS, sums, 64u * b, weights, q, place);
            UNROLL for (uint down = 0u; down < 2u; ++down) {
                const uint entry = e + GROUP + 8u * down;
                if (entry >= n_entries || entry_turn[entry] != turn) continue;
                add_row(PASS, drel, area + TO_UINT(entry_row[entry]) * p.head_dim, 64u * b, sums, down, p.scale);
            }
        }
    }
}
// The item's share of a row of 64 columns, to f32 at a place that is a multiple of four: a factor times runs of eight columns, the PAIRth and
// the next, of row GROUP (far 0) or GROUP + 8 (1).
FUNCTION void store_columns(CONTEXT, float *x, uint place, uint column, const float4 *sums, uint far, float factor) {
    OPEN
    UNROLL for (uint odd = 0u; odd < 2u; ++odd) {
        const uint c = column + 8u * (PAIR + odd);
        float v[8];
        UNROLL for (uint i = 0u; i < 8u; ++i)
            v[i] = factor * (far == 0u ? (odd == 0u ? sums[i].x : sums[i].y) : (odd == 0u ? sums[i].z : sums[i].w));
        if (c >= p.head_dim) continue;
        *(float4 *)(x + place + c) = FLOAT4(v[0], v[1], v[2], v[3]);
        *(float4 *)(x + place + c + 4u) = FLOAT4(v[4], v[5], v[6], v[7]);
    }
}
// Products of 16 nodes of the list, from place t on, with the block: weights [row of the block][node], transposed, times rows of q (of_value 0)
// or dout (1), to the nodes' rows of key_sums. `row` is that of place 0.
FUNCTION void put_key_sums(CONTEXT, uint4 weights, uint head, uint row, uint t, uint of_value) {
    OPEN
    const uint columns = 4u * key_sum_four(p.head_dim, p.end_head - p.first_head, 0u);
    const uint4 of_nodes = transposed(weights);
    uint place[4];
    UNROLL for (uint k = 0u; k < 4u; ++k) {
        const uint u = PAIR + 8u * (k / 2u) + k % 2u;
        place[k] = of_value != 0u ? upper_place(PASS, u, head) : query_place(PASS, u, head);
    }
    UNROLL for (uint b = 0u; b < COLUMNS_64; ++b) {
        float4 sums[8];
        zero_columns(sums);
        add_columns(PASS, sums, 64u * b, of_nodes, of_value != 0u ? dy : q, place);
        UNROLL for (uint far = 0u; far < 2u; ++far) {
            const uint node = t + GROUP + 8u * far;
            const uint to = (2u * (row + node) + of_value) * columns + (head - p.first_head) * p.head_dim;
            if (list_row[node] != NO_ROW) store_columns(PASS, key_sums, to, 64u * b, sums, far, of_value != 0u ? 1.0f : p.scale);
        }
    }
}
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const uint head_turns = (p.end_head - p.first_head + ALL_WARPS - 1u) / ALL_WARPS, columns = p.heads * p.head_dim;
    const uint head = p.first_head + GROUP_ID % head_turns * ALL_WARPS + OWN_WARP;
    const uint area = (GROUP_ID / head_turns * p.heads + head) * p.rel_rows * p.head_dim;
    const uint units = p.leaf_rows / TO_UINT(p.n) * p.n_tiles * p.parts;
    const uint first_unit = p.first_unit + GROUP_ID / head_turns * p.group_units, end_unit = min(first_unit + p.group_units, units);
    const bool works = head < p.end_head;
    float *const own_mix = mix + OWN_WARP * ROWS_PER_TILE * MIX_STRIDE, *const own_onto = onto + OWN_WARP * ROWS_PER_TILE * MIX_STRIDE;

    for (uint unit = first_unit; unit < end_unit; ++unit) {
        const block_t block = block_of(PASS, unit);
        BARRIER;
        open_block(PASS, g, block);
        if (KEY_SUMS != 0u)
            for (int r = TO_INT(LOCAL_ID); r <= block.n_ranges; r += TO_INT(WG))
                put_key_range(PASS, block, r, r < block.n_ranges ? range_begin[r] : 0, range_start[r]);
        const int end = end_place(PASS, block);

        head_sums_t sums = zero_sums();
        float log_sum[2], dot_sum[2];
        UNROLL for (uint far = 0u; far < 2u; ++far) {
            const uint row = upper_row(PASS, GROUP + 8u * far);
            log_sum[far] = works && row != NO_ROW ? AT(lse, row * p.heads + head) : 0.0f;
            dot_sum[far] = works && row != NO_ROW ? AT(dots, row * p.heads + head) : 0.0f;
        }

        for (int first = first_place(PASS, block); first < end; first += TO_INT(KEYS_PER_STEP)) {
            const uint n_nodes = min(KEYS_PER_STEP, TO_UINT(end - first)), n_filled = (n_nodes + KEYS - 1u) / KEYS * KEYS;
            BARRIER;
            set_list(PASS, g, block, first, n_nodes, n_filled);
            BARRIER;
            set_entries(PASS, block.n_ranges);
            BARRIER;
            const uint n_entries = count_entries(PASS, block.n_ranges);
            set_edges(PASS, g, block, first, n_nodes, n_filled);
            set_turns(PASS, n_entries);
            BARRIER;
            if (!works) continue;
            // Read again for each step, so that they take no registers while the table's gradient is added; of wide heads for each KEYS.
            head_rows_t query = queries_of(PASS, head);
            head_rows_t upper = block_rows(PASS, dy, upper_place(PASS, GROUP, head), upper_place(PASS, GROUP + 8u, head));
            mix_entries(PASS, own_mix, query, n_entries);
            for (uint i = LANE; i < ROWS_PER_TILE * MIX_STRIDE; i += WARP) own_onto[i] = 0.0f;
            WARP_BARRIER;
            for (uint t = 0u; t < n_filled; t += KEYS) {
                if (MOST_COLUMNS > 64u) {
                    query = queries_of(PASS, head);
                    upper = block_rows(PASS, dy, upper_place(PASS, GROUP, head), upper_place(PASS, GROUP + 8u, head));
                }
                float gradient[KEY_BLOCKS][4], kept_weight[KEY_BLOCKS][4];
                UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n) {
                    const float4 s = dots_of(PASS, query, kv, node_place(PASS, t + 8u * n + GROUP, 0u, head));
                    const float4 d = dots_of(PASS, upper, kv, node_place(PASS, t + 8u * n + GROUP, 1u, head));
                    const float score[4] = {s.x, s.y, s.z, s.w}, value[4] = {d.x, d.y, d.z, d.w};
                    UNROLL for (uint j = 0u; j < 4u; ++j) {
                        const uint u = GROUP + 8u * (j / 2u), node = t + 8u * n + PAIR + j % 2u, edge = edge_at(PASS, node, u);
                        const float relative = edge >= FIRST_ENTRY ? own_mix[u * MIX_STRIDE + edge - FIRST_ENTRY] : 0.0f;
                        const float weight = edge == NO_EDGE ? 0.0f : exp((score[j] + relative) * p.scale - log_sum[j / 2u]);
                        const float kept = weight != 0.0f && is_dropped(PASS, node, u, head) ? 0.0f : p.inverse;
                        gradient[n][j] = edge == NO_EDGE ? 0.0f : weight * (kept * value[j] - dot_sum[j / 2u]);
                        kept_weight[n][j] = kept * weight;
                    }
                }
                UNROLL for (uint n = 0u; n < KEY_BLOCKS; n += 2u) {
                    uint place[4];
                    UNROLL for (uint k = 0u; k < 4u; ++k) place[k] = node_place(PASS, t + 8u * (n + k / 2u) + PAIR + k % 2u, 0u, head);
                    const uint4 pairs = pairs_of(gradient[n], gradient[n + 1u]);
                    add_products(PASS, sums, pairs, kv, place);
                    if (KEY_SUMS != 0u) {
                        const uint row = key_sum_row(PASS, block, first);
                        put_key_sums(PASS, pairs, head, row, t + 8u * n, 0u);
                        put_key_sums(PASS, pairs_of(kept_weight[n], kept_weight[n + 1u]), head, row, t + 8u * n, 1u);
                    }
                }
                // Edges of one row of the block may have one entry, so the four items that share the row take turns.
                for (uint turn = 0u; turn < 4u && n_entries > 0u; ++turn) {
                    if (LANE % 4u == turn)
                        UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n)
                            UNROLL for (uint j = 0u; j < 4u; ++j) {
                                const uint u = GROUP + 8u * (j / 2u), edge = edge_at(PASS, t + 8u * n + PAIR + j % 2u, u);
                                if (edge >= FIRST_ENTRY) own_onto[u * MIX_STRIDE + edge - FIRST_ENTRY] += gradient[n][j];
                            }
                    WARP_BARRIER;
                }
            }
            for (uint e = 0u; e < n_entries; e += 16u) {
                float near[4], next[4];
                uint place[4];
                UNROLL for (uint k = 0u; k < 4u; ++k) {
                    const float *const at = own_onto + (GROUP + 8u * (k / 2u)) * MIX_STRIDE + e + PAIR + k % 2u;
                    near[k] = at[0];
                    next[k] = e + 8u < ENTRIES ? at[8] : 0.0f;
                    place[k] = entry_place(PASS, e + PAIR + 8u * (k / 2u) + k % 2u, n_entries);
                }
                add_products(PASS, sums, pairs_of(near, next), rel, place);
            }
            const uint turns = count_turns(PASS, n_entries);
            for (uint turn = 0u; turn < turns; ++turn) {
                add_table_gradient(PASS, own_onto, head, area, n_entries, turn);
                WARP_BARRIER;
            }
        }
        if (!works || has_zero_queries(PASS)) continue;
        scale_rows(sums, p.scale, p.scale);
        UNROLL for (uint far = 0u; far < 2u; ++far) {
            const uint row = own_row[GROUP + 8u * far];
            if (row == NO_ROW) continue;
            if (p.parts > 1u)
                store_row(PASS, 0u, partial, partial_place(PASS, g, block, row, columns) + head * p.head_dim, sums, far);
            else
                store_row(PASS, DT_dq, dq, row * query_stride(PASS) + head * p.head_dim, sums, far);
        }
    }
KERNEL_END
