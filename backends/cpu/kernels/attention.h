// What the attention kernels share with ops/attention*.c: the call with its operands resolved, one unit of work (a head of a sequence)
// and a thread's workspace. Knows nothing of vectors or threads.
//
// Inside a unit everything is f32 and head-major: a row of k, v, dk, dv has `columns` floats, head_dim rounded up to whole tile
// widths with zeros above. Only the rows are there that are read around the place of the walk (a pass over the leaves, from left to
// right), in a ring buffer that stays in the cache of a core. Scores of a tile are stored [key][query], 16 queries side by side: every
// vector operation works on 16 queries, whatever the instruction set.
#ifndef BPT_CPU_ATTENTION_H
#define BPT_CPU_ATTENTION_H

#include "bpt/ops.h"

enum {
    BPT_TILE = 16,               // queries of a tile
    BPT_ATTENTION_BLOCK = 32,    // leaves of one step of the walk
    BPT_ATTENTION_CHUNK = 8192,  // leaves of a piece of work; the cut of a sequence decides the order of sums, so it is fixed
    BPT_ATTENTION_KEYS = 256,    // keys of a block in dense and window graphs
    BPT_ATTENTION_LOW = 4,       // spans up to this level lie inside a tile of leaves
    BPT_ATTENTION_LANES = 32,    // most spans that a leaf has above that level, in whole tiles
    BPT_ATTENTION_WHOLE = 62,    // level of a virtual root in the walk: one span of all leaves
    BPT_ATTENTION_GROUPS = BPT_TILE * BPT_MAX_SLOTS,
    BPT_ATTENTION_SIDE = 4,       // most heads that a thread walks through side by side
    BPT_ATTENTION_SLACK = 8,      // score arrays: products are computed for up to 8 keys at a time
    BPT_ATTENTION_ROW_KEYS = 64,  // keys of a block of single queries (tables)
    BPT_ATTENTION_SEGMENTS = 32,  // runs of one slot in a block of a tile's list (tables)
};

// One part (q, k, ..) of a tensor F: element (row, column) is number row * stride + column. data NULL: absent. stream: heads are whole
// cache lines of a tensor that caches do not hold, written past them.
typedef struct {
    int first, end;
} bpt_attention_heads_t;

typedef struct {
    void *data;
    bpt_dtype_t dtype;
    int64_t stride;
    bool stream;
} bpt_attention_part_t;

typedef struct {
    const bpt_attention_attrs_t *t;
    int64_t n, other, nodes;  // of a bucket: leaves, other nodes, all
    int64_t columns, rel_rows;
    bool tree;       // spans over the leaves
    bool lists;      // leaf queries go by key lists; else by blocks of a window of leaves
    bool span_self;  // spans read themselves
    int parts;       // of the graph, see bpt/intervals.h: parts, reach, rows of a block of the table
    int64_t reach, block_rows;
    int span_shift;   // levels of spans have every 2^span_shift-th one; key rows and tiles count places (bpt_attention_place)
    bool mean_spans;  // span outputs are plain means: zero_spans, all queries, no dropout
    bpt_attention_part_t q, k, v, out, dout, dq, dk, dv;
    float *lse;        // [query rows, heads]; NULL: not wanted
    const float *rel;  // [rel_rows][columns]; NULL: none
    const uint32_t *lengths, *row_keys, *rng;
    uint32_t threshold;  // of dropout
    float inverse;
    const uint32_t *table, *back;  // of a table: [query rows, slots, 4]; [key rows, back_slots, 2]
    int64_t slots, back_slots;
    const uint32_t *key_codes;  // [key rows]
    const float *dots;          // dout . out [query rows, heads]
} bpt_attention_t;

// Keys that some leaves (and their spans) touch: places [low[j], high[j]) of every level.
typedef struct {
    int levels;
    int64_t low[BPT_MAX_LEVELS], high[BPT_MAX_LEVELS];
} bpt_attention_range_t;

// The key rows in use: place m of level j lies in row base[j] + (m & mask[j]) while begin[j] <= m < end[j].
typedef struct {
    int64_t base[BPT_MAX_LEVELS], mask[BPT_MAX_LEVELS], begin[BPT_MAX_LEVELS], end[BPT_MAX_LEVELS], rows;
    float *k, *v, *dk, *dv;  // [rows][columns]; behind those of k as many as a tile has whole keys
} bpt_attention_ring_t;

