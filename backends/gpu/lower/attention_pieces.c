// An attention call cut into pieces: nodes that are worked on alike. Queries of few keys (and keys of few queries) are worked on whole;
// those of many are cut into parts, so that no group runs for long and high spans keep the device busy. Knows no driver.
#include "backends/gpu/lower/attention_problem.h"

enum { GROUP_COLUMNS = 512 };  // columns of a group that takes single queries, unless one head has more

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- The call ----------------------------------------------------------------------------------------------------------

int64_t bpt_lower_attention_most_columns(const problem_t *a, bpt_gpu_kernel_t kernel, int64_t scores) {
    uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {0};
    int columns = attention_rows_COLUMNS;
    if (kernel == BPT_GPU_attention_table_grad) {
        columns = attention_table_grad_COLUMNS;
        constants[attention_table_grad_SCORES] = bpt_lower_attention_table_scores((uint32_t)scores);
        constants[attention_table_grad_KEYS] = 1;
        constants[attention_table_grad_RELATIVE] = a->rel_rows > 0;
    } else {
        _Static_assert((int)attention_rows_COLUMNS == (int)attention_dq_COLUMNS && (int)attention_rows_HEADS == (int)attention_dq_HEADS &&
                           (int)attention_rows_SCORES == (int)attention_dq_SCORES,
                       "the kernels of single queries differ in what they share");
        constants[attention_rows_HEADS] = BPT_ATTENTION_MOST_HEADS;
        constants[attention_rows_SCORES] = (uint32_t)scores;
    }
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[kernel];
    const uint32_t group = bpt_lower_attention_group(a->l);
    const int64_t others = (int64_t)info->local_bytes(group, constants);
    constants[columns] = 1;
    return ((int64_t)a->l->device->api->limits.local_bytes - others) / ((int64_t)info->local_bytes(group, constants) - others);
}

// A head that has no room beside the scores of many heads has it beside its own.
static void share_heads(problem_t *a) {
    const int64_t head_dim = a->t->head_dim;
    const int64_t of_rows = bpt_lower_attention_most_columns(a, BPT_GPU_attention_rows, BPT_ATTENTION_SCORES),
                  of_dq = bpt_lower_attention_most_columns(a, BPT_GPU_attention_dq, BPT_ATTENTION_SCORES),
                  of_table = bpt_lower_attention_most_columns(a, BPT_GPU_attention_table_grad, BPT_ATTENTION_SCORES);
    const int64_t wanted = head_dim > GROUP_COLUMNS ? head_dim : GROUP_COLUMNS;
    const int64_t shared = min64(min64(wanted, of_table), min64(of_rows, of_dq));
    const int64_t alone = min64(bpt_lower_attention_most_columns(a, BPT_GPU_attention_rows, MOST_KEYS),
                                bpt_lower_attention_most_columns(a, BPT_GPU_attention_dq, MOST_KEYS));
    if (head_dim > shared && head_dim > alone) {
        bpt_lower_refuse(a->l, "a head has %lld columns; the local memory of the device (%u bytes) has room for %lld: use more heads",
                         (long long)head_dim, a->l->device->api->limits.local_bytes, (long long)alone);
        return;
    }
    a->columns = (uint32_t)(head_dim > shared ? head_dim : shared);
    a->scores = head_dim > shared ? MOST_KEYS : BPT_ATTENTION_SCORES;
    const int64_t fit = min64(a->columns / head_dim, BPT_ATTENTION_MOST_HEADS);
    a->head_groups = (uint32_t)bpt_ceil_div(a->t->heads, fit);
    a->group_heads = (uint32_t)bpt_ceil_div(a->t->heads, a->head_groups);
}

