// Tiles of neighbouring nodes, for the attention kernels that include this. The TILE nodes of a tile are lanes, in TILE4 vectors of four.
// What the lanes read together (or are read by) is one list of nodes: per range number the union of the lanes' ranges, one after the other. It
// is walked in batches of BATCH nodes. LANE_ITEMS work-items share a node of the list, each with its own VECTORS vectors of lanes; there are
// PARTS such groups of items. In registers an item has NODES nodes or COLUMNS columns side by side, times its vectors; what lasts longer than
// a loop is in local memory. A lane's own bounds mask what only its neighbours read. The sizes are the constants ROWS_PER_TILE .. SIMD_WIDTH
// (backends/gpu/lower/software/attention_tile.c checks how they go together), RANGES and MOST_COLUMNS.
//
// Rows of the relative position table that a batch uses are listed once, as entries: a lane reads node m of range r with row base + step m,
// so the rows of a range in a batch are few and evenly spaced, and q . rel is computed once for all nodes at the same distance.
#include "cl/attention/attention.h"
#include "cl/attention/softmax.h"
#define TILE ROWS_PER_TILE
#define TILE4 (ROWS_PER_TILE / 4u)
#define VECTORS (ROWS_PER_ITEM / 4u)
#define NODES KEYS_PER_ITEM
#define COLUMNS COLUMNS_PER_ITEM
#define BATCH KEYS_PER_STEP
#define PARTS TILE_PARTS
#define WIDE VECTOR_FOURS              // vectors of four lanes in one of those in registers
#define ITEM_VECTORS (VECTORS / WIDE)  // an item's
#define HEAD_DIM p.head_dim
#ifndef FIRST_COLUMN  // the columns of a head that are in local memory: all of them, unless a kernel walks them in pieces
#define FIRST_COLUMN 0u
#define TILE_COLUMNS HEAD_DIM  // at most MOST_COLUMNS
#endif
#define LANE_ITEMS (TILE4 / VECTORS)
#define FILLED(count) (((count) + PARTS * NODES - 1u) / (PARTS * NODES) * PARTS * NODES)  // whole blocks of nodes of all parts
#define BLOCK 4u  // entries that an item works on side by side
#define ROW_STRIDE(step) ((step) == 2 || (step) == -2 ? 2 : 1)  // between the rows of neighbouring nodes

// Starts from lengths: every item adds up those before its own ranges. (A loop inside of if (LOCAL_ID == 0u) miscompiles in PoCL 3.1.)
#define START_RANGES(n_ranges)                                                                       \
    for (int r = TO_INT(LOCAL_ID); r <= n_ranges; r += TO_INT(WG)) {                                 \
        int start = 0;                                                                               \
        for (int before = 0; before < r; ++before) start += range_end[before] - range_begin[before]; \
        range_start[r] = start;                                                                      \
    }
// Sets r to the range that holds place t.
#define FIND_RANGE(r, n_ranges, t)               \
    int r = 0;                                   \
    for (int above = n_ranges; above - r > 1;) { \
        const int middle = (r + above) / 2;      \
        if (range_start[middle] <= t)            \
            r = middle;                          \
        else                                     \
            above = middle;                      \
    }

// The list from the lanes' bounds. NOTE(r, lane): whatever else is to be known of range r, which this lane has (end 0: no lane).
#define TILE_UNIONS(NOTE)                                                                                       \
    for (int r = TO_INT(LOCAL_ID); r < n_ranges; r += TO_INT(WG)) {                                             \
        int begin = 0x7FFFFFFF, end = 0, lane = 0;                                                              \
        for (int u = 0; u < TO_INT(TILE); ++u) {                                                                \
            const int from = low[r * TO_INT(TILE) + u], to = high[r * TO_INT(TILE) + u];                        \
            if (from < to) {                                                                                    \
                begin = min(begin, from);                                                                       \
                end = max(end, to);                                                                             \
                lane = u;                                                                                       \
            }                                                                                                   \
        }                                                                                                       \
        range_begin[r] = min(begin, end);                                                                       \
        range_end[r] = end;                                                                                     \
        NOTE(r, lane)                                                                                           \
    }                                                                                                           \
    BARRIER;                                                                                                    \
    START_RANGES(n_ranges)                                                                                      \
    BARRIER;