// Which rows of dk and dv are a chunk's alone, and its part of the others. In the order of the chunks: rows [low, own_low) of `range`
// were met in chunks before, rows [own_high, high) are met here for the first time and again later.
typedef struct {
    int64_t chunk;
    bpt_attention_range_t range;
    int64_t own_low[BPT_MAX_LEVELS], own_high[BPT_MAX_LEVELS], base[BPT_MAX_LEVELS];
    float *dk, *dv;  // node (j,m) in row base[j] + m; NULL: there is but one chunk
} bpt_attention_border_t;

// One head of one sequence.
typedef struct {
    int64_t sequence, length;
    int head, levels;                   // of the true length
    int64_t first[BPT_MAX_LEVELS + 1];  // node numbers of the bucket's levels
    int64_t size[BPT_MAX_LEVELS + 1];   // nodes of a level that the bucket has and that exist; 0 above the last level
    float *dk, *dv;                     // sums of rows that chunks share: [rows][columns]
    float *spans;                       // parts of spans longer than a chunk: [chunk][lane][columns + 2]
    float *means;                       // when span outputs are plain means: [spans of the whole tree of the bucket][columns]
} bpt_attention_unit_t;

// Queries of consecutive lanes that read the same keys: entries key .. of the tile's key list, with entries rel, rel + step, .. of its
// list of table rows (rel -1: none).
typedef struct {
    int32_t key, keys, rel, step, lane, lanes;
} bpt_attention_group_t;

// Leaf queries [first, end), at most 16, and in trees their key lists: the union of their intervals, nearest level first. The same for
// all heads. Most high spans are read by all 16 queries, each at one distance: q . k + q . rel is q . (k + rel) then, and so are the
// gradients. These whole keys come last, in no group, and their sums of two rows lie behind the ring's rows of k.
typedef struct {
    int64_t first, end;
    int32_t n_keys, n_leaves, n_rel, n_groups;  // n_leaves: how many of the keys (the first ones) are leaves
    int32_t n_grouped;                          // keys before the whole ones
    int32_t *keys, *row, *rel;                  // node numbers; their rows in the ring; rows of the table that groups use
    int32_t *sum_row, *key_rel;                 // rows of k for products with queries; of the table, for whole keys
    bpt_attention_group_t *group;               // as many as 16 queries have ranges
} bpt_cpu_attention_tile_t;

// Span queries during the walk over the leaves: one lane per level, the ancestor of the current leaf. Only lanes [0, n) are in use.
typedef struct {
    int n, level[BPT_ATTENTION_LANES];
    bool low;  // also the spans inside a tile
    float max[BPT_ATTENTION_LANES], sum[BPT_ATTENTION_LANES], constant[BPT_ATTENTION_LANES];
    float lse[BPT_ATTENTION_LANES], delta[BPT_ATTENTION_LANES], score_sum[BPT_ATTENTION_LANES];
    uint32_t code[BPT_ATTENTION_LANES], sequence[BPT_ATTENTION_LANES];
    float *q, *out, *dout;  // [lane][columns]; out: the running output, or dq
    float *qt, *doutt;      // [tile of lanes][column][16]
} bpt_attention_walk_t;

// Workspace of a thread for one head; heads side by side share all but the walk, the sums and the keys. Score arrays have room for
// the longest key list.
typedef struct {
    bpt_cpu_attention_tile_t *tile;
    bpt_attention_walk_t walk;
    float *q, *qt, *dout, *doutt, *out, *outt;  // tiles [16][columns], transposed [columns][16]
    float *raw, *score, *product;               // [keys][16]
    float *rel_score;                           // [table rows in use][16]
    int32_t *order;                             // key list of dense blocks and of the walk
    int32_t *row;                               // their rows in the ring
    float *drel, *own_drel;                     // sum of the chunk, [rel_rows][columns], NULL without a table; memory for it
    bpt_attention_ring_t ring;
    bpt_attention_border_t border;
} bpt_attention_work_t;

