// Attention graphs as intervals: for every query row a short list of contiguous key ranges, computed by index arithmetic.
// No edge is ever stored. Sources: Ye et al. 2019, "BP-Transformer: modelling long-range context via binary partitioning";
// Ye et al. 2019, "SegTree-Transformer". Knows nothing of tensors or devices.
//
// Nodes. Level sizes n_0 = n, n_(j+1) = ceil(n_j / 2) down to 1; nodes are numbered level by level, leaves first, root last.
// Node (j,m) covers leaves [m 2^j, min(n, (m+1) 2^j)). In a batch a sequence of true length n' <= n lies in a *bucket* of n
// leaves: its nodes keep the bucket's numbering, (j,m) exists when m < n'_j, and its root is (ceil(log2 n'), 0).
// dense, window and sparse graphs have n leaves and, with `root`, one virtual root with number n that reads every leaf.
// A *trimmed* graph has the spans only that some leaf of the bucket reads (and with `root` those that may be a sequence's root): causal
// models need no others. The rest of its nodes keep their order, and (level, index) of a node is what it is in the whole tree.
#ifndef BPT_INTERVALS_H
#define BPT_INTERVALS_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef enum {
    BPT_INTERVALS_BPT,      // BP-Transformer, rule `paper` or `reference`
    BPT_INTERVALS_SEGTREE,  // minimal disjoint cover
    BPT_INTERVALS_DENSE,    // every leaf (causal: every earlier leaf and itself)
    BPT_INTERVALS_WINDOW,   // leaves at distance <= window
    BPT_INTERVALS_TABLE,    // explicit interval tables (op input), any other graph; batch 1
    BPT_INTERVALS_SPARSE,   // fixed sparse pattern: the own block, and the tails of the blocks before (Child et al. 2019)
} bpt_intervals_kind_t;

typedef struct {
    bpt_intervals_kind_t kind;
    bool causal;          // left side only
    bool reference_rule;  // bpt: the released code's rule instead of the paper's
    bool span_self;       // segtree: spans also read themselves
    bool root;       // dense, window, sparse: one virtual root; trimmed: the first node of every level stays, the root of some sequences
    bool trimmed;    // bpt, segtree, causal: without the spans that no leaf reads, the root among them
    int32_t k;       // bpt: nodes per level and side, >= 1 (segtree ignores it)
    int32_t window;  // window: largest distance
    int32_t stride, tail;  // sparse: leaves of a block, 1 <= tail <= stride
    int32_t rel_levels;    // L of the relative position table (bpt, segtree), or largest distance (dense, window); 0 = no table
    int64_t n;             // leaves of the bucket, 1 <= n <= 2^26
} bpt_intervals_t;

enum { BPT_MAX_LEVELS = 27, BPT_MAX_SLOTS = 4 * BPT_MAX_LEVELS + 3 };

// One contiguous key range of a query: keys [begin, end), node numbers of the bucket. The key `begin + t` uses row
// rel_row + t * rel_step of the relative position table; rel_row = -1: no row (and rel_step 0).
typedef struct {
    int64_t begin, end;
    int32_t rel_row, rel_step;
} bpt_slot_t;

// Checks k, n, window, stride, tail, rel_levels, trimmed; the message names the field.
BPT_API bpt_status_t bpt_intervals_check(const bpt_intervals_t *g) BPT_MUST_USE;

BPT_API int bpt_levels(int64_t n);                     // levels of a tree of n leaves: ceil(log2 n) + 1
BPT_API int64_t bpt_level_size(int64_t n, int level);  // n_level

// What the bucket of a graph has. Level 1 of graphs without spans is the virtual root.
BPT_API int bpt_tree_levels(const bpt_intervals_t *g);                       // levels with nodes
BPT_API int64_t bpt_tree_level_size(const bpt_intervals_t *g, int level);    // nodes of a level, 0 above the last one
BPT_API int64_t bpt_tree_level_offset(const bpt_intervals_t *g, int level);  // number of the first node of a level
BPT_API int64_t bpt_tree_level_step(const bpt_intervals_t *g, int level);    // from the index of a node to that of the next one: 1 or 2
BPT_API int64_t bpt_tree_node(const bpt_intervals_t *g, int level, int64_t index);  // number of node (level, index), -1: there is none
BPT_API int64_t bpt_node_count(const bpt_intervals_t *g);                           // all nodes of the bucket
// Node number of the root; n_true 1: the leaf (bpt, segtree). -1: there is none.
BPT_API int64_t bpt_root_node(const bpt_intervals_t *g, int64_t n_true);
BPT_API void bpt_node_position(const bpt_intervals_t *g, int64_t node, int *level, int64_t *index);
BPT_API uint32_t bpt_intervals_node_code(const bpt_intervals_t *g, int64_t node);  // rng.h node code; a virtual root is (1, 0)
BPT_API bool bpt_node_exists(const bpt_intervals_t *g, int64_t n_true, int64_t node);

