// Attention graphs by index arithmetic (bpt/intervals.h and core/intervals/README.md have words and formulas): the key ranges of a query,
// the query ranges of a key, the table row of an edge. Kernels include this and so does the core (core/intervals/dialect.h). Numbers only,
// 32 bits: no formula passes 2^30 for graphs of up to 2^26 leaves. A graph is int4 {kind | GRAPH_ bits, n, reach, rel_levels}, as
// bpt_intervals_words makes it; the last two may be other numbers of the rule. A position is int4 {level, index, 0, 0}. A range is int4
// {begin, end, rel_row, rel_step}, node numbers of the bucket; begin == end: empty. Ranges have fixed numbers, so that work-items can share
// them out.
#include "core/intervals/rules/sizes.h"

#define GRAPH_KIND 15
#define GRAPH_CAUSAL 16
#define GRAPH_REFERENCE 32
#define GRAPH_SPAN_SELF 64
#define GRAPH_ROOT 128
#define GRAPH_TRIMMED 256
#define GRAPH_TREE 512     // spans over the leaves; else leaves only
#define GRAPH_TABLE 1024   // no rule: ranges are an input of the op
#define GRAPH_ROWS 2048    // with a table of relative positions
#define GRAPH_JOINED 4096  // the nearest leaves on the left and then the leaf itself have evenly spaced rows
#define SIDE_LEFT 0
#define SIDE_RIGHT 1
#define NOT_LINEAR (-2)
#define EMPTY_RANGE INT4(0, 0, -1, 0)

FUNCTION bool graph_has(int4 g, int bit) { return (g.x & bit) != 0; }
FUNCTION int graph_kind(int4 g) { return g.x & GRAPH_KIND; }
// More nodes a side than leaves change nothing: level 0 holds them all.
FUNCTION int graph_reach(int4 g) { return min(g.z, g.y); }

// ---- What rules are made of

FUNCTION int level_nodes(int n, int level) { return ((n - 1) >> level) + 1; }
FUNCTION int4 make_range(int4 g, int begin, int end, int row, int row_step) {
    if (begin >= end) return EMPTY_RANGE;
    return graph_has(g, GRAPH_ROWS) ? INT4(begin, end, row, row < 0 ? 0 : row_step) : INT4(begin, end, -1, 0);
}
// Row of rank 0 in the block of a level and side; levels past the table share its last blocks.
FUNCTION int block_row(int4 g, int level, int side, int width) {
    return graph_has(g, GRAPH_ROWS) ? 1 + (2 * min(level, g.w - 1) + side) * width : -1;
}

#include "core/intervals/rules/rules.h"

// How many ranges a leaf has on a level and side.
#define RULE_PARTS(number, kind, rule) \
    if (graph_kind(g) == number) return rule##_parts(g);
FUNCTION int rule_parts(int4 g) {
    GRAPH_RULES(RULE_PARTS)
    return 0;
}
// The keys of leaf i on a level and side: indices of nodes of the level.
#define RULE_RANGE(number, kind, rule) \
    if (graph_kind(g) == number) return rule##_range(g, n_true, i, level, side, part);
FUNCTION int4 rule_range(int4 g, int n_true, int i, int level, int side, int part) {
    GRAPH_RULES(RULE_RANGE)
    return EMPTY_RANGE;
}
// The other leaves that read node (level, m), in up to RULE_READERS ranges.
#define RULE_READERS 4
#define RULE_READERS_OF(number, kind, rule) \
    if (graph_kind(g) == number) return rule##_readers(g, n_true, level, m, reader);
FUNCTION int4 rule_readers(int4 g, int n_true, int level, int m, int reader) {
    GRAPH_RULES(RULE_READERS_OF)
    return EMPTY_RANGE;
}
// The row of the edge from leaf i to another node that it reads, of a graph with a table.
#define RULE_ROW(number, kind, rule) \
    if (graph_kind(g) == number) return rule##_row(g, i, level, m);
FUNCTION int rule_row(int4 g, int i, int level, int m) {
    GRAPH_RULES(RULE_ROW)
    return -1;
}
// The spans of a trimmed tree {whole, less, rounds, shift}: the first (whole >> level) - less of a level, rounded half up where rounds is
// 1, of every 2^shift-th node.
#define RULE_TRIMMED(number, kind, rule) \
    if (graph_kind(g) == number) return rule##_trimmed(g);
FUNCTION int4 rule_trimmed(int4 g) {
    GRAPH_TREES(RULE_TRIMMED)
    return INT4(0, 0, 0, 0);
}

// ---- Nodes

FUNCTION int level_count(int n) {
    int levels = 1;
    while (1 << (levels - 1) < n) ++levels;
    return levels;
}
FUNCTION int level_offset(int n, int level) {
    const int whole = n - 1, rest = whole >> level;
    return 2 * (whole - rest) - TO_INT(POPCOUNT(TO_UINT(whole))) + TO_INT(POPCOUNT(TO_UINT(rest))) + level;
}

