// A block of queries (ROWS_PER_TILE neighbouring leaves, or the spans below one node: tile_position) by 64 work-items without matrix units.
// An item has four rows of the block, FOUR, and of what is beside them every SIXTEENTH: KEYS_PER_ITEM neighbouring keys of a step, four
// entries, or four columns of a head and of every 64 more. So each number that it loads is used four times, and what it adds up is in registers.
//
// What the rows read together is one list of nodes: per range number the union of the rows' ranges, one after the other, walked in steps of
// STEP_KEYS. Rows of the table of relative positions that a step uses are its entries: row u of the block reads node m of range r with table row
// base(u, r) + m step(r), so those of a range in a step are few and evenly spaced, and each is multiplied by the queries once. Local memory has
// the ends of the unions and of their table rows; the ranges of a single row are computed again where they are needed.
#include "cl/attention/blocks.h"
#include "cl/attention/softmax.h"
#define FOUR (LOCAL_ID / 16u)
#define SIXTEENTH (LOCAL_ID % 16u)
#define STEP_KEYS (16u * KEYS_PER_ITEM)
#define COLUMN_FOURS ((MOST_COLUMNS + 63u) / 64u)  // of an item

#define NO_EDGE 0
#define PLAIN_EDGE 1   // an edge without a row of the table
#define FIRST_ENTRY 2  // an edge with entry 0; one more for each further entry

FUNCTION int part_of(int4 v, uint i) { return i == 0u ? v.x : i == 1u ? v.y : i == 2u ? v.z : v.w; }
FUNCTION float number_of(float4 v, uint i) { return i == 0u ? v.x : i == 1u ? v.y : i == 2u ? v.z : v.w; }
FUNCTION float dot4(float4 a, float4 b) { return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w); }

// Columns c .. c + 3 of a head that begins at element i of x, for i and columns of any number: zero behind the last one. HEAD_REST, a constant, is
// what columns are beyond fours.
#define COLUMNS_OF(x, i, c, columns)                                                                                              \
    (HEAD_REST == 0u || (c) + 4u <= (columns) ? READ4(x, (i) + (c))                                                               \
                                              : FLOAT4(READ(x, (i) + (c)), HEAD_REST > 1u ? READ(x, (i) + (c) + 1u) : 0.0f,       \
                                                       HEAD_REST > 2u ? READ(x, (i) + (c) + 2u) : 0.0f, 0.0f))
// sum[j] of four rows += those of tensor x, at own[i], times those of tensor y, at other[j], for so many columns.
#define ADD_DOTS(sum, count, columns, x, own, y, other)                                                                       \
    for (uint c = 0u; c < columns; c += 4u) {                                                                           \
        float4 left[4];                                                                                                 \
        UNROLL for (uint i = 0u; i < 4u; ++i) left[i] = COLUMNS_OF(x, own[i], c, columns);                              \
        UNROLL for (uint j = 0u; j < count; ++j) {                                                                      \
            const float4 right = COLUMNS_OF(y, other[j], c, columns);                                                   \
            sum[j] += FLOAT4(dot4(left[0], right), dot4(left[1], right), dot4(left[2], right), dot4(left[3], right));   \
        }                                                                                                               \
    }

// What the block's rows read, and of each range of theirs the union: by index arithmetic, or by a table of ranges.
#if defined(TABLES)
#include "cl/attention/table_rows.h"
#elif defined(KEY_RULES)
#include "cl/attention/key_rows.h"
#else
#include "cl/attention/rule_rows.h"
#endif
// Rows of the block and what they read together. Barriers: behind it all items see that.
FUNCTION void open_block(CONTEXT, int4 g, block_t block) {
#if defined(TABLES) || defined(KEY_RULES)
    set_row_ranges(PASS, g, block);
    BARRIER;
#endif
    set_block(PASS, g, block);
    BARRIER;
}
FUNCTION int list_length(CONTEXT, int n_ranges) {
    OPEN
    int length = 0;
    for (int r = 0; r < n_ranges; ++r) {
        const int4 nodes = union_of[r];
        length += nodes.y - nodes.x;
    }
    return length;
}

// Before which place of the list the part ends.
FUNCTION int end_place(CONTEXT, block_t block) {
    OPEN
    const int length = list_length(PASS, block.n_ranges);
    return p.parts > 1u ? min(first_place(PASS, block) + p.part_nodes, length) : length;
}

// A place of the list: its range, and the place of the range's first node.
STRUCT(place_t) {
    int range;
    int start;
};
FUNCTION place_t walk_to(CONTEXT, place_t at, int place) {
    OPEN
    int4 nodes = union_of[at.range];
    while (place >= at.start + nodes.y - nodes.x) {
        at.start += nodes.y - nodes.x;
        ++at.range;
        nodes = union_of[at.range];
    }
    return at;
}
FUNCTION place_t list_begin() {
    place_t at;
    at.range = 0;
    at.start = 0;
    return at;
}