#define NO_NOTE(r, lane)
#define NOTE_STEP(r, lane)                                                                                      \
    range_step[r] = end > 0 ? tile_range(g, n_true, p.level, tile_position(TO_INT(TILE), p.level, tile, lane), r).w : 0;

// Rows, bounds and rows of the table of every lane of a tile of queries, and the list.
#define TILE_RANGES                                                                                             \
    for (uint u = LOCAL_ID; u < TILE; u += WG) {                                                                \
        const int4 position = tile_position(TO_INT(TILE), p.level, tile, TO_INT(u));                            \
        lane_row[u] = NO_ROW;                                                                                   \
        lane_source[u] = NO_ROW;                                                                                \
        if (is_in_bucket(g, position)) {                                                                        \
            const int node = position.x == 0 ? position.y : node_number(g, position);                           \
            const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, node);                              \
            lane_row[u] = row;                                                                                  \
            if (node_exists(g, n_true, position)) lane_source[u] = stored_row(g, p.calls, row, node);           \
        }                                                                                                       \
    }                                                                                                           \
    for (uint u = LOCAL_ID; u < TO_UINT(n_ranges) * TILE; u += WG) {                                            \
        const int4 position = tile_position(TO_INT(TILE), p.level, tile, TO_INT(u % TILE));                     \
        int4 range = INT4(0, 0, -1, 0);                                                                         \
        if (is_in_bucket(g, position) && node_exists(g, n_true, position))                                      \
            range = tile_range(g, n_true, p.level, position, TO_INT(u / TILE));                                 \
        low[u] = range.x;                                                                                       \
        high[u] = range.y;                                                                                      \
        base[u] = range.z - range.x * range.w;                                                                  \
    }                                                                                                           \
    BARRIER;                                                                                                    \
    TILE_UNIONS(NOTE_STEP)                                                                                      \
    const int begin_place = p.parts > 1u ? TO_INT(part_number) * p.part_nodes : 0;                              \
    const int end_place = p.parts > 1u ? min(begin_place + p.part_nodes, range_start[n_ranges]) : range_start[n_ranges];

// Where a lane's partial results lie, by `size` elements: those of a node, part by part. The nodes are those of the tile's levels.
#define FIRST_NODE bucket_offset(g, p.level)
#define GROUP_NODES (bucket_offset(g, min(p.level + tile_levels(TO_INT(TILE)), bucket_levels(g))) - FIRST_NODE)
#define PARTIAL_PLACE(lane, size)                                                                               \
    (((lane_row[lane] - p.leaf_rows - sequence * p.other - TO_UINT(FIRST_NODE - g.y) + sequence * TO_UINT(GROUP_NODES)) * p.parts +\
      part_number) * (size))

// The nodes of the list from place `first` on; places beyond its end are nodes that nobody reads.
#define TILE_LIST                                                                                               \
    const uint n_nodes = min(BATCH, TO_UINT(end_place - first)), n_filled = FILLED(n_nodes);                    \
    for (uint t = LOCAL_ID; t < n_filled; t += WG) {                                                            \
        const int place = first + TO_INT(min(t, n_nodes - 1u));                                                 \
        FIND_RANGE(r, n_ranges, place)                                                                          \
        const int node = range_begin[r] + place - range_start[r];                                               \
        const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, node);                                  \
        list_node[t] = t < n_nodes ? node : -1;                                                                 \
        list_range[t] = r;                                                                                      \
        list_row[t] = stored_row(g, p.calls, row, node);                                                        \
        list_code[t] = p.threshold > 0u ? AT(row_keys, 2u * row) : 0u;                                          \
    }                                                                                                           \
    BARRIER;

