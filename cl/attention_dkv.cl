// dk = sum over the queries of g q, dv = sum of w f dy, with g, w and f of attention_dq. The weights are computed again from lse.
#include "attention.h"
#define MOST_QUERIES 64
#define LOCALS(L)                                                                                                      \
    RANGE_LOCALS(L) L(uint, all_row, MOST_QUERIES) L(uint, result_row, MOST_QUERIES) L(uint, q_row, MOST_QUERIES)       \
    L(int, edge_rel, MOST_QUERIES) L(float, key, COLUMNS) L(float, value, COLUMNS) L(float, dkey, COLUMNS)              \
    L(float, dvalue, COLUMNS) L(float, score, SCORES) L(float, weight, SCORES)
#define KEY_TERM(c) LOAD(q, at + c) * key[from + c]
#define REL_TERM(c) LOAD(q, at + c) * LOAD(rel, row + c)
#define VALUE_TERM(c) LOAD(dy, d + c) * value[from + c]
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const uint head_groups = (p.heads + p.group_heads - 1u) / p.group_heads, columns = p.heads * p.head_dim;
    const uint first_head = GROUP_ID % head_groups * p.group_heads, n_heads = min(p.group_heads, p.heads - first_head);
    const uint unit = GROUP_ID / head_groups, part = unit % p.parts, sequence = unit / p.parts / p.n_nodes;
    const uint first_column = first_head * p.head_dim, n_columns = n_heads * p.head_dim;
    const uint batch = min(TO_UINT(MOST_QUERIES), SCORES / p.group_heads);

    const int n_true = TO_INT(AT(lengths, sequence)), node = p.first_node + TO_INT(unit / p.parts % p.n_nodes);
    const int4 position = node_position(g, node);
    const uint key_row = row_of_node(g, p.leaf_rows, p.other, sequence, node), k = key_row * p.kv_stride + p.k_offset + first_column;
    const int n_ranges = node_exists(g, n_true, position) ? key_ranges(g, n_true, position.x) : 0;
    const bool roots = (p.calls & CALL_ROOTS) != 0u;
    // Of the queries that read the key, those that this call asks for.
    const int first_query = roots ? root_node(g, n_true) : 0;
    const int end_query = roots ? first_query + 1 : (p.calls & CALL_LEAVES) != 0u ? g.y : 0x7FFFFFFF;
    const uint key_code = p.threshold > 0u ? AT(row_keys, 2u * key_row) : 0u;

    for (uint c = LOCAL_ID; c < n_columns; c += WG) {
        key[c] = n_ranges > 0 ? LOAD(kv, k + c) : 0.0f;
        value[c] = n_ranges > 0 ? LOAD(kv, k + columns + c) : 0.0f;
        dkey[c] = 0.0f;
        dvalue[c] = 0.0f;
    }
    for (int r = TO_INT(LOCAL_ID); r < n_ranges; r += TO_INT(WG)) {
        const int4 range = key_range(g, n_true, position, r);
        const int begin = max(range.x, first_query);
        range_begin[r] = begin;
        range_end[r] = max(min(range.y, end_query), begin);
    }
    BARRIER;
    START_RANGES(n_ranges)
    BARRIER;
    const int all_queries = range_start[n_ranges], first_place = p.parts > 1u ? TO_INT(part) * p.part_keys : 0;
    const int end_place = p.parts > 1u ? min(first_place + p.part_keys, all_queries) : all_queries;
    for (int first = first_place; first < end_place; first += TO_INT(batch)) {
        const uint n_queries = min(batch, TO_UINT(end_place - first)), n_scores = n_queries * n_heads;
        for (uint t = LOCAL_ID; t < n_queries; t += WG) {
            const int place = first + TO_INT(t);
            FIND_RANGE(r, n_ranges, place)
            const int query_node = range_begin[r] + place - range_start[r];
            const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, query_node);
            all_row[t] = row;
            result_row[t] = roots ? sequence : row;
            q_row[t] = roots ? sequence : stored_row(g, p.calls, row, query_node);
            edge_rel[t] = (p.calls & CALL_REL) != 0u ? edge_row(g, node_position(g, query_node), position) : -1;
        }
        BARRIER;
        for (uint s = LOCAL_ID; s < n_scores; s += WG) {
            const uint t = s / n_heads, h = s - t * n_heads, from = h * p.head_dim, d = result_row[t] * columns + first_column + from;
            float dot_product = 0.0f, dot_value = 0.0f;
            if (q_row[t] != NO_ROW) {
                const uint at = q_row[t] * p.q_stride + first_column + from;
                ADD_TERMS(dot_product, p.head_dim, KEY_TERM)
                if (edge_rel[t] >= 0) {
                    const uint row = TO_UINT(edge_rel[t]) * p.head_dim;
                    ADD_TERMS(dot_product, p.head_dim, REL_TERM)
                }
            }
            ADD_TERMS(dot_value, p.head_dim, VALUE_TERM)
            float kept = p.inverse;
            if (p.threshold > 0u && dropout_bits(key_code, AT(row_keys, 2u * all_row[t]), AT(row_keys, 2u * all_row[t] + 1u),
                                                 p.uid << 8 | (first_head + h), AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                kept = 0.0f;
            const uint at = result_row[t] * p.heads + first_head + h;
            const float w = exp(dot_product * p.scale - AT(lse, at));
            weight[s] = w * kept;
            score[s] = w * (kept * dot_value - AT(dots, at)) * p.scale;
        }
        BARRIER;
        for (uint c = LOCAL_ID; c < n_columns; c += WG) {
            const uint h = c / p.head_dim;
            float dk = dkey[c], dv = dvalue[c];
            for (uint t = 0u; t < n_queries; ++t) {
                if (q_row[t] != NO_ROW) dk += score[t * n_heads + h] * LOAD(q, q_row[t] * p.q_stride + first_column + c);
                dv += weight[t * n_heads + h] * LOAD(dy, result_row[t] * columns + first_column + c);
            }
            dkey[c] = dk;
            dvalue[c] = dv;
        }
        BARRIER;
    }
    BARRIER;
    for (uint c = LOCAL_ID; c < n_columns; c += WG) {
        if (p.parts > 1u) {
            AT(partial, unit * 2u * columns + first_column + c) = dkey[c];
            AT(partial, (unit * 2u + 1u) * columns + first_column + c) = dvalue[c];
        } else {
            STORE(dkv, k + c, dkey[c]);
            STORE(dkv, k + columns + c, dvalue[c]);
        }
    }
KERNEL_END
