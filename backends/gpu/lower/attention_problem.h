// An attention call as its lowering sees it, shared by the files of that family: the call, or some of its sequences, with its operands as
// views; nodes that are worked on alike; tiles of leaves. Knows no API.
#ifndef BPT_GPU_LOWER_ATTENTION_PROBLEM_H
#define BPT_GPU_LOWER_ATTENTION_PROBLEM_H

#include "backends/gpu/lower/lower.h"
#include "bpt/intervals.h"
#include "cl/attention/calls.h"

enum {
    BPT_ATTENTION_SCORES = 1024,         // scores of a batch of keys of single queries, unless a head is very wide
    BPT_ATTENTION_MOST_HEADS = 32,       // heads that it takes
    BPT_ATTENTION_SUM_BYTES = 64 << 20,  // private sums of the gradient of relative positions, at least
};

typedef struct {
    bpt_lower_t *l;
    const bpt_attention_attrs_t *t;
    bpt_view_t in[BPT_MAX_INPUTS], out[BPT_MAX_OUTPUTS];
    int64_t batch;  // sequences
    int32_t graph[4];
    bool tree, table, span_rows;  // span_rows: spans read themselves, and have rows of the table of positions
    int64_t reach;                // of leaves, see bpt/intervals.h
    int64_t d, other, rel_rows;
    int64_t q_stride, kv_stride, k_offset;  // elements from row to row of q, and of k and v; where k begins in its row
    uint32_t calls, columns, scores, group_heads, head_groups;
} bpt_attention_problem_t;

// Nodes first .. first + nodes - 1 of every sequence (or its root), each in `parts` parts.
typedef struct {
    int64_t first, nodes;
    int64_t keys;              // most keys (or queries) of a node
    int64_t parts, part_keys;  // of a node
    double edges;              // of all sequences
    bool rel;                  // edges may have rows of the table
    int64_t level, tiles;      // by tiles: the first level, tiles of a sequence (of keys: of all its levels)
    bpt_view_t partial;
} bpt_attention_piece_t;

enum { BPT_ATTENTION_MAX_PIECES = BPT_MAX_LEVELS + 2 };

typedef struct {
    bpt_attention_piece_t piece[BPT_ATTENTION_MAX_PIECES];
    int count;
} bpt_attention_pieces_t;

enum {
    BPT_ATTENTION_BLOCK = 16,           // queries of a block, for kernels that go by blocks of queries
    BPT_ATTENTION_CODED_ENTRIES = 253,  // entries of a step that they count in a byte
};

// Private sums of the table's gradient, one for each head of a group of blocks.
typedef struct {
    bpt_view_t dots, sums;  // dout . out; not present: no table
    int64_t groups, turn;   // of blocks in a dispatch; blocks that each takes
} bpt_attention_shares_t;

// Are q, kv, rel and dout tensors of one 16-bit type whose rows can be read by 16 bytes, where heads are of a multiple of eight columns?
static inline bool bpt_lower_attention_by_eights(const bpt_attention_problem_t *a) {
    static const int inputs[] = {0, 1, 2, 8};
    for (size_t i = 0; i < BPT_COUNT(inputs); ++i) {
        const bpt_view_t *v = &a->in[inputs[i]];
        if (v->present && (v->dtype == BPT_F32 || v->dtype != a->in[0].dtype || v->offset_bytes % 16)) return false;
    }
    return true;
}

// Parameters and bindings that all kernels of queries and keys have.
#define BPT_ATTENTION_PARAMS(a)                                                                                              \
    .graph = (a)->graph[0], .n = (a)->graph[1], .reach = (a)->graph[2], .rel_levels = (a)->graph[3],                         \
    .leaf_rows = (uint32_t)((a)->batch * (a)->t->graph.n), .other = (uint32_t)(a)->other, .heads = (uint32_t)(a)->t->heads,  \
    .scale = (a)->t->scale, .inverse = 1 / (1 - (a)->t->p), .threshold = (a)->t->p > 0 ? bpt_lower_threshold((a)->t->p) : 0, \
    .uid = (a)->t->uid
// Strides and bits of the kernels for single queries, and for tiles.
#define BPT_ATTENTION_STRIDES(a, piece)                                                                                 \
    .head_dim = (uint32_t)(a)->t->head_dim, .q_stride = (uint32_t)(a)->q_stride, .kv_stride = (uint32_t)(a)->kv_stride, \
    .k_offset = (uint32_t)(a)->k_offset, .calls = bpt_lower_attention_calls(a, piece)
// And those of the kernels that take a block of queries.
#define BPT_ATTENTION_BLOCK_PARAMS(a, piece)                                                                                   \
    .calls = bpt_lower_attention_calls(a, piece), .head_dim = (uint32_t)(a)->t->head_dim, .n_tiles = (uint32_t)(piece)->tiles, \
    .level = (int32_t)(piece)->level, .parts = (uint32_t)(piece)->parts, .part_nodes = (int32_t)(piece)->part_keys