// The entries of the batch. Of each range, the rows that its nodes in the batch have for any lane.
#define TILE_ENTRIES                                                                                            \
    int n_entries = 0;                                                                                          \
    if (has_rel) {                                                                                              \
        const int range0 = list_range[0], range1 = list_range[n_nodes - 1u];                                    \
        for (int r = range0 + TO_INT(LOCAL_ID); r <= range1; r += TO_INT(WG)) {                                 \
            const int from = range_begin[r] + max(first - range_start[r], 0), step = range_step[r];             \
            const int to = range_begin[r] + min(first + TO_INT(BATCH), range_start[r + 1]) - range_start[r];    \
            int first_row = 0x7FFFFFFF, last_row = -1;                                                          \
            for (uint u = TO_UINT(r) * TILE; u < TO_UINT(r + 1) * TILE; ++u) {                                  \
                const int begin = max(from, low[u]), end = min(to, high[u]);                                    \
                if (begin < end) {                                                                              \
                    const int row0 = base[u] + begin * step, row1 = base[u] + (end - 1) * step;                 \
                    first_row = min(first_row, min(row0, row1));                                                \
                    last_row = max(last_row, max(row0, row1));                                                  \
                }                                                                                               \
            }                                                                                                   \
            range_row[r] = first_row;                                                                           \
            range_rows[r] = last_row < first_row ? 0 : (last_row - first_row) / ROW_STRIDE(step) + 1;           \
        }                                                                                                       \
        BARRIER;                                                                                                \
        for (int r = range0; r <= range1; ++r) n_entries += range_rows[r];                                      \
        for (int r = range0 + TO_INT(LOCAL_ID); r <= range1; r += TO_INT(WG)) {                                 \
            int entry = 0;                                                                                      \
            for (int before = range0; before < r; ++before) entry += range_rows[before];                        \
            range_entry[r] = entry;                                                                             \
            for (int e = entry; e < entry + range_rows[r]; ++e) {                                               \
                entry_row[e] = range_row[r] + (e - entry) * ROW_STRIDE(range_step[r]);                          \
                entry_range[e] = r;                                                                             \
            }                                                                                                   \
        }                                                                                                       \
        BARRIER;                                                                                                \
    }

// sum[j][vector] = the products of `count` rows of a tensor, which begin at `from`, with the lanes of a tile.
#define TILE_DOTS(sum, count, from, tile, tensor)                                                               \
    UNROLL for (uint j = 0u; j < count * ITEM_VECTORS; ++j) sum[j] = VECTOR_ZERO;                               \
    for (uint c = 0u; c < TILE_COLUMNS; ++c) {                                                                  \
        VECTOR x[ITEM_VECTORS];                                                                                 \
        UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v) x[v] = VECTOR_OF(tile, c * TILE4 + vector0 + v * WIDE); \
        UNROLL for (uint j = 0u; j < count; ++j) {                                                              \
            const float y = READ(tensor, from[j] + c);                                                          \
            UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v) sum[j * ITEM_VECTORS + v] += y * x[v];              \
        }                                                                                                       \
    }
// Four lanes of the item's sums: those of row j, vector v.
#define SUM_LANES(sum, j, v) VECTOR_PART(sum[(j) * ITEM_VECTORS + (v) / WIDE], (v) % WIDE)

// mix[entry] = q . rel of every lane.
#define ENTRY_PLACE(e) (TO_UINT(entry_row[e]) * HEAD_DIM)
#define TILE_REL                                                                                                \
    for (uint e0 = part; TO_INT(e0) < n_entries; e0 += PARTS * BLOCK) {                                         \
        uint row[BLOCK];                                                                                        \
        VECTOR sum[BLOCK * ITEM_VECTORS];                                                                       \
        UNROLL for (uint j = 0u; j < BLOCK; ++j)                                                                \
            row[j] = ENTRY_PLACE(min(TO_INT(e0 + j * PARTS), n_entries - 1));                                   \
        TILE_DOTS(sum, BLOCK, row, query, rel)                                                                  \
        UNROLL for (uint j = 0u; j < BLOCK; ++j)                                                                \
            if (TO_INT(e0 + j * PARTS) < n_entries)                                                             \
                UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v)                                                 \
                    VECTOR_PUT(mix, (e0 + j * PARTS) * TILE4 + vector0 + v * WIDE, sum[j * ITEM_VECTORS + v]);  \
    }                                                                                                           \
    BARRIER;

// score[node][vector] of the item's own nodes and vectors: q . rel of the lanes that read the node, far below any score for the others; and
// dropped[node][vector], a bit per lane whose weight is dropped. Loops, as an item has many edges and this is long.
#define LANE_EDGE(lane, component)                                                                              \
    if (m >= low[at + lane] && m < high[at + lane])                                                             \
        edge.component = has_rel ? mix[TO_UINT(entry0 + (base[at + lane] + offset) / stride) * TILE4 + vector].component : 0.0f;
