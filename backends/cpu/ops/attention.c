// attention, attention_grad: the call cut into pieces of work, scratch, threads. The arithmetic is in kernels/attention_*.c.
//
// A unit is one head of one sequence: its keys and values are gathered head-major, then its queries run over the leaves from left to
// right. With at least as many units as threads, a thread takes whole units; with fewer, long sequences are cut into chunks. The
// cuts and the order of all sums depend on the shapes alone, so the result does not depend on the number of threads.
#include <omp.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels/attention.h"
#include "bpt/rng.h"

enum {
    MAX_GROUPS = 128,   // groups of units with an own sum of the table's gradient
    PIECE_ROWS = 2048,  // rows of one piece of packing and adding up
    ROW_PIECES = 64,    // kind TABLE: most pieces of a query's keys, and least keys of a piece
    ROW_PIECE_KEYS = 2048,
};

// The call and its scratch.
typedef struct {
    bpt_attention_t a;
    const bpt_cpu_kernels_t *k;
    bool grad;
    int threads;
    int64_t units, groups, areas;  // areas: units in work at the same time
    int64_t chunks;                // of the longest possible sequence
    int64_t sum_rows;              // of a thread's private sums, 0: none
    bpt_attention_unit_t *unit;    // [areas]
    bpt_attention_work_t *work;    // [threads]
    float **means;                 // [areas], workspace of the mean kernels
    float *rel, *drel;             // [rel_rows][columns]; [groups] of them
    float *row_q, *row_parts;      // kind TABLE: [threads][heads][columns]; [threads or pieces][heads][columns + 2]
} plan_t;

// Cuts scratch into pieces; with memory NULL only the sizes are counted.
typedef struct {
    char *memory;
    size_t used;
} cursor_t;

static void *take(cursor_t *cursor, int64_t count, size_t size) {
    const size_t offset = cursor->used;
    cursor->used += ((size_t)count * size + 63) / 64 * 64;
    return cursor->memory ? cursor->memory + offset : NULL;
}
static float *take_floats(cursor_t *cursor, int64_t count) { return take(cursor, count, sizeof(float)); }

static bpt_attention_part_t part_of(const bpt_operand_t *operand, void *data, int64_t column) {
    if (!data) return (bpt_attention_part_t){0};
    return (bpt_attention_part_t){(char *)data + (size_t)column * bpt_dtype_size(operand->dtype), operand->dtype,
                                  bpt_shape_columns(&operand->shape)};
}

// What the call asks for; operands of a run (NULL: only the sizes are wanted).
static void resolve(plan_t *p, const bpt_op_call_t *call, const bpt_host_run_t *run) {
    const bpt_attention_attrs_t *t = &call->attrs.attention;
    const int64_t d = (int64_t)t->heads * t->head_dim;
    bpt_attention_t *a = &p->a;
    *a = (bpt_attention_t){.t = t, .n = t->graph.n, .columns = bpt_cpu_blocks(t->head_dim, BPT_TILE) * BPT_TILE};
    a->tree = t->graph.kind == BPT_GRAPH_BPT || t->graph.kind == BPT_GRAPH_SEGTREE;
    if (t->graph.kind != BPT_GRAPH_TABLE) a->nodes = bpt_node_count(&t->graph), a->other = a->nodes - a->n;
    a->mean_spans = t->zero_spans && t->queries == BPT_QUERIES_ALL && t->p <= 0 && a->other > 0;
    a->rel_rows = call->in[2].present ? bpt_shape_rows(&call->in[2].shape) : 0;
    a->threshold = bpt_dropout_threshold(t->p), a->inverse = 1 / (1 - t->p);
    p->grad = call->op == BPT_OP_ATTENTION_GRAD;
    if (!run) return;
    void *const *in = run->in, *const *out = run->out;
    const int kv = t->packed ? 0 : 1;
    a->q = part_of(&call->in[0], in[0], 0);
    a->k = part_of(&call->in[kv], in[kv], t->packed ? d : 0);
    a->v = part_of(&call->in[kv], in[kv], t->packed ? 2 * d : d);
    a->lengths = in[3], a->row_keys = in[4], a->rng = in[5], a->table = in[6];
    a->slots = a->table ? call->in[6].shape.dim[1] : 0;
    a->out = p->grad ? part_of(&call->in[7], in[7], 0) : part_of(&call->out[0], out[0], 0);
    a->lse = p->grad ? in[9] : out[1];
    if (!p->grad) return;
    a->dout = part_of(&call->in[8], in[8], 0);
    a->dq = part_of(&call->out[0], out[0], 0);
    a->dk = part_of(&call->out[kv], out[kv], t->packed ? d : 0);
    a->dv = part_of(&call->out[kv], out[kv], t->packed ? 2 * d : d);
}

