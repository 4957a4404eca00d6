// Who owns, gives, takes and reads which rows of shared sequences (see halo.h).
#include "models/blocks/halo.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Who reads what

// The nodes of each level that leaves [first, end) of a whole sequence read.
typedef struct {
    bpt_level_nodes_t level[BPT_MAX_LEVELS];
} reads_t;

static void widen(bpt_level_nodes_t *nodes, int64_t begin, int64_t end) {
    const bool none = nodes->begin >= nodes->end;
    *nodes = none ? (bpt_level_nodes_t){begin, end} : (bpt_level_nodes_t){smaller(nodes->begin, begin), larger(nodes->end, end)};
}

static reads_t reads_of(const bpt_intervals_t *g, int64_t first, int64_t end) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    reads_t r = {0};
    for (int64_t leaf = first; leaf < end; ++leaf) {
        const int count = bpt_intervals_keys(g, g->n, leaf, slots);
        for (int s = 0; s < count; ++s) {
            int level;
            int64_t index;
            bpt_node_position(g, slots[s].begin, &level, &index);
            widen(&r.level[level], index, index + slots[s].end - slots[s].begin);
        }
    }
    return r;
}

// The nodes of a level in the range of a rank.
static bpt_level_nodes_t range_of(const bpt_halo_t *h, int rank, int level) {
    return (bpt_level_nodes_t){rank * h->leaves >> level, (rank + 1) * h->leaves >> level};
}

static bpt_level_nodes_t common(bpt_level_nodes_t a, bpt_level_nodes_t b) {
    return (bpt_level_nodes_t){larger(a.begin, b.begin), smaller(a.end, b.end)};
}
static int64_t count_of(bpt_level_nodes_t nodes) { return nodes.end > nodes.begin ? nodes.end - nodes.begin : 0; }

// What lies before and behind the range of a rank.
static bpt_level_nodes_t left_of(const bpt_halo_t *h, const reads_t *reads, int rank, int level) {
    return common(reads->level[level], (bpt_level_nodes_t){0, range_of(h, rank, level).begin});
}
static bpt_level_nodes_t right_of(const bpt_halo_t *h, const reads_t *reads, int rank, int level) {
    return common(reads->level[level], (bpt_level_nodes_t){range_of(h, rank, level).end, INT64_MAX});
}

// Levels [0, levels) are read by some rank. A span that is read must lie in one range.
static bpt_status_t find_levels(bpt_halo_t *h, const reads_t *reads) {
    for (int rank = 0; rank < h->place.size; ++rank)
        for (int j = 0; j < BPT_MAX_LEVELS; ++j)
            if (count_of(reads[rank].level[j])) h->levels = j + 1 > h->levels ? j + 1 : h->levels;
    const int64_t longest = INT64_C(1) << (h->levels - 1);
    if (h->leaves % longest == 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE,
                    "%d ranks cannot share sequences of %" PRId64 " tokens: a token reads spans of up to %" PRId64
                    " tokens, and a rank would own %" PRId64 " tokens, which is no multiple of that; use fewer ranks, another length, or a "
                    "larger k",
                    h->place.size, h->graph.n, longest, h->leaves);
}

static void lay_out(bpt_halo_t *h, const reads_t *reads) {
    const int own = h->place.rank;
    for (int j = 0; j < h->levels; ++j) {
        bpt_halo_level_t *l = &h->level[j];
        bpt_level_nodes_t all = {0, 0};
        for (int rank = 0; rank < h->place.size; ++rank)
            if (count_of(reads[rank].level[j])) widen(&all, reads[rank].level[j].begin, reads[rank].level[j].end);
        l->own = j ? common(all, range_of(h, own, j)) : range_of(h, own, j);
        l->left = left_of(h, &reads[own], own, j);
        l->right = right_of(h, &reads[own], own, j);
        l->own_row = h->spans;
        if (j) h->spans += count_of(l->own);
        l->left_row = h->taken;
        l->right_row = h->taken += count_of(l->left);
        h->taken += count_of(l->right);
    }
    h->own_rows = h->batch * (h->leaves + h->spans);
    h->take_rows = larger(1, h->batch * h->taken);
    h->key_rows = h->own_rows + h->take_rows;
}

static bool holds(bpt_level_nodes_t nodes, int64_t index) { return index >= nodes.begin && index < nodes.end; }