// Rows of the relative position table: bpt 1 + 2L(k+1); segtree 1 + 2L (+ L with span_self); dense, window 1 + 2 * rel_levels; 0 without.
BPT_API int64_t bpt_rel_rows(const bpt_intervals_t *g);
// Default L: max(1, ceil(log2 n)).
BPT_API int32_t bpt_default_rel_levels(int64_t n);

// The keys of query node `query` in a sequence of n_true leaves. Returns the number of slots written (empty ones are left
// out); 0 when the query does not exist. Slots of one query never overlap in keys (reference rule: neither).
// Order: self, left from near to far, right from near to far. A span has one slot: its leaves (+ itself with span_self).
BPT_API int bpt_intervals_keys(const bpt_intervals_t *g, int64_t n_true, int64_t query, bpt_slot_t slots[BPT_MAX_SLOTS]);

// The transposed graph by the consumer formulas: the queries that read node `key`, as ranges [begin, end) of query node
// numbers. rel_row and rel_step of these ranges describe the row that query begin + t uses only where it is linear in t
// within a range; else rel_row = -2 and bpt_intervals_rel_row tells. Every (query, key) pair appears exactly once.
BPT_API int bpt_intervals_consumers(const bpt_intervals_t *g, int64_t n_true, int64_t key, bpt_slot_t slots[BPT_MAX_SLOTS]);
// Row of the table used by the edge query <- key, -1 for none, -2 when the edge does not exist.
BPT_API int32_t bpt_intervals_rel_row(const bpt_intervals_t *g, int64_t n_true, int64_t query, int64_t key);

// ---- What a graph's rule says of all its edges: kernels and plans ask this, never the kind ------------------------------

BPT_API bool bpt_intervals_is_table(const bpt_intervals_t *g);   // no rule: the ranges are an input of the op
BPT_API bool bpt_intervals_has_spans(const bpt_intervals_t *g);  // a tree of spans over the leaves; else at most a virtual root
BPT_API bool bpt_intervals_spans_read_themselves(const bpt_intervals_t *g);
// How far leaves read: on every level at most `reach` nodes a side, and in trees one more where a sibling would be left over, none farther
// than 2 reach + 1 nodes from the leaf's own ancestor. A node of level j is read by at most (reach + 1) 2^j leaves on either side. At most
// n.
BPT_API int64_t bpt_intervals_reach(const bpt_intervals_t *g);
// A leaf reads all leaves within reach (causal: on its left), and the row of an edge is that of the distance: 2d - 1 to the left, 2d to the
// right, d clamped to rel_levels.
BPT_API bool bpt_intervals_is_window(const bpt_intervals_t *g);
// Both ends of every range move from leaf to leaf by at most two nodes: neighbours read nearly the same.
BPT_API bool bpt_intervals_is_steady(const bpt_intervals_t *g);
// Ranges of level j on the left change only at leaves i with i + shift a multiple of 2^j (or of 2^(j-1)), those on the right with i -
// shift. 0: no such thing is known.
BPT_API int64_t bpt_intervals_shift(const bpt_intervals_t *g);
// Rows 1 + (2 min(j, L-1) + side) block_rows .. of the table are those of level j and side. 0: the rule has its rows elsewhere.
BPT_API int64_t bpt_intervals_block_rows(const bpt_intervals_t *g);
BPT_API int bpt_intervals_parts(const bpt_intervals_t *g);           // ranges of a leaf on a level and side, at most
BPT_API int bpt_intervals_most_keys(const bpt_intervals_t *g);       // ranges of a leaf, at most
BPT_API int bpt_intervals_most_consumers(const bpt_intervals_t *g);  // ranges of queries that a leaf has, at most
// Nodes that `leaves` neighbouring leaves of a steady graph read, at most: for each of their ranges the nodes between its ends, so that a node
// may count several times.
BPT_API int64_t bpt_intervals_block_nodes(const bpt_intervals_t *g, int64_t leaves);
// Leaves between the end of a span of this level and the first leaf that reads it (n: nobody does).
BPT_API int64_t bpt_intervals_wait(const bpt_intervals_t *g, int level);

// A graph in 32-bit words, as the arithmetic of rules takes it: kind and GRAPH_ bits (core/intervals/rules/intervals.h), n and two numbers
// of the rule.
BPT_API void bpt_intervals_words(const bpt_intervals_t *g, int32_t word[4]);

// Leaves [first, end) that read the same nodes of a level and side. The slot counts nodes of the level, from its first one on.
typedef struct {
    int level, side, part;  // side 0: left; part 0 .. bpt_intervals_parts - 1
} bpt_leaf_part_t;
typedef struct {
    int64_t first, end;
    bpt_slot_t slot;
} bpt_leaf_run_t;
// Leaves first .. end - 1 in runs; those that read nothing are left out. Returns their number, at most end - first.
BPT_API int bpt_intervals_runs(const bpt_intervals_t *g, int64_t n_true, int64_t first, int64_t end, const bpt_leaf_part_t *of,
                               bpt_leaf_run_t *runs);

// Number of edges: all, and contextual ones only (not self, not span <- leaf), by summing interval lengths.
BPT_API void bpt_intervals_count(const bpt_intervals_t *g, int64_t n_true, int64_t *all, int64_t *contextual);

BPT_END_DECLS

#endif