// ---- Scratch ---------------------------------------------------------------------------------------------------------

static int64_t key_rows(const bpt_attention_t *a) { return a->tree && !a->t->zero_spans ? a->nodes : a->n; }

// The range of keys (and of spans that read themselves) that queries [begin, end) touch.
static void range_of(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end, bpt_attention_range_t *r) {
    const bpt_intervals_t *graph = &a->t->graph;
    const int64_t reach = a->tree                           ? 2 * (graph->kind == BPT_GRAPH_SEGTREE ? 1 : (int64_t)graph->k) + 3
                          : graph->kind == BPT_GRAPH_WINDOW ? graph->window
                                                            : unit->length;
    r->levels = a->tree && !a->t->zero_spans ? unit->levels : 1;
    r->rows = 0;
    for (int j = 0; j < r->levels; ++j) {
        const int64_t size = (unit->length + ((int64_t)1 << j) - 1) >> j, low = (begin >> j) - reach;
        r->low[j] = low > 0 ? low : 0;
        r->high[j] = bpt_cpu_min(size, ((end - 1) >> j) + 1 + (graph->causal ? 0 : reach));
        r->base[j] = r->rows - r->low[j];
        r->rows += r->high[j] - r->low[j];
    }
}

// Most rows of range_of for a chunk of a bucket.
static int64_t chunk_rows(const bpt_attention_t *a) {
    const bpt_intervals_t *graph = &a->t->graph;
    if (!a->tree) return graph->kind == BPT_GRAPH_WINDOW ? bpt_cpu_min(a->n, BPT_ATTENTION_CHUNK + 2 * (int64_t)graph->window) : a->n;
    int64_t rows = 0;
    for (int j = 0; j < (a->t->zero_spans ? 1 : bpt_levels(a->n)); ++j)
        rows += bpt_cpu_min(bpt_level_size(a->n, j),
                            (BPT_ATTENTION_CHUNK >> j) + 4 * (graph->kind == BPT_GRAPH_SEGTREE ? 1 : (int64_t)graph->k) + 8);
    return rows;
}

