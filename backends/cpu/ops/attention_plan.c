// An attention call resolved, and its scratch laid out.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"
#include "bpt/rng.h"

enum {
    MAX_GROUPS = 128,          // groups of units with an own sum of the table's gradient
    CACHE_BYTES = 640 * 1024,  // of keys and their gradients that a core's second cache should hold
    ISLAND_ROWS = 2048,        // most keys that an island of a table may have: what a thread has room for
    STREAM_BYTES = 16 << 20,   // of a tensor that caches do not hold until the next op
    LINE_BYTES = 64,
};

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

// The same part, written past the caches where that pays.
static bpt_attention_part_t part_to_write(const bpt_operand_t *operand, void *data, int64_t column, int head_dim) {
    bpt_attention_part_t part = part_of(operand, data, column);
    const int64_t size = (int64_t)bpt_dtype_size(part.dtype);
    part.stream = data && (uintptr_t)part.data % LINE_BYTES == 0 && part.stride * size % LINE_BYTES == 0 &&
                  head_dim * size % LINE_BYTES == 0 && bpt_shape_rows(&operand->shape) * part.stride * size >= STREAM_BYTES;
    return part;
}

// What the call asks for; operands of a run (NULL: only the sizes are wanted).
static void resolve(bpt_attention_plan_t *p, const bpt_op_call_t *call, const bpt_host_run_t *run) {
    const bpt_attention_attrs_t *t = &call->attrs.attention;
    const int64_t d = (int64_t)t->heads * t->head_dim;
    bpt_attention_t *a = &p->a;
    *a = (bpt_attention_t){.t = t, .n = t->graph.n, .columns = bpt_cpu_blocks(t->head_dim, BPT_TILE) * BPT_TILE};
    a->tree = bpt_intervals_has_spans(&t->graph), a->lists = !bpt_intervals_is_window(&t->graph);
    a->span_self = bpt_intervals_spans_read_themselves(&t->graph);
    a->parts = bpt_intervals_parts(&t->graph), a->reach = bpt_intervals_reach(&t->graph);
    if (!call->in[6].present) a->nodes = bpt_node_count(&t->graph), a->other = a->nodes - a->n;
    a->span_shift = bpt_tree_level_step(&t->graph, 1) == 2;
    a->mean_spans = t->zero_spans && t->queries == BPT_QUERIES_ALL && t->p <= 0 && a->other > 0;
    a->rel_rows = call->in[2].present ? bpt_shape_rows(&call->in[2].shape) : 0;
    a->block_rows = bpt_intervals_block_rows(&t->graph);
    if (a->block_rows == 0 && a->rel_rows) a->block_rows = a->rel_rows - 1;  // all rows but the first one are one block
    a->threshold = bpt_dropout_threshold(t->p), a->inverse = 1 / (1 - t->p);
    p->grad = call->op == BPT_OP_ATTENTION_GRAD;
    p->queries = bpt_shape_rows(&call->in[0].shape), p->keys = bpt_shape_rows(&call->in[1].shape);
    p->by_table = call->in[6].present;
    p->by_tiles = p->by_table && !call->in[2].present && (p->grad || call->out[1].present || call->in[10].present);
    if (!run) return;
    void *const *in = run->in, *const *out = run->out;
    const int kv = t->packed ? 0 : 1;
    a->q = part_of(&call->in[0], in[0], 0);
    a->k = part_of(&call->in[kv], in[kv], t->packed ? d : 0);
    a->v = part_of(&call->in[kv], in[kv], t->packed ? 2 * d : d);
    a->lengths = in[3], a->row_keys = in[4], a->rng = in[5], a->table = in[6], a->back = in[10], a->key_codes = in[11];
    a->slots = a->table ? call->in[6].shape.dim[1] : 0, a->back_slots = a->back ? call->in[10].shape.dim[1] : 0;
    a->out = p->grad ? part_of(&call->in[7], in[7], 0) : part_to_write(&call->out[0], out[0], 0, t->head_dim);
    a->lse = p->grad ? in[9] : out[1];
    if (!p->grad) return;
    a->dout = part_of(&call->in[8], in[8], 0);
    a->dq = part_to_write(&call->out[0], out[0], 0, t->head_dim);
    a->dk = part_to_write(&call->out[kv], out[kv], t->packed ? d : 0, t->head_dim);
    a->dv = part_to_write(&call->out[kv], out[kv], t->packed ? 2 * d : d, t->head_dim);
}