#define TILE_EDGES                                                                                              \
    for (uint t = part; t < n_filled; t += PARTS) {                                                             \
        const int m = list_node[t], r = list_range[t], stride = ROW_STRIDE(range_step[r]);                      \
        const int entry0 = has_rel ? range_entry[r] : 0, offset = has_rel ? m * range_step[r] - range_row[r] : 0;\
        for (uint vector = vector0; vector < vector0 + VECTORS; ++vector) {                                     \
            const uint at = TO_UINT(r) * TILE + 4u * vector;                                                    \
            float4 edge = FLOAT4(LOWEST, LOWEST, LOWEST, LOWEST);                                               \
            LANE_EDGE(0u, x)                                                                                    \
            LANE_EDGE(1u, y)                                                                                    \
            LANE_EDGE(2u, z)                                                                                    \
            LANE_EDGE(3u, w)                                                                                    \
            score[t * TILE4 + vector] = edge;                                                                   \
            if (p.threshold > 0u) {                                                                             \
                uint bits = 0u;                                                                                 \
                for (uint lane = 0u; lane < 4u; ++lane) {                                                       \
                    const uint own = lane_row[4u * vector + lane], row = 2u * (own == NO_ROW ? 0u : own);       \
                    if (dropout_bits(list_code[t], AT(row_keys, row), AT(row_keys, row + 1u), p.uid << 8 | head, AT(rng, 0u),\
                                     AT(rng, 1u)) < p.threshold)                                                \
                        bits |= 1u << lane;                                                                     \
                }                                                                                               \
                dropped[t * TILE4 + vector] = bits;                                                             \
            }                                                                                                   \
        }                                                                                                       \
    }
#define KEEP(t, vector, weight)                                                                                 \
    if (p.threshold > 0u) {                                                                                     \
        const uint bits = dropped[(t) * TILE4 + vector];                                                        \
        weight = FLOAT4((bits & 1u) != 0u ? 0.0f : weight.x, (bits & 2u) != 0u ? 0.0f : weight.y,               \
                        (bits & 4u) != 0u ? 0.0f : weight.z, (bits & 8u) != 0u ? 0.0f : weight.w);              \
    }

// ---- Products

// tile[column][vector] = rows of the tile's nodes in a tensor, this head's columns, times a factor.
#define TILE_READ(tile, tensor, row_stride, offset, factor)                                                     \
    for (uint u = LOCAL_ID; u < TILE_COLUMNS * TILE4; u += WG) {                                                \
        const uint c = u % TILE_COLUMNS, lane = u / TILE_COLUMNS * 4u, from = offset + head * HEAD_DIM + FIRST_COLUMN + c;\
        tile[c * TILE4 + lane / 4u] = FLOAT4(TILE_ELEMENT(tensor, lane, row_stride, from, factor),              \
                                             TILE_ELEMENT(tensor, lane + 1u, row_stride, from, factor),         \
                                             TILE_ELEMENT(tensor, lane + 2u, row_stride, from, factor),         \
                                             TILE_ELEMENT(tensor, lane + 3u, row_stride, from, factor));        \
    }
// PUT(place, element) for the elements of a tile in local memory; PLACE(lane) is the place of a lane's first column of all heads.
#define PUT_LANE(PUT, PLACE, lane, c, element)                                                                  \
    if (lane_row[lane] != NO_ROW) PUT(PLACE(lane) + head * HEAD_DIM + FIRST_COLUMN + c, element);
#define TILE_WRITE(tile, PUT, PLACE)                                                                            \
    for (uint u = LOCAL_ID; u < TILE_COLUMNS * TILE4; u += WG) {                                                \
        const uint c = u % TILE_COLUMNS, lane = u / TILE_COLUMNS * 4u;                                          \
        const float4 element = tile[c * TILE4 + lane / 4u];                                                     \
        PUT_LANE(PUT, PLACE, lane, c, element.x)                                                                \
        PUT_LANE(PUT, PLACE, lane + 1u, c, element.y)                                                           \
        PUT_LANE(PUT, PLACE, lane + 2u, c, element.z)                                                           \
        PUT_LANE(PUT, PLACE, lane + 3u, c, element.w)                                                           \
    }
