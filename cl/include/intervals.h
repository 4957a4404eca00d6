// Attention graphs by index arithmetic (bpt/intervals.h and core/intervals/README.md have words and formulas): the key ranges of a query,
// the query ranges of a key, the table row of an edge. Numbers only, 32 bits: no formula passes 2^30 for graphs of up to 2^26 leaves. A
// graph is int4 {kind | GRAPH_ bits, n, k or window, rel_levels}. A position is int4 {level, index, 0, 0}. A range is int4 {begin, end,
// rel_row, rel_step}, node numbers of the bucket; begin == end: empty. Ranges have fixed numbers, so that work-items can share them out.
#define GRAPH_KIND 7
#define GRAPH_BPT 0
#define GRAPH_SEGTREE 1
#define GRAPH_DENSE 2
#define GRAPH_WINDOW 3
#define GRAPH_TABLE 4
#define GRAPH_CAUSAL 8
#define GRAPH_REFERENCE 16
#define GRAPH_SPAN_SELF 32
#define GRAPH_ROOT 64
#define GRAPH_TRIMMED 128
#define SIDE_LEFT 0
#define SIDE_RIGHT 1

FUNCTION bool graph_has(int4 g, int bit) { return (g.x & bit) != 0; }
FUNCTION int graph_kind(int4 g) { return g.x & GRAPH_KIND; }
FUNCTION bool graph_is_flat(int4 g) { return graph_kind(g) >= GRAPH_DENSE; }
// More nodes a side than leaves change nothing: level 0 holds them all.
FUNCTION int graph_reach(int4 g) { return min(g.z, g.y); }

// ---- Nodes

FUNCTION int level_nodes(int n, int level) { return ((n - 1) >> level) + 1; }
FUNCTION int level_count(int n) {
    int levels = 1;
    while (1 << (levels - 1) < n) ++levels;
    return levels;
}
FUNCTION int level_offset(int n, int level) {
    const int whole = n - 1, rest = whole >> level;
    return 2 * (whole - rest) - TO_INT(POPCOUNT(TO_UINT(whole))) + TO_INT(POPCOUNT(TO_UINT(rest))) + level;
}

