// Scores of a batch of keys, then a running softmax (largest score, sum of weights, weighted sum of values), batch by batch in order.
#include "cl/attention/attention.h"
#include "cl/attention/dot.h"
#include "cl/attention/ranges.h"
DOT(dot_key, ELEMENT, query, READ, kv)
DOT(dot_position, ELEMENT, query, READ, rel)
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool is_table = graph_has(g, GRAPH_TABLE);
    const uint head_groups = (p.heads + p.group_heads - 1u) / p.group_heads, columns = p.heads * p.head_dim;
    const uint first_head = GROUP_ID % head_groups * p.group_heads, n_heads = min(p.group_heads, p.heads - first_head);
    const uint unit = GROUP_ID / head_groups, part = unit % p.parts, sequence = unit / p.parts / p.n_nodes;
    const uint first_column = first_head * p.head_dim, n_columns = n_heads * p.head_dim;
    const uint batch = min(TO_UINT(MOST_KEYS), SCORES / p.group_heads);

    const int n_true = is_table ? 0 : TO_INT(AT(lengths, sequence));
    const int node = (p.calls & CALL_ROOTS) != 0u ? root_node(g, n_true) : p.first_node + TO_INT(unit / p.parts % p.n_nodes);
    const int4 position = is_table ? INT4(0, node, 0, 0) : node_position(g, node);
    const uint all_row = is_table ? TO_UINT(node) : row_of_node(g, p.leaf_rows, p.other, sequence, node);
    const uint result_row = (p.calls & CALL_ROOTS) != 0u ? sequence : all_row;
    const uint q_row = (p.calls & CALL_ROOTS) != 0u ? sequence : is_table ? all_row : stored_row(g, p.calls, all_row, node);
    const bool exists = is_table || node_exists(g, n_true, position);
    const int all_ranges = is_table ? TO_INT(p.table_ranges) : exists ? query_ranges(g, n_true, position.x) : 0;

    for (uint c = LOCAL_ID; c < n_columns; c += WG) {
        query[c] = exists && q_row != NO_ROW ? READ(q, q_row * p.q_stride + first_column + c) : 0.0f;
        sum[c] = 0.0f;
    }
    for (uint h = LOCAL_ID; h < n_heads; h += WG) {
        largest[h] = LOWEST;
        total[h] = 0.0f;
    }

    int passed = 0;  // keys of the ranges before
    for (int first_range = 0; first_range < all_ranges; first_range += MOST_RANGES) {  // a table may have more than fit
        const int n_ranges = min(all_ranges - first_range, MOST_RANGES);
        for (int r = TO_INT(LOCAL_ID); r < n_ranges; r += TO_INT(WG)) {
            int4 range = INT4(0, 0, -1, 0);
            if (is_table) {
                const uint entry = (all_row * p.table_ranges + TO_UINT(first_range + r)) * 4u;
                range = INT4(TO_INT(AT(table, entry)), TO_INT(AT(table, entry + 1u)), TO_INT(AT(table, entry + 2u)),
                             TO_INT(AT(table, entry + 3u)));
            } else {
                range = query_range(g, n_true, position, r);
            }
            range_begin[r] = range.x;
            range_end[r] = max(range.x, range.y);
            range_row[r] = range.z;
            range_step[r] = range.w;
        }
        BARRIER;
        start_ranges(PASS, n_ranges);
        BARRIER;
        const int all_keys = range_start[n_ranges], part_begin = p.parts > 1u ? TO_INT(part) * p.part_keys : 0;
        const int first_key = part_begin_of(part_begin, passed, all_keys);
        const int end_key = p.parts > 1u ? part_begin_of(part_begin + p.part_keys, passed, all_keys) : all_keys;
        for (int key = first_key; key < end_key; key += TO_INT(batch)) {
            const uint n_keys = min(batch, TO_UINT(end_key - key)), n_scores = n_keys * n_heads;
            for (uint t = LOCAL_ID; t < n_keys; t += WG) {
                const int place = key + TO_INT(t);
                const int r = range_of_place(PASS, n_ranges, place), along = place - range_start[r], key_node = range_begin[r] + along;
                const uint row = is_table ? TO_UINT(key_node) : row_of_node(g, p.leaf_rows, p.other, sequence, key_node);
                key_row[t] = is_table ? row : stored_row(g, p.calls, row, key_node);
                key_rel[t] = (p.calls & CALL_REL) != 0u && range_row[r] >= 0 ? range_row[r] + along * range_step[r] : -1;
                key_code[t] = p.threshold == 0u ? 0u : is_table ? AT(key_codes, row) : AT(row_keys, 2u * row);
            }
            BARRIER;
            for (uint s = LOCAL_ID; s < n_scores; s += WG) {
                const uint t = s / n_heads, h = s - t * n_heads, from = h * p.head_dim;
                float dot_product = 0.0f;
                if (key_row[t] != NO_ROW) {
                    const uint k = key_row[t] * p.kv_stride + p.k_offset + first_column + from;
                    dot_product += dot_key(PASS, from, k, p.head_dim);
                }
                if (key_rel[t] >= 0) dot_product += dot_position(PASS, from, TO_UINT(key_rel[t]) * p.head_dim, p.head_dim);
                score[s] = dot_product * p.scale;
            }
            BARRIER;
            for (uint h = LOCAL_ID; h < n_heads; h += WG) {
                float most = largest[h];
                for (uint t = 0u; t < n_keys; ++t) most = max(most, score[t * n_heads + h]);
                factor[h] = exp(largest[h] - most);
                largest[h] = most;
            }
            BARRIER;
            for (uint s = LOCAL_ID; s < n_scores; s += WG) {
                const uint t = s / n_heads, h = s - t * n_heads;
                score[s] = exp(score[s] - largest[h]);
            }
            if (p.threshold > 0u)  // weights that dropout drops become negative; a loop of its own, with fewer branches in each (ptxas spilled)
                for (uint s = LOCAL_ID; s < n_scores; s += WG) {
                    const uint t = s / n_heads, h = s - t * n_heads;
                    if (dropout_bits(key_code[t], AT(row_keys, 2u * all_row), AT(row_keys, 2u * all_row + 1u),
                                     p.uid << 8 | (first_head + h), AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                        score[s] = -score[s];
                }
            BARRIER;
            for (uint h = LOCAL_ID; h < n_heads; h += WG) {
                float weights = total[h] * factor[h];
                for (uint t = 0u; t < n_keys; ++t) weights += abs_float(score[t * n_heads + h]);
                total[h] = weights;
            }
            for (uint c = LOCAL_ID; c < n_columns; c += WG) {
                const uint h = c / p.head_dim, v = p.k_offset + columns + first_column + c;
                float values = sum[c] * factor[h];
                for (uint t = 0u; t < n_keys; ++t)
                    if (key_row[t] != NO_ROW) values += max(score[t * n_heads + h], 0.0f) * READ(kv, key_row[t] * p.kv_stride + v);
                sum[c] = values;
            }
            BARRIER;
        }
        passed += all_keys;
    }

    BARRIER;
    if (p.parts > 1u) {
        const uint to = unit * (columns + 2u * p.heads);
        for (uint c = LOCAL_ID; c < n_columns; c += WG) AT(partial, to + first_column + c) = sum[c];
        for (uint h = LOCAL_ID; h < n_heads; h += WG) {
            AT(partial, to + columns + first_head + h) = largest[h];
            AT(partial, to + columns + p.heads + first_head + h) = total[h];
        }
    } else {
        for (uint c = LOCAL_ID; c < n_columns; c += WG) {
            const float weights = total[c / p.head_dim];
            STORE(result, result_row * columns + first_column + c, weights == 0.0f ? 0.0f : sum[c] * p.inverse / weights);
        }
        if ((p.calls & CALL_LSE) != 0u)
            for (uint h = LOCAL_ID; h < n_heads; h += WG)
                AT(lse, result_row * p.heads + first_head + h) = total[h] == 0.0f ? 0.0f : largest[h] + log(total[h]);
    }
KERNEL_END
