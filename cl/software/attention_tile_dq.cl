// As attention_dq, for a tile: with weights w = exp(score - lse), dropout factors f and D = dots, g = w (f dy . v - D); dq = scale times the
// sum over the keys of g (k + rel), drel[row] = sum over the edges of the row of g q scale. An edge's g is passed to its row's entry, so that
// both sums with the table go over entries, not edges.
#include "cl/software/tiles.h"
// The sum of an entry's edges with one lane: one edge, or where all nodes of the lane's range have one row, those of the batch.
#define PULL(lane, component)                                                                                          \
    {                                                                                                                  \
        const uint at = TO_UINT(r) * TILE + 4u * vector + lane;                                                        \
        const int begin = max(from, low[at]), end = min(to, high[at]);                                                 \
        const int node = step == 0 ? begin : (entry_row[e] - base[at]) / divisor;                                      \
        const int last = step == 0 ? (entry_row[e] == base[at] ? end : begin) : node < begin ? begin : min(end, node + 1);\
        for (int m = max(node, begin); m < last; ++m) sum.component += score[TO_UINT(m + to_place) * TILE4 + vector].component;\
    }
// The table's sums += those of the batch, entry by entry, as several may have one row.
#define TABLE_GRADIENT                                                                                                 \
    for (uint e = 0u; e < TO_UINT(n_entries); ++e) {                                                                   \
        for (uint c0 = 0u; c0 < HEAD_DIM; c0 += WG) {                                                                  \
            const uint c = c0 + LOCAL_ID;                                                                              \
            if (c < HEAD_DIM) {                                                                                        \
                float4 row = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);                                                           \
                UNROLL for (uint v = 0u; v < TILE4; v += WIDE) {                                                       \
                    const VECTOR x = VECTOR_OF(mix, e * TILE4 + v) * VECTOR_OF(query, c * TILE4 + v);                  \
                    UNROLL for (uint four = 0u; four < WIDE; ++four) row = add4(row, VECTOR_PART(x, four));            \
                }                                                                                                      \
                AT(drel, area + TO_UINT(entry_row[e]) * HEAD_DIM + c) += (row.x + row.y) + (row.z + row.w);            \
            }                                                                                                          \
        }                                                                                                              \
    }
#define PUT_DQ(i, v) STORE(dq, i, v)
#define DQ_PLACE(lane) lane_row[lane] * p.q_stride
#define PART_PLACE(lane) PARTIAL_PLACE(lane, columns)
#define PUT_PARTIAL(i, v) AT(partial, i) = v
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool has_rel = (p.calls & CALL_REL) != 0u;
    const uint head_turns = (p.heads + p.turn_heads - 1u) / p.turn_heads, columns = p.heads * HEAD_DIM;
    const uint head0 = GROUP_ID % head_turns * p.turn_heads, area = GROUP_ID * p.rel_rows * HEAD_DIM;
    const uint first_unit = p.first_unit + GROUP_ID / head_turns * p.group_units, end_unit = min(first_unit + p.group_units, p.units);
    const uint vector0 = LOCAL_ID % LANE_ITEMS * VECTORS, part = LOCAL_ID / LANE_ITEMS;

    for (uint unit = first_unit; unit < end_unit; ++unit) {
        const uint part_number = unit % p.parts, sequence = unit / p.parts / p.n_tiles;
        const int tile = TO_INT(unit / p.parts % p.n_tiles), n_true = TO_INT(AT(lengths, sequence));
        const int n_ranges = tile_ranges(g, n_true, TO_INT(TILE), p.level);
        TILE_RANGES

        for (uint head = head0; head < min(head0 + p.turn_heads, p.heads); ++head) {
            TILE_READ(query, q, p.q_stride, 0u, p.scale)
            TILE_READ(upper, dy, columns, 0u, 1.0f)
            for (uint u = LOCAL_ID; u < HEAD_DIM * TILE4; u += WG) gradient[u] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);

            for (int first = begin_place; first < end_place; first += TO_INT(BATCH)) {
                BARRIER;
                TILE_LIST
                TILE_ENTRIES
                TILE_REL
                TILE_EDGES
                for (uint t = part; t < n_filled; t += PARTS * NODES) {
                    TILE_PRODUCTS(s, query, kv, list_row, p.kv_stride, p.k_offset)
                    TILE_PRODUCTS(d, upper, kv, list_row, p.kv_stride, p.k_offset + columns)
                    UNROLL for (uint v = 0u; v < VECTORS; ++v) {
                        const uint lane = 4u * (vector0 + v);
                        const float4 log_sum = TILE_NUMBERS(lse, lane), dot_sum = TILE_NUMBERS(dots, lane);
                        UNROLL for (uint j = 0u; j < NODES; ++j) {
                            const uint at = (t + j * PARTS) * TILE4 + vector0 + v;
                            const float4 x = add4(SUM_LANES(s, j, v), score[at]);
                            const float4 y = SUM_LANES(d, j, v);
                            float4 kept = FLOAT4(p.inverse, p.inverse, p.inverse, p.inverse);
                            KEEP(t + j * PARTS, vector0 + v, kept)
                            score[at] = weights_of(x, log_sum) * add4(kept * y, -1.0f * dot_sum);
                        }
                    }
                }
                BARRIER;
                TILE_SUM(gradient, UNCHANGED, n_nodes, score, NODE_IS_STORED, kv, KEY_PLACE)
                if (has_rel) {
                    for (uint u = LOCAL_ID; u < TO_UINT(n_entries) * TILE4; u += WG) {
                        const uint e = u / TILE4, vector = u % TILE4;
                        const int r = entry_range[e], step = range_step[r], to_place = range_start[r] - range_begin[r] - first;
                        const int divisor = step == 0 ? 1 : step;  // devices may work out both sides of a choice
                        const int from = max(range_begin[r], -to_place), to = min(range_end[r], TO_INT(BATCH) - to_place);
                        float4 sum = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
                        PULL(0u, x)
                        PULL(1u, y)
                        PULL(2u, z)
                        PULL(3u, w)
                        mix[u] = sum;
                    }
                    BARRIER;
                    TILE_SUM(gradient, UNCHANGED, TO_UINT(n_entries), mix, EVERY_ENTRY, rel, REL_PLACE)
                    TABLE_GRADIENT
                }
            }
            BARRIER;
            for (uint u = LOCAL_ID; u < HEAD_DIM * TILE4; u += WG) gradient[u] = p.scale * gradient[u];
            BARRIER;
            if (p.parts > 1u) {
                TILE_WRITE(gradient, PUT_PARTIAL, PART_PLACE)
            } else {
                TILE_WRITE(gradient, PUT_DQ, DQ_PLACE)
            }
            BARRIER;
        }
    }
KERNEL_END