// The place of node (level, m) among those that the level has; of a node that it has not, that of the one before.
static inline int64_t bpt_attention_place(const bpt_attention_t *a, int level, int64_t m) { return m >> (level ? a->span_shift : 0); }
// Row of place m of a level in the ring.
static inline int64_t bpt_attention_ring_row(const bpt_attention_ring_t *ring, int level, int64_t m) {
    return ring->base[level] + (m & ring->mask[level]);
}
// Row of a node in a tensor of all rows.
static inline int64_t bpt_attention_row(const bpt_attention_t *a, int64_t sequence, int64_t node) {
    return node < a->n ? sequence * a->n + node : a->t->batch * a->n + sequence * a->other + node - a->n;
}
// Row of a query in out, dout and lse, and where it is stored in q and dq (-1: it is zero and not stored).
static inline int64_t bpt_attention_out_row(const bpt_attention_t *a, int64_t sequence, int64_t node) {
    return a->t->queries == BPT_QUERIES_ROOTS ? sequence : bpt_attention_row(a, sequence, node);
}
static inline int64_t bpt_attention_query_row(const bpt_attention_t *a, int64_t sequence, int64_t node) {
    if (a->t->queries == BPT_QUERIES_ALL && a->t->zero_spans && node >= a->n) return -1;
    return bpt_attention_out_row(a, sequence, node);
}

// Kind TABLE: rows of one side, queries or keys, with the rows of the other side that they have an edge with.
typedef enum { BPT_ATTENTION_OUT, BPT_ATTENTION_DQ, BPT_ATTENTION_DKV } bpt_attention_pass_t;

// Rows of the other side, head-major, which stay from tile to tile: row r lies in number r & (rows - 1), if tag says so.
typedef struct {
    int64_t rows;
    int head;
    float *x, *y;          // what is read: k and v, or q and dout
    float *sum_x, *sum_y;  // their dk and dv, to which dq's pass adds; NULL: it does not
    uint32_t *tag;
    uint64_t *claim, block;  // block << 32 | row that took the place last
} bpt_attention_table_ring_t;

// One head of up to 16 neighbouring rows, and a block of what they have edges with: the union of the rows' ranges slot by slot, so that a
// row of the other side is in the list as often as its slots say. Scores are [row of the other side][lane].
typedef struct {
    bpt_attention_pass_t pass;
    int head, lanes;
    int64_t first;
    int32_t n, n_segments;
    struct {
        int32_t slot, at, n;  // entries at .. at + n - 1 of the block
        bool whole;           // all 16 lanes have them
    } segment[BPT_ATTENTION_SEGMENTS];
    uint32_t *other;  // [BPT_ATTENTION_KEYS] rows of the other side
    int32_t *row;     // their rows in the ring
    float max[BPT_TILE], sum[BPT_TILE], lse[BPT_TILE], delta[BPT_TILE];
    uint32_t code[BPT_TILE], sequence[BPT_TILE];  // row keys of the lanes' queries; codes of the lanes' keys
    float *x, *xt, *y, *yt;                       // q and dout, or k and v, of the lanes: [16][columns], and transposed
    float *out, *more;                            // [16][columns] out, dq or dk; dv
    float *score, *product;
    bpt_attention_table_ring_t ring;
} bpt_table_walk_t;

// The gradient of one head with relative positions, in work: q, dout and dq of a query [columns], and the sums of all queries so far, dk
// and dv [keys][columns], drel [rel_rows][columns].
typedef struct {
    float *q, *dout, *dq, *dk, *dv, *drel;
} bpt_attention_sums_t;

// Range number `slot` of a row: of keys that a query reads, or of queries that read a key.
static inline int64_t bpt_attention_range(const bpt_attention_t *a, bool of_key, int64_t row, int64_t slot, int64_t *begin) {
    const uint32_t *entry = of_key ? a->back + (row * a->back_slots + slot) * 2 : a->table + (row * a->slots + slot) * 4;
    *begin = entry[0];
    return entry[1] > entry[0] ? entry[1] : entry[0];
}

// The row of unit->means that a leaf gets for dv, NULL: the sequence has no span.
static inline const float *bpt_attention_mean_row(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t leaf) {
    if (!a->tree) return unit->means;
    return unit->size[1] > 0 ? unit->means + (leaf >> 1) * a->columns : NULL;
}

// Where the tile of leaf `first` ends: tiles are cut where the left intervals of the levels above them are.
int64_t bpt_attention_tile_end(const bpt_attention_t *a, int64_t first);
// The key lists of the tile's queries (ops/attention_tile.c).
void bpt_attention_tile(const bpt_attention_t *a, const bpt_attention_unit_t *unit, const bpt_attention_ring_t *ring,
                        bpt_cpu_attention_tile_t *tile);
// Longest key list and list of table rows that it makes.
int64_t bpt_attention_tile_keys(const bpt_attention_t *a);

#endif