// ---- Scratch ---------------------------------------------------------------------------------------------------------

// Scratch of a thread that heads side by side share.
static bpt_attention_work_t layout_thread(const bpt_attention_plan_t *p, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    const int64_t tile = BPT_TILE * a->columns;
    const int64_t keys = (a->lists ? bpt_attention_tile_keys(a) : BPT_ATTENTION_KEYS) + BPT_ATTENTION_SLACK;
    const int64_t rel = (a->lists ? a->rel_rows : BPT_ATTENTION_KEYS + BPT_TILE) + BPT_ATTENTION_SLACK;
    bpt_cpu_attention_tile_t lists = {0};
    bpt_attention_work_t x = {0};
    x.q = take_floats(cursor, tile), x.qt = take_floats(cursor, tile), x.out = take_floats(cursor, tile);
    x.raw = take_floats(cursor, keys * BPT_TILE), x.score = take_floats(cursor, keys * BPT_TILE);
    lists.keys = take(cursor, keys, sizeof *lists.keys), lists.row = take(cursor, keys, sizeof *lists.row);
    lists.sum_row = take(cursor, keys, sizeof *lists.sum_row), lists.key_rel = take(cursor, keys, sizeof *lists.key_rel);
    x.order = take(cursor, keys, sizeof *x.order), x.row = take(cursor, keys, sizeof *x.row);
    if (a->lists) lists.group = take(cursor, BPT_TILE * bpt_intervals_most_keys(&a->t->graph), sizeof *lists.group);
    if (a->rel_rows) x.rel_score = take_floats(cursor, rel * BPT_TILE), lists.rel = take(cursor, rel, sizeof *lists.rel);
    if (p->grad) {
        x.dout = take_floats(cursor, tile), x.doutt = take_floats(cursor, tile), x.outt = take_floats(cursor, tile);
        x.product = take_floats(cursor, keys * BPT_TILE);
    }
    x.tile = take(cursor, 1, sizeof *x.tile);
    if (cursor->memory) *x.tile = lists;
    return x;
}

// Scratch of one of these heads.
static void layout_head(const bpt_attention_plan_t *p, cursor_t *cursor, bpt_attention_work_t x, bpt_attention_work_t *w) {
    const bpt_attention_t *a = &p->a;
    const int64_t lanes = BPT_ATTENTION_LANES * a->columns;
    x.walk.q = take_floats(cursor, lanes), x.walk.qt = take_floats(cursor, lanes), x.walk.out = take_floats(cursor, lanes);
    x.ring.rows = bpt_attention_layout_ring(a, &x.ring);
    const int64_t sums = a->lists && a->rel_rows ? bpt_attention_tile_keys(a) : 0;
    x.ring.k = take_floats(cursor, (x.ring.rows + sums) * a->columns), x.ring.v = take_floats(cursor, x.ring.rows * a->columns);
    if (p->grad) {
        x.walk.dout = take_floats(cursor, lanes), x.walk.doutt = take_floats(cursor, lanes);
        x.ring.dk = take_floats(cursor, x.ring.rows * a->columns), x.ring.dv = take_floats(cursor, x.ring.rows * a->columns);
        if (p->chunks > 1) {
            const int64_t floats = bpt_attention_border_rows(a) * a->columns;
            x.border.dk = take_floats(cursor, floats), x.border.dv = take_floats(cursor, floats);
            x.own_drel = take_floats(cursor, a->rel_rows * a->columns);
        }
    }
    if (w) {
        *w = x;
        memset(w->walk.q, 0, (size_t)lanes * sizeof(float)), memset(w->walk.qt, 0, (size_t)lanes * sizeof(float));
        memset(w->walk.out, 0, (size_t)lanes * sizeof(float));
        if (p->grad) memset(w->walk.dout, 0, (size_t)lanes * sizeof(float)), memset(w->walk.doutt, 0, (size_t)lanes * sizeof(float));
    }
}

// Units that the busiest thread takes.
static int64_t most_units(const bpt_attention_plan_t *p, int side) { return bpt_cpu_blocks(p->units / side, p->threads) * side; }