// Trees have all spans, trimmed ones those only that some leaf reads: the first (A >> level) - k of a level, rounded half up with
// trimmed_rounds, and of a SegTree every second one; with GRAPH_ROOT at least the first one.
FUNCTION int span_shift(int4 g, int level) { return level > 0 && graph_has(g, GRAPH_TRIMMED) && graph_kind(g) == GRAPH_SEGTREE ? 1 : 0; }
FUNCTION bool trimmed_rounds(int4 g) { return graph_kind(g) == GRAPH_SEGTREE || graph_has(g, GRAPH_REFERENCE); }
FUNCTION int trimmed_whole(int4 g) {
    if (graph_kind(g) == GRAPH_SEGTREE) return (g.y - 2) >> 1;
    return g.y - (graph_has(g, GRAPH_REFERENCE) ? 2 : 1) + graph_reach(g);
}
FUNCTION int trimmed_less(int4 g) { return graph_kind(g) == GRAPH_SEGTREE ? 0 : graph_reach(g); }
FUNCTION int trimmed_nodes(int4 g, int level) {
    const int whole = trimmed_whole(g), more = trimmed_rounds(g) ? (whole >> (level - 1)) & 1 : 0;
    return (whole >> level) + more - trimmed_less(g);
}
// Nodes of a level of a tree's bucket.
FUNCTION int bucket_nodes(int4 g, int level) {
    if (level == 0 || !graph_has(g, GRAPH_TRIMMED)) return level_nodes(g.y, level);
    return max(trimmed_nodes(g, level), graph_has(g, GRAPH_ROOT) ? 1 : 0);
}
// How many levels of a tree have nodes.
FUNCTION int bucket_levels(int4 g) {
    int levels = level_count(g.y);
    while (levels > 1 && bucket_nodes(g, levels - 1) == 0) --levels;
    return levels;
}
// The first node of a level, for levels up to bucket_levels.
FUNCTION int bucket_offset(int4 g, int level) {
    if (level == 0 || !graph_has(g, GRAPH_TRIMMED)) return level_offset(g.y, level);
    int top = level;  // levels from here on have the first node only
    if (graph_has(g, GRAPH_ROOT)) {
        while (top > 1 && trimmed_nodes(g, top - 1) <= 0) --top;
    }
    const int whole = trimmed_whole(g), rest = whole >> (top - 1), all = g.y + whole - rest - trimmed_less(g) * (top - 1) + level - top;
    return trimmed_rounds(g) ? all : all - TO_INT(POPCOUNT(TO_UINT(whole))) + TO_INT(POPCOUNT(TO_UINT(rest)));
}
FUNCTION bool is_in_bucket(int4 g, int4 position) {
    const int shift = span_shift(g, position.x), place = position.y >> shift;
    return position.y >= 0 && position.x < level_count(g.y) && place << shift == position.y && place < bucket_nodes(g, position.x);
}
// The number of a node of a tree's bucket.
FUNCTION int node_number(int4 g, int4 position) { return bucket_offset(g, position.x) + (position.y >> span_shift(g, position.x)); }
FUNCTION int root_node(int4 g, int n_true) { return graph_is_flat(g) ? g.y : bucket_offset(g, level_count(n_true) - 1); }
FUNCTION int4 node_position(int4 g, int node) {
    int level = 0, index = node;
    if (graph_is_flat(g)) return node < g.y ? INT4(0, node, 0, 0) : INT4(1, node - g.y, 0, 0);
    while (index >= bucket_nodes(g, level)) {
        index -= bucket_nodes(g, level);
        ++level;
    }
    return INT4(level, index << span_shift(g, level), 0, 0);
}
FUNCTION bool node_exists(int4 g, int n_true, int4 position) {
    if (graph_is_flat(g)) return position.x > 0 || position.y < n_true;
    return position.x < level_count(n_true) && position.y < level_nodes(n_true, position.x);
}

// ---- Rows of the relative position table

// Row of rank 0 in the block of a level and side.
FUNCTION int block_row(int4 g, int level, int side) {
    const int width = graph_kind(g) == GRAPH_SEGTREE ? 1 : g.z + 1;
    return g.w == 0 ? -1 : 1 + (2 * min(level, g.w - 1) + side) * width;
}
// Row of the edges span <- leaf.
FUNCTION int span_row(int4 g, int level) { return g.w == 0 || !graph_has(g, GRAPH_SPAN_SELF) ? -1 : 2 * g.w + min(level, g.w); }
// Distances from here on share one row.
FUNCTION int farthest(int4 g) { return g.w == 0 ? g.y : min(g.w, g.y); }
FUNCTION int distance_row(int4 g, int distance, int side) {
    return g.w == 0 ? -1 : distance == 0 ? 0 : 2 * min(distance, farthest(g)) - 1 + side;
}

FUNCTION int4 make_range(int4 g, int begin, int end, int row, int row_step) {
    if (begin >= end) return INT4(0, 0, -1, 0);
    return g.w == 0 || row < 0 ? INT4(begin, end, -1, 0) : INT4(begin, end, row, row_step);
}

// ---- Keys of a query

// Paper rule: the first node on the left of leaf i on a level, the first one on the right (which may not exist).
FUNCTION int paper_left(int4 g, int i, int level) { return ((i + graph_reach(g)) >> level) - graph_reach(g) - 1; }
FUNCTION int paper_right(int4 g, int i, int level) { return ((i - graph_reach(g) + (1 << level)) >> level) + graph_reach(g); }
FUNCTION int4 paper_range(int4 g, int n_true, int i, int level, int side) {
    const int k = graph_reach(g), offset = bucket_offset(g, level);
    if (side == SIDE_LEFT) {
        const int end = paper_left(g, i, level) + 1, begin = max(end - k - ((end - k) & 1), 0);
        return make_range(g, offset + begin, offset + end, block_row(g, level, side) + end - 1 - begin, -1);
    }
    const int begin = paper_right(g, i, level), end = begin + k + ((begin + k) & 1);
    return make_range(g, offset + begin, offset + min(end, level_nodes(n_true, level)), block_row(g, level, side), 1);
}