int64_t bpt_halo_row(const bpt_halo_t *h, int64_t sequence, int level, int64_t index) {
    if (level >= h->levels) return -1;
    const bpt_halo_level_t *l = &h->level[level];
    const int64_t halo = h->own_rows + sequence * h->taken;
    if (holds(l->left, index)) return halo + l->left_row + index - l->left.begin;
    if (holds(l->right, index)) return halo + l->right_row + index - l->right.begin;
    if (!holds(l->own, index)) return -1;
    if (level == 0) return sequence * h->leaves + index - l->own.begin;
    return h->batch * h->leaves + sequence * h->spans + l->own_row + index - l->own.begin;
}

void bpt_halo_visit(const bpt_halo_t *h, bpt_halo_visit_t visit, void *user) {
    for (int64_t s = 0; s < h->batch; ++s)
        for (int j = 0; j < h->levels; ++j) {
            const bpt_level_nodes_t nodes[] = {h->level[j].left, h->level[j].own, h->level[j].right};
            for (int part = 0; part < 3; ++part)
                for (int64_t m = nodes[part].begin; m < nodes[part].end; ++m)
                    visit(user, bpt_halo_row(h, s, j, m), s, bpt_tree_node(&h->graph, j, m));
        }
}

// ---- Exchanges

// Appends the rows of what rank `from` gives rank `to`, as this rank knows them, to rows (NULL: they are only counted). Returns how many.
static int64_t rows_between(const bpt_halo_t *h, const reads_t *reads, int from, int to, uint32_t *rows) {
    int64_t count = 0;
    for (int64_t s = 0; s < h->batch && from != to; ++s)
        for (int j = 0; j < h->levels; ++j) {
            const bpt_level_nodes_t parts[] = {common(left_of(h, &reads[to], to, j), range_of(h, from, j)),
                                               common(right_of(h, &reads[to], to, j), range_of(h, from, j))};
            for (int part = 0; part < 2; ++part)
                for (int64_t m = parts[part].begin; m < parts[part].end; ++m, ++count)
                    if (rows) rows[count] = (uint32_t)bpt_halo_row(h, s, j, m);
        }
    return count;
}

static bpt_status_t list_exchanges(bpt_halo_t *h, const reads_t *reads) {
    const int own = h->place.rank, size = h->place.size;
    BPT_TRY(bpt_alloc((size_t)size, sizeof *h->give_counts, &h->give_counts));
    BPT_TRY(bpt_alloc((size_t)size, sizeof *h->take_counts, &h->take_counts));
    for (int rank = 0; rank < size; ++rank) {
        h->give_rows += h->give_counts[rank] = rows_between(h, reads, own, rank, NULL);
        h->take_counts[rank] = rows_between(h, reads, rank, own, NULL);
    }
    if (!h->give_rows) h->give_rows = 1;
    BPT_TRY(bpt_alloc((size_t)h->give_rows, sizeof *h->give, &h->give));
    BPT_TRY(bpt_alloc((size_t)h->take_rows, sizeof *h->take, &h->take));
    h->give[0] = BPT_NO_ROW;
    int64_t given = 0, taken = 0;
    for (int rank = 0; rank < size; ++rank) {
        given += rows_between(h, reads, own, rank, h->give + given);
        taken += rows_between(h, reads, rank, own, h->take + taken);
    }
    for (int64_t i = 0; i < taken; ++i) h->take[i] -= (uint32_t)h->own_rows;
    return BPT_OK;
}

static int64_t total_of(const bpt_halo_t *h, const int64_t *counts) {
    int64_t total = 0;
    for (int rank = 0; rank < h->place.size; ++rank) total += counts[rank];
    return total;
}

static bpt_status_t need_room(bpt_halo_t *h, size_t bytes) {
    if (bytes <= h->moved_bytes) return BPT_OK;
    bpt_free_aligned(h->moved);
    h->moved = NULL;
    h->moved_bytes = 0;
    BPT_TRY(bpt_alloc_aligned(bytes, &h->moved));
    h->moved_bytes = bytes;
    return BPT_OK;
}

static bpt_status_t swap(bpt_halo_t *h, size_t row_bytes, const void *give, const int64_t *given, void *take, const int64_t *taken) {
    const size_t size = (size_t)h->place.size;
    size_t *bytes;
    BPT_TRY(bpt_alloc(2 * size, sizeof *bytes, &bytes));
    for (size_t rank = 0; rank < size; ++rank)
        bytes[rank] = (size_t)given[rank] * row_bytes, bytes[size + rank] = (size_t)taken[rank] * row_bytes;
    const bpt_status_t status = bpt_ranks_swap(h->ranks, give, bytes, take, bytes + size);
    bpt_free(bytes);
    h->rows_exchanged += (uint64_t)total_of(h, given);
    h->bytes_exchanged += (uint64_t)total_of(h, given) * row_bytes;
    return status;
}

