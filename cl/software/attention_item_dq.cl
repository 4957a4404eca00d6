// With weights w = exp(score - lse), dropout factors f and D = dots: g = scale w (f dy . v - D), dq = sum over the keys of g (k + rel).
#include "cl/software/items.h"
KERNEL_BEGIN
    const unit_t u = unit_of_item(PASS);
    const uint own = safe_row(u, u.row) * p.q_stride4 + u.head * HEAD4;
    const int n_ranges = u.exists && u.row != NO_ROW ? query_ranges(u.g, u.n_true, u.position.x) : 0;
    const float log_sum = READ(lse, u.all_row * p.heads + u.head), dot_sum = READ(dots, u.all_row * p.heads + u.head);
    const uint to_edges = (u.head * (p.units - p.first_unit) + u.number - p.first_unit) * p.rel_rows;
    float4 query[HEAD4], upper[HEAD4], gradient[HEAD4];
    UNROLL for (uint c = 0u; c < HEAD4; ++c) {
        query[c] = p.scale * FETCH(q, own + c);
        upper[c] = FETCH(dy, u.all_row * u.columns4 + u.head * HEAD4 + c);
        gradient[c] = ZERO4;
    }
    int start = 0;
    for (int r = 0; r < n_ranges; ++r) {
        const int4 range = query_range(u.g, u.n_true, u.position, r);
        const int end = end_of_part(u, range, start);
        for (int key = first_of_part(u, range, start); key < end; ++key) {
            const uint all_key = row_of_node(u.g, p.leaf_rows, p.other, u.sequence, key), key_row = stored_row(u.g, p.calls, all_key, key);
            const uint k = safe_row(u, key_row) * p.kv_stride4 + p.k_offset4 + u.head * HEAD4;
            const int entry = range.z < 0 ? 0 : range.z + (key - range.x) * range.w;
            float4 dots4 = ZERO4, rel_dots = ZERO4, values = ZERO4, keys[HEAD4], rows[HEAD4];
            UNROLL for (uint c = 0u; c < HEAD4; ++c) {
                keys[c] = FETCH(kv, k + c);
                dots4 += query[c] * keys[c];
                if (REL != 0u) {
                    rows[c] = FETCH(rel, TO_UINT(entry) * HEAD4 + c);
                    rel_dots += query[c] * rows[c];
                }
                values += upper[c] * FETCH(kv, k + u.columns4 + c);
            }
            const float stored = key_row == NO_ROW ? 0.0f : 1.0f, has_row = range.z < 0 ? 0.0f : 1.0f;
            const float score = stored * sum4(dots4) + has_row * sum4(rel_dots);
            const float kept = is_dropped(PASS, u.head, all_key, u.all_row) ? 0.0f : p.inverse;
            const float edge = p.scale * exp(score - log_sum) * (kept * stored * sum4(values) - dot_sum);
            UNROLL for (uint c = 0u; c < HEAD4; ++c) {
                gradient[c] += stored * edge * keys[c];
                if (REL != 0u) gradient[c] += has_row * edge * rows[c];
            }
            if (EDGES != 0u && range.z >= 0) AT(edges, to_edges + TO_UINT(entry)) += edge;
        }
        start += range.y - range.x;
    }
    if (u.is_unit && p.parts > 1u) {
        UNROLL for (uint c = 0u; c < HEAD4; ++c) put_partial(PASS, 4u * (u.number * u.columns4 + u.head * HEAD4 + c), gradient[c]);
    } else if (u.is_unit) {
        UNROLL for (uint c = 0u; c < HEAD4; ++c) PUT(dq, u.all_row * p.q_stride4 + u.head * HEAD4 + c, gradient[c]);
    }
KERNEL_END