// As many heads as stay in the cache and leave the threads with even work.
static int heads_side_by_side(const bpt_attention_plan_t *p) {
    const bpt_attention_t *a = &p->a;
    bpt_attention_ring_t ring;
    const int64_t arrays = p->grad ? 4 : 2, bytes = bpt_attention_layout_ring(a, &ring) * a->columns * arrays * (int64_t)sizeof(float);
    for (int side = a->lists ? BPT_ATTENTION_SIDE : 1; side > 1; --side) {
        const bool even = a->t->heads % side == 0 && p->units / side >= p->threads && 8 * most_units(p, side) <= 9 * most_units(p, 1);
        if (even && side * bytes <= CACHE_BYTES) return side;
    }
    return 1;
}

// A thread's scratch for tiles of a table: the ring has as many rows as stay in the cache.
static bpt_table_walk_t layout_tiles(const bpt_attention_plan_t *p, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    const int64_t tile = BPT_TILE * a->columns, scores = (BPT_ATTENTION_KEYS + BPT_ATTENTION_SLACK) * BPT_TILE;
    const int64_t most = p->grad && p->queries > p->keys ? p->queries : p->keys;
    bpt_table_walk_t w = {.ring = {.rows = BPT_ATTENTION_KEYS, .head = -1}};
    while (w.ring.rows < most && 4 * w.ring.rows * a->columns * (int64_t)sizeof(float) <= CACHE_BYTES) w.ring.rows *= 2;
    w.x = take_floats(cursor, tile), w.xt = take_floats(cursor, tile), w.out = take_floats(cursor, tile);
    w.score = take_floats(cursor, scores);
    if (p->grad) {
        w.y = take_floats(cursor, tile), w.yt = take_floats(cursor, tile), w.more = take_floats(cursor, tile);
        w.product = take_floats(cursor, scores);
    }
    while (p->grad && w.ring.rows < p->keys && w.ring.rows < ISLAND_ROWS) w.ring.rows *= 2;
    w.ring.x = take_floats(cursor, w.ring.rows * a->columns), w.ring.y = take_floats(cursor, w.ring.rows * a->columns);
    if (p->grad) w.ring.sum_x = take_floats(cursor, w.ring.rows * a->columns), w.ring.sum_y = take_floats(cursor, w.ring.rows * a->columns);
    w.other = take(cursor, BPT_ATTENTION_KEYS, sizeof *w.other), w.row = take(cursor, BPT_ATTENTION_KEYS, sizeof *w.row);
    w.ring.tag = take(cursor, w.ring.rows, sizeof *w.ring.tag), w.ring.claim = take(cursor, w.ring.rows, sizeof *w.ring.claim);
    if (cursor->memory) memset(w.ring.claim, 0, (size_t)w.ring.rows * sizeof *w.ring.claim);
    return w;
}

// Scratch for the heads of a gradient with relative positions.
static void layout_relative(bpt_attention_plan_t *p, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    p->areas = bpt_cpu_min(p->threads, a->t->heads);
    p->drel = take_floats(cursor, a->t->heads * a->rel_rows * a->columns);
    p->sums = take(cursor, p->areas, sizeof *p->sums);
    for (int64_t i = 0; i < p->areas; ++i) {
        float *row = take_floats(cursor, 3 * a->columns), *keys = take_floats(cursor, 2 * p->keys * a->columns);
        if (cursor->memory)
            p->sums[i] = (bpt_attention_sums_t){
                .q = row, .dout = row + a->columns, .dq = row + 2 * a->columns, .dk = keys, .dv = keys + p->keys * a->columns};
    }
}

static void layout_table(bpt_attention_plan_t *p, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    p->rel = take_floats(cursor, a->rel_rows * a->columns);
    if (p->grad && a->rel_rows) layout_relative(p, cursor);
    p->row_q = take_floats(cursor, p->threads * a->t->heads * a->columns * (p->grad ? 4 : 1));
    if (p->grad) p->dots = take_floats(cursor, p->queries * a->t->heads);
    if (p->by_tiles) {
        p->query_tiles = take(cursor, bpt_cpu_blocks(p->queries, BPT_TILE), 1);
        if (p->grad) p->key_tiles = take(cursor, bpt_cpu_blocks(p->keys, BPT_TILE), 1);
        if (p->grad) p->island = take(cursor, p->queries, sizeof *p->island);
        p->table = take(cursor, p->threads, sizeof *p->table);
        for (int i = 0; i < p->threads; ++i) {
            const bpt_table_walk_t w = layout_tiles(p, cursor);
            if (cursor->memory) p->table[i] = w;
        }
    }
    if (p->grad) return;
    p->row_parts = take_floats(cursor, (p->threads > BPT_ATTENTION_ROW_PIECES ? p->threads : BPT_ATTENTION_ROW_PIECES) * a->t->heads *
                                           (a->columns + 2));
}

