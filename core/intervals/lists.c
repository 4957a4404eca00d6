// Writers of attention graphs as tables of ranges (see bpt/lists.h). A slot means the same kind of keys for all queries of a writer,
// since backends take the same slot of neighbouring queries together.
#include "bpt/lists.h"

#include <string.h>

#include "bpt/alloc.h"

static bpt_status_t begin(const bpt_lists_t *l, int64_t queries, int64_t keys, int64_t slots, int64_t back_slots) {
    if (l->queries != queries || l->keys != keys)
        return bpt_fail(BPT_ERR_INTERNAL, "lists of %lld queries and %lld keys, the rows give %lld and %lld", (long long)l->queries,
                        (long long)l->keys, (long long)queries, (long long)keys);
    if (l->slots < slots || (l->back && l->back_slots < back_slots))
        return bpt_fail(BPT_ERR_INTERNAL, "lists have %lld slots a query and %lld a key, %lld and %lld are needed", (long long)l->slots,
                        (long long)l->back_slots, (long long)slots, (long long)back_slots);
    memset(l->table, 0, (size_t)(queries * l->slots * 4) * sizeof *l->table);
    for (int64_t i = 0; i < queries * l->slots; ++i) l->table[4 * i + 2] = BPT_NO_ROW;
    if (l->back) memset(l->back, 0, (size_t)(keys * l->back_slots * 2) * sizeof *l->back);
    return BPT_OK;
}

static uint32_t *query_slot(const bpt_lists_t *l, int64_t query, int64_t slot) { return l->table + (query * l->slots + slot) * 4; }
static uint32_t *key_slot(const bpt_lists_t *l, int64_t key, int64_t slot) { return l->back + (key * l->back_slots + slot) * 2; }

static void put(uint32_t *entry, int64_t first, int64_t end) { entry[0] = (uint32_t)first, entry[1] = (uint32_t)end; }
static void reads(const bpt_lists_t *l, int64_t query, int64_t slot, int64_t first, int64_t end) {
    put(query_slot(l, query, slot), first, end);
}
static void read_by(const bpt_lists_t *l, int64_t key, int64_t slot, int64_t first, int64_t end) {
    if (l->back) put(key_slot(l, key, slot), first, end);
}

// ---- Dense and cross-attention ---------------------------------------------------------------------------------------------

bpt_status_t bpt_lists_all_of(const bpt_row_space_t *queries, const bpt_row_space_t *spaces, int n_spaces, const bpt_lists_t *out) {
    int64_t keys = 0;
    for (int i = 0; i < n_spaces; ++i) keys += spaces[i].rows;
    BPT_TRY(begin(out, queries->rows, keys, n_spaces, BPT_LISTS_ALL_BACK_SLOTS));
    for (int slot = 0; slot < n_spaces; ++slot)
        for (int64_t s = 0; s < queries->sequences && s < spaces[slot].sequences; ++s) {
            const int64_t q = queries->start[s], q_end = q + queries->length[s], k = spaces[slot].start[s],
                          k_end = k + spaces[slot].length[s];
            for (int64_t i = q; i < q_end; ++i) reads(out, i, slot, k, k_end);
            for (int64_t i = k; i < k_end; ++i) read_by(out, i, 0, q, q_end);
        }
    return BPT_OK;
}

bpt_status_t bpt_lists_all(const bpt_row_space_t *queries, const bpt_row_space_t *keys, const bpt_lists_t *out) {
    return bpt_lists_all_of(queries, keys, 1, out);
}

// Adds rows [first, end) to the queries that read a key: to its last range where that goes on.
static bpt_status_t add_readers(const bpt_lists_t *l, int64_t key, uint32_t first, uint32_t end) {
    for (int64_t slot = 0; slot < l->back_slots; ++slot) {
        uint32_t *entry = key_slot(l, key, slot);
        if (entry[0] < entry[1] && entry[1] != first) continue;
        put(entry, entry[0] < entry[1] ? entry[0] : first, end);
        return BPT_OK;
    }
    return bpt_fail(BPT_ERR_INTERNAL, "key %lld is read from more than %lld ranges of queries", (long long)key, (long long)l->back_slots);
}

bpt_status_t bpt_lists_aligned(const bpt_row_space_t *queries, const bpt_row_space_t *keys, const uint32_t *source,
                               const bpt_lists_t *out) {
    BPT_TRY(begin(out, queries->rows, keys->rows, BPT_LISTS_ALL_SLOTS, BPT_LISTS_ALL_BACK_SLOTS));
    for (int64_t t = 0; t < queries->sequences; ++t) {
        if (source[t] == BPT_NO_ROW || queries->length[t] == 0) continue;
        if (source[t] >= keys->sequences)
            return bpt_fail(BPT_ERR_INTERNAL, "segment %lld reads segment %u of %lld", (long long)t, source[t], (long long)keys->sequences);
        const uint32_t q = queries->start[t], q_end = q + queries->length[t], k = keys->start[source[t]];
        for (uint32_t i = q; i < q_end; ++i) reads(out, i, 0, k, k + keys->length[source[t]]);
        for (uint32_t i = k; out->back && i < k + keys->length[source[t]]; ++i) BPT_TRY(add_readers(out, i, q, q_end));
    }
    return BPT_OK;
}