static void layout_work(plan_t *p, cursor_t *cursor, bpt_attention_work_t *w) {
    const bpt_attention_t *a = &p->a;
    const int64_t tile = BPT_TILE * a->columns, lanes = BPT_ATTENTION_LANES * a->columns;
    const int64_t keys = (a->tree ? bpt_attention_tile_keys(a) : BPT_ATTENTION_KEYS) + BPT_ATTENTION_SLACK;
    const int64_t rel = (a->tree ? a->rel_rows : BPT_ATTENTION_KEYS + BPT_TILE) + BPT_ATTENTION_SLACK;
    bpt_attention_work_t x;
    memset(&x, 0, sizeof x);
    x.q = take_floats(cursor, tile), x.qt = take_floats(cursor, tile), x.out = take_floats(cursor, tile);
    x.walk.q = take_floats(cursor, lanes), x.walk.qt = take_floats(cursor, lanes), x.walk.out = take_floats(cursor, lanes);
    x.raw = take_floats(cursor, keys * BPT_TILE), x.score = take_floats(cursor, keys * BPT_TILE);
    x.tile.keys = take(cursor, keys, sizeof *x.tile.keys), x.order = take(cursor, keys, sizeof *x.order);
    if (a->rel_rows) x.rel_score = take_floats(cursor, rel * BPT_TILE), x.tile.rel = take(cursor, rel, sizeof *x.tile.rel);
    if (p->grad) {
        x.dout = take_floats(cursor, tile), x.doutt = take_floats(cursor, tile), x.outt = take_floats(cursor, tile);
        x.walk.dout = take_floats(cursor, lanes), x.walk.doutt = take_floats(cursor, lanes);
        x.product = take_floats(cursor, keys * BPT_TILE);
        x.sum_row = take(cursor, keys, sizeof *x.sum_row);
        x.own_dk = take_floats(cursor, p->sum_rows * a->columns), x.own_dv = take_floats(cursor, p->sum_rows * a->columns);
        x.own_drel = take_floats(cursor, p->sum_rows ? a->rel_rows * a->columns : 0);
    }
    if (w) {
        *w = x;
        memset(w->walk.q, 0, (size_t)lanes * sizeof(float)), memset(w->walk.qt, 0, (size_t)lanes * sizeof(float));
        memset(w->walk.out, 0, (size_t)lanes * sizeof(float));
        if (p->grad) memset(w->walk.dout, 0, (size_t)lanes * sizeof(float)), memset(w->walk.doutt, 0, (size_t)lanes * sizeof(float));
    }
}

static void layout_rows(plan_t *p, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    p->rel = take_floats(cursor, a->rel_rows * a->columns);
    p->row_q = take_floats(cursor, p->threads * a->t->heads * a->columns);
    p->row_parts = take_floats(cursor, (p->threads > ROW_PIECES ? p->threads : ROW_PIECES) * a->t->heads * (a->columns + 2));
}

static void layout(plan_t *p, int threads, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    p->threads = threads;
    if (a->t->graph.kind == BPT_GRAPH_TABLE) {
        layout_rows(p, cursor);
        return;
    }
    p->units = a->t->batch * a->t->heads;
    p->groups = bpt_cpu_min(p->units, MAX_GROUPS);
    p->areas = bpt_cpu_min(p->units, threads);
    p->chunks = bpt_cpu_blocks(a->n, BPT_ATTENTION_CHUNK);
    p->sum_rows = p->grad && p->chunks > 1 ? chunk_rows(a) : 0;
    p->rel = take_floats(cursor, a->rel_rows * a->columns);
    p->drel = take_floats(cursor, p->grad ? p->groups * a->rel_rows * a->columns : 0);
    p->unit = take(cursor, p->areas, sizeof *p->unit);
    p->means = take(cursor, p->areas, sizeof *p->means);
    p->work = take(cursor, threads, sizeof *p->work);
    for (int64_t i = 0; i < p->areas; ++i) {
        const int64_t floats = key_rows(a) * a->columns;
        bpt_attention_unit_t u = {.k = take_floats(cursor, floats), .v = take_floats(cursor, floats)};
        if (p->grad) u.dk = take_floats(cursor, floats), u.dv = take_floats(cursor, floats);
        if (p->chunks > 1) u.spans = take_floats(cursor, p->chunks * BPT_ATTENTION_LANES * (a->columns + 2));
        float *means = take_floats(cursor, a->mean_spans ? a->other * a->columns : 0);
        if (cursor->memory) p->unit[i] = u, p->means[i] = means;
    }
    for (int i = 0; i < threads; ++i) layout_work(p, cursor, cursor->memory ? &p->work[i] : NULL);
}