// Trees have all spans, trimmed ones those only that some leaf reads; with GRAPH_ROOT at least the first one of a level.
FUNCTION int span_shift(int4 g, int level) { return level > 0 && graph_has(g, GRAPH_TRIMMED) ? rule_trimmed(g).w : 0; }
FUNCTION int trimmed_nodes(int4 trimmed, int level) {
    const int more = trimmed.z == 1 ? (trimmed.x >> (level - 1)) & 1 : 0;
    return (trimmed.x >> level) + more - trimmed.y;
}
// Nodes of a level of a tree's bucket.
FUNCTION int bucket_nodes(int4 g, int level) {
    if (level == 0 || !graph_has(g, GRAPH_TRIMMED)) return level_nodes(g.y, level);
    return max(trimmed_nodes(rule_trimmed(g), level), graph_has(g, GRAPH_ROOT) ? 1 : 0);
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
    const int4 trimmed = rule_trimmed(g);
    int top = level;  // levels from here on have the first node only
    if (graph_has(g, GRAPH_ROOT)) {
        while (top > 1 && trimmed_nodes(trimmed, top - 1) <= 0) --top;
    }
    const int whole = trimmed.x, rest = whole >> (top - 1), all = g.y + whole - rest - trimmed.y * (top - 1) + level - top;
    return trimmed.z == 1 ? all : all - TO_INT(POPCOUNT(TO_UINT(whole))) + TO_INT(POPCOUNT(TO_UINT(rest)));
}
FUNCTION bool is_in_bucket(int4 g, int4 position) {
    const int shift = span_shift(g, position.x), place = position.y >> shift;
    return position.y >= 0 && position.x < level_count(g.y) && place << shift == position.y && place < bucket_nodes(g, position.x);
}
// The number of a node of a tree's bucket.
FUNCTION int node_number(int4 g, int4 position) { return bucket_offset(g, position.x) + (position.y >> span_shift(g, position.x)); }
FUNCTION int root_node(int4 g, int n_true) { return !graph_has(g, GRAPH_TREE) ? g.y : bucket_offset(g, level_count(n_true) - 1); }
FUNCTION int4 node_position(int4 g, int node) {
    int level = 0, index = node;
    if (!graph_has(g, GRAPH_TREE)) return node < g.y ? INT4(0, node, 0, 0) : INT4(1, node - g.y, 0, 0);
    while (index >= bucket_nodes(g, level)) {
        index -= bucket_nodes(g, level);
        ++level;
    }
    return INT4(level, index << span_shift(g, level), 0, 0);
}
FUNCTION bool node_exists(int4 g, int n_true, int4 position) {
    if (!graph_has(g, GRAPH_TREE)) return position.x > 0 || position.y < n_true;
    return position.x < level_count(n_true) && position.y < level_nodes(n_true, position.x);
}

// Row of the edges span <- leaf.
FUNCTION int span_row(int4 g, int level) { return graph_has(g, GRAPH_SPAN_SELF) ? 2 * g.w + min(level, g.w) : -1; }

// ---- Keys of a query

// How many ranges a query of this level has, empty ones included. Number 0 is the query itself. Of a leaf the others follow level by level,
// from near to far, both sides by turns; of a span, number 1 is its leaves.
FUNCTION int graph_sides(int4 g) { return graph_has(g, GRAPH_CAUSAL) ? 1 : 2; }
FUNCTION int query_ranges(int4 g, int n_true, int level) {
    if (level > 0) return 2;
    return 1 + (graph_has(g, GRAPH_TREE) ? level_count(n_true) : 1) * rule_parts(g) * graph_sides(g);
}
// The nodes of a level that a leaf reads are in its ranges number x to y - 1.
FUNCTION int4 level_ranges(int4 g, int level) {
    const int each = rule_parts(g) * graph_sides(g);
    return INT4(level == 0 ? 0 : 1 + level * each, 1 + (level + 1) * each, 0, 0);
}
FUNCTION int4 span_range(int4 g, int n_true, int4 position, int number) {
    const int level = position.x, index = position.y;
    if (!graph_has(g, GRAPH_TREE)) return number == 1 ? INT4(0, n_true, -1, 0) : EMPTY_RANGE;
    if (number == 1) return make_range(g, index << level, min((index + 1) << level, n_true), span_row(g, level), 0);
    const int node = node_number(g, position);
    return graph_has(g, GRAPH_SPAN_SELF) ? make_range(g, node, node + 1, 0, 0) : EMPTY_RANGE;
}
FUNCTION int4 query_range(int4 g, int n_true, int4 position, int number) {
    const int i = position.y;
    if (position.x > 0) return span_range(g, n_true, position, number);
    if (number == 0) return make_range(g, i, i + 1, 0, 0);
    const int turns = graph_sides(g) - 1, place = (number - 1) >> turns, parts = rule_parts(g);
    const int level = !graph_has(g, GRAPH_TREE) ? 0 : parts == 1 ? place : place / parts;
    const int4 range = rule_range(g, n_true, i, level, (number - 1) & turns, place - level * parts);
    if (level == 0 || range.x >= range.y) return range;
    const int offset = bucket_offset(g, level), shift = span_shift(g, level);
    return INT4(offset + (range.x >> shift), offset + ((range.y - 1) >> shift) + 1, range.z, range.w);
}