// ---- Star ------------------------------------------------------------------------------------------------------------------

// The ranges of states that satellite i of n reads, and is read from.
static void ring_ranges(int64_t a, int64_t i, int64_t n, bool ring, int64_t range[3][2]) {
    memset(range, 0, 6 * sizeof(int64_t));
    range[0][0] = a + (ring && i > 0 ? i - 1 : i), range[0][1] = a + (ring && i + 1 < n ? i + 2 : i + 1);
    if (!ring) return;
    if (i == 0) range[1][0] = a + n - 1, range[1][1] = a + n;
    if (i + 1 == n) range[i == 0 ? 2 : 1][0] = a, range[i == 0 ? 2 : 1][1] = a + 1;
}

bpt_status_t bpt_lists_ring(const bpt_row_space_t *rows, unsigned of_satellite, const bpt_lists_t *out) {
    enum { EMBEDDING = 3, RELAY = 4 };
    const bool ring = of_satellite & BPT_SATELLITE_NEIGHBOURS, radical = of_satellite & BPT_SATELLITE_RELAY;
    const int64_t all = rows->rows;
    BPT_TRY(begin(out, all, 2 * all + rows->sequences, BPT_LISTS_RING_SLOTS, BPT_LISTS_RING_BACK_SLOTS));
    for (int64_t s = 0; s < rows->sequences; ++s) {
        const int64_t a = rows->start[s], n = rows->length[s], relay = 2 * all + s;
        for (int64_t i = 0; i < n; ++i) {
            int64_t range[3][2];
            ring_ranges(a, i, n, ring, range);
            for (int slot = 0; slot < 3; ++slot) {
                reads(out, a + i, slot, range[slot][0], range[slot][1]);
                read_by(out, a + i, slot, range[slot][0], range[slot][1]);
            }
            reads(out, a + i, EMBEDDING, all + a + i, all + a + i + 1);
            read_by(out, all + a + i, 0, a + i, a + i + 1);
            if (radical) reads(out, a + i, RELAY, relay, relay + 1);
        }
        if (radical) read_by(out, relay, 0, a, a + n);
    }
    return BPT_OK;
}

bpt_status_t bpt_lists_relay(const bpt_row_space_t *rows, const bpt_lists_t *out) {
    const int64_t all = rows->rows;
    BPT_TRY(begin(out, rows->sequences, all + rows->sequences, BPT_LISTS_RELAY_SLOTS, BPT_LISTS_RELAY_BACK_SLOTS));
    for (int64_t s = 0; s < rows->sequences; ++s) {
        const int64_t a = rows->start[s], n = rows->length[s];
        if (n == 0) continue;
        reads(out, s, 0, a, a + n);
        reads(out, s, 1, all + s, all + s + 1);
        for (int64_t i = a; i < a + n; ++i) read_by(out, i, 0, s, s + 1);
        read_by(out, all + s, 0, s, s + 1);
    }
    return BPT_OK;
}

bpt_table_bounds_t bpt_lists_ring_bounds(int64_t rows, int64_t longest) {
    enum { STATES = 3, EMBEDDING = 1, RELAY = 1 };
    return (bpt_table_bounds_t){.queries = {.edges = STATES + EMBEDDING + RELAY},
                                .keys = {.light = 2 * rows, .light_edges = STATES, .edges = longest}};
}
bpt_table_bounds_t bpt_lists_relay_bounds(int64_t longest) {
    return (bpt_table_bounds_t){.queries = {.edges = longest + 1}, .keys = {.edges = 1}};
}

// ---- Trees -----------------------------------------------------------------------------------------------------------------

// The end of the run of ancestors that begins with `node`; *next: the next ancestor, BPT_NO_ROW at the root.
static uint32_t ancestors_end(const uint32_t *links, uint32_t node, uint32_t *next) {
    while (links[3 * (size_t)node] == node + 1) ++node;
    *next = links[3 * (size_t)node];
    return node + 1;
}

static int64_t ancestor_runs(const uint32_t *links, uint32_t node) {
    int64_t runs = 0;
    for (; node != BPT_NO_ROW; ++runs) (void)ancestors_end(links, node, &node);
    return runs;
}

int64_t bpt_lists_subtrees_back_slots(const bpt_row_space_t *leaves, const bpt_row_space_t *nodes, const uint32_t *links) {
    int64_t most = 1;
    for (int64_t s = 0; s < leaves->sequences; ++s) {
        for (uint32_t i = 0; i < leaves->length[s]; ++i) {
            const int64_t runs = 1 + ancestor_runs(links, links[3 * (size_t)(leaves->start[s] + i)]);
            if (runs > most) most = runs;
        }
        for (uint32_t i = 0; i < nodes->length[s]; ++i) {
            const int64_t runs = ancestor_runs(links, nodes->start[s] + i);
            if (runs > most) most = runs;
        }
    }
    return most;
}