// Rows of plain means, one a node that is no leaf: all of the whole tree, as sums are made of those below.
static int64_t mean_rows(const bpt_attention_t *a) {
    bpt_intervals_t whole = a->t->graph;
    whole.trimmed = false;
    return bpt_node_count(&whole) - a->n;
}

static void layout(bpt_attention_plan_t *p, int threads, cursor_t *cursor) {
    const bpt_attention_t *a = &p->a;
    p->threads = threads;
    if (p->by_table) {
        layout_table(p, cursor);
        return;
    }
    p->units = a->t->batch * a->t->heads;
    p->sequence_groups = bpt_cpu_min(a->t->batch, bpt_cpu_blocks(MAX_GROUPS, a->t->heads));
    p->groups = p->sequence_groups * a->t->heads;
    p->side = heads_side_by_side(p);
    p->areas = bpt_cpu_min(p->units, (int64_t)threads * p->side);
    p->chunks = bpt_cpu_blocks(a->n, BPT_ATTENTION_CHUNK);
    p->rel = take_floats(cursor, a->rel_rows * a->columns);
    p->drel = take_floats(cursor, p->grad ? p->groups * a->rel_rows * a->columns : 0);
    p->unit = take(cursor, p->areas, sizeof *p->unit);
    p->work = take(cursor, threads * p->side, sizeof *p->work);
    const int64_t shared = bpt_attention_shared_rows(a) * a->columns;
    for (int64_t i = 0; i < p->areas; ++i) {
        bpt_attention_unit_t u = {0};
        if (p->chunks > 1) u.spans = take_floats(cursor, p->chunks * BPT_ATTENTION_LANES * (a->columns + 2));
        if (p->chunks > 1 && p->grad) u.dk = take_floats(cursor, shared), u.dv = take_floats(cursor, shared);
        if (a->mean_spans) u.means = take_floats(cursor, mean_rows(a) * a->columns);
        if (cursor->memory) p->unit[i] = u;
    }
    for (int i = 0; i < threads; ++i) {
        const bpt_attention_work_t x = layout_thread(p, cursor);
        for (int h = 0; h < p->side; ++h) layout_head(p, cursor, x, cursor->memory ? &p->work[i * p->side + h] : NULL);
    }
}

bpt_status_t bpt_attention_plan(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    bpt_attention_plan_t p = {0};
    cursor_t cursor = {0};
    resolve(&p, call, NULL);
    if (p.a.nodes > INT32_MAX || (p.a.tree && p.a.t->graph.k > INT32_MAX / 8))
        return bpt_fail(BPT_ERR_UNSUPPORTED, "attention over %lld nodes with k = %d is beyond the cpu backend", (long long)p.a.nodes,
                        (int)p.a.t->graph.k);
    layout(&p, threads, &cursor);
    *scratch_bytes = cursor.used;
    return BPT_OK;
}

int64_t bpt_attention_chunks(const bpt_attention_unit_t *unit) { return bpt_cpu_blocks(unit->length, BPT_ATTENTION_CHUNK); }

void bpt_attention_begin(bpt_attention_plan_t *p, const bpt_host_run_t *run) {
    cursor_t cursor = {.memory = run->scratch};
    resolve(p, run->call, run);
    p->team = run->team;
    layout(p, bpt_team_threads(run->team), &cursor);
    p->k = bpt_cpu_kernels();
    p->a.dots = p->dots;
    if (!p->a.rel_rows) return;
    const bpt_attention_part_t table = part_of(&run->call->in[2], run->in[2], 0);
    p->k->attention_read(&table, 0, p->a.rel_rows, p->a.t->head_dim, p->a.columns, p->rel);
    p->a.rel = p->rel;
}