FUNCTION int reference_left(int4 g, int i, int level) { return ((i - 1 + graph_reach(g)) >> level) - graph_reach(g); }
FUNCTION int reference_right(int4 g, int i, int level) { return ((i + 1 - graph_reach(g)) >> level) + graph_reach(g); }
// Slot 0 of a level holds a node of the level below.
FUNCTION bool left_is_residual(int4 g, int i, int level) {
    return level > 0 && ((reference_left(g, i, level - 1) - graph_reach(g)) & 1) == 0;
}
FUNCTION bool right_is_residual(int4 g, int i, int level) {
    return level > 0 && ((reference_right(g, i, level - 1) + graph_reach(g)) & 1) != 0;
}
// `residual`: the one node of the level below, else the nodes of the level.
FUNCTION int4 reference_range(int4 g, int n_true, int i, int level, int side, bool residual) {
    const int k = graph_reach(g), row = block_row(g, level, side), offset = bucket_offset(g, level - (residual ? 1 : 0));
    if (side == SIDE_LEFT) {
        const int nearest = reference_left(g, i, level), begin = max(nearest - k + 1, 0);
        const bool taken = left_is_residual(g, i, level);
        if (nearest < 0 || (residual && !taken)) return INT4(0, 0, -1, 0);
        if (residual) return make_range(g, offset + 2 * nearest, offset + 2 * nearest + 1, row, 0);
        return make_range(g, offset + begin, offset + nearest + (taken ? 0 : 1), row < 0 ? -1 : row + nearest - begin, -1);
    }
    const int nearest = reference_right(g, i, level), size = level_nodes(n_true, level), child = 2 * nearest + 1;
    const int first = right_is_residual(g, i, level) ? 1 : 0;
    if (nearest >= size) return INT4(0, 0, -1, 0);
    if (!residual) return make_range(g, offset + nearest + first, offset + min(nearest + k, size), row < 0 ? -1 : row + first, 1);
    if (first == 0 || child >= level_nodes(n_true, level - 1)) return INT4(0, 0, -1, 0);
    return make_range(g, offset + child, offset + child + 1, row, 0);
}

FUNCTION int4 segtree_range(int4 g, int n_true, int i, int level, int side) {
    const int next = side == SIDE_LEFT ? i - 1 : i + 1, near = next >> level, offset = bucket_offset(g, level);
    const int row = block_row(g, level, side);
    if (next < 0 || next >= n_true) return INT4(0, 0, -1, 0);
    if (side == SIDE_LEFT) {
        if (level == 0) return make_range(g, near - (near & 1), near + 1, row, 0);
        const int sibling = offset + ((near - 1) >> span_shift(g, level));
        return (near & 1) == 1 ? make_range(g, sibling, sibling + 1, row, 0) : INT4(0, 0, -1, 0);
    }
    if (level == 0) return make_range(g, near, min(near + 2 - (near & 1), n_true), row, 0);
    return (near & 1) == 0 && near + 1 < level_nodes(n_true, level) ? make_range(g, offset + near + 1, offset + near + 2, row, 0)
                                                                    : INT4(0, 0, -1, 0);
}