static void read_by_ancestors(const bpt_lists_t *l, int64_t key, int64_t slot, const uint32_t *links, uint32_t node) {
    while (l->back && node != BPT_NO_ROW) {
        const uint32_t first = node, end = ancestors_end(links, node, &node);
        read_by(l, key, slot++, first, end);
    }
}

bpt_status_t bpt_lists_subtrees(const bpt_row_space_t *leaves, const bpt_row_space_t *nodes, const uint32_t *links,
                                const bpt_lists_t *out) {
    const int64_t rows = leaves->rows + nodes->rows;
    const int64_t back_slots = out->back ? bpt_lists_subtrees_back_slots(leaves, nodes, links) : 0;
    BPT_TRY(begin(out, rows, rows, BPT_LISTS_SUBTREES_SLOTS, back_slots));
    for (int64_t s = 0; s < leaves->sequences; ++s) {
        const int64_t a = leaves->start[s], a_end = a + leaves->length[s], b = nodes->start[s], b_end = b + nodes->length[s];
        for (int64_t i = a; i < a_end; ++i) {
            reads(out, i, 0, a, a_end);
            read_by(out, i, 0, a, a_end);
            read_by_ancestors(out, i, 1, links, links[3 * i]);
        }
        // A node's subtree begins at the first node of its first child's: children come before their parent.
        for (int64_t i = b; i < b_end; ++i) {
            const uint32_t parent = links[3 * i];
            if (query_slot(out, i, 1)[1] == 0) reads(out, i, 1, i, i + 1);
            query_slot(out, i, 1)[1] = (uint32_t)i + 1;
            if (parent != BPT_NO_ROW && query_slot(out, parent, 1)[1] == 0) reads(out, parent, 1, query_slot(out, i, 1)[0], i + 1);
            reads(out, i, 0, links[3 * i + 1], links[3 * i + 2]);
            read_by_ancestors(out, i, 0, links, (uint32_t)i);
        }
    }
    return BPT_OK;
}

// ---- Bounds ------------------------------------------------------------------------------------------------------------------

static bpt_status_t check_side(const char *what, const uint32_t *ranges, int64_t rows, int64_t slots, int words,
                               const bpt_table_side_t *bound) {
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t most = row < bound->light ? bound->light_edges : bound->edges;
        int64_t edges = 0;
        for (const uint32_t *range = ranges + row * slots * words, *end = range + slots * words; range < end; range += words)
            if (range[0] < range[1]) edges += range[1] - range[0];
        if (most > 0 && edges > most)
            return bpt_fail(BPT_ERR_INTERNAL, "%s %lld has %lld edges; its call was built for at most %lld", what, (long long)row,
                            (long long)edges, (long long)most);
    }
    return BPT_OK;
}

bpt_status_t bpt_lists_check(const bpt_lists_t *l, const bpt_table_bounds_t *bounds) {
    BPT_TRY(check_side("query", l->table, l->queries, l->slots, 4, &bounds->queries));
    return l->back ? check_side("key", l->back, l->keys, l->back_slots, 2, &bounds->keys) : BPT_OK;
}

// ---- Any table ---------------------------------------------------------------------------------------------------------------

// Adds a query, not below those before: it prolongs a range that ends at it, or begins one.
static bpt_status_t add_reader(const bpt_lists_t *l, int64_t key, uint32_t query) { return add_readers(l, key, query, query + 1); }

bpt_status_t bpt_lists_transposed(const bpt_lists_t *l) {
    memset(l->back, 0, (size_t)(l->keys * l->back_slots * 2) * sizeof *l->back);
    for (int64_t q = 0; q < l->queries; ++q)
        for (int64_t s = 0; s < l->slots; ++s) {
            const uint32_t *entry = query_slot(l, q, s);
            for (int64_t key = entry[0]; key < (int64_t)entry[1]; ++key) BPT_TRY(add_reader(l, key, (uint32_t)q));
        }
    return BPT_OK;
}

// A key that query q reads m times needs m ranges that hold q; those that held q - 1 go on.
bpt_status_t bpt_lists_transposed_slots(const bpt_lists_t *l, int64_t *slots) {
    struct {
        int64_t query, times, before, ranges;  // the last query that read the key, how often it and the one before it did
    } * key;
    BPT_TRY(bpt_alloc((size_t)l->keys + 1, sizeof *key, &key));
    for (int64_t i = 0; i < l->keys; ++i) key[i].query = -2, key[i].times = key[i].before = key[i].ranges = 0;
    *slots = 0;
    for (int64_t q = 0; q < l->queries; ++q)
        for (int64_t s = 0; s < l->slots; ++s) {
            const uint32_t *entry = query_slot(l, q, s);
            for (int64_t i = entry[0]; i < (int64_t)entry[1]; ++i) {
                if (key[i].query != q) key[i].before = key[i].query == q - 1 ? key[i].times : 0, key[i].times = 0, key[i].query = q;
                if (++key[i].times > key[i].before) ++key[i].ranges;
                if (key[i].ranges > *slots) *slots = key[i].ranges;
            }
        }
    bpt_free(key);
    return BPT_OK;
}