// Of the step's entries the table rows of four, from entry e on (past the last one: 0); their number in all is in `count`.
STRUCT(entries_t) {
    int4 row;
    int count;
};
FUNCTION entries_t four_entries(CONTEXT, place_t at, int n_ranges, int first, int end, int e) {
    OPEN
    entries_t four;
    four.row = INT4(0, 0, 0, 0);
    four.count = 0;
    for (int r = at.range; r < n_ranges && at.start < end; ++r) {
        const int4 nodes = union_of[r];
        const int4 of_range = entries_of(PASS, r, nodes, at.start, first, end);
        const int i = e - four.count;  // of the range's, the first of the four
        if (i >= 0 && i < of_range.y) four.row.x = of_range.x + i * of_range.z;
        if (i + 1 >= 0 && i + 1 < of_range.y) four.row.y = of_range.x + (i + 1) * of_range.z;
        if (i + 2 >= 0 && i + 2 < of_range.y) four.row.z = of_range.x + (i + 2) * of_range.z;
        if (i + 3 >= 0 && i + 3 < of_range.y) four.row.w = of_range.x + (i + 3) * of_range.z;
        four.count += of_range.y;
        at.start += nodes.y - nodes.x;
    }
    return four;
}

// The tensor rows of the step's nodes; where keys and values are zero and not stored, -1 - row.
FUNCTION void set_list(CONTEXT, int4 g, uint sequence, place_t at, int first, int end) {
    OPEN
    for (int four = TO_INT(LOCAL_ID); first + 4 * four < end; four += TO_INT(WG)) {
        int4 rows = INT4(0, 0, 0, 0);
        place_t node_at = at;
        for (int i = 0; i < 4; ++i) {
            const int place = min(first + 4 * four + i, end - 1);
            node_at = walk_to(PASS, node_at, place);
            const int node = union_of[node_at.range].x + place - node_at.start;
            const uint row = row_of_node(g, p.leaf_rows, p.other, sequence, node);
            const int coded = stored_row(g, p.calls, row, node) == NO_ROW ? -1 - TO_INT(row) : TO_INT(row);
            rows = INT4(i == 0 ? coded : rows.x, i == 1 ? coded : rows.y, i == 2 ? coded : rows.z, i == 3 ? coded : rows.w);
        }
        list_row[four] = rows;
    }
}
FUNCTION uint stored_of(int coded) { return coded < 0 ? NO_ROW : TO_UINT(coded); }
FUNCTION uint row_of_place(CONTEXT, uint t) {
    OPEN
    return stored_of(part_of(list_row[t / 4u], t % 4u));
}
// The same of nodes that are not stored too.
FUNCTION uint node_row_of_place(CONTEXT, uint t) {
    OPEN
    const int coded = part_of(list_row[t / 4u], t % 4u);
    return TO_UINT(coded < 0 ? -1 - coded : coded);
}
// The place in the step of the item's key j, and its row; past the step's end its last one.
FUNCTION uint place_of_key(uint j, int n_keys) { return min(SIXTEENTH * KEYS_PER_ITEM + j, TO_UINT(n_keys) - 1u); }
FUNCTION uint row_of_key(CONTEXT, uint j, int n_keys) {
    OPEN
    return row_of_place(PASS, place_of_key(j, n_keys));
}

// Of the item's rows and keys, what edge there is: a byte for each key, a word of `low` for the first four keys of each row.
STRUCT(codes_t) {
    int4 low;
    int4 high;
};
FUNCTION codes_t edge_codes(CONTEXT, int4 g, block_t block, place_t at, int first, int end) {
    OPEN
    codes_t codes;
    codes.low = INT4(0, 0, 0, 0);
    codes.high = codes.low;
    const int own = first + TO_INT(SIXTEENTH * KEYS_PER_ITEM), last = min(own + TO_INT(KEYS_PER_ITEM), end);
    if (own >= last) return codes;
    const bool has_rel = HAS_REL;
    int entry0 = 0;  // of the ranges before the first own one
    int4 nodes0 = union_of[at.range];
    while (own >= at.start + nodes0.y - nodes0.x) {
        if (has_rel) entry0 += entries_of(PASS, at.range, nodes0, at.start, first, end).y;
        at.start += nodes0.y - nodes0.x;
        ++at.range;
        nodes0 = union_of[at.range];
    }
    for (uint i = 0u; i < 4u; ++i) {
        place_t node_at = at;
        int entry = entry0, known = own, low = 0, high = 0;  // nodes of places before `known` are in `range`
        int4 nodes = nodes0, range = EMPTY_RANGE, entries = INT4(0, 0, 1, 0);
        for (int place = own; place < last; ++place) {
            if (place == known) {
                node_at = walk_to(PASS, node_at, place);
                nodes = union_of[node_at.range];
                known = node_at.start + nodes.y - nodes.x;
                entry += entries.y;
                if (has_rel) entries = entries_of(PASS, node_at.range, nodes, node_at.start, first, end);
                range = range_of_row(PASS, g, block, TO_INT(4u * FOUR + i), node_at.range);
            }
            const int m = nodes.x + place - node_at.start, j = place - own;
            int code = NO_EDGE;
            if (m >= range.x && m < range.y)
                code = has_rel ? FIRST_ENTRY + entry + (range.z + (m - range.x) * range.w - entries.x) / entries.z : PLAIN_EDGE;
            if (j < 4)
                low |= code << 8 * j;
            else
                high |= code << 8 * (j - 4);
        }
        codes.low = INT4(i == 0u ? low : codes.low.x, i == 1u ? low : codes.low.y, i == 2u ? low : codes.low.z, i == 3u ? low : codes.low.w);
        codes.high =
            INT4(i == 0u ? high : codes.high.x, i == 1u ? high : codes.high.y, i == 2u ? high : codes.high.z, i == 3u ? high : codes.high.w);
    }
    return codes;
}
// The step with places first .. end - 1, which begins `at`: its list, for all items, and the codes of the item's edges.
FUNCTION codes_t begin_step(CONTEXT, int4 g, block_t block, place_t at, int first, int end) {
    OPEN
    set_list(PASS, g, block.sequence, at, first, end);
    return edge_codes(PASS, g, block, at, first, end);
}
FUNCTION int code_of(codes_t codes, uint i, uint j) { return part_of(j < 4u ? codes.low : codes.high, i) >> TO_INT(8u * (j % 4u)) & 255; }

