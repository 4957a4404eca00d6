// Which tiles of leaves fit a device: constants of the kernels that include cl/attention/tiles.h.
#include "backends/gpu/lower/attention_problem.h"
#include "backends/gpu/lower/software/attention.h"

static const bpt_attention_tile_rule_t *rule_of(const bpt_lower_t *l) {
    static const bpt_attention_tile_rule_t gpu = {.tile4 = 4, .group_size = 64, .vectors = 1, .sums = 4, .batch = 64, .heads = 1};
    return bpt_lower_in_software(l) ? bpt_software_tile_rule(l) : &gpu;
}

// Floats of the vectors that an item has in registers: those of the device, but no more lanes than an item's.
static uint32_t lanes_of(const bpt_lower_t *l, uint32_t vectors) {
    uint32_t lanes = 4;
    while (lanes < 16 && 2 * lanes <= l->device->api->limits.vector_lanes && 2 * lanes <= 4 * vectors) lanes *= 2;
    return lanes;
}

uint32_t bpt_lower_attention_group(const bpt_lower_t *l) {
    return bpt_lower_in_software(l) ? bpt_software_group(l) : bpt_lower_kernel(l, BPT_GPU_attention_rows).group_size;
}

// A view that matrix units read: 16-bit elements by pairs.
static bool is_paired(const bpt_attention_problem_t *a, int input) {
    const bpt_view_t *v = &a->in[input];
    return !v->present || (v->dtype != BPT_F32 && v->dtype == a->in[0].dtype && v->offset_bytes % 4 == 0);
}
// What cl/matrix/matrix.h asks of the device, the tile and the call.
static bool by_matrix(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *t) {
    return a->l->device->api->limits.matrix_units && t->tile4 == 4 && t->group_size % 32 == 0 && t->batch == 64 &&
           a->t->head_dim % 16 == 0 && is_paired(a, 0) && is_paired(a, 1) && is_paired(a, 2) && is_paired(a, 8);
}

// As TILE_LOCALS and the LOCALS of the kernels count them: tables, the list and its entries; tiles of columns, scores, sums of parts.
static int64_t local_bytes(const bpt_gpu_attention_tile_t *t, int64_t tile_arrays) {
    const int64_t tile = 4 * (int64_t)t->tile4, batch = t->batch, entries = batch + 2 * tile + 8;
    return 4 * (2 * tile + 3 * (int64_t)t->ranges * tile + 7 * (int64_t)t->ranges + 1 + 4 * batch + batch * t->tile4 + 2 * entries +
                (tile_arrays * t->most_columns + entries + batch + 2 * bpt_attention_tile_parts(t) + 2 + (t->matrix ? batch : 0)) * tile);
}

// Longest list of a tile: what one leaf reads, and of every range what its neighbours read beside it.
static int64_t list_nodes(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *t) {
    const bpt_intervals_t *g = &a->t->graph;
    const int64_t tile = 4 * (int64_t)t->tile4;
    const int64_t leaf = a->tree ? 2 * bpt_levels(g->n) * (a->reach + 2) : bpt_min(g->n, 2 * a->reach + 1);
    return leaf + (a->tree ? 8 * tile + (int64_t)t->ranges : 5 * tile);
}

// Sizes of local arrays are rounded up, so that problems that differ a little share compiled kernels.
static int64_t round_up(int64_t count) {
    int64_t size = 16;
    while (size < count && size < 64) size *= 2;
    return count <= size ? size : bpt_ceil_div(count, 64) * 64;
}

// A tile of so many vectors, with what the class of device wants of registers and groups.
static bpt_gpu_attention_tile_t shape_of(const bpt_attention_problem_t *a, uint32_t tile4, int64_t ranges) {
    const bpt_attention_tile_rule_t *rule = rule_of(a->l);
    const uint32_t most = a->l->device->api->limits.max_group_size;
    bpt_gpu_attention_tile_t t = {.group_size = rule->group_size < most ? rule->group_size : most,
                                  .tile4 = tile4,
                                  .vectors = rule->vectors < tile4 ? rule->vectors : tile4,
                                  .ranges = (uint32_t)round_up(ranges),
                                  .most_columns = (uint32_t)round_up(a->t->head_dim),
                                  .turn_heads = (uint32_t)bpt_min(rule->heads, a->t->heads)};
    t.lanes = lanes_of(a->l, t.vectors);  // with 16 of them, devices have twice the registers too
    const int64_t parts = bpt_attention_tile_parts(&t), sums = rule->sums * (t.lanes == 16 ? 2 : 1) / t.vectors;
    t.batch = (uint32_t)(parts > rule->batch ? parts : rule->batch);
    t.nodes = (uint32_t)bpt_min(sums, t.batch / parts);
    t.columns = (uint32_t)sums;
    t.matrix = by_matrix(a, &t);
    t.part = (uint32_t)bpt_lower_attention_part(a) / t.batch * t.batch;
    t.table_blocks = (uint32_t)round_up(bpt_ceil_div(a->rel_rows, 16));
    return t;
}

