// dk = sum over the queries of g q, dv = sum of w f dy, with g, w and f of attention_dq. The weights are computed again from lse. The lanes
// of the tile are keys, the list holds the queries that read them. With PIECES a head has more columns than local memory has room for: dk and
// dv are made for MOST_COLUMNS of them at a time, each time with all scores, which are added up piece by piece.
#define FIRST_COLUMN (PIECES != 0u ? column0 : 0u)
#define TILE_COLUMNS (PIECES != 0u ? min(MOST_COLUMNS, HEAD_DIM - column0) : HEAD_DIM)
#include "cl/software/tiles.h"
#define NO_EDGE (-2)
#define NO_REL (-1)
#define Q_PLACE(t, c) (list_row[t] * p.q_stride + head * HEAD_DIM + (c))
#define DY_PLACE(t, c) (list_result[t] * columns + head * HEAD_DIM + (c))
#define EVERY_NODE(t) true
// One lane of an edge: its weight, and the gradient of its score.
#define KEY_EDGE(lane, component)                                                                                     \
    if (edge[at + lane] == NO_EDGE) {                                                                                 \
        x.component = 0.0f;                                                                                           \
        y.component = 0.0f;                                                                                           \
    } else {                                                                                                          \
        const float w = exp((x.component + (edge[at + lane] >= 0 ? r.component : 0.0f)) * p.scale - log_sum);         \
        const float kept = (dropped & 1u << lane) != 0u ? 0.0f : p.inverse;                                           \
        x.component = w * (kept * y.component - dot_sum) * p.scale;                                                   \
        y.component = w * kept;                                                                                       \
    }