// Kernels count elements in 32 bits.
static void check_size(bpt_lower_t *l, const bpt_operand_t *operand, const char *direction, int slot) {
    if (operand->present && bpt_count(operand) > (int64_t)UINT32_MAX)
        bpt_lower_refuse(l, "%s %d has more than 2^32 elements: lower --batch-tokens or --context", direction, slot);
}
static void check_sizes(bpt_lower_t *l) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) check_size(l, &l->call->in[i], "input", i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) check_size(l, &l->call->out[i], "output", i);
}

problem_t bpt_lower_attention_problem(bpt_lower_t *l) {
    const bpt_attention_attrs_t *t = &l->call->attrs.attention;
    problem_t a = {.l = l, .t = t, .batch = t->batch, .d = (int64_t)t->heads * t->head_dim};
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) a.in[i] = bpt_lower_in(l, i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) a.out[i] = bpt_lower_out(l, i);
    a.q_stride = (t->packed ? 3 : 1) * a.d;
    a.kv_stride = (t->packed ? 3 : 2) * a.d;
    a.k_offset = t->packed ? a.d : 0;
    a.tree = bpt_intervals_has_spans(&t->graph);
    a.table = bpt_intervals_is_table(&t->graph);
    a.span_rows = bpt_intervals_spans_read_themselves(&t->graph);
    a.reach = bpt_intervals_reach(&t->graph);
    a.other = a.table ? 0 : bpt_node_count(&t->graph) - t->graph.n;
    a.rel_rows = l->call->in[2].present ? bpt_rows(&l->call->in[2]) : 0;
    a.calls = (t->queries == BPT_QUERIES_ROOTS ? CALL_ROOTS : 0) | (t->queries == BPT_QUERIES_LEAVES ? CALL_LEAVES : 0) |
              (t->zero_spans ? CALL_ZERO_SPANS : 0) | (t->packed ? CALL_PACKED : 0);
    bpt_intervals_words(&t->graph, a.graph);
    check_sizes(l);
    share_heads(&a);
    return a;
}

// ---- Pieces ------------------------------------------------------------------------------------------------------------

// Nodes of up to `keys` keys each, in parts of `most` keys.
static void add_piece(pieces_t *p, piece_t piece, int64_t most) {
    if (piece.nodes <= 0) return;
    piece.parts = piece.keys > most ? bpt_ceil_div(piece.keys, most) : 1;
    piece.part_keys = most;
    p->piece[p->count++] = piece;
}

static double leaf_edges(const problem_t *a) {
    int64_t all, contextual;
    bpt_intervals_count(&a->t->graph, a->t->graph.n, &all, &contextual);
    return (double)(contextual + a->t->graph.n) * (double)a->batch;
}

// Keys of a leaf, and queries of a leaf that are leaves, at most.
int64_t bpt_lower_attention_leaf_keys(const problem_t *a) {
    const int64_t n = a->t->graph.n;
    return min64(n, a->tree ? 3 + 2 * (int64_t)bpt_levels(n) * (a->reach + 1) : 2 * a->reach + 1);
}

// Levels from 1 up with at most a part of keys a node are one piece, each higher level is one. keys[j]: of a node of level j.
static void add_levels(const problem_t *a, const int64_t keys[BPT_MAX_LEVELS], int64_t most, double level_edges, bool rel, pieces_t *p) {
    const bpt_intervals_t *g = &a->t->graph;
    const int levels = bpt_tree_levels(g);
    int light = 1;
    while (light < levels && keys[light] <= most) ++light;
    add_piece(p,
              (piece_t){.first = g->n,
                        .nodes = bpt_tree_level_offset(g, light) - g->n,
                        .keys = keys[light - 1],
                        .edges = level_edges * (light - 1),
                        .rel = rel},
              most);
    for (int j = light; j < levels; ++j)
        add_piece(p,
                  (piece_t){.first = bpt_tree_level_offset(g, j),
                            .nodes = bpt_tree_level_size(g, j),
                            .keys = keys[j],
                            .edges = level_edges,
                            .rel = rel},
                  most);
}