static bpt_status_t plan(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    plan_t p = {0};
    cursor_t cursor = {0};
    resolve(&p, call, NULL);
    if (p.a.nodes > INT32_MAX || (p.a.tree && p.a.t->graph.k > INT32_MAX / 8))
        return bpt_fail(BPT_ERR_UNSUPPORTED, "attention over %lld nodes with k = %d is beyond the cpu backend", (long long)p.a.nodes,
                        (int)p.a.t->graph.k);
    layout(&p, threads, &cursor);
    *scratch_bytes = cursor.used;
    return BPT_OK;
}

bpt_status_t bpt_cpu_plan_ATTENTION(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    return plan(call, threads, scratch_bytes);
}
bpt_status_t bpt_cpu_plan_ATTENTION_GRAD(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    return plan(call, threads, scratch_bytes);
}

static void begin(plan_t *p, const bpt_host_run_t *run) {
    cursor_t cursor = {.memory = run->scratch};
    resolve(p, run->call, run);
    layout(p, run->threads, &cursor);
    p->k = bpt_cpu_kernels();
    if (!p->a.rel_rows) return;
    const bpt_attention_part_t table = part_of(&run->call->in[2], run->in[2], 0);
    p->k->attention_read(&table, 0, p->a.rel_rows, p->a.t->head_dim, p->a.columns, p->rel);
    p->a.rel = p->rel;
}

// ---- Units -----------------------------------------------------------------------------------------------------------

static void move_part(bpt_attention_part_t *part, int64_t elements) {
    if (part->data) part->data = (char *)part->data + (size_t)elements * bpt_dtype_size(part->dtype);
}

// The call as one head sees it: all parts start at its first column.
static bpt_attention_t view_of_head(const bpt_attention_t *all, int head) {
    bpt_attention_t a = *all;
    bpt_attention_part_t *const parts[] = {&a.q, &a.k, &a.v, &a.out, &a.dout, &a.dq, &a.dk, &a.dv};
    for (size_t i = 0; i < BPT_COUNT(parts); ++i) move_part(parts[i], (int64_t)head * a.t->head_dim);
    return a;
}

static void begin_unit(const plan_t *p, int64_t index, bpt_attention_unit_t *unit) {
    const bpt_attention_t *a = &p->a;
    unit->sequence = index / a->t->heads, unit->head = (int)(index % a->t->heads);
    unit->length = a->lengths[unit->sequence];
    unit->levels = bpt_levels(unit->length);
    for (int j = 0; j <= BPT_MAX_LEVELS; ++j) unit->first[j] = a->tree && j < bpt_levels(a->n) ? bpt_level_offset(a->n, j) : a->nodes;
    unit->first[0] = 0;
}

static int64_t chunk_count(const bpt_attention_unit_t *unit) { return bpt_cpu_blocks(unit->length, BPT_ATTENTION_CHUNK); }

// The lanes of the walk: one per level above the tiles, or only the root.
static void begin_walk(const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_walk_t *walk) {
    walk->n = 0, walk->low = false;
    if (a->t->queries == BPT_QUERIES_LEAVES || a->mean_spans) return;
    if (!a->tree) {
        if (a->other) walk->level[walk->n++] = BPT_ATTENTION_WHOLE;
    } else if (a->t->queries == BPT_QUERIES_ROOTS) {
        walk->level[walk->n++] = unit->levels - 1;
    } else {
        walk->low = unit->levels > 1;
        for (int level = BPT_ATTENTION_LOW + 1; level < unit->levels; ++level) walk->level[walk->n++] = level;
    }
    memset(walk->max, 0, sizeof walk->max), memset(walk->sum, 0, sizeof walk->sum), memset(walk->constant, 0, sizeof walk->constant);
    memset(walk->delta, 0, sizeof walk->delta), memset(walk->score_sum, 0, sizeof walk->score_sum);
    for (int lane = 0; lane < BPT_ATTENTION_LANES; ++lane) walk->lse[lane] = 1e30f;  // lanes not in use: weights 0
    memset(walk->code, 0, sizeof walk->code), memset(walk->sequence, 0, sizeof walk->sequence);
}

