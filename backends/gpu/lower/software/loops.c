// How much attention a work-item may do where a driver ends its loops. Mesa's llvmpipe stops a work-item, without a word, after 65,535
// rounds of all its loops together (quirks.c, limits.max_loops), so a group must take no more than surely fits. Each function here bounds
// the rounds of the busiest item of a kernel, loop by loop in the order of its text. They are bounds and not counts: too large costs a few
// groups more, too small would give wrong numbers. A changed bound cuts calls elsewhere, and with that changes the order of sums.
#include "backends/gpu/lower/software/attention.h"

enum {
    RANDOM_ROUNDS = 11,                  // dropout_bits: ten of Philox, and the loop's end
    DROPOUT_ROUNDS = 4 * RANDOM_ROUNDS,  // of a vector of four lanes
    SEARCH_ROUNDS = 8,                   // the search for a range halves at most MOST_RANGES, and the loop's end
    POSITION_ROUNDS = 5,                 // of finding a node's level and index, by halves
    PULL_ROUNDS = 4 * 2 + 1,             // PULL: an edge of each lane of a vector, and the loops' ends
    SPARE_ROUNDS = 64,                   // what is not counted one by one: a search, a loop's end
    KEY_RANGE_ROUNDS = 32,               // a lane's bounds of a range of readers
    KEY_LIST_ROUNDS = 40,                // a query of the list: its range, its row and its bounds
    KEY_SPARE_ROUNDS = 2 * SPARE_ROUNDS,
    QUERY_PASSES = 8,    // over a tile's columns: two reads, two that clear, a factor, a write, and the loops' ends
    KEY_PASSES = 5,      // two reads, one that clears both sums, two writes
    QUERY_ROUNDS = 800,  // a single query beside its keys
    BATCH_ROUNDS = 48,   // a batch of its keys beside these
    LEAST_KEYS = 64      // that a group takes in any case: a batch
};

// ---- Single queries (attention_rows, attention_dq) -----------------------------------------------------------------------

// Rounds of a key. `products`: of columns by fours for one score; `sums`: the gradient of relative positions is summed up too.
static int64_t rounds_per_key(const bpt_attention_problem_t *a, int products, bool sums) {
    const int64_t heads = a->group_heads, head_dim = a->t->head_dim, size = bpt_lower_attention_group(a->l);
    const int64_t batch = bpt_min(MOST_KEYS, a->scores / heads), team = bpt_min(size, head_dim);
    const int64_t score = products * (bpt_ceil_div(head_dim, 4) + 4) + RANDOM_ROUNDS;
    const int64_t table = sums && a->rel_rows ? 1 + bpt_ceil_div(head_dim, team) * (heads + 1) : 0;
    const int64_t rounds = bpt_ceil_div(batch * heads, size) * score + bpt_ceil_div(heads, size) * 2 * batch +
                           bpt_ceil_div(heads * head_dim, size) * (batch + 1) + batch * table + BATCH_ROUNDS;
    return bpt_ceil_div(rounds, batch);
}

static int64_t most_of(const bpt_attention_problem_t *a, int64_t each) {
    const int64_t loops = a->l->device->api->limits.max_loops;
    return loops > QUERY_ROUNDS + LEAST_KEYS * each ? (loops - QUERY_ROUNDS) / each : LEAST_KEYS;
}
int64_t bpt_software_most_keys(const bpt_attention_problem_t *a, bool gradient) {
    return most_of(a, gradient ? rounds_per_key(a, 3, true) : rounds_per_key(a, 2, false));
}
// Two products of a pair of columns for the score, two for the sums. With relative positions one more product, and an item that looks for
// an edge of each of its queries.
int64_t bpt_software_most_table_edges(const bpt_attention_problem_t *a) {
    const int64_t slots = a->l->call->in[6].shape.dim[1], size = bpt_lower_attention_group(a->l);
    if (!a->rel_rows) return most_of(a, rounds_per_key(a, 4, false));
    const int64_t batch = bpt_min(MOST_KEYS, a->scores / a->group_heads);
    return most_of(a, rounds_per_key(a, 5, true) + bpt_ceil_div(bpt_ceil_div(batch, size) * (slots + 1), batch));
}

int64_t bpt_software_most_queries(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece,
                                  const bpt_gpu_attention_tile_t *tile) {
    const int64_t loops = a->l->device->api->limits.max_loops;
    const int64_t each = tile ? tile->rounds : QUERY_ROUNDS + bpt_min(piece->keys, piece->part_keys) * rounds_per_key(a, 3, true);
    return loops > each ? loops / each : 1;
}

// ---- Tiles of queries (attention_tile_dq, whose loops are longer than those of attention_tile) ---------------------------

// Rounds of a tile for one head: to begin and end with, of a batch.
typedef struct {
    int64_t ends, batch;
} tile_rounds_t;

