// An attention call cut into pieces of work: attention_plan.c resolves the call and lays out scratch, attention_unit.c does one unit,
// attention_ring.c moves its keys, attention.c has the threads; attention_table.c does kind TABLE by tiles where neighbours read much the
// same, attention_rows.c row by row elsewhere, attention_relative.c the gradient with relative positions. The arithmetic is in
// kernels/attention_*.c.
//
// A unit is one head of one sequence: its queries run over the leaves from left to right, and the rows of the keys that they read
// run along, head-major. Long sequences are cut into chunks. With at least as many units as threads, a thread takes whole units, and as
// many heads of a sequence side by side as stay in its cache: their rows lie one behind the other. With fewer, a thread takes chunks. The
// cuts and the order of all sums depend on the shapes alone, so the result does not depend on the number of threads.
#ifndef BPT_CPU_ATTENTION_PLAN_H
#define BPT_CPU_ATTENTION_PLAN_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels/attention.h"

enum { BPT_ATTENTION_ROW_PIECES = 64 };  // kind TABLE: most pieces of a query's keys

// Kind TABLE: queries [q_begin, q_end) read keys [k_begin, k_end) only, which nobody else reads.
typedef struct {
    uint32_t q_begin, q_end, k_begin, k_end;
} bpt_attention_island_t;

// The call and its scratch.
typedef struct {
    bpt_attention_t a;
    const bpt_cpu_kernels_t *k;
    bool grad;
    bpt_team_t *team;  // only when it runs
    int threads;
    int side;                      // heads side by side
    int64_t units, groups, areas;  // areas: units in work at the same time
    int64_t sequence_groups;       // groups of sequences; with the heads of each, groups of units
    int64_t chunks;                // of the longest possible sequence
    bpt_attention_unit_t *unit;    // [areas]
    bpt_attention_work_t *work;    // [threads][side]
    float *rel, *drel;             // [rel_rows][columns]; [groups] of them
    // Kind TABLE. With neither `back` nor lse, as in decoding, rows go one by one: their bits do not depend on which rows are beside them.
    bool by_table, by_tiles;
    int64_t queries, keys;     // rows
    float *row_q, *row_parts;  // [threads][heads][columns], gradient [threads][4][heads][columns]; [threads or pieces][heads][columns + 2]
    float *dots;
    uint8_t *query_tiles, *key_tiles;  // whether 16 neighbours are a tile; NULL: none are
    bpt_table_walk_t *table;      // [threads]
    bpt_attention_island_t *island;    // [queries]
    bpt_attention_sums_t *sums;        // gradient with relative positions: [areas], heads in work at the same time
} bpt_attention_plan_t;

// `plan` of both ops (cpu.h).
bpt_status_t bpt_attention_plan(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) BPT_MUST_USE;
// The plan of a run, with its operands, its scratch laid out and the table of relative positions read.
void bpt_attention_begin(bpt_attention_plan_t *p, const bpt_host_run_t *run);

// ---- Units -----------------------------------------------------------------------------------------------------------

// Which part of a unit's rows a thread takes: one of `shares`.
typedef struct {
    int share, shares;
} bpt_attention_share_t;

// The call as one head sees it: all parts start at its first column.
bpt_attention_t bpt_attention_of_head(const bpt_attention_t *all, int head);
// Unit number `index` of the call; keeps the memory of *unit.
void bpt_attention_begin_unit(const bpt_attention_plan_t *p, int64_t index, bpt_attention_unit_t *unit);
int64_t bpt_attention_chunks(const bpt_attention_unit_t *unit);
// Clears what no query or key will write.
void bpt_attention_open_unit(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_share_t s);
// All queries of a chunk's leaves, and the spans that end there, of heads side by side. The gradient of the table is added to the
// group's, or with several chunks to be merged.
void bpt_attention_run_chunk(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_work_t *w, int heads, int64_t chunk);
// What needs all chunks of the unit.
void bpt_attention_close_unit(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_work_t *w);

// ---- Keys ------------------------------------------------------------------------------------------------------------

// The rows of the ring for a bucket, and of a chunk's border: base and mask of every level are set.
int64_t bpt_attention_layout_ring(const bpt_attention_t *a, bpt_attention_ring_t *ring);
int64_t bpt_attention_border_rows(const bpt_attention_t *a);
// The rows of a unit's sums that chunks share.
int64_t bpt_attention_shared_rows(const bpt_attention_t *a);
// The ring's sums are zero before the first chunk, and after every chunk.
void bpt_attention_clear_sums(const bpt_attention_plan_t *p, bpt_attention_work_t *w);
// The ring and the border of a chunk of leaves; then the rings of heads side by side for leaves [begin, end) of it, from left to right;
// then the last rows.
void bpt_attention_begin_keys(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t chunk);
void bpt_attention_move_keys(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                             bpt_attention_work_t *w, int heads, int64_t begin, int64_t end);
void bpt_attention_end_keys(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                            bpt_attention_work_t *w, int heads);

// ---- Sums of the gradient --------------------------------------------------------------------------------------------

// The sum of the table's gradient of a unit's group, NULL without a table or in the forward pass.
float *bpt_attention_group_table(const bpt_attention_plan_t *p, int64_t sequence, int head);
// Adds a chunk's part of what several chunks touch to the unit's sums, a share of the rows; in the order of the chunks. A sequence of
// one chunk has nothing to merge.
void bpt_attention_merge_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              const bpt_attention_work_t *w, bpt_attention_share_t s);
// Writes the merged sums of keys and values, a share of the chunks.
void bpt_attention_write_sums(const bpt_attention_plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit,
                              bpt_attention_share_t s);

// ---- Kind TABLE ------------------------------------------------------------------------------------------------------

// Whether a row is part of a tile.
static inline bool bpt_attention_is_tiled(const uint8_t *tiles, int64_t row) { return tiles && tiles[row / BPT_TILE]; }
// Keys that a query reads, or queries that a key is read by.
int64_t bpt_attention_edges(const bpt_attention_t *a, bool of_key, int64_t row);

// A thread's scratch for rows.
float *bpt_attention_row_room(const bpt_attention_plan_t *p, int thread);
// All of the call.
void bpt_attention_run_table(const bpt_attention_plan_t *p);
// One head of the tile of rows [first, end), with the rows of the other side.
void bpt_attention_run_tile(const bpt_attention_plan_t *p, const bpt_attention_t *a, bpt_table_walk_t *w, int64_t first, int64_t end);
// A thread's scratch, made ready for a pass over one head.
bpt_table_walk_t *bpt_attention_open_table(const bpt_attention_plan_t *p, int thread, bpt_attention_pass_t pass, int head);
// The gradient by islands; false, and nothing done, where the table is not made of dense ones.
bool bpt_attention_run_islands(const bpt_attention_plan_t *p);
// The gradient with relative positions, which goes over the queries alone.
void bpt_attention_run_relative(const bpt_attention_plan_t *p);
// Its rows that are in no tile, one by one: of the output, of dq, of dk and dv.
void bpt_attention_run_rows(const bpt_attention_plan_t *p, bpt_attention_pass_t pass);

#endif