static void run_chunk(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t chunk) {
    const bpt_cpu_kernels_t *k = p->k;
    void (*const leaves)(const bpt_attention_t *, const bpt_attention_unit_t *, bpt_attention_work_t *, int64_t) =
        p->grad   ? (a->tree ? k->attention_leaves_grad : k->attention_dense_grad)
        : a->tree ? k->attention_leaves
                  : k->attention_dense;
    void (*const spans)(const bpt_attention_t *, const bpt_attention_unit_t *, bpt_attention_work_t *, int64_t) =
        p->grad ? k->attention_spans_grad : k->attention_spans;
    const int64_t begin = chunk * BPT_ATTENTION_CHUNK, end = bpt_cpu_min(unit->length, begin + BPT_ATTENTION_CHUNK);
    begin_walk(a, unit, &w->walk);
    for (int64_t leaf = begin; leaf < end; leaf += BPT_ATTENTION_BLOCK) {
        for (int64_t i = leaf; a->t->queries != BPT_QUERIES_ROOTS && i < leaf + BPT_ATTENTION_BLOCK && i < end; i += BPT_TILE)
            leaves(a, unit, w, i);
        if (w->walk.low || w->walk.n) spans(a, unit, w, leaf);
    }
}

// Calls `visit` for the nodes [begin, end) of the unit that exist (or do not), in pieces; a share of them for each thread that helps.
typedef void visit_t(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end);
typedef struct {
    int share, shares;
} share_t;
static void visit_nodes(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, share_t s, bool exist, bool others,
                        visit_t *visit) {
    int64_t piece = 0;
    for (int j = 0; j < (others && a->tree ? bpt_levels(a->n) : 1); ++j) {
        const int64_t first = unit->first[j], middle = first + (j < unit->levels ? (unit->length + ((int64_t)1 << j) - 1) >> j : 0);
        const int64_t end = exist ? middle : first + bpt_level_size(a->n, j);
        for (int64_t begin = exist ? first : middle; begin < end; begin += PIECE_ROWS)
            if (piece++ % s.shares == s.share) visit(p, a, unit, begin, bpt_cpu_min(end, begin + PIECE_ROWS));
    }
}

static void zero_rows(const bpt_attention_part_t *part, int64_t row, int64_t rows, int64_t head_dim) {
    const size_t size = bpt_dtype_size(part->dtype);
    for (int64_t i = row; i < row + rows; ++i) memset((char *)part->data + (size_t)(i * part->stride) * size, 0, (size_t)head_dim * size);
}

static void zero_queries(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    const int64_t row = bpt_attention_row(a, unit->sequence, begin);
    if (p->grad) {
        if (bpt_attention_query_row(a, unit->sequence, begin) >= 0) zero_rows(&a->dq, row, end - begin, a->t->head_dim);
        return;
    }
    zero_rows(&a->out, row, end - begin, a->t->head_dim);
    for (int64_t i = row; a->lse && i < row + end - begin; ++i) a->lse[i * a->t->heads + unit->head] = 0;
}
static void zero_keys(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    (void)p;
    const int64_t row = bpt_attention_row(a, unit->sequence, begin);
    zero_rows(&a->dk, row, end - begin, a->t->head_dim);
    zero_rows(&a->dv, row, end - begin, a->t->head_dim);
}
static void zero_sums(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    (void)p;
    memset(unit->dk + begin * a->columns, 0, (size_t)((end - begin) * a->columns) * sizeof(float));
    memset(unit->dv + begin * a->columns, 0, (size_t)((end - begin) * a->columns) * sizeof(float));
}
static void pack(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    p->k->attention_pack(a, unit, begin, end);
}
static void unpack(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    p->k->attention_unpack(a, unit, begin, end);
}

