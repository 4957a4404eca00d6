// Key by key a running softmax: largest score, sum of weights, weighted sum of values.
#include "cl/software/items.h"
KERNEL_BEGIN
    const unit_t u = unit_of_item(PASS);
    const uint own = safe_row(u, u.row) * p.q_stride4 + u.head * HEAD4;
    const int n_ranges = u.exists ? query_ranges(u.g, u.n_true, u.position.x) : 0;
    const float scale = u.row == NO_ROW ? 0.0f : p.scale;
    float4 query[HEAD4], value[HEAD4];
    UNROLL for (uint c = 0u; c < HEAD4; ++c) {
        query[c] = scale * FETCH(q, own + c);
        value[c] = ZERO4;
    }
    float top = LOWEST, total = 0.0f;
    int start = 0;
    for (int r = 0; r < n_ranges; ++r) {
        const int4 range = query_range(u.g, u.n_true, u.position, r);
        const int end = end_of_part(u, range, start);
        for (int key = first_of_part(u, range, start); key < end; ++key) {
            const uint all_key = row_of_node(u.g, p.leaf_rows, p.other, u.sequence, key), key_row = stored_row(u.g, p.calls, all_key, key);
            const uint k = safe_row(u, key_row) * p.kv_stride4 + p.k_offset4 + u.head * HEAD4;
            float4 dots = ZERO4, rel_dots = ZERO4;
            UNROLL for (uint c = 0u; c < HEAD4; ++c) dots += query[c] * FETCH(kv, k + c);
            if (REL != 0u) {
                const int entry = range.z + (key - range.x) * range.w;
                UNROLL for (uint c = 0u; c < HEAD4; ++c) rel_dots += query[c] * FETCH(rel, TO_UINT(max(entry, 0)) * HEAD4 + c);
                if (range.z < 0) rel_dots = ZERO4;
            }
            const float score = (key_row == NO_ROW ? 0.0f : sum4(dots)) + sum4(rel_dots), largest = max(top, score);
            const float shrink = exp(top - largest), weight = exp(score - largest);
            const float kept = key_row == NO_ROW || is_dropped(PASS, u.head, all_key, u.all_row) ? 0.0f : weight;
            top = largest;
            total = total * shrink + weight;
            UNROLL for (uint c = 0u; c < HEAD4; ++c) value[c] = shrink * value[c] + kept * FETCH(kv, k + u.columns4 + c);
        }
        start += range.y - range.x;
    }
    if (u.is_unit && p.parts > 1u) {
        const uint columns = 4u * u.columns4, to = u.number * (columns + 2u * p.heads);
        UNROLL for (uint c = 0u; c < HEAD4; ++c) put_partial(PASS, to + 4u * (u.head * HEAD4 + c), value[c]);
        AT(partial, to + columns + u.head) = top;
        AT(partial, to + columns + p.heads + u.head) = total;
    } else if (u.is_unit) {
        const float share = total == 0.0f ? 0.0f : p.inverse / total;
        UNROLL for (uint c = 0u; c < HEAD4; ++c) PUT(result, u.all_row * u.columns4 + u.head * HEAD4 + c, share * value[c]);
        if ((p.calls & CALL_LSE) != 0u) AT(lse, u.all_row * p.heads + u.head) = total == 0.0f ? 0.0f : top + log(total);
    }
KERNEL_END