bpt_gpu_attention_tile_t bpt_lower_attention_tile(const bpt_attention_problem_t *a, int64_t tile_arrays) {
    if (!bpt_intervals_is_steady(&a->t->graph)) return (bpt_gpu_attention_tile_t){0};
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    for (uint32_t tile4 = rule_of(a->l)->tile4; tile4 >= 1; tile4 /= 2) {
        bpt_gpu_attention_tile_t t = shape_of(a, tile4, bpt_intervals_most_keys(&a->t->graph));
        if (limits->max_loops) bpt_software_fit_tile(a, &t, list_nodes(a, &t));
        if (t.turn_heads && local_bytes(&t, tile_arrays) <= limits->local_bytes) return t;
    }
    return (bpt_gpu_attention_tile_t){0};
}

// ---- Tiles of keys ---------------------------------------------------------------------------------------------------------

// As many keys as make at least half of the edges of a tile real ones: the queries of neighbouring keys of level j lie 2^j leaves apart,
// and a key is read from about k 2^j leaves away.
static uint32_t most_tile4(const bpt_attention_problem_t *a) {
    const uint32_t most = a->reach >= 16 ? 4 : a->reach >= 8 ? 2 : 1;
    return most < rule_of(a->l)->tile4 ? most : rule_of(a->l)->tile4;
}

static int64_t key_local_bytes(const bpt_gpu_attention_tile_t *t) {
    const int64_t tile = 4 * (int64_t)t->tile4;
    const int64_t matrix = t->matrix ? (int64_t)t->batch * tile + t->table_blocks : 0;
    return 4 * (2 * tile + 2 * (int64_t)t->ranges * tile + 3 * (int64_t)t->ranges + 1 + 3 * (int64_t)t->batch +
                3 * (int64_t)t->batch * tile + 4 * (int64_t)t->most_columns * tile + matrix);
}

// Pieces of equal size, of as many columns as there is room for; 0: there is room for none.
static uint32_t piece_columns(const bpt_attention_problem_t *a, bpt_gpu_attention_tile_t t) {
    const int64_t d = a->t->head_dim, unit = 16;
    t.most_columns = 0;
    const int64_t room = (int64_t)a->l->device->api->limits.local_bytes - key_local_bytes(&t);
    const int64_t most = room / (4 * 4 * 4 * (int64_t)t.tile4) / unit * unit;
    if (most < unit) return 0;
    return (uint32_t)(bpt_ceil_div(bpt_ceil_div(d, bpt_ceil_div(d, most)), unit) * unit);
}

bpt_gpu_attention_tile_t bpt_lower_attention_key_tile(const bpt_attention_problem_t *a, int64_t part, int64_t *part_nodes) {
    const int64_t ranges = bpt_intervals_most_consumers(&a->t->graph);
    uint32_t tile4 = most_tile4(a);
    bpt_gpu_attention_tile_t t = shape_of(a, tile4, ranges);
    const bpt_gpu_attention_tile_t by_units = shape_of(a, rule_of(a->l)->tile4, ranges);
    if (by_units.matrix && key_local_bytes(&by_units) <= a->l->device->api->limits.local_bytes)  // edges that are none cost nothing
        t = by_units, tile4 = t.tile4;
    while (tile4 > 1 && key_local_bytes(&t) > a->l->device->api->limits.local_bytes) t = shape_of(a, tile4 /= 2, ranges);
    if (key_local_bytes(&t) > a->l->device->api->limits.local_bytes) t.most_columns = piece_columns(a, t);
    *part_nodes = part;
    if (!t.most_columns)
        bpt_lower_refuse(a->l, "tiles of %u keys have no room in the local memory of the device (%u bytes)", 4 * tile4,
                         a->l->device->api->limits.local_bytes);
    else if (a->l->device->api->limits.max_loops)
        bpt_software_fit_key_tile(a, &t, part_nodes);
    return t;
}