static bool spans_have_keys(const bpt_attention_t *a) { return a->tree && !a->t->zero_spans; }

// Gathers keys and values, clears what is summed and what no query or key will write.
static void open_unit(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, share_t s) {
    const bool spans = spans_have_keys(a);
    visit_nodes(p, a, unit, s, true, spans, pack);
    if (a->t->queries != BPT_QUERIES_ROOTS) visit_nodes(p, a, unit, s, false, a->t->queries == BPT_QUERIES_ALL, zero_queries);
    if (!p->grad) return;
    visit_nodes(p, a, unit, s, true, spans, zero_sums);
    visit_nodes(p, a, unit, s, false, spans, zero_keys);
    if (!a->tree && a->other && !a->t->zero_spans && s.share == 0) zero_keys(p, a, unit, a->n, a->n + 1);  // nobody reads a virtual root
}

// What needs all chunks of the unit.
static void close_unit(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, float *means) {
    begin_walk(a, unit, &w->walk);
    if (chunk_count(unit) > 1) {
        if (p->grad)
            p->k->attention_spans_grad_merge(a, unit, w);
        else
            p->k->attention_spans_merge(a, unit, w);
    }
    if (!a->mean_spans) return;
    if (p->grad)
        p->k->attention_mean_grad(a, unit, means);
    else
        p->k->attention_mean(a, unit, means);
}

// ---- Sums of the gradient --------------------------------------------------------------------------------------------

static float *group_table(const plan_t *p, int64_t index) {
    return p->a.rel_rows ? p->drel + index * p->groups / p->units * p->a.rel_rows * p->a.columns : NULL;
}

// A sequence of one chunk sums into the unit's rows and the group's table directly. With several, each chunk sums into the
// thread's own rows, which are added to the unit's in the order of the chunks.
static void begin_sums(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, bpt_attention_work_t *w, int64_t chunk,
                       float *drel) {
    if (!p->grad) return;
    const int64_t begin = chunk * BPT_ATTENTION_CHUNK;
    if (chunk_count(unit) == 1) {
        w->dk = unit->dk, w->dv = unit->dv, w->drel = drel;
        w->range.levels = unit->levels;
        memcpy(w->range.base, unit->first, sizeof w->range.base);
        return;
    }
    w->dk = w->own_dk, w->dv = w->own_dv, w->drel = w->own_drel;
    range_of(a, unit, begin, bpt_cpu_min(unit->length, begin + BPT_ATTENTION_CHUNK), &w->range);
    memset(w->dk, 0, (size_t)(w->range.rows * a->columns) * sizeof(float));
    memset(w->dv, 0, (size_t)(w->range.rows * a->columns) * sizeof(float));
    memset(w->drel, 0, (size_t)(a->rel_rows * a->columns) * sizeof(float));
}

// Adds a chunk's sums to the unit's, a share of the rows.
static void merge_sums(const plan_t *p, const bpt_attention_t *a, const bpt_attention_unit_t *unit, const bpt_attention_work_t *w,
                       float *drel, share_t s) {
    const bpt_attention_range_t *r = &w->range;
    int64_t piece = 0;
    if (!p->grad || chunk_count(unit) == 1) return;
    for (int j = 0; j < r->levels; ++j)
        for (int64_t m = 0, next; m < r->high[j]; m = next) {
            next = m + PIECE_ROWS;  // the same pieces for every chunk
            const int64_t begin = m > r->low[j] ? m : r->low[j], end = bpt_cpu_min(next, r->high[j]);
            if (piece++ % s.shares != s.share || begin >= end) continue;
            const int64_t from = (r->base[j] + begin) * a->columns, to = (unit->first[j] + begin) * a->columns,
                          n = (end - begin) * a->columns;
            p->k->add(unit->dk + to, w->dk + from, BPT_F32, n);
            p->k->add(unit->dv + to, w->dv + from, BPT_F32, n);
        }
    if (s.share == 0) p->k->add(drel, w->drel, BPT_F32, a->rel_rows * a->columns);
}

