// With weights w = exp(score - lse), dropout factors f and D = dots: the gradient of a score is g = w (f dy . v - D) scale; dq = sum over
// the keys of g (k + rel), drel[row] = sum over the edges of the row of g q.
#include "cl/attention/attention.h"
#include "cl/attention/dot.h"
#include "cl/attention/ranges.h"
DOT(dot_key, ELEMENT, query, READ, kv)
DOT(dot_dout_value, ELEMENT, upper, READ, kv)
DOT(dot_position, ELEMENT, query, READ, rel)
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const uint head_groups = (p.heads + p.group_heads - 1u) / p.group_heads, columns = p.heads * p.head_dim;
    const uint first_head = GROUP_ID % head_groups * p.group_heads, n_heads = min(p.group_heads, p.heads - first_head);
    const uint first_column = first_head * p.head_dim, n_columns = n_heads * p.head_dim;
    const uint batch = min(TO_UINT(MOST_KEYS), SCORES / p.group_heads);
    const uint first_unit = p.first_unit + GROUP_ID / head_groups * p.group_units, end_unit = min(first_unit + p.group_units, p.units);
    // The rows of the table's sums are dealt out to as many teams of items as fit, a row to one team and a column to one item of it.
    const uint team_size = min(WG, p.head_dim), teams = WG / team_size, team = LOCAL_ID / team_size;
    const uint team_column = LOCAL_ID - team * team_size, area = GROUP_ID * p.rel_rows * p.head_dim;
    const bool has_rel = (p.calls & CALL_REL) != 0u;

    for (uint unit = first_unit; unit < end_unit; ++unit) {
        const uint part = unit % p.parts, sequence = unit / p.parts / p.n_nodes;
        const int n_true = TO_INT(AT(lengths, sequence));
        const int node = (p.calls & CALL_ROOTS) != 0u ? root_node(g, n_true) : p.first_node + TO_INT(unit / p.parts % p.n_nodes);
        const int4 position = node_position(g, node);
        const uint all_row = row_of_node(g, p.leaf_rows, p.other, sequence, node);
        const uint result_row = (p.calls & CALL_ROOTS) != 0u ? sequence : all_row;
        const int n_ranges = node_exists(g, n_true, position) ? query_ranges(g, n_true, position.x) : 0;
        for (uint c = LOCAL_ID; c < n_columns; c += WG) {
            query[c] = n_ranges > 0 ? READ(q, result_row * p.q_stride + first_column + c) : 0.0f;
            upper[c] = n_ranges > 0 ? READ(dy, result_row * columns + first_column + c) : 0.0f;
            sum[c] = 0.0f;
        }
        for (int r = TO_INT(LOCAL_ID); r < n_ranges; r += TO_INT(WG)) {
            const int4 range = query_range(g, n_true, position, r);
            range_begin[r] = range.x;
            range_end[r] = range.y;
            range_row[r] = range.z;
            range_step[r] = range.w;
        }
        BARRIER;
        start_ranges(PASS, n_ranges);
        BARRIER;
        const int all_keys = range_start[n_ranges], first_key = p.parts > 1u ? TO_INT(part) * p.part_keys : 0;
        const int end_key = p.parts > 1u ? min(first_key + p.part_keys, all_keys) : all_keys;
        for (int key = first_key; key < end_key; key += TO_INT(batch)) {
            const uint n_keys = min(batch, TO_UINT(end_key - key)), n_scores = n_keys * n_heads;
            for (uint t = LOCAL_ID; t < n_keys; t += WG) {
                const int place = key + TO_INT(t);
                const int r = range_of_place(PASS, n_ranges, place), along = place - range_start[r], key_node = range_begin[r] + along;
                const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, key_node);
                key_row[t] = stored_row(g, p.calls, row, key_node);
                key_rel[t] = has_rel && range_row[r] >= 0 ? range_row[r] + along * range_step[r] : -1;
                key_code[t] = p.threshold > 0u ? AT(row_keys, 2u * row) : 0u;
            }
            BARRIER;
            for (uint s = LOCAL_ID; s < n_scores; s += WG) {
                const uint t = s / n_heads, h = s - t * n_heads, from = h * p.head_dim;
                float dot_product = 0.0f, dot_value = 0.0f;
                if (key_row[t] != NO_ROW) {
                    const uint k = key_row[t] * p.kv_stride + p.k_offset + first_column + from;
                    dot_product += dot_key(PASS, from, k, p.head_dim);
                    dot_value += dot_dout_value(PASS, from, k + columns, p.head_dim);
                }
                if (key_rel[t] >= 0) dot_product += dot_position(PASS, from, TO_UINT(key_rel[t]) * p.head_dim, p.head_dim);
                float kept = p.inverse;
                if (p.threshold > 0u && dropout_bits(key_code[t], AT(row_keys, 2u * all_row), AT(row_keys, 2u * all_row + 1u),
                                                     p.uid << 8 | (first_head + h), AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                    kept = 0.0f;
                const uint at = result_row * p.heads + first_head + h;
                score[s] = exp(dot_product * p.scale - AT(lse, at)) * (kept * dot_value - AT(dots, at)) * p.scale;
            }
            BARRIER;
            for (uint c = LOCAL_ID; c < n_columns; c += WG) {
                const uint h = c / p.head_dim, along = c - h * p.head_dim, k = p.k_offset + first_column + c;
                float gradient = sum[c];
                for (uint t = 0u; t < n_keys; ++t) {
                    float x = key_row[t] != NO_ROW ? READ(kv, key_row[t] * p.kv_stride + k) : 0.0f;
                    if (key_rel[t] >= 0) x += READ(rel, TO_UINT(key_rel[t]) * p.head_dim + along);
                    gradient += score[t * n_heads + h] * x;
                }
                sum[c] = gradient;
            }
            if (has_rel && team < teams)
                for (uint t = 0u; t < n_keys; ++t) {
                    const bool mine = key_rel[t] >= 0 && TO_UINT(max(key_rel[t], 0)) % teams == team;
                    for (uint c = mine ? team_column : p.head_dim; c < p.head_dim; c += team_size) {
                        float gradient = 0.0f;
                        for (uint h = 0u; h < n_heads; ++h) gradient += score[t * n_heads + h] * query[h * p.head_dim + c];
                        AT(drel, area + TO_UINT(key_rel[t]) * p.head_dim + c) += gradient;
                    }
                }
            BARRIER;
        }
        BARRIER;
        for (uint c = LOCAL_ID; c < n_columns; c += WG) {
            if (p.parts > 1u)
                AT(partial, unit * columns + first_column + c) = sum[c];
            else
                STORE(dq, result_row * p.q_stride + first_column + c, sum[c]);
        }
        BARRIER;
    }
KERNEL_END