#define BPT_ATTENTION_INPUTS(k, a, kernel)            \
    do {                                              \
        (k).bindings[kernel##_q] = (a)->in[0];        \
        (k).bindings[kernel##_kv] = (a)->in[1];       \
        (k).bindings[kernel##_rel] = (a)->in[2];      \
        (k).bindings[kernel##_lengths] = (a)->in[3];  \
        (k).bindings[kernel##_row_keys] = (a)->in[4]; \
        (k).bindings[kernel##_rng] = (a)->in[5];      \
    } while (0)

// The call; refuses what no kernel can do.
bpt_attention_problem_t bpt_lower_attention_problem(bpt_lower_t *l);

// (attention_block.c) Rows of the table that a step of so many keys of a block uses, at most: of neighbouring keys as many as keys, and as
// ranges move from one row of the block to the next. Rounded up, so that problems that differ a little share kernels.
int64_t bpt_lower_attention_entries(const bpt_attention_problem_t *a, int64_t keys, int64_t ranges);

// Whether the blueprint of the device is that of blocks of queries.
static inline bool bpt_lower_attention_blocks_chosen(const bpt_attention_problem_t *a) {
    return a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_BLOCKS].kind == BPT_BLUEPRINT_BLOCK;
}

// The queries of the call, for groups that take `most` keys.
bpt_attention_pieces_t bpt_lower_attention_queries(const bpt_attention_problem_t *a, int64_t most);
// The same where leaves and spans go by tiles of so many lanes, whose groups take `part` nodes of what spans read; what goes one by one has
// no tiles.
bpt_attention_pieces_t bpt_lower_attention_query_tiles(const bpt_attention_problem_t *a, int64_t lanes, int64_t part, int64_t most);
// The stored keys, by tiles of `tile` nodes for groups that take `most` queries.
bpt_attention_pieces_t bpt_lower_attention_keys(const bpt_attention_problem_t *a, int64_t tile, int64_t most);
// The queries of a call over a table, or its keys, from row `first` on.
bpt_attention_pieces_t bpt_lower_attention_table_rows(const bpt_attention_problem_t *a, bool of_key, int64_t first, int64_t most);
// Bits of `calls` of the kernels that work on a piece.
static inline uint32_t bpt_lower_attention_calls(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece) {
    return a->calls | (a->rel_rows && piece->rel ? CALL_REL : 0);
}
// Nodes times parts of all sequences.
int64_t bpt_lower_attention_units(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece);
// Scratch for the partial results of all pieces with several parts.
void bpt_lower_attention_reserve(const bpt_attention_problem_t *a, bpt_attention_pieces_t *p, int64_t columns);

// Keys of a query, or queries of a key, that one work-group takes: few on a GPU, whose many groups wait for the longest.
static inline int64_t bpt_lower_attention_part(const bpt_attention_problem_t *a) { return bpt_lower_in_software(a->l) ? 1024 : 256; }

// Work-items of a group that takes single queries.
uint32_t bpt_lower_attention_group(const bpt_lower_t *l);

// Columns that one of the kernels attention_rows, attention_dq and attention_table_grad has room for beside so many scores.
int64_t bpt_lower_attention_most_columns(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel, int64_t scores);
// Of two arrays of scores, those that attention_table_grad has in the place of one.
uint32_t bpt_lower_attention_table_scores(uint32_t scores);

// Keys of a leaf, and queries of a leaf that are leaves, at most.
int64_t bpt_lower_attention_leaf_keys(const bpt_attention_problem_t *a);

// (attention_sums.c) Puts the parts of queries together; the same for the gradients of queries and of keys.
void bpt_lower_attention_merge(const bpt_attention_problem_t *a, const bpt_attention_pieces_t *queries);
void bpt_lower_attention_sums(const bpt_attention_problem_t *a, const bpt_attention_pieces_t *queries, const bpt_attention_pieces_t *keys);
// dout . out of every row and head, in scratch.
bpt_view_t bpt_lower_attention_dots(const bpt_attention_problem_t *a);

// (attention_rows.c) Queries of a piece one by one; their gradient.
void bpt_lower_attention_emit_rows(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece);
void bpt_lower_attention_emit_dq(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece,
                                 const bpt_attention_shares_t *shares);

// A call over a table, and its gradient (attention_table.c).
void bpt_lower_attention_table(const bpt_attention_problem_t *a, bool first);
void bpt_lower_attention_table_gradient(const bpt_attention_problem_t *a, bool first);

// A whole call, or a part of its sequences; `first`: the first part, which gives drel its value while later ones add to it.
typedef void (*bpt_attention_lowering_t)(const bpt_attention_problem_t *a, bool first);
// (attention_sums.c) By `way` where that can be, else by `others`.
void bpt_lower_attention_either(const bpt_attention_problem_t *a, bool first, bool possible, bpt_attention_lowering_t way,
                                bpt_attention_lowering_t others);
// Runs a lowering once, or where operands are larger than the device's bindings once for every window of sequences.
void bpt_lower_attention_windows(const bpt_attention_problem_t *a, bpt_attention_lowering_t run);

#endif