static tile_rounds_t tile_rounds(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *t) {
    const int64_t tile = t->rows_per_tile, size = t->group_size, ranges = t->ranges, batch = t->keys_per_step;
    const int64_t parts = bpt_attention_tile_parts(t), d = a->t->head_dim, own = bpt_ceil_div(batch, parts), vectors = t->rows_per_item / 4;
    const int64_t entries = a->rel_rows ? batch + 2 * tile + 8 : 0, some_ranges = bpt_ceil_div(ranges, size);
    const int64_t setup = (bpt_ceil_div(ranges * tile, size) + bpt_ceil_div(tile, size)) * (POSITION_ROUNDS + BPT_MAX_LEVELS) +
                          some_ranges * (tile + ranges + 1 + POSITION_ROUNDS) + SPARE_ROUNDS;
    const int64_t list = SEARCH_ROUNDS * bpt_ceil_div(batch, size) + some_ranges * (tile + ranges + 1) + ranges + entries;
    const int64_t rel = bpt_ceil_div(entries, 4 * parts) * (d + 1) + bpt_ceil_div(d, parts * t->columns_per_item) * (entries + 1);
    const int64_t edges = own * (1 + vectors * (1 + (a->t->p > 0 ? DROPOUT_ROUNDS : 0)));
    const int64_t products = bpt_ceil_div(own, t->keys_per_item) * 2 * (d + 1), softmax = vectors * (parts + own + 1);
    const int64_t sums = bpt_ceil_div(d, parts * t->columns_per_item) * (batch + 1);
    const int64_t pull = bpt_ceil_div(entries * tile / 4, size) * PULL_ROUNDS + 4 * batch + bpt_ceil_div(d, size) * (entries + 1);
    return (tile_rounds_t){.ends = setup + QUERY_PASSES * bpt_ceil_div(d * tile / 4, size) + 2 * parts,
                           .batch = list + rel + edges + products + softmax + sums + pull};
}

void bpt_software_fit_tile(const bpt_attention_problem_t *a, bpt_gpu_attention_tile_t *t, int64_t nodes) {
    const int64_t loops = a->l->device->api->limits.max_loops, batch = t->keys_per_step;
    const tile_rounds_t r = tile_rounds(a, t);
    const int64_t leaves = r.ends + bpt_ceil_div(nodes, batch) * r.batch, spans = r.ends + r.batch;  // at least a batch
    const int64_t least = leaves > spans ? leaves : spans;
    t->turn_heads = (uint32_t)bpt_min(t->turn_heads, loops / least);
    if (!t->turn_heads) return;
    t->part = bpt_min(t->part, (loops / t->turn_heads - r.ends) / r.batch * batch);
    const int64_t part = r.ends + t->part / batch * r.batch;
    t->rounds = (part > least ? part : least) * t->turn_heads;
}

// ---- Tiles of keys (attention_dkv) -----------------------------------------------------------------------------------------

// Rounds of a tile: to begin with, of a batch of queries, to end a head. A head in pieces has all of them for each piece, and reads keys
// and values with every batch.
typedef struct {
    int64_t setup, batch, head;
} key_rounds_t;

static key_rounds_t key_rounds(const bpt_attention_problem_t *a, const bpt_gpu_attention_tile_t *t) {
    const int64_t tile = t->rows_per_tile, size = t->group_size, ranges = t->ranges, batch = t->keys_per_step;
    const int64_t parts = bpt_attention_tile_parts(t), d = a->t->head_dim, own = bpt_ceil_div(batch, parts), vectors = t->rows_per_item / 4;
    const int64_t some_ranges = bpt_ceil_div(ranges, size), pass = bpt_ceil_div(d * tile / 4, size);
    const int64_t edges = own * vectors * ((a->rel_rows ? d + 2 : 2) + (a->t->p > 0 ? DROPOUT_ROUNDS : 0));
    const int64_t pieces = bpt_ceil_div(d, t->most_columns), reads = pieces > 1 ? 2 * pass + SEARCH_ROUNDS * pieces : 0;
    return (key_rounds_t){
        .setup = KEY_SPARE_ROUNDS + 2 * tile + bpt_ceil_div(ranges * tile, size) * KEY_RANGE_ROUNDS + some_ranges * (tile + ranges + 2),
        .batch = pieces * (bpt_ceil_div(batch, size) * (KEY_LIST_ROUNDS + tile) + bpt_ceil_div(own, t->keys_per_item) * 2 * (d + pieces) +
                           edges + 2 * bpt_ceil_div(d, parts * t->columns_per_item) * (batch + 1) + reads),
        .head = pieces * KEY_PASSES * pass};
}

void bpt_software_fit_key_tile(const bpt_attention_problem_t *a, bpt_gpu_attention_tile_t *t, int64_t *part_nodes) {
    const int64_t most = a->l->device->api->limits.max_loops;
    const key_rounds_t r = key_rounds(a, t);
    const int64_t fit = (most - r.setup - r.head) / r.batch;
    *part_nodes = bpt_min(*part_nodes, (fit > 1 ? fit : 1) * t->keys_per_step);
    const int64_t heads = (most - r.setup) / (r.head + bpt_ceil_div(*part_nodes, t->keys_per_step) * r.batch);
    t->turn_heads = (uint32_t)bpt_min(t->turn_heads, heads > 1 ? heads : 1);
}