// The table's gradient from the groups' sums.
static void sum_tables(const plan_t *p, float *out) {
    const bpt_attention_t *a = &p->a;
    for (int64_t row = 0; row < a->rel_rows; ++row)
        bpt_cpu_sum_partials(p->drel + row * a->columns, p->groups, a->rel_rows * a->columns, a->t->head_dim, out + row * a->t->head_dim);
}

// ---- Threads ---------------------------------------------------------------------------------------------------------

// A whole unit by one thread.
static void run_unit(const plan_t *p, int64_t index, bpt_attention_unit_t *unit, float *means, bpt_attention_work_t *w) {
    const share_t whole = {0, 1};
    begin_unit(p, index, unit);
    const bpt_attention_t a = view_of_head(&p->a, unit->head);
    float *drel = p->grad ? group_table(p, index) : NULL;
    open_unit(p, &a, unit, whole);
    for (int64_t chunk = 0; chunk < chunk_count(unit); ++chunk) {
        begin_sums(p, &a, unit, w, chunk, drel);
        run_chunk(p, &a, unit, w, chunk);
        merge_sums(p, &a, unit, w, drel, whole);
    }
    close_unit(p, &a, unit, w, means);
    if (p->grad) visit_nodes(p, &a, unit, whole, true, spans_have_keys(&a), unpack);
}

static void run_groups(const plan_t *p) {
    if (p->units == 0) return;
#pragma omp parallel for num_threads((int)p->areas) schedule(dynamic)
    for (int64_t group = 0; group < p->groups; ++group) {
        const int me = omp_get_thread_num();
        const int64_t begin = bpt_cpu_blocks(group * p->units, p->groups), end = bpt_cpu_blocks((group + 1) * p->units, p->groups);
        if (p->grad && p->a.rel_rows) memset(group_table(p, begin), 0, (size_t)(p->a.rel_rows * p->a.columns) * sizeof(float));
        for (int64_t i = begin; i < end; ++i) run_unit(p, i, &p->unit[me], p->means[me], &p->work[me]);
    }
}

// Piece number `index` of all units: chunk by chunk, so that pieces of the same size come together. False after the last one.
static bool find_piece(const plan_t *p, int64_t index, int64_t *unit, int64_t *chunk) {
    for (*chunk = 0; *chunk < p->chunks; ++*chunk)
        for (*unit = 0; *unit < p->units; ++*unit)
            if (*chunk < chunk_count(&p->unit[*unit]) && index-- == 0) return true;
    return false;
}

// Fewer units than threads: all units at once, in rounds of one chunk per thread.
static void run_pieces_of_thread(const plan_t *p, share_t s) {
    for (int64_t i = s.share; i < p->units; i += s.shares) {
        begin_unit(p, i, &p->unit[i]);
        if (p->grad && p->a.rel_rows) memset(group_table(p, i), 0, (size_t)(p->a.rel_rows * p->a.columns) * sizeof(float));
    }
#pragma omp barrier
    for (int64_t i = 0; i < p->units; ++i) {
        const bpt_attention_t a = view_of_head(&p->a, p->unit[i].head);
        open_unit(p, &a, &p->unit[i], s);
    }
#pragma omp barrier
    int64_t i, chunk;
    for (int64_t round = 0; find_piece(p, round * s.shares, &i, &chunk); ++round) {
        if (find_piece(p, round * s.shares + s.share, &i, &chunk)) {
            const bpt_attention_t a = view_of_head(&p->a, p->unit[i].head);
            begin_sums(p, &a, &p->unit[i], &p->work[s.share], chunk, p->grad ? group_table(p, i) : NULL);
            run_chunk(p, &a, &p->unit[i], &p->work[s.share], chunk);
        }
        if (!p->grad) continue;
#pragma omp barrier
        for (int other = 0; other < s.shares && find_piece(p, round * s.shares + other, &i, &chunk); ++other)
            merge_sums(p, &p->a, &p->unit[i], &p->work[other], group_table(p, i), s);
#pragma omp barrier
    }
#pragma omp barrier
    for (i = s.share; i < p->units; i += s.shares) {
        const bpt_attention_t a = view_of_head(&p->a, p->unit[i].head);
        close_unit(p, &a, &p->unit[i], &p->work[s.share], p->means[i]);
    }
#pragma omp barrier
    for (i = 0; p->grad && i < p->units; ++i) {
        const bpt_attention_t a = view_of_head(&p->a, p->unit[i].head);
        visit_nodes(p, &a, &p->unit[i], s, true, spans_have_keys(&a), unpack);
    }
}