bpt_status_t bpt_halo_exchange(void *user, bool back, size_t row_bytes, const void *give, void *take) {
    bpt_halo_t *h = user;
    const int64_t taken = total_of(h, h->take_counts);
    BPT_TRY(need_room(h, (size_t)h->take_rows * row_bytes));
    char *moved = h->moved;
    if (back) {
        if (!total_of(h, h->give_counts)) memset(take, 0, (size_t)h->give_rows * row_bytes);
        for (int64_t i = 0; i < taken; ++i) memcpy(moved + (size_t)i * row_bytes, (const char *)give + h->take[i] * row_bytes, row_bytes);
        return swap(h, row_bytes, moved, h->take_counts, take, h->give_counts);
    }
    if (!taken) memset(take, 0, (size_t)h->take_rows * row_bytes);
    BPT_TRY(swap(h, row_bytes, give, h->give_counts, moved, h->take_counts));
    for (int64_t i = 0; i < taken; ++i) memcpy((char *)take + h->take[i] * row_bytes, moved + (size_t)i * row_bytes, row_bytes);
    return BPT_OK;
}

// ---- Tables

// A row of a table as its ranges are found; ranges NULL: they are only counted.
typedef struct {
    uint32_t *ranges;
    int64_t slots;
    int words;  // of a range: 4 of keys, 2 of queries
    int64_t used, edges;
} row_t;

static void add_range(row_t *row, int64_t begin, int64_t end, const bpt_slot_t *of, int64_t along) {
    if (row->ranges && row->used < row->slots) {
        uint32_t *range = row->ranges + row->used * row->words;
        range[0] = (uint32_t)begin, range[1] = (uint32_t)end;
        if (row->words == 4) range[2] = of->rel_row < 0 ? BPT_NO_ROW : (uint32_t)(of->rel_row + along * of->rel_step);
        if (row->words == 4) range[3] = (uint32_t)of->rel_step;
    }
    ++row->used;
    row->edges += end - begin;
}

// The ranges that are left over are empty.
static void end_row(const row_t *row) {
    for (int64_t s = row->used; s < row->slots; ++s) {
        uint32_t *range = row->ranges + s * row->words;
        range[0] = range[1] = 0;
        if (row->words == 4) range[2] = BPT_NO_ROW, range[3] = 0;
    }
}

// Where the part of a level ends that holds this node.
static int64_t part_end(const bpt_halo_level_t *l, int64_t index) {
    return holds(l->left, index) ? l->left.end : holds(l->own, index) ? l->own.end : l->right.end;
}

// The keys of an own node: a range of nodes is cut where the halo begins.
static bpt_status_t find_keys(const bpt_halo_t *h, int64_t length, int64_t sequence, int64_t node, row_t *row) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_keys(&h->graph, length, node, slots);
    for (int s = 0; s < count; ++s) {
        int level;
        int64_t index;
        bpt_node_position(&h->graph, slots[s].begin, &level, &index);
        for (int64_t at = 0, n = slots[s].end - slots[s].begin, next; at < n; at = next) {
            const int64_t first = bpt_halo_row(h, sequence, level, index + at);
            if (first < 0) return bpt_fail(BPT_ERR_INTERNAL, "node %" PRId64 " of level %d is read and has no row", index + at, level);
            next = smaller(n, part_end(&h->level[level], index + at) - index);
            add_range(row, first, first + next - at, &slots[s], at);
        }
    }
    return BPT_OK;
}

// The own nodes that read a node; `leaves`: only those.
static void find_readers(const bpt_halo_t *h, int64_t length, int64_t sequence, int64_t node, bool leaves, row_t *row) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_consumers(&h->graph, length, node, slots);
    for (int s = 0; s < count; ++s) {
        int level;
        int64_t index;
        bpt_node_position(&h->graph, slots[s].begin, &level, &index);
        if (level >= h->levels || (leaves && level)) continue;
        const bpt_level_nodes_t own = common(h->level[level].own, (bpt_level_nodes_t){index, index + slots[s].end - slots[s].begin});
        if (!count_of(own)) continue;
        const int64_t first = bpt_halo_row(h, sequence, level, own.begin);
        add_range(row, first, first + count_of(own), &slots[s], 0);
    }
}

static void note(bpt_table_side_t *side, int64_t *slots, const row_t *row, bool light) {
    int64_t *edges = light ? &side->light_edges : &side->edges;
    *slots = larger(*slots, row->used);
    *edges = larger(*edges, row->edges);
}