// Ranges 1 to 4: left near and far, right near and far; the rows of the far ones no longer depend on the distance.
FUNCTION int4 flat_range(int4 g, int n_true, int i, int number) {
    const int reach = graph_reach(g), far = farthest(g);
    const int begin = max(i - reach, 0), end = graph_has(g, GRAPH_CAUSAL) ? i + 1 : min(i + reach + 1, n_true);
    const int near_begin = max(begin, i - far), near_end = min(end, i + far + 1);
    if (number == 1) return make_range(g, near_begin, i, distance_row(g, i - near_begin, SIDE_LEFT), -2);
    if (number == 2) return make_range(g, begin, near_begin, distance_row(g, far, SIDE_LEFT), 0);
    if (number == 3) return make_range(g, i + 1, near_end, distance_row(g, 1, SIDE_RIGHT), 2);
    return make_range(g, near_end, end, distance_row(g, far, SIDE_RIGHT), 0);
}

// How many ranges a query of this level has, empty ones included. Number 0 is the query itself; of a span, number 1 its leaves.
FUNCTION int query_ranges(int4 g, int n_true, int level) {
    if (level > 0) return 2;
    if (graph_is_flat(g)) return 5;
    return 1 + level_count(n_true) * (graph_has(g, GRAPH_CAUSAL) ? 1 : 2) * (graph_has(g, GRAPH_REFERENCE) ? 2 : 1);
}
FUNCTION int4 query_range(int4 g, int n_true, int4 position, int number) {
    const int level = position.x, index = position.y;
    if (level > 0) {
        const int node = graph_is_flat(g) ? g.y : node_number(g, position);
        if (number == 0) return graph_has(g, GRAPH_SPAN_SELF) ? make_range(g, node, node + 1, 0, 0) : INT4(0, 0, -1, 0);
        if (graph_is_flat(g)) return INT4(0, n_true, -1, 0);
        return make_range(g, index << level, min((index + 1) << level, n_true), span_row(g, level), 0);
    }
    if (number == 0) return make_range(g, index, index + 1, 0, 0);
    if (graph_is_flat(g)) return flat_range(g, n_true, index, number);
    int rest = number - 1, side = SIDE_LEFT;
    bool residual = false;
    if (!graph_has(g, GRAPH_CAUSAL)) {
        side = rest & 1;
        rest >>= 1;
    }
    if (graph_has(g, GRAPH_REFERENCE)) {
        residual = (rest & 1) == 1;
        rest >>= 1;
        if (residual && rest == 0) return INT4(0, 0, -1, 0);
        return reference_range(g, n_true, index, rest, side, residual);
    }
    return graph_kind(g) == GRAPH_SEGTREE ? segtree_range(g, n_true, index, rest, side) : paper_range(g, n_true, index, rest, side);
}

// The same for a leaf in a tile of leaves, whose ranges of one number are walked together. Where the nearest leaves on the left and the leaf
// itself have evenly spaced rows they are one range, number 0, and number 1 is empty.
FUNCTION int4 leaf_range(int4 g, int n_true, int i, int number) {
    if (graph_kind(g) != GRAPH_BPT || number > 1) return query_range(g, n_true, INT4(0, i, 0, 0), number);
    if (number == 1) return INT4(0, 0, -1, 0);
    const int4 left = query_range(g, n_true, INT4(0, i, 0, 0), 1);
    if (left.x < left.y) return INT4(left.x, i + 1, left.z, left.w);
    return g.w == 0 ? INT4(i, i + 1, -1, 0) : INT4(i, i + 1, 0, -1);
}

// ---- Tiles of queries. `level` 0: of leaves, lanes are neighbours. From level 1 on: of spans, all those under one node, of as many levels as
// halve the lanes: with 16 lanes 8 spans of `level`, 4 of the next one, 2, 1, and a lane without a node. They read the same leaves.