#define PUT_PARTIAL(i, v) AT(partial, i) = v
#define PUT_DKV(i, v) STORE(dkv, i, v)
#define DKEY_PLACE(lane) lane_row[lane] * p.kv_stride + p.k_offset
#define DVALUE_PLACE(lane) DKEY_PLACE(lane) + columns
#define DKEY_PART(lane) ((sequence * p.n_nodes + TO_UINT(node0 - p.first_node) + (lane)) * p.parts + part_number) * 2u * columns
#define DVALUE_PART(lane) DKEY_PART(lane) + columns
// Nodes of a level of the bucket, and the first one.
FUNCTION int level_size(int4 g, uint other, int level) {
    return level == 0 ? g.y : graph_has(g, GRAPH_TREE) ? bucket_nodes(g, level) : TO_INT(other);
}
FUNCTION int level_first(int4 g, int level) { return graph_has(g, GRAPH_TREE) ? bucket_offset(g, level) : level * g.y; }
// The position of a key at this place of its level.
FUNCTION int4 key_position(int4 g, int level, int place) { return INT4(level, place << span_shift(g, level), 0, 0); }
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool has_rel = (p.calls & CALL_REL) != 0u, roots = (p.calls & CALL_ROOTS) != 0u;
    const uint head_turns = (p.heads + p.turn_heads - 1u) / p.turn_heads, columns = p.heads * HEAD_DIM;
    const uint unit = GROUP_ID / head_turns, part_number = unit % p.parts, sequence = unit / p.parts / p.n_tiles;
    const uint head0 = GROUP_ID % head_turns * p.turn_heads;
    const uint vector0 = LOCAL_ID % LANE_ITEMS * VECTORS, part = LOCAL_ID / LANE_ITEMS;
    const int n_true = TO_INT(AT(lengths, sequence));
    // The tile's level and its first node there.
    int level = p.first_level, index = TO_INT(unit / p.parts % p.n_tiles * TILE);
    while (index >= level_size(g, p.other, level)) {
        index -= (level_size(g, p.other, level) + TO_INT(TILE) - 1) / TO_INT(TILE) * TO_INT(TILE);
        ++level;
    }
    const int node0 = level_first(g, level) + index;
    const uint row0 = row_of_node(g, p.leaf_rows, p.other, sequence, node0), lanes = min(TILE, TO_UINT(level_size(g, p.other, level) - index));
    int n_existing = 0;
    for (int lane = 0; lane < TO_INT(lanes); ++lane) n_existing += node_exists(g, n_true, key_position(g, level, index + lane)) ? 1 : 0;
    const uint existing = TO_UINT(n_existing);
    for (uint u = LOCAL_ID; u < TILE; u += WG) {
        lane_row[u] = u < lanes ? row0 + u : NO_ROW;
        lane_source[u] = u < existing ? row0 + u : NO_ROW;
    }
    const int n_ranges = existing > 0u ? key_ranges(g, n_true, level) : 0;
    // Of the queries that read the keys, those that this call asks for.
    const int first_query = roots ? root_node(g, n_true) : 0;
    const int end_query = roots ? first_query + 1 : (p.calls & CALL_LEAVES) != 0u ? g.y : 0x7FFFFFFF;

    for (uint u = LOCAL_ID; u < TO_UINT(n_ranges) * TILE; u += WG) {
        int4 range = INT4(0, 0, -1, 0);
        if (u % TILE < existing) range = tile_key_range(g, n_true, key_position(g, level, index + TO_INT(u % TILE)), TO_INT(u / TILE));
        low[u] = max(range.x, first_query);
        high[u] = range.x < range.y ? min(range.y, end_query) : low[u];
    }
    BARRIER;
    TILE_UNIONS(NO_NOTE)
    const int begin_place = p.parts > 1u ? TO_INT(part_number) * p.part_nodes : 0;
    const int end_place = p.parts > 1u ? min(begin_place + p.part_nodes, range_start[n_ranges]) : range_start[n_ranges];

    const uint pieces = PIECES != 0u ? (HEAD_DIM + MOST_COLUMNS - 1u) / MOST_COLUMNS : 1u;
    const uint turns = (min(head0 + p.turn_heads, p.heads) - head0) * pieces;
    for (uint turn = 0u; turn < turns; ++turn) {
        const uint head = head0 + turn / pieces, own_column = turn % pieces * MOST_COLUMNS;
        uint column0 = own_column;
        if (PIECES == 0u) {
            TILE_READ(key, kv, p.kv_stride, p.k_offset, 1.0f)
            TILE_READ(value, kv, p.kv_stride, p.k_offset + columns, 1.0f)
        }
        for (uint u = LOCAL_ID; u < TILE_COLUMNS * TILE4; u += WG) {
            dkey[u] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
            dvalue[u] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        for (int first = begin_place; first < end_place; first += TO_INT(BATCH)) {
            const uint n_queries = min(BATCH, TO_UINT(end_place - first)), n_filled = FILLED(n_queries);
            BARRIER;
            for (uint t = LOCAL_ID; t < n_filled; t += WG) {
                const int place = first + TO_INT(min(t, n_queries - 1u));
                FIND_RANGE(r, n_ranges, place)
                const int node = range_begin[r] + place - range_start[r];
                const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, node);
                const int4 position = node_position(g, node);
                list_all[t] = row;
                list_result[t] = roots ? sequence : row;
                list_row[t] = roots ? sequence : stored_row(g, p.calls, row, node);
                for (uint lane = 0u; lane < TILE; ++lane) {
                    const uint at = TO_UINT(r) * TILE + lane;
                    int row_of_edge = NO_EDGE;
                    if (t < n_queries && node >= low[at] && node < high[at])
                        row_of_edge = has_rel ? edge_row(g, position, key_position(g, level, index + TO_INT(lane))) : NO_REL;
                    edge[t * TILE + lane] = row_of_edge;
                }
            }
            BARRIER;
            for (uint number = 0u; number < pieces; ++number) {
                column0 = number * MOST_COLUMNS;
                if (PIECES != 0u) {
                    TILE_READ(key, kv, p.kv_stride, p.k_offset, 1.0f)
                    TILE_READ(value, kv, p.kv_stride, p.k_offset + columns, 1.0f)
                    BARRIER;
                }
                for (uint t = part; t < n_filled; t += PARTS * NODES) {
                    TILE_PRODUCTS(s, key, q, list_row, p.q_stride, 0u)
                    TILE_PRODUCTS(d, value, dy, list_result, columns, 0u)
                    UNROLL for (uint j = 0u; j < NODES; ++j)
                        UNROLL for (uint v = 0u; v < VECTORS; ++v) {
                            const uint at = (t + j * PARTS) * TILE4 + vector0 + v;
                            float4 x = SUM_LANES(s, j, v), y = SUM_LANES(d, j, v);
                            if (PIECES != 0u && number > 0u) {
                                x = add4(score[at], x);
                                y = add4(weight[at], y);
                            }
                            score[at] = x;
                            weight[at] = y;
                        }
                }
                if (PIECES != 0u) {
                    BARRIER;
                }
            }
            column0 = own_column;
            for (uint t = part; t < n_filled; t += PARTS)
                for (uint vector = vector0; vector < vector0 + VECTORS; ++vector) {
                    const uint lane0 = 4u * vector, at = t * TILE + lane0, all_row = 2u * list_all[t];
                    const float log_sum = AT(lse, list_result[t] * p.heads + head), dot_sum = AT(dots, list_result[t] * p.heads + head);
                    const int4 row = INT4(edge[at], edge[at + 1u], edge[at + 2u], edge[at + 3u]);
                    float4 r = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f), x = score[t * TILE4 + vector], y = weight[t * TILE4 + vector];
                    if (max(max(row.x, row.y), max(row.z, row.w)) >= 0 && list_row[t] != NO_ROW) {
                        const uint rx = TO_UINT(max(row.x, 0)) * HEAD_DIM, ry = TO_UINT(max(row.y, 0)) * HEAD_DIM;
                        const uint rz = TO_UINT(max(row.z, 0)) * HEAD_DIM, rw = TO_UINT(max(row.w, 0)) * HEAD_DIM;
                        const uint from = list_row[t] * p.q_stride + head * HEAD_DIM;
                        uint c = 0u;
                        float4 sx = r, sy = r, sz = r, sw = r;
                        for (; c + 3u < HEAD_DIM; c += 4u) {
                            const float4 own = READ4(q, from + c);
                            sx += own * READ4(rel, rx + c);
                            sy += own * READ4(rel, ry + c);
                            sz += own * READ4(rel, rz + c);
                            sw += own * READ4(rel, rw + c);
                        }
                        r = FLOAT4((sx.x + sx.y) + (sx.z + sx.w), (sy.x + sy.y) + (sy.z + sy.w), (sz.x + sz.y) + (sz.z + sz.w),
                                   (sw.x + sw.y) + (sw.z + sw.w));
                        for (; c < HEAD_DIM; ++c)
                            r += READ(q, from + c) * FLOAT4(READ(rel, rx + c), READ(rel, ry + c), READ(rel, rz + c), READ(rel, rw + c));
                    }
                    uint dropped = 0u;
                    if (p.threshold > 0u)
                        for (uint lane = 0u; lane < 4u; ++lane) {
                            const uint code = AT(row_keys, 2u * (row0 + min(lane0 + lane, lanes - 1u)));
                            if (dropout_bits(code, AT(row_keys, all_row), AT(row_keys, all_row + 1u), p.uid << 8 | head, AT(rng, 0u),
                                             AT(rng, 1u)) < p.threshold)
                                dropped |= 1u << lane;
                        }
                    KEY_EDGE(0u, x)
                    KEY_EDGE(1u, y)
                    KEY_EDGE(2u, z)
                    KEY_EDGE(3u, w)
                    score[t * TILE4 + vector] = x;
                    weight[t * TILE4 + vector] = y;
                }
            BARRIER;
            TILE_SUM(dkey, UNCHANGED, n_queries, score, NODE_IS_STORED, q, Q_PLACE)
            TILE_SUM(dvalue, UNCHANGED, n_queries, weight, EVERY_NODE, dy, DY_PLACE)
        }
        BARRIER;
        if (p.parts > 1u) {
            TILE_WRITE(dkey, PUT_PARTIAL, DKEY_PART)
            TILE_WRITE(dvalue, PUT_PARTIAL, DVALUE_PART)
        } else {
            TILE_WRITE(dkey, PUT_DKV, DKEY_PLACE)
            TILE_WRITE(dvalue, PUT_DKV, DVALUE_PLACE)
        }
        BARRIER;
    }
KERNEL_END