// Slots and bounds, from a sequence of full length: shorter ones have no more.
static bpt_status_t measure(bpt_halo_t *h) {
    const int64_t n = h->graph.n;
    h->slots = h->back_slots = h->last_slots = 1;
    h->bounds.queries.light = h->last_bounds.queries.light = h->batch * h->leaves;
    for (int j = 0; j < h->levels; ++j) {
        const bpt_level_nodes_t nodes[] = {h->level[j].left, h->level[j].own, h->level[j].right};
        for (int part = 0; part < 3; ++part)
            for (int64_t m = nodes[part].begin; m < nodes[part].end; ++m) {
                const int64_t node = bpt_tree_node(&h->graph, j, m);
                row_t keys = {.words = 4}, readers = {.words = 2}, last = {.words = 2};
                if (part == 1) BPT_TRY(find_keys(h, n, 0, node, &keys));
                find_readers(h, n, 0, node, false, &readers);
                find_readers(h, n, 0, node, true, &last);
                note(&h->bounds.queries, &h->slots, &keys, j == 0);
                note(&h->bounds.keys, &h->back_slots, &readers, false);
                note(&h->last_bounds.keys, &h->last_slots, &last, false);
            }
    }
    h->last_bounds.queries.light_edges = h->bounds.queries.light_edges;
    return BPT_OK;
}

typedef struct {
    const bpt_halo_t *h;
    const uint32_t *lengths;
    uint32_t *table, *back, *last;
    bpt_status_t status;
} writer_t;

static void check(writer_t *w, const row_t *row) {
    if (row->used > row->slots && w->status == BPT_OK)
        w->status = bpt_fail(BPT_ERR_INTERNAL, "a row has %" PRId64 " ranges, and there is room for %" PRId64, row->used, row->slots);
    end_row(row);
}

static void write_node(void *user, int64_t at, int64_t sequence, int64_t node) {
    writer_t *w = user;
    const bpt_halo_t *h = w->h;
    const int64_t length = w->lengths[sequence];
    if (at < h->own_rows) {
        row_t row = {w->table + at * h->slots * 4, h->slots, 4, 0, 0};
        const bpt_status_t status = find_keys(h, length, sequence, node, &row);
        if (w->status == BPT_OK) w->status = status;
        check(w, &row);
    }
    for (int leaves = 0; leaves < 2; ++leaves) {
        uint32_t *ranges = leaves ? w->last : w->back;
        const int64_t slots = leaves ? h->last_slots : h->back_slots;
        if (!ranges) continue;
        row_t row = {ranges + at * slots * 2, slots, 2, 0, 0};
        find_readers(h, length, sequence, node, leaves, &row);
        check(w, &row);
    }
}

bpt_status_t bpt_halo_write(const bpt_halo_t *h, const uint32_t *lengths, uint32_t *table, uint32_t *back, uint32_t *last) {
    writer_t w = {h, lengths, table, back, last, BPT_OK};
    bpt_halo_visit(h, write_node, &w);
    if (!h->taken && back) memset(back + h->own_rows * h->back_slots * 2, 0, (size_t)(h->back_slots * 2) * sizeof *back);
    if (!h->taken && last) memset(last + h->own_rows * h->last_slots * 2, 0, (size_t)(h->last_slots * 2) * sizeof *last);
    return w.status;
}

// ---- The whole

static bpt_status_t prepare(bpt_halo_t *h) {
    const int size = h->place.size;
    reads_t *reads;
    BPT_TRY(bpt_alloc((size_t)size, sizeof *reads, &reads));
    for (int rank = 0; rank < size; ++rank) reads[rank] = reads_of(&h->graph, rank * h->leaves, (rank + 1) * h->leaves);
    bpt_status_t status = find_levels(h, reads);
    if (status == BPT_OK) lay_out(h, reads);
    if (status == BPT_OK) status = list_exchanges(h, reads);
    bpt_free(reads);
    return status == BPT_OK ? measure(h) : status;
}

bpt_status_t bpt_halo_create(const bpt_intervals_t *graph, int64_t batch, const bpt_shard_t *place, bpt_halo_t **out) {
    bpt_halo_t *h;
    BPT_TRY(bpt_alloc(1, sizeof *h, &h));
    h->graph = *graph;
    h->place = *place;
    h->batch = batch;
    h->leaves = graph->n / place->size;
    const bpt_status_t status = prepare(h);
    if (status == BPT_OK)
        *out = h;
    else
        bpt_halo_destroy(h);
    return status;
}

void bpt_halo_destroy(bpt_halo_t *h) {
    if (!h) return;
    bpt_free(h->give);
    bpt_free(h->take);
    bpt_free(h->give_counts);
    bpt_free(h->take_counts);
    bpt_free_aligned(h->moved);
    bpt_free(h);
}