FUNCTION int tile_levels(int lanes) {
    int levels = 0;
    while (2 << levels <= lanes) ++levels;
    return levels;
}
// The position of a lane; index -1: no node.
FUNCTION int4 tile_position(int lanes, int level, int tile, int lane) {
    int width = lanes / 2, above = level, place = lane;
    if (level == 0) return INT4(0, tile * lanes + lane, 0, 0);
    while (width > 0 && place >= width) {
        place -= width;
        width /= 2;
        ++above;
    }
    return INT4(above, width == 0 ? -1 : tile * width + place, 0, 0);
}
// Ranges of spans: 0 their leaves, then, level by level, themselves.
FUNCTION int tile_ranges(int4 g, int n_true, int lanes, int level) {
    if (level == 0) return query_ranges(g, n_true, 0);
    return graph_has(g, GRAPH_SPAN_SELF) ? 1 + tile_levels(lanes) : 1;
}
FUNCTION int4 tile_range(int4 g, int n_true, int level, int4 position, int number) {
    if (level == 0) return leaf_range(g, n_true, position.y, number);
    if (number == 0) return query_range(g, n_true, position, 1);
    return position.x == level + number - 1 ? query_range(g, n_true, position, 0) : INT4(0, 0, -1, 0);
}

// ---- Queries of a key: the same graph from the other end. Only begin and end: edge_row has the rows.

// Before any 2^level is multiplied the bounds are compared shifted down, so that what lies outside of the sequence cannot overflow.
FUNCTION int4 paper_consumers(int4 g, int n_true, int level, int m, int side) {
    const int k = graph_reach(g);
    if (side == SIDE_LEFT) {
        if (m + k + 1 > (n_true + k) >> level) return INT4(0, 0, -1, 0);
        const int begin = ((m + k + 1) << level) - k, ranks = k + 1 - (m & 1);
        return make_range(g, begin, min(begin + (ranks << level), n_true), -1, 0);
    }
    if (k - m > k >> level) return INT4(0, 0, -1, 0);
    const int end = (m - k) * (1 << level) + k, ranks = k + (m & 1);
    return make_range(g, ranks > max(end, 0) >> level ? 0 : end - (ranks << level), min(end, n_true), -1, 0);
}
// A node is read in the regular slots of its level, by a range that ends `reach` leaves away, and then, when it is the farther sibling, by
// 2^level more leaves as the residual of the level above.
FUNCTION int4 reference_consumers(int4 g, int n_true, int level, int m, int side, bool residual) {
    const int k = graph_reach(g), scale = 1 << level, above = level > 0 ? 1 : 0;  // above: nodes over leaves start a little nearer
    const bool farther = (m & 1) == (side == SIDE_LEFT ? 0 : 1);
    if (residual && !farther) return INT4(0, 0, -1, 0);
    if (side == SIDE_LEFT) {
        if (m + 1 + k > (n_true + k + scale / 2) >> level) return INT4(0, 0, -1, 0);
        const int begin = ((m + 1 + k) << level) - k - scale / 2 + above;
        if (begin >= n_true) return INT4(0, 0, -1, 0);
        const int last = ((m + 2 * k) << level) - k + 1;
        if (residual) return make_range(g, last, min(last + scale, n_true), -1, 0);
        return make_range(g, begin, min(last, n_true), -1, 0);
    }
    if (k - m > (k + scale / 2) >> level) return INT4(0, 0, -1, 0);
    const int end = (m - k) * scale + k + scale / 2 - above;
    const int first = 2 * k - 1 - m > (k - 1) >> level ? -1 : (m - 2 * k + 1) * scale + k - 1;
    if (residual) return first <= 0 ? INT4(0, 0, -1, 0) : make_range(g, max(first - scale, 0), first, -1, 0);
    return make_range(g, max(first, 0), min(end, n_true), -1, 0);
}
FUNCTION int4 segtree_consumers(int4 g, int n_true, int level, int m, int side) {
    const int scale = 1 << level, leaf = level == 0 ? 1 : 0, begin = m * scale, end = begin + scale;
    const bool right_sibling = (m & 1) == 1;
    if (side == SIDE_LEFT) return make_range(g, end + 1 - leaf, min(right_sibling ? end + leaf : end + scale + 1, n_true), -1, 0);
    return make_range(g, max(right_sibling ? begin - scale - 1 : begin - leaf, 0), begin - 1 + leaf, -1, 0);
}

