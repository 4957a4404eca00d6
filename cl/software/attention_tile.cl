// Scores of a batch of keys for all queries of the tile, then a running softmax (largest score, sum of weights, weighted sum of values),
// batch by batch in order.
#include "cl/software/tiles.h"
#define SHARE(sum, weights) (weights == 0.0f ? 0.0f : sum * p.inverse / weights)
#define LSE(lane, component)                                                                                           \
    if (lane_row[4u * u + lane] != NO_ROW)                                                                             \
        AT(lse, lane_row[4u * u + lane] * p.heads + head) = weights.component == 0.0f ? 0.0f : top[u].component + log(weights.component);
// Of a part: the largest score and the sum of weights of a lane, behind the sums of the values.
#define PUT_SUMS(lane, component)                                                                                      \
    if (lane_row[4u * u + lane] != NO_ROW) {                                                                           \
        AT(partial, PARTIAL_PLACE(4u * u + lane, columns + 2u * p.heads) + columns + head) = top[u].component;         \
        AT(partial, PARTIAL_PLACE(4u * u + lane, columns + 2u * p.heads) + columns + p.heads + head) = weights.component;\
    }
#define RESULT_PLACE(lane) lane_row[lane] * columns
#define PART_PLACE(lane) PARTIAL_PLACE(lane, columns + 2u * p.heads)
#define PUT_PARTIAL(i, v) AT(partial, i) = v
#define PUT_RESULT(i, v) STORE(result, i, v)
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool has_rel = (p.calls & CALL_REL) != 0u;
    const uint head_turns = (p.heads + p.turn_heads - 1u) / p.turn_heads, columns = p.heads * HEAD_DIM;
    const uint unit = GROUP_ID / head_turns, part_number = unit % p.parts, sequence = unit / p.parts / p.n_tiles;
    const uint head0 = GROUP_ID % head_turns * p.turn_heads;
    const int tile = TO_INT(unit / p.parts % p.n_tiles), n_true = TO_INT(AT(lengths, sequence));
    const uint vector0 = LOCAL_ID % LANE_ITEMS * VECTORS, part = LOCAL_ID / LANE_ITEMS;
    const int n_ranges = tile_ranges(g, n_true, TO_INT(TILE), p.level);
    TILE_RANGES

    for (uint head = head0; head < min(head0 + p.turn_heads, p.heads); ++head) {
        TILE_READ(query, q, p.q_stride, 0u, p.scale)
        for (uint u = LOCAL_ID; u < HEAD_DIM * TILE4; u += WG) value[u] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
        for (uint u = LOCAL_ID; u < PARTS * TILE4; u += WG) part_total[u] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
        for (uint u = LOCAL_ID; u < TILE4; u += WG) top[u] = FLOAT4(LOWEST, LOWEST, LOWEST, LOWEST);

        for (int first = begin_place; first < end_place; first += TO_INT(BATCH)) {
            BARRIER;
            TILE_LIST
            TILE_ENTRIES
            TILE_REL
            TILE_EDGES
            UNROLL for (uint v = 0u; v < VECTORS; ++v) part_top[part * TILE4 + vector0 + v] = top[vector0 + v];
            for (uint t = part; t < n_filled; t += PARTS * NODES) {
                TILE_PRODUCTS(s, query, kv, list_row, p.kv_stride, p.k_offset)
                UNROLL for (uint v = 0u; v < VECTORS; ++v) {
                    float4 largest = part_top[part * TILE4 + vector0 + v];
                    UNROLL for (uint j = 0u; j < NODES; ++j) {
                        const uint at = (t + j * PARTS) * TILE4 + vector0 + v;
                        const float4 x = add4(SUM_LANES(s, j, v), score[at]);
                        score[at] = x;
                        largest = max4(largest, x);
                    }
                    part_top[part * TILE4 + vector0 + v] = largest;
                }
            }
            BARRIER;
            for (uint vector = vector0; vector < vector0 + VECTORS; ++vector) {
                float4 largest = top[vector];
                for (uint other = 0u; other < PARTS; ++other) largest = max4(largest, part_top[other * TILE4 + vector]);
                const float4 shrink = weights_of(top[vector], largest);
                float4 total = part_total[part * TILE4 + vector] * shrink;
                for (uint t = part; t < n_filled; t += PARTS) {
                    float4 weight = weights_of(score[t * TILE4 + vector], largest);
                    total = add4(total, weight);
                    KEEP(t, vector, weight)
                    score[t * TILE4 + vector] = weight;
                }
                part_total[part * TILE4 + vector] = total;
                if (part == 0u) factor[vector] = shrink;
            }
            BARRIER;
            for (uint u = LOCAL_ID; u < TILE4; u += WG)
                for (uint other = 0u; other < PARTS; ++other) top[u] = max4(top[u], part_top[other * TILE4 + u]);
            TILE_SUM(value, TIMES_FACTOR, n_nodes, score, NODE_IS_STORED, kv, VALUE_PLACE)
        }
        BARRIER;
        for (uint u = LOCAL_ID; u < TILE4; u += WG) {
            float4 weights = part_total[u];
            for (uint other = 1u; other < PARTS; ++other) weights = add4(weights, part_total[other * TILE4 + u]);
            part_total[u] = weights;
            if (p.parts > 1u) {
                PUT_SUMS(0u, x)
                PUT_SUMS(1u, y)
                PUT_SUMS(2u, z)
                PUT_SUMS(3u, w)
            } else if ((p.calls & CALL_LSE) != 0u) {
                LSE(0u, x)
                LSE(1u, y)
                LSE(2u, z)
                LSE(3u, w)
            }
        }
        BARRIER;
        if (p.parts > 1u) {
            TILE_WRITE(value, PUT_PARTIAL, PART_PLACE)
        } else {
            for (uint u = LOCAL_ID; u < HEAD_DIM * TILE4; u += WG) {
                const float4 x = value[u], weights = part_total[u % TILE4];
                value[u] = FLOAT4(SHARE(x.x, weights.x), SHARE(x.y, weights.y), SHARE(x.z, weights.z), SHARE(x.w, weights.w));
            }
            BARRIER;
            TILE_WRITE(value, PUT_RESULT, RESULT_PLACE)
        }
        BARRIER;
    }
KERNEL_END