static void run_units(const plan_t *p) {
    if (p->units >= p->threads || p->chunks == 1 || p->units > p->groups) {
        run_groups(p);
        return;
    }
#pragma omp parallel num_threads(p->threads)
    run_pieces_of_thread(p, (share_t){omp_get_thread_num(), omp_get_num_threads()});
}

void bpt_cpu_run_ATTENTION_GRAD(const bpt_host_run_t *run) {
    plan_t p = {0};
    begin(&p, run);
    run_units(&p);
    if (run->out[2]) sum_tables(&p, run->out[2]);
}

// ---- Kind TABLE ------------------------------------------------------------------------------------------------------

static int64_t keys_of_row(const bpt_attention_t *a, int64_t query) {
    const uint32_t *entry = a->table + query * a->slots * 4;
    int64_t keys = 0;
    for (int64_t s = 0; s < a->slots; ++s, entry += 4) keys += entry[1] > entry[0] ? entry[1] - entry[0] : 0;
    return keys;
}

// Keys of one piece of a query's list; it depends on the list alone.
static int64_t piece_keys(int64_t keys) {
    const int64_t even = bpt_cpu_blocks(bpt_cpu_blocks(keys, ROW_PIECES), BPT_ATTENTION_ROW_KEYS) * BPT_ATTENTION_ROW_KEYS;
    return even > ROW_PIECE_KEYS ? even : ROW_PIECE_KEYS;
}

static void run_rows(const plan_t *p, int64_t queries) {
    const bpt_attention_t *a = &p->a;
    const int64_t q_size = a->t->heads * a->columns, part_size = a->t->heads * (a->columns + 2);
#pragma omp parallel for num_threads(p->threads) schedule(dynamic)
    for (int64_t i = 0; i < queries; ++i) {  // queries of one piece
        const int64_t keys = keys_of_row(a, i);
        float *part = p->row_parts + omp_get_thread_num() * part_size;
        if (keys > piece_keys(keys)) continue;
        p->k->attention_row(a, i, 0, keys, p->row_q + omp_get_thread_num() * q_size, part);
        p->k->attention_row_write(a, i, 1, part);
    }
    for (int64_t i = 0; i < queries; ++i) {
        const int64_t keys = keys_of_row(a, i), piece = piece_keys(keys), pieces = bpt_cpu_blocks(keys, piece);
        if (pieces <= 1) continue;
#pragma omp parallel for num_threads(p->threads) schedule(dynamic)
        for (int64_t j = 0; j < pieces; ++j)
            p->k->attention_row(a, i, j * piece, bpt_cpu_min(keys, (j + 1) * piece), p->row_q + omp_get_thread_num() * q_size,
                                p->row_parts + j * part_size);
        p->k->attention_row_write(a, i, pieces, p->row_parts);
    }
}

void bpt_cpu_run_ATTENTION(const bpt_host_run_t *run) {
    plan_t p = {0};
    begin(&p, run);
    if (p.a.t->graph.kind == BPT_GRAPH_TABLE)
        run_rows(&p, bpt_shape_rows(&run->call->out[0].shape));
    else
        run_units(&p);
}