// How many ranges of queries a key of this level has: 0 itself, 1 and 2 leaves that have it on their left and right, 3 and 4 the same as a
// residual, then its ancestors level by level, or the virtual root.
FUNCTION int key_ranges(int4 g, int n_true, int level) {
    if (level > 0) return 5;
    return graph_is_flat(g) ? (graph_has(g, GRAPH_ROOT) ? 6 : 5) : 4 + level_count(n_true);
}
FUNCTION int4 key_range(int4 g, int n_true, int4 position, int number) {
    const int level = position.x, index = position.y;
    if (graph_is_flat(g)) {
        const int reach = graph_reach(g);
        if (level > 0) return INT4(0, 0, -1, 0);  // nobody reads the virtual root
        if (number == 0) return make_range(g, index, index + 1, -1, 0);
        if (number == 1) return make_range(g, index + 1, min(index + reach + 1, n_true), -1, 0);
        if (number == 2 && !graph_has(g, GRAPH_CAUSAL)) return make_range(g, max(index - reach, 0), index, -1, 0);
        return number == 5 ? make_range(g, g.y, g.y + 1, -1, 0) : INT4(0, 0, -1, 0);
    }
    if (number == 0) {
        const int node = node_number(g, position);
        return level == 0 || graph_has(g, GRAPH_SPAN_SELF) ? make_range(g, node, node + 1, -1, 0) : INT4(0, 0, -1, 0);
    }
    if (number >= 5) {
        const int4 above = INT4(number - 4, index >> (number - 4), 0, 0);
        const int node = node_number(g, above);
        return is_in_bucket(g, above) ? make_range(g, node, node + 1, -1, 0) : INT4(0, 0, -1, 0);
    }
    const int side = number == 1 || number == 3 ? SIDE_LEFT : SIDE_RIGHT;
    if (side == SIDE_RIGHT && graph_has(g, GRAPH_CAUSAL)) return INT4(0, 0, -1, 0);
    if (graph_has(g, GRAPH_REFERENCE)) return reference_consumers(g, n_true, level, index, side, number >= 3);
    if (number >= 3) return INT4(0, 0, -1, 0);
    return graph_kind(g) == GRAPH_SEGTREE ? segtree_consumers(g, n_true, level, index, side)
                                          : paper_consumers(g, n_true, level, index, side);
}

// The same for a key in a tile of keys: the leaf itself and the leaves after it, which have it on their left, are one range, number 0, and
// number 1 is empty.
FUNCTION int4 tile_key_range(int4 g, int n_true, int4 position, int number) {
    if (position.x > 0 || number > 1) return key_range(g, n_true, position, number);
    if (number == 1) return INT4(0, 0, -1, 0);
    const int4 after = key_range(g, n_true, position, 1);
    return INT4(position.y, after.x < after.y ? after.y : position.y + 1, -1, 0);
}

// ---- The row of an edge that exists; -1: none

FUNCTION int edge_row(int4 g, int4 query, int4 key) {
    if (g.w == 0) return -1;
    if (graph_is_flat(g)) {
        if (query.x > 0) return -1;
        return key.y < query.y ? distance_row(g, query.y - key.y, SIDE_LEFT) : distance_row(g, key.y - query.y, SIDE_RIGHT);
    }
    if (query.x == key.x && query.y == key.y) return 0;
    if (query.x > 0) return span_row(g, query.x);
    const int i = query.y, level = key.x, m = key.y, k = graph_reach(g);
    const int side = m < i >> level ? SIDE_LEFT : SIDE_RIGHT;
    if (graph_kind(g) == GRAPH_SEGTREE) return block_row(g, level, side);
    if (!graph_has(g, GRAPH_REFERENCE))
        return block_row(g, level, side) + (side == SIDE_LEFT ? paper_left(g, i, level) - m : m - paper_right(g, i, level));
    const int rank = side == SIDE_LEFT ? reference_left(g, i, level) - m : m - reference_right(g, i, level);
    return rank == k ? block_row(g, level + 1, side) : block_row(g, level, side) + rank;
}
