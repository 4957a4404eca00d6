// Key by key a running softmax: largest score, sum of weights, weighted sum of values.
#include "cl/software/items.h"
KERNEL_BEGIN
    ITEM_UNIT
    const uint own = SAFE_ROW(row) * p.q_stride4 + head * HEAD4;
    const int n_ranges = exists ? query_ranges(g, n_true, position.x) : 0;
    const float scale = row == NO_ROW ? 0.0f : p.scale;
    float4 query[HEAD4], value[HEAD4];
    UNROLL for (uint c = 0u; c < HEAD4; ++c) {
        query[c] = scale * FETCH(q, own + c);
        value[c] = ZERO4;
    }
    float top = LOWEST, total = 0.0f;
    int start = 0;
    for (int r = 0; r < n_ranges; ++r) {
        const int4 range = query_range(g, n_true, position, r);
        FOR_PLACES(key, range, start) {
            const uint all_key = row_of_node(g, p.leaf_rows, p.other, sequence, key), key_row = stored_row(g, p.calls, all_key, key);
            const uint k = SAFE_ROW(key_row) * p.kv_stride4 + p.k_offset4 + head * HEAD4;
            float4 dots = ZERO4, rel_dots = ZERO4;
            UNROLL for (uint c = 0u; c < HEAD4; ++c) dots += query[c] * FETCH(kv, k + c);
            if (REL != 0u) {
                const int entry = range.z + (key - range.x) * range.w;
                UNROLL for (uint c = 0u; c < HEAD4; ++c) rel_dots += query[c] * FETCH(rel, TO_UINT(max(entry, 0)) * HEAD4 + c);
                if (range.z < 0) rel_dots = ZERO4;
            }
            const float score = (key_row == NO_ROW ? 0.0f : sum4(dots)) + sum4(rel_dots), largest = max(top, score);
            const float shrink = exp(top - largest), weight = exp(score - largest);
            const float kept = key_row == NO_ROW || IS_DROPPED(all_key, all_row) ? 0.0f : weight;
            top = largest;
            total = total * shrink + weight;
            UNROLL for (uint c = 0u; c < HEAD4; ++c) value[c] = shrink * value[c] + kept * FETCH(kv, k + columns4 + c);
        }
        start += range.y - range.x;
    }
    if (is_unit && p.parts > 1u) {
        const uint columns = 4u * columns4, to = unit * (columns + 2u * p.heads);
        UNROLL for (uint c = 0u; c < HEAD4; ++c) PUT4(partial, to + 4u * (head * HEAD4 + c), value[c])
        AT(partial, to + columns + head) = top;
        AT(partial, to + columns + p.heads + head) = total;
    } else if (is_unit) {
        const float share = total == 0.0f ? 0.0f : p.inverse / total;
        UNROLL for (uint c = 0u; c < HEAD4; ++c) PUT(result, all_row * columns4 + head * HEAD4 + c, share * value[c]);
        if ((p.calls & CALL_LSE) != 0u) AT(lse, all_row * p.heads + head) = total == 0.0f ? 0.0f : top + log(total);
    }
KERNEL_END
