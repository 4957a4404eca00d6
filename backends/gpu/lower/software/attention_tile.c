// Which tiles of leaves fit a device: constants of the kernels that include cl/software/tiles.h.
#include "backends/gpu/lower/software/attention_tile.h"
#include "backends/gpu/lower/software/attention.h"

static bpt_attention_tile_rule_t rule_of(const bpt_lower_t *l) {
    const uint32_t *s = l->device->tuning.other[BPT_PROBLEM_ATTENTION_ROWS].size;
    return (bpt_attention_tile_rule_t){.rows_per_tile = s[BPT_ROWS_TILE],
                                       .group_size = s[BPT_ROWS_GROUP],
                                       .rows_per_item = s[BPT_ROWS_ITEM],
                                       .sums = s[BPT_ROWS_SUMS],
                                       .keys_per_step = s[BPT_ROWS_KEYS],
                                       .heads = s[BPT_ROWS_HEADS]};
}

// Floats of the vectors that an item has in registers: those of the device, but no more than an item's rows.
static uint32_t simd_width_of(const bpt_lower_t *l, uint32_t rows_per_item) {
    uint32_t width = 4;
    while (width < 16 && 2 * width <= l->device->api->limits.vector_lanes && 2 * width <= rows_per_item) width *= 2;
    return width;
}