// The same for a leaf in a tile of leaves, whose ranges of one number are walked together. Where the leaf itself is joined to the nearest
// leaves on the left they are one range, number 0, and number 1 is empty.
FUNCTION int4 leaf_range(int4 g, int n_true, int i, int number) {
    if (number > 1 || !graph_has(g, GRAPH_JOINED)) return query_range(g, n_true, INT4(0, i, 0, 0), number);
    if (number == 1) return EMPTY_RANGE;
    const int4 left = query_range(g, n_true, INT4(0, i, 0, 0), 1);
    if (left.x < left.y) return INT4(left.x, i + 1, left.z, left.w);
    return graph_has(g, GRAPH_ROWS) ? INT4(i, i + 1, 0, -1) : INT4(i, i + 1, -1, 0);
}

// ---- Tiles of queries. `level` 0: of leaves, lanes are neighbours. From level 1 on: of spans, all those under one node, of as many levels
// as halve the lanes: with 16 lanes 8 spans of `level`, 4 of the next one, 2, 1, and a lane without a node. They read the same leaves.

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
// How many tiles from `level` on a sequence has; of them the one under which a leaf lies, or that has a span of its levels.
FUNCTION int tile_count(int4 g, int lanes, int level) {
    if (level == 0) return (g.y - 1) / lanes + 1;
    return ((bucket_nodes(g, level) << span_shift(g, level)) - 1) / (lanes / 2) + 1;
}
FUNCTION int tile_of(int lanes, int level, int4 position) { return position.y >> (level + tile_levels(lanes) - 1 - position.x); }
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

// ---- Queries of a key: the same graph from the other end. In kernels only begin and end count: edge_row has the rows.

// The leaves that read a key, itself among them: from the first one to before the last. Leaves between them may not read it.
FUNCTION int4 reading_leaves(int4 g, int n_true, int4 position) {
    int begin = position.x == 0 ? position.y : 0x7FFFFFFF, end = position.x == 0 ? position.y + 1 : 0;
    for (int reader = 0; reader < RULE_READERS; ++reader) {
        const int4 range = rule_readers(g, n_true, position.x, position.y, reader);
        if (range.x < range.y) {
            begin = min(begin, range.x);
            end = max(end, range.y);
        }
    }
    return INT4(min(begin, end), end, 0, 0);
}

// How many ranges of queries a key of this level has: 0 itself, then the leaves that read it, then its ancestors level by level, or the
// virtual root.
FUNCTION int key_ranges(int4 g, int n_true, int level) {
    const int ranges = 1 + RULE_READERS;
    if (level > 0) return ranges;
    return ranges + (graph_has(g, GRAPH_TREE) ? level_count(n_true) - 1 : graph_has(g, GRAPH_ROOT) ? 1 : 0);
}
FUNCTION int4 key_range(int4 g, int n_true, int4 position, int number) {
    const int level = position.x, index = position.y, above = number - RULE_READERS;
    if (number > 0 && above <= 0) return rule_readers(g, n_true, level, index, number - 1);
    if (number == 0) {
        if (level > 0 && !graph_has(g, GRAPH_SPAN_SELF)) return EMPTY_RANGE;
        const int node = level > 0 ? node_number(g, position) : index;
        return make_range(g, node, node + 1, -1, 0);
    }
    if (!graph_has(g, GRAPH_TREE)) return make_range(g, g.y, g.y + 1, -1, 0);
    const int4 ancestor = INT4(above, index >> above, 0, 0);
    const int node = node_number(g, ancestor);
    return is_in_bucket(g, ancestor) ? make_range(g, node, node + 1, -1, 0) : EMPTY_RANGE;
}

// The same for a key in a tile of keys: where the leaf itself and the first leaves that read it lie side by side, they are one range,
// number 0, and number 1 is empty.
FUNCTION int4 tile_key_range(int4 g, int n_true, int4 position, int number) {
    if (position.x > 0 || number > 1) return key_range(g, n_true, position, number);
    const int leaf = position.y;
    const int4 readers = key_range(g, n_true, position, 1);
    const bool after = readers.x == leaf + 1, before = readers.y == leaf;
    if (readers.x >= readers.y || !(after || before)) return number == 0 ? INT4(leaf, leaf + 1, -1, 0) : readers;
    if (number == 1) return EMPTY_RANGE;
    return after ? INT4(leaf, readers.y, -1, 0) : INT4(readers.x, leaf + 1, -1, 0);
}

// ---- The row of an edge that exists; -1: none

FUNCTION int edge_row(int4 g, int4 query, int4 key) {
    if (!graph_has(g, GRAPH_ROWS)) return -1;
    if (query.x == key.x && query.y == key.y) return 0;
    return query.x > 0 ? span_row(g, query.x) : rule_row(g, query.y, key.x, key.y);
}
