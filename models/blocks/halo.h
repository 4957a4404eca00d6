// Sequences that several ranks share (docs/cluster.md): rank r of R owns the leaves from r n / R on of every sequence, n / R of them, and
// the spans that lie in this range. What its leaves read besides is its halo: nodes that other ranks own, whose states it takes from them
// before each layer. Which rows those are, how they go from rank to rank, and the tables of who reads whom.
//
// Rows. `Own` rows: the leaves of sequence 0, 1, .., then the spans of sequence 0, 1, .., each level by level. Key rows: the own rows, then
// the rows taken, the halo of sequence 0, 1, .., each level by level. Spans that no leaf reads have no rows.
#ifndef BPT_MODELS_BLOCKS_HALO_H
#define BPT_MODELS_BLOCKS_HALO_H

#include "bpt/lists.h"
#include "bpt/ranks.h"
#include "models/nn/shard.h"

// Nodes [begin, end) of a level.
typedef struct {
    int64_t begin, end;
} bpt_level_nodes_t;

// Of one level: the own nodes that are read, and the halo on either side of the rank's range; where their rows begin among the spans of a
// sequence and among the halo of a sequence.
typedef struct {
    bpt_level_nodes_t own, left, right;
    int64_t own_row, left_row, right_row;
} bpt_halo_level_t;

typedef struct {
    bpt_intervals_t graph;  // of the whole sequence
    bpt_shard_t place;      // this rank among those that share it
    int64_t batch, leaves;  // sequences; own leaves of each
    int levels;
    bpt_halo_level_t level[BPT_MAX_LEVELS];
    int64_t spans, taken;          // of a sequence: own spans, nodes of the halo
    int64_t own_rows, key_rows;    // of all sequences
    int64_t give_rows, take_rows;  // of an exchange, at least one: a rank that gives or takes nothing exchanges a row of zeros with nobody
    uint32_t *give;                // [give_rows] own rows, those for rank 0, 1, ..; BPT_NO_ROW: zeros
    uint32_t *take;                // [take_rows] places among the rows taken of what comes from rank 0, 1, ..
    int64_t *give_counts, *take_counts;     // [size]
    int64_t slots, back_slots, last_slots;  // of the tables; last_slots: of the transpose for leaf queries alone
    bpt_table_bounds_t bounds, last_bounds;
    bpt_ranks_t *ranks;       // whom rows are exchanged with; not owned
    uint64_t rows_exchanged;  // so far, those given, of states and of gradients
    uint64_t bytes_exchanged;
    void *moved;  // rows on their way
    size_t moved_bytes;
} bpt_halo_t;

// BPT_ERR_USAGE where the ranges cannot be owned by the ranks: n is no multiple of their number, or a span that is read lies in two ranges.
bpt_status_t bpt_halo_create(const bpt_intervals_t *graph, int64_t batch, const bpt_shard_t *place, bpt_halo_t **out) BPT_MUST_USE;
void bpt_halo_destroy(bpt_halo_t *halo);

// The key row of node (level, index) of a sequence; -1: it has none here.
int64_t bpt_halo_row(const bpt_halo_t *halo, int64_t sequence, int level, int64_t index);
// Visits all key rows that stand for nodes, with the node's number in the whole graph.
typedef void (*bpt_halo_visit_t)(void *user, int64_t row, int64_t sequence, int64_t node);
void bpt_halo_visit(const bpt_halo_t *halo, bpt_halo_visit_t visit, void *user);

// The tables for sequences of these lengths [batch]: table [own_rows, slots, 4], back [key_rows, back_slots, 2] and last
// [key_rows, last_slots, 2], the transpose of its first rows, those of leaves. back, last NULL: not wanted.
bpt_status_t bpt_halo_write(const bpt_halo_t *halo, const uint32_t *lengths, uint32_t *table, uint32_t *back, uint32_t *last) BPT_MUST_USE;

// The exchange of a program (bpt_program_on_exchange); `user` is the halo.
bpt_status_t bpt_halo_exchange(void *user, bool back, size_t row_bytes, const void *give, void *take) BPT_MUST_USE;

#endif