void bpt_lower_attention_tile_constants(const bpt_gpu_attention_tile_t *t, uint32_t *constants) {
#define SET(name, value)                                                                                                                   \
    _Static_assert((int)attention_tile_##name == (int)attention_tile_dq_##name && (int)attention_tile_##name == (int)attention_dkv_##name, \
                   "the kernels of tiles differ in what they share");                                                                      \
    constants[attention_tile_##name] = value
    SET(ROWS_PER_TILE, t->rows_per_tile);
    SET(ROWS_PER_ITEM, t->rows_per_item);
    SET(KEYS_PER_ITEM, t->keys_per_item);
    SET(COLUMNS_PER_ITEM, t->columns_per_item);
    SET(RANGES, t->ranges);
    SET(MOST_COLUMNS, t->most_columns);
    SET(KEYS_PER_STEP, t->keys_per_step);
    SET(SIMD_WIDTH, t->simd_width);
#undef SET
}

// Local memory of a kernel of tiles.
static int64_t kernel_bytes(bpt_gpu_kernel_t kernel, const bpt_gpu_attention_tile_t *t) {
    uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {0};
    bpt_lower_attention_tile_constants(t, constants);
    return (int64_t)bpt_gpu_kernels[kernel].local_bytes(t->group_size, constants);
}

// The same of attention_tile_dq with what attention_tile has beside it.
static int64_t local_bytes(bpt_gpu_kernel_t kernel, const bpt_gpu_attention_tile_t *t) {
    const uint32_t WG = t->group_size, ROWS_PER_TILE = t->rows_per_tile, ROWS_PER_ITEM = t->rows_per_item;
#define BYTES(type, name, size) +(int64_t)sizeof(float[4]) * (size)
    return kernel_bytes(kernel, t) + (kernel == BPT_GPU_attention_tile_dq ? 0 TILE_SOFTMAX_LOCALS(BYTES) : 0);
#undef BYTES
}

// Longest list of a tile: what one leaf reads, and of every range what its neighbours read beside it.
static int64_t list_nodes(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *t) {
    const bpt_intervals_t *g = &a->t->graph;
    const int64_t tile = t->rows_per_tile;
    const int64_t leaf = a->tree ? 2 * bpt_levels(g->n) * (a->reach + 2) : bpt_min(g->n, 2 * a->reach + 1);
    return leaf + (a->tree ? 8 * tile + (int64_t)t->ranges : 5 * tile);
}

// Sizes of local arrays are rounded up, so that problems that differ a little share compiled kernels.
static int64_t round_up(int64_t count) {
    int64_t size = 16;
    while (size < count && size < 64) size *= 2;
    return count <= size ? size : bpt_ceil_div(count, 64) * 64;
}

static bool is_power(uint32_t n) { return n && (n & (n - 1)) == 0; }

// How the sizes must go together. A kernel with others would leave out work, or write beyond its arrays.
static bpt_status_t check_sizes(const bpt_gpu_attention_tile_t *t) {
    const uint32_t items = t->rows_per_item ? t->rows_per_tile / t->rows_per_item : 0;  // that share a key
    const struct {
        bool holds;
        const char *relation;
    } relations[] = {
        {is_power(t->group_size) && is_power(t->rows_per_tile) && is_power(t->rows_per_item),
         "group size, rows per tile and rows per item are powers of two"},
        {t->rows_per_item % 4 == 0 && t->rows_per_tile >= t->rows_per_item, "rows per item are fours, and at most those of a tile"},
        {items && t->group_size >= items, "a group has items for all rows of a tile"},
        {items && t->keys_per_item && t->keys_per_step % (t->group_size / items * t->keys_per_item) == 0,
         "keys per step are a multiple of what the items of a group have in registers together"},
        {t->columns_per_item > 0, "an item has columns"},
        {t->simd_width % 4 == 0 && t->simd_width && t->rows_per_item % t->simd_width == 0, "rows per item are whole vectors"},
        {t->part % t->keys_per_step == 0, "a part of what spans read is whole steps"},
    };
    for (size_t i = 0; i < BPT_COUNT(relations); ++i)
        if (!relations[i].holds) return bpt_fail(BPT_ERR_INTERNAL, "a tile of attention breaks a rule: %s", relations[i].relation);
    return BPT_OK;
}

// A tile of so many rows, with what the class of device wants of registers and groups.
static bpt_gpu_attention_tile_t shape_of(const bpt_attention_problem_t *a, uint32_t rows_per_tile, int64_t ranges) {
    const bpt_attention_tile_rule_t rule = rule_of(a->l);
    const uint32_t most = a->l->device->api->limits.max_group_size, group = rule.group_size < most ? rule.group_size : most;
    const uint32_t least = rows_per_tile / group, wanted = rule.rows_per_item > least ? rule.rows_per_item : least;
    bpt_gpu_attention_tile_t t = {.group_size = group,
                                  .rows_per_tile = rows_per_tile,
                                  .rows_per_item = wanted < rows_per_tile ? wanted : rows_per_tile,
                                  .ranges = (uint32_t)round_up(ranges),
                                  .most_columns = (uint32_t)round_up(a->t->head_dim),
                                  .turn_heads = (uint32_t)bpt_min(rule.heads, a->t->heads)};
    t.simd_width = simd_width_of(a->l, t.rows_per_item);  // with 16 of them, devices have twice the registers too
    const int64_t parts = bpt_attention_tile_parts(&t), sums = rule.sums * (t.simd_width == 16 ? 2 : 1) / (t.rows_per_item / 4);
    t.keys_per_step = (uint32_t)(parts > rule.keys_per_step ? parts : rule.keys_per_step);
    t.keys_per_item = (uint32_t)bpt_min(sums, t.keys_per_step / parts);
    t.columns_per_item = (uint32_t)sums;
    t.part = (uint32_t)bpt_lower_attention_part(a) / t.keys_per_step * t.keys_per_step;
    if (a->l->status == BPT_OK) a->l->status = check_sizes(&t);
    return t;
}

bpt_gpu_attention_tile_t bpt_lower_attention_tile(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel) {
    if (!bpt_intervals_is_steady(&a->t->graph)) return (bpt_gpu_attention_tile_t){0};
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    for (uint32_t rows = rule_of(a->l).rows_per_tile; rows >= 4; rows /= 2) {
        bpt_gpu_attention_tile_t t = shape_of(a, rows, bpt_intervals_most_keys(&a->t->graph));
        if (limits->max_loops) bpt_software_fit_tile(a, &t, list_nodes(a, &t));
        if (t.turn_heads && local_bytes(kernel, &t) <= limits->local_bytes) return t;
    }
    return (bpt_gpu_attention_tile_t){0};
}

// ---- Tiles of keys ---------------------------------------------------------------------------------------------------------

// As many keys as make at least half of the edges of a tile real ones: the queries of neighbouring keys of level j lie 2^j leaves apart,
// and a key is read from about k 2^j leaves away.
static uint32_t most_rows(const bpt_attention_problem_t *a) {
    const uint32_t most = a->reach >= 16 ? 16 : a->reach >= 8 ? 8 : 4;
    return most < rule_of(a->l).rows_per_tile ? most : rule_of(a->l).rows_per_tile;
}

static int64_t key_local_bytes(const bpt_gpu_attention_tile_t *t) { return kernel_bytes(BPT_GPU_attention_dkv, t); }

// Pieces of equal size, of as many columns as there is room for; 0: there is room for none.
static uint32_t piece_columns(const bpt_attention_problem_t *a, bpt_gpu_attention_tile_t t) {
    const int64_t d = a->t->head_dim, unit = 16;
    t.most_columns = 0;
    const int64_t others = key_local_bytes(&t), room = (int64_t)a->l->device->api->limits.local_bytes - others;
    t.most_columns = (uint32_t)unit;
    const int64_t most = room / (key_local_bytes(&t) - others) * unit;
    if (most < unit) return 0;
    return (uint32_t)(bpt_ceil_div(bpt_ceil_div(d, bpt_ceil_div(d, most)), unit) * unit);
}

bpt_gpu_attention_tile_t bpt_lower_attention_key_tile(const bpt_attention_problem_t *a, int64_t part, int64_t *part_nodes) {
    const int64_t ranges = bpt_intervals_most_consumers(&a->t->graph);
    uint32_t rows = most_rows(a);
    bpt_gpu_attention_tile_t t = shape_of(a, rows, ranges);
    while (rows > 4 && key_local_bytes(&t) > a->l->device->api->limits.local_bytes) t = shape_of(a, rows /= 2, ranges);
    if (key_local_bytes(&t) > a->l->device->api->limits.local_bytes) t.most_columns = piece_columns(a, t);
    *part_nodes = part;
    if (!t.most_columns)
        bpt_lower_refuse(a->l, "tiles of %u keys have no room in the local memory of the device (%u bytes)", rows,
                         a->l->device->api->limits.local_bytes);
    else if (a->l->device->api->limits.max_loops)
        bpt_software_fit_key_tile(a, &t, part_nodes);
    return t;
}