// Edges of a row of a table that has room for so many, by a bound that may not be known.
static int64_t edges_of(int64_t bound, int64_t room) { return bound > 0 ? min64(bound, room) : room; }
static piece_t table_piece(int64_t first, int64_t rows, int64_t keys, int64_t others) {
    return (piece_t){.first = first, .nodes = rows, .keys = keys, .edges = (double)rows * (double)min64(keys, others), .rel = true};
}

// As one piece where none needs parts, else those of few edges apart from the others. Without bounds a row may have every row of the other
// side in each slot, since slots may overlap, but for those with relative positions.
pieces_t bpt_lower_attention_table_rows(const problem_t *a, bool of_key, int64_t first, int64_t most) {
    const bpt_op_call_t *call = a->l->call;
    const bpt_table_side_t *side = of_key ? &a->t->bounds.keys : &a->t->bounds.queries;
    const int64_t rows = bpt_rows(&call->in[of_key ? 1 : 0]), others = bpt_rows(&call->in[of_key ? 0 : 1]);
    const int64_t slots = call->in[of_key ? 10 : 6].shape.dim[1], room = others * (a->rel_rows ? 1 : slots);
    const int64_t few = side->light > 0 ? edges_of(side->light_edges, room) : 0,
                  many = side->light < rows ? edges_of(side->edges, room) : 0;
    const int64_t longest = few > many ? few : many;
    pieces_t p = {.count = 0};
    if (longest > INT32_MAX)
        bpt_lower_refuse(a->l, "a table of %lld slots and %lld rows is too large for 32-bit counts", (long long)slots, (long long)others);
    if (longest <= most) {
        add_piece(&p, table_piece(first, rows - first, longest, others), most);
        return p;
    }
    const int64_t light_end = bpt_min(side->light, rows), heavy = first > light_end ? first : light_end;
    add_piece(&p, table_piece(first, light_end - first, few, others), most);
    add_piece(&p, table_piece(heavy, rows - heavy, many, others), most);
    return p;
}

// The queries of the call, for a kernel whose groups take `most` keys. Spans read leaves, without a row of the table unless they read
// themselves too.
pieces_t bpt_lower_attention_queries(const problem_t *a, int64_t most) {
    const bpt_attention_attrs_t *t = a->t;
    const int64_t n = t->graph.n, part = min64(bpt_lower_attention_part(a), most);
    const double leaves = (double)n * (double)a->batch;
    pieces_t p = {.count = 0};
    if (t->queries == BPT_QUERIES_ROOTS) {
        add_piece(&p, (piece_t){.nodes = 1, .keys = n, .edges = leaves, .rel = true}, part);  // the root may be a leaf
        return p;
    }
    add_piece(&p, (piece_t){.nodes = n, .keys = bpt_lower_attention_leaf_keys(a), .edges = leaf_edges(a), .rel = true}, most);
    if (t->queries == BPT_QUERIES_LEAVES) return p;
    int64_t keys[BPT_MAX_LEVELS];
    for (int j = 0; j < BPT_MAX_LEVELS; ++j) keys[j] = min64(n, (int64_t)1 << j) + (a->span_rows && j > 0);
    if (a->tree)
        add_levels(a, keys, part, leaves, a->span_rows, &p);
    else
        add_piece(&p, (piece_t){.first = n, .nodes = a->other, .keys = n, .edges = leaves}, part);
    return p;
}