// A bit for each of the item's edges whose weight is dropped: 8 i + j for row i and key j.
FUNCTION uint dropped_edges(CONTEXT, uint head, uint n_keys) {
    OPEN
    uint bits = 0u;
    if (p.threshold == 0u) return bits;
    for (uint i = 0u; i < 4u; ++i) {
        const uint own = own_row[4u * FOUR + i], row = own == NO_ROW ? 0u : 2u * own;
        const uint key0 = AT(row_keys, row), key1 = AT(row_keys, row + 1u);
        for (uint t = SIXTEENTH * KEYS_PER_ITEM; t < min((SIXTEENTH + 1u) * KEYS_PER_ITEM, n_keys); ++t) {
            const uint code = code_of_node(PASS, node_row_of_place(PASS, t));
            if (dropout_bits(code, key0, key1, p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                bits |= 1u << (8u * i + t - SIXTEENTH * KEYS_PER_ITEM);
        }
    }
    return bits;
}

// Where a head of a key (value 0), or value (1), of a node's row begins: a row that is not stored reads the first one.
FUNCTION uint node_place(CONTEXT, uint row, uint value, uint head) {
    OPEN
    return (row == NO_ROW ? 0u : row) * key_stride(PASS) + key_offset(PASS) + (value * p.heads + head) * p.head_dim;
}
FUNCTION float4 zero4() { return FLOAT4(0.0f, 0.0f, 0.0f, 0.0f); }
// A score of the item's row i, from q . k and the edge's code.
FUNCTION float score_of(CONTEXT, float product, float stored, int code, uint i) {
    OPEN
    if (code == NO_EDGE) return LOWEST;
    if (stored == 0.0f) return 0.0f;
    return (product + entry_product(PASS, code, i)) * p.scale;
}
FUNCTION float4 scores_of(CONTEXT, float4 product, float4 stored, codes_t codes, uint j) {
    OPEN
    return FLOAT4(score_of(PASS, product.x, stored.x, code_of(codes, 0u, j), 0u), score_of(PASS, product.y, stored.y, code_of(codes, 1u, j), 1u),
                  score_of(PASS, product.z, stored.z, code_of(codes, 2u, j), 2u), score_of(PASS, product.w, stored.w, code_of(codes, 3u, j), 3u));
}
// x of key j, 0 for the rows whose edge is dropped.
FUNCTION float4 kept_of(float4 x, uint dropped, uint j) {
    const uint bits = dropped >> j;
    return FLOAT4((bits & 1u) != 0u ? 0.0f : x.x, (bits & 256u) != 0u ? 0.0f : x.y, (bits & 65536u) != 0u ? 0.0f : x.z,
                  (bits & 16777216u) != 0u ? 0.0f : x.w);
}

// Backward, with dropout factors f and D = dots: of the item's key j and its four rows the weights w = exp(score - lse) times f, from which dv comes,
// and the gradient of the scores without their scale, w (f dy . v - D).
STRUCT(edge_grad_t) {
    float4 kept;
    float4 score;
};
FUNCTION edge_grad_t grad_of_edges(CONTEXT, float4 score, float4 value, float4 log_sum, float4 dot_sum, uint dropped, uint j) {
    OPEN
    edge_grad_t of_edges;
    const float4 w = weights_of(score, log_sum);
    of_edges.kept = p.inverse * kept_of(w, dropped, j);
    of_edges.score = add4(of_edges.kept * value, -1.0f * (w * dot_sum));
    return of_edges;
}
