// dk = sum over the queries of g q, dv = sum of w f dy, with g, w and f of attention_item_dq.
#include "cl/software/items.h"
// The position of a query that range r of a key at `position` has.
FUNCTION int4 query_position(int4 g, int4 position, int r, int query) {
    if (r == 0) return position;
    if (r <= RULE_READERS) return INT4(0, query, 0, 0);
    return graph_has(g, GRAPH_TREE) ? INT4(r - RULE_READERS, position.y >> (r - RULE_READERS), 0, 0) : INT4(1, query - g.y, 0, 0);
}
KERNEL_BEGIN
    const unit_t u = unit_of_item(PASS);
    const uint own = u.all_row * p.kv_stride4 + p.k_offset4 + u.head * HEAD4;
    const int n_ranges = u.exists ? key_ranges(u.g, u.n_true, u.position.x) : 0;
    const int end_query = (p.calls & CALL_LEAVES) != 0u ? u.g.y : 0x7FFFFFFF;  // of the queries, those that this call asks for
    float4 key[HEAD4], value[HEAD4], dkey[HEAD4], dvalue[HEAD4];
    UNROLL for (uint c = 0u; c < HEAD4; ++c) {
        key[c] = p.scale * FETCH(kv, own + c);
        value[c] = FETCH(kv, own + u.columns4 + c);
        dkey[c] = ZERO4;
        dvalue[c] = ZERO4;
    }
    int start = 0;
    for (int r = 0; r < n_ranges; ++r) {
        int4 range = key_range(u.g, u.n_true, u.position, r);
        range.y = max(range.x, min(range.y, end_query));
        const int end = end_of_part(u, range, start);
        for (int query = first_of_part(u, range, start); query < end; ++query) {
            const uint all_query = row_of_node(u.g, p.leaf_rows, p.other, u.sequence, query), query_row = stored_row(u.g, p.calls, all_query, query);
            const uint from = safe_row(u, query_row) * p.q_stride4 + u.head * HEAD4, result = all_query * u.columns4 + u.head * HEAD4;
            const float log_sum = READ(lse, all_query * p.heads + u.head), dot_sum = READ(dots, all_query * p.heads + u.head);
            const int entry = REL != 0u ? edge_row(u.g, query_position(u.g, u.position, r, query), u.position) : -1;
            float4 dots4 = ZERO4, rel_dots = ZERO4, values = ZERO4, queries[HEAD4], upper[HEAD4];
            UNROLL for (uint c = 0u; c < HEAD4; ++c) {
                queries[c] = FETCH(q, from + c);
                dots4 += key[c] * queries[c];
                if (REL != 0u) rel_dots += queries[c] * FETCH(rel, TO_UINT(max(entry, 0)) * HEAD4 + c);
                upper[c] = FETCH(dy, result + c);
                values += value[c] * upper[c];
            }
            const float stored = query_row == NO_ROW ? 0.0f : 1.0f, has_row = entry < 0 ? 0.0f : p.scale;
            const float weight = exp(stored * (sum4(dots4) + has_row * sum4(rel_dots)) - log_sum);
            const float kept = is_dropped(PASS, u.head, u.all_row, all_query) ? 0.0f : p.inverse;
            const float edge = stored * p.scale * weight * (kept * sum4(values) - dot_sum), share = kept * weight;
            UNROLL for (uint c = 0u; c < HEAD4; ++c) {
                dkey[c] += edge * queries[c];
                dvalue[c] += share * upper[c];
            }
        }
        start += range.y - range.x;
    }
    if (u.is_unit && p.parts > 1u) {
        UNROLL for (uint c = 0u; c < HEAD4; ++c) {
            const uint at = 4u * (2u * u.number * u.columns4 + u.head * HEAD4 + c);
            put_partial(PASS, at, dkey[c]);
            put_partial(PASS, at + 4u * u.columns4, dvalue[c]);
        }
    } else if (u.is_unit) {
        UNROLL for (uint c = 0u; c < HEAD4; ++c) {
            PUT(dkv, own + c, dkey[c]);
            PUT(dkv, own + u.columns4 + c, dvalue[c]);
        }
    }
KERNEL_END