// Leaves are one piece. Spans are one for every few levels, whose nodes under one of the highest level are a tile
// (core/intervals/rules/intervals.h).
pieces_t bpt_lower_attention_query_tiles(const problem_t *a, int64_t lanes, int64_t part, int64_t most) {
    const bpt_attention_attrs_t *t = a->t;
    const int64_t n = t->graph.n;
    const int all_levels = a->tree ? bpt_tree_levels(&t->graph) : 1, levels = bpt_levels(lanes) - 1;
    pieces_t p = {.count = 0};
    add_piece(
        &p,
        (piece_t){
            .nodes = n, .keys = bpt_lower_attention_leaf_keys(a), .edges = leaf_edges(a), .rel = true, .tiles = bpt_ceil_div(n, lanes)},
        INT32_MAX);
    if (t->queries != BPT_QUERIES_ALL) return p;
    if (!a->tree) add_piece(&p, (piece_t){.first = n, .nodes = a->other, .keys = n, .edges = (double)n * (double)a->batch}, most);
    for (int j = 1; j < all_levels; j += levels) {
        const int end = j + levels < all_levels ? j + levels : all_levels;
        add_piece(&p,
                  (piece_t){.first = bpt_tree_level_offset(&t->graph, j),
                            .nodes = bpt_tree_level_offset(&t->graph, end) - bpt_tree_level_offset(&t->graph, j),
                            .keys = min64(n, (int64_t)1 << (j + levels - 1)) + (a->span_rows ? lanes : 0),
                            .edges = (double)n * (double)a->batch * (end - j),
                            .rel = a->span_rows,
                            .level = j,
                            .tiles = bpt_ceil_div(bpt_tree_level_size(&t->graph, j) * bpt_tree_level_step(&t->graph, j), lanes / 2)},
                  part);
    }
    return p;
}

// The stored keys by tiles of `tile` nodes. A span is read by at most reach + 1 nodes' worth of leaves on either side, and one more where a
// node may be left over; for the next key of a tile they all lie one node further.
pieces_t bpt_lower_attention_keys(const problem_t *a, int64_t tile, int64_t most) {
    const bpt_attention_attrs_t *t = a->t;
    const int64_t n = t->graph.n, width = 2 * (a->reach + 3) + 4 * tile;
    const bool roots = t->queries == BPT_QUERIES_ROOTS;
    const int levels = a->tree ? bpt_tree_levels(&t->graph) : 1;
    const double edges = roots ? (double)n * (double)a->batch : leaf_edges(a) / levels * 2;  // of a level
    int64_t keys[BPT_MAX_LEVELS];
    for (int j = 0; j < BPT_MAX_LEVELS; ++j) keys[j] = roots ? tile : min64(4 * n, width << j) + tile;
    keys[0] = roots ? tile : a->tree ? min64(4 * n, width) + tile * levels : 2 * bpt_lower_attention_leaf_keys(a) + 3 * tile;
    pieces_t p = {.count = 0};
    add_piece(&p, (piece_t){.nodes = n, .keys = keys[0], .edges = edges, .rel = true}, most);
    if (!t->zero_spans && a->tree) add_levels(a, keys, most, edges, true, &p);
    if (!t->zero_spans && !a->tree) add_piece(&p, (piece_t){.first = n, .nodes = a->other, .keys = 1}, most);
    for (int i = 0; i < p.count; ++i) {
        piece_t *piece = &p.piece[i];
        int level = 0;
        int64_t index;
        bpt_node_position(&t->graph, piece->first, &level, &index);
        piece->level = level;
        for (int64_t node = piece->first; node < piece->first + piece->nodes; ++level) {
            const int64_t size = a->tree ? bpt_tree_level_size(&t->graph, level) : piece->nodes;
            piece->tiles += bpt_ceil_div(size, tile);
            node += size;
        }
    }
    return p;
}

int64_t bpt_lower_attention_units(const problem_t *a, const piece_t *piece) { return a->batch * piece->nodes * piece->parts; }

// Scratch for the partial results of all pieces with several parts.
void bpt_lower_attention_reserve(const problem_t *a, pieces_t *p, int64_t columns) {
    for (int i = 0; i < p->count; ++i)
        if (p->piece[i].parts > 1)
            p->piece[i].partial = bpt_lower_scratch(a->l, BPT_F32, bpt_lower_attention_units(a, &p->piece[i]) * columns);
}