#define TILE_ELEMENT(tensor, lane, row_stride, from, factor)                                                    \
    (lane_source[lane] != NO_ROW ? READ(tensor, lane_source[lane] * row_stride + from) * factor : 0.0f)

// A number per row and head, for four lanes.
#define TILE_NUMBER(tensor, lane) (lane_source[lane] != NO_ROW ? AT(tensor, lane_source[lane] * p.heads + head) : 0.0f)
#define TILE_NUMBERS(tensor, lane)                                                                              \
    FLOAT4(TILE_NUMBER(tensor, lane), TILE_NUMBER(tensor, lane + 1u), TILE_NUMBER(tensor, lane + 2u), TILE_NUMBER(tensor, lane + 3u))

// sum = the products of nodes t, t + PARTS, .. with the lanes of a tile; rows that are not stored are zero.
#define TILE_PRODUCTS(sum, tile, tensor, rows, row_stride, offset)                                              \
    VECTOR sum[NODES * ITEM_VECTORS];                                                                           \
    {                                                                                                          \
        uint from[NODES];                                                                                       \
        UNROLL for (uint j = 0u; j < NODES; ++j) {                                                              \
            const uint row = rows[t + j * PARTS];                                                               \
            from[j] = (row == NO_ROW ? 0u : row) * row_stride + offset + head * HEAD_DIM + FIRST_COLUMN;        \
        }                                                                                                       \
        TILE_DOTS(sum, NODES, from, tile, tensor)                                                               \
        UNROLL for (uint j = 0u; j < NODES; ++j)                                                                \
            if (rows[t + j * PARTS] == NO_ROW)                                                                  \
                UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v) sum[j * ITEM_VECTORS + v] = VECTOR_ZERO;        \
    }

// Column blocks of the item: total[column][vector] = total factor + sum over i < count of weight[i][vector] times the tensor's element at
// PLACE(i, column).
#define TILE_SUM(total, FACTOR, count, weight, ROW_EXISTS, tensor, PLACE)                                       \
    for (uint c0 = part * COLUMNS; c0 < TILE_COLUMNS; c0 += PARTS * COLUMNS) {                              \
        uint column[COLUMNS];                                                                               \
        VECTOR sum[COLUMNS * ITEM_VECTORS];                                                                 \
        UNROLL for (uint j = 0u; j < COLUMNS; ++j) column[j] = min(c0 + j, TILE_COLUMNS - 1u);              \
        UNROLL for (uint j = 0u; j < COLUMNS; ++j)                                                          \
            UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v)                                                 \
                sum[j * ITEM_VECTORS + v] = FACTOR(VECTOR_OF(total, column[j] * TILE4 + vector0 + v * WIDE), vector0 + v * WIDE);\
        for (uint i = 0u; i < count; ++i)                                                                   \
            if (ROW_EXISTS(i)) {                                                                            \
                VECTOR x[ITEM_VECTORS];                                                                     \
                UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v) x[v] = VECTOR_OF(weight, i * TILE4 + vector0 + v * WIDE);\
                UNROLL for (uint j = 0u; j < COLUMNS; ++j) {                                                \
                    const float y = READ(tensor, PLACE(i, FIRST_COLUMN + column[j]));                       \
                    UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v) sum[j * ITEM_VECTORS + v] += y * x[v];  \
                }                                                                                           \
            }                                                                                               \
        UNROLL for (uint j = 0u; j < COLUMNS; ++j)                                                          \
            if (c0 + j < TILE_COLUMNS)                                                                      \
                UNROLL for (uint v = 0u; v < ITEM_VECTORS; ++v)                                             \
                    VECTOR_PUT(total, (c0 + j) * TILE4 + vector0 + v * WIDE, sum[j * ITEM_VECTORS + v]);    \
    }
#define UNCHANGED(total, vector) total
#define TIMES_FACTOR(total, vector) total * VECTOR_OF(factor, vector)
#define NODE_IS_STORED(t) list_row[t] != NO_ROW
#define EVERY_ENTRY(e) true
#define KEY_PLACE(t, c) (list_row[t] * p.kv_stride + p.k_offset + head * HEAD_DIM + (c))
#define VALUE_PLACE(t, c) (list_row[t] * p.kv_stride + p.k_offset + columns + head * HEAD_DIM + (c))
#define REL_PLACE(e, c) (ENTRY_PLACE(e) + (c))
