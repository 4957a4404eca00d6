// Attention graphs as tables of ranges (ops.h, attention of kind TABLE): what each query reads, and who reads each key. A table is
// written once per batch and serves all layers and heads. Everything here runs on the host and knows nothing of devices.
// Sources: Guo et al. 2019, "Star-Transformer", section 3.1 (ring, relay); Nguyen et al. 2020, "Tree-Structured Attention with
// Hierarchical Accumulation", section 4.2 (subtree masking); the rest are ordinary dense and cross-attention, without padding.
#ifndef BPT_LISTS_H
#define BPT_LISTS_H

#include "bpt/ops.h"

BPT_BEGIN_DECLS

// Sequences in a tensor of rows: sequence s is rows start[s] .. start[s] + length[s] - 1. They do not overlap; rows of no sequence are
// padding, a sequence may be empty. Packed rows and buckets (start[s] = s n) are both such spaces.
typedef struct {
    int64_t rows, sequences;
    const uint32_t *start, *length;  // [sequences]
} bpt_row_space_t;

// Both tables of a graph, in the caller's memory. A writer fills all of both: ranges that are not needed are empty, so padding reads
// nothing and is read by nobody. back NULL: not wanted. Slots that are too few are BPT_ERR_INTERNAL, with the number that is needed.
typedef struct {
    int64_t queries, keys;      // Q, K
    int64_t slots, back_slots;  // S, T
    uint32_t *table;            // [Q, S, 4]; all rel rows are BPT_NO_ROW
    uint32_t *back;             // [K, T, 2]
} bpt_lists_t;

// Slots that the writers need; those of subtrees depend on the trees.
enum {
    BPT_LISTS_ALL_SLOTS = 1,  // of each space of keys
    BPT_LISTS_ALL_BACK_SLOTS = 1,
    BPT_LISTS_RING_SLOTS = 5,
    BPT_LISTS_RING_BACK_SLOTS = 3,
    BPT_LISTS_RELAY_SLOTS = 2,
    BPT_LISTS_RELAY_BACK_SLOTS = 1,
    BPT_LISTS_SUBTREES_SLOTS = 2,
};

// Every query reads all keys of the sequence of the same number: dense self-attention, cross-attention of sentences. Where two texts
// read each other, `keys` names the sequences of `queries` in another order.
BPT_API bpt_status_t bpt_lists_all(const bpt_row_space_t *queries, const bpt_row_space_t *keys, const bpt_lists_t *out) BPT_MUST_USE;

// The same where a sequence has keys in several spaces of rows of one tensor, such as the tokens and the nodes of a tree: as many slots,
// one range of each space; out->keys is the number of rows of all.
BPT_API bpt_status_t bpt_lists_all_of(const bpt_row_space_t *queries, const bpt_row_space_t *spaces, int n_spaces,
                                      const bpt_lists_t *out) BPT_MUST_USE;

// Documents: the rows of query segment t read those of key segment source[t] (BPT_NO_ROW: nothing). Target segments that lie one behind
// the other and read the same source are one range of `back`.
BPT_API bpt_status_t bpt_lists_aligned(const bpt_row_space_t *queries, const bpt_row_space_t *keys, const uint32_t *source,
                                       const bpt_lists_t *out) BPT_MUST_USE;

// The satellites of Star-Transformer. Q = N rows (of `rows`); K = 2N + B rows: states, embeddings, relays of the sequences. Satellite i
// of n reads the states of i - 1, i, i + 1 in a ring (n = 1: itself three times, n = 2: the other one twice), its embedding, and its
// relay. `of_satellite`: without BPT_SATELLITE_NEIGHBOURS it reads its own state alone of the states, without BPT_SATELLITE_RELAY no relay.
enum { BPT_SATELLITE_NEIGHBOURS = 1, BPT_SATELLITE_RELAY = 2 };
BPT_API bpt_status_t bpt_lists_ring(const bpt_row_space_t *rows, unsigned of_satellite, const bpt_lists_t *out) BPT_MUST_USE;

// The relays. Q = B; K = N + B rows: states, relays. A relay reads all states of its sequence and itself; an empty sequence has none.
BPT_API bpt_status_t bpt_lists_relay(const bpt_row_space_t *rows, const bpt_lists_t *out) BPT_MUST_USE;

// Bounds of the tables of these two (bpt_attention_attrs_t) for sequences of at most `longest` rows: few edges a row, but for the relays.
BPT_API bpt_table_bounds_t bpt_lists_ring_bounds(int64_t rows, int64_t longest);
BPT_API bpt_table_bounds_t bpt_lists_relay_bounds(int64_t longest);

// Trees. Q = K rows: the leaves, then the other nodes, of each tree in post-order. links u32 [Q, 3]: of a leaf the row of the lowest node
// above it (BPT_NO_ROW: none), 0, 0; of a node the row of its parent (BPT_NO_ROW: none), its first leaf row, the end of its leaf rows.
// nodes->start counts rows of the whole tensor, from leaves->rows on. Leaves read the leaves of their sequence, a node reads its leaves
// and its subtree's nodes, itself among them: one range, as they are in post-order. A key is read by its ancestors: a range for every
// run of neighbours among them.
BPT_API bpt_status_t bpt_lists_subtrees(const bpt_row_space_t *leaves, const bpt_row_space_t *nodes, const uint32_t *links,
                                        const bpt_lists_t *out) BPT_MUST_USE;
// Back slots that these trees need, at least 1.
BPT_API int64_t bpt_lists_subtrees_back_slots(const bpt_row_space_t *leaves, const bpt_row_space_t *nodes, const uint32_t *links);

// BPT_ERR_INTERNAL, with the row, where a row of `table`, or of `back` unless it is NULL, has more edges than the bounds say. Whoever
// states bounds of a call checks each table that it writes for it.
BPT_API bpt_status_t bpt_lists_check(const bpt_lists_t *lists, const bpt_table_bounds_t *bounds) BPT_MUST_USE;

// Writes `back` as the transpose of any table, edge by edge: for callers without a formula, and for tests.
BPT_API bpt_status_t bpt_lists_transposed(const bpt_lists_t *lists) BPT_MUST_USE;
// The back slots that it needs.
BPT_API bpt_status_t bpt_lists_transposed_slots(const bpt_lists_t *lists, int64_t *slots) BPT_MUST_USE;

BPT_END_DECLS

#endif
