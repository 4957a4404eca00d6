// Writers of attention tables against restatements of the graphs, edge by edge: both tables of each, for ragged batches with padding and
// empty sequences.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/lists.h"
#include "bpt/rng.h"
#include "support/attention.h"

enum { MAX_ROWS = 220, MAX_SLOTS = 16, MAX_SEQUENCES = 8 };

// How often each query reads each key.
typedef struct {
    int times[MAX_ROWS][MAX_ROWS];
} edges_t;

static uint32_t table[MAX_ROWS * MAX_SLOTS * 4], back[MAX_ROWS * MAX_SLOTS * 2];

static bpt_lists_t lists_of(int64_t queries, int64_t keys, int64_t slots, int64_t back_slots) {
    assert_true(queries <= MAX_ROWS && keys <= MAX_ROWS && slots <= MAX_SLOTS && back_slots <= MAX_SLOTS);
    memset(table, 0xA5, sizeof table), memset(back, 0xA5, sizeof back);
    return (bpt_lists_t){queries, keys, slots, back_slots, table, back};
}

// A writer's tables hold exactly these edges, and each is the transpose of the other; so is what bpt_lists_transposed makes.
static void assert_edges(bpt_lists_t *l, const edges_t *wanted) {
    edges_t got = {{{0}}};
    for (int64_t q = 0; q < l->queries; ++q)
        for (int64_t s = 0; s < l->slots; ++s) {
            const uint32_t *entry = l->table + (q * l->slots + s) * 4;
            assert_int_equal(entry[2], BPT_NO_ROW);
            for (uint32_t key = entry[0]; key < entry[1]; ++key) {
                assert_true(key < l->keys);
                got.times[q][key]++;
            }
        }
    assert_memory_equal(&got, wanted, sizeof got);
    test_lists_are_transposed(l);
    int64_t slots;
    uint32_t again[MAX_ROWS * MAX_SLOTS * 2];
    assert_int_equal(bpt_lists_transposed_slots(l, &slots), BPT_OK);
    assert_true(slots <= l->back_slots);
    bpt_lists_t transposed = *l;
    transposed.back = again, transposed.back_slots = slots;
    assert_int_equal(bpt_lists_transposed(&transposed), BPT_OK);
    test_lists_are_transposed(&transposed);
    if (slots == 0) return;
    transposed.back_slots = slots - 1;
    assert_int_equal(bpt_lists_transposed(&transposed), BPT_ERR_INTERNAL);
}

// Rows of sequences of these lengths, `gap` rows of padding before each and behind the last.
typedef struct {
    bpt_row_space_t space;
    uint32_t start[MAX_SEQUENCES], length[MAX_SEQUENCES];
} rows_t;

static void lay_out(rows_t *r, const uint32_t *lengths, int n, uint32_t gap) {
    uint32_t row = 0;
    for (int s = 0; s < n; ++s) {
        row += gap;
        r->start[s] = row, r->length[s] = lengths[s];
        row += lengths[s];
    }
    r->space = (bpt_row_space_t){row + gap, n, r->start, r->length};
}

static const uint32_t lengths[][3] = {{1, 2, 3}, {4, 0, 1}, {7, 5, 2}, {0, 0, 0}, {20, 1, 33}};
enum { N_BATCHES = BPT_COUNT(lengths) };

static void every_query_reads_all_keys_of_its_sequence(void **state) {
    (void)state;
    for (int b = 0; b < N_BATCHES; ++b)
        for (uint32_t gap = 0; gap < 3; ++gap) {
            rows_t q, k;
            edges_t wanted = {{{0}}};
            lay_out(&q, lengths[b], 3, gap), lay_out(&k, lengths[(b + 1) % N_BATCHES], 3, 2 - gap);
            bpt_lists_t l = lists_of(q.space.rows, k.space.rows, 1, 2);
            for (int s = 0; s < 3; ++s)
                for (uint32_t i = 0; i < q.length[s]; ++i)
                    for (uint32_t j = 0; j < k.length[s]; ++j) wanted.times[q.start[s] + i][k.start[s] + j] = 1;
            assert_int_equal(bpt_lists_all(&q.space, &k.space, &l), BPT_OK);
            assert_edges(&l, &wanted);
        }
}

// Keys of two spaces, one behind the other in one tensor.
static void every_query_reads_its_sequence_in_all_spaces(void **state) {
    (void)state;
    for (int b = 0; b < N_BATCHES; ++b) {
        rows_t q, k[2];
        edges_t wanted = {{{0}}};
        lay_out(&q, lengths[b], 3, 1), lay_out(&k[0], lengths[(b + 1) % N_BATCHES], 3, 0),
            lay_out(&k[1], lengths[(b + 2) % N_BATCHES], 3, 1);
        for (int s = 0; s < 3; ++s) k[1].start[s] += (uint32_t)k[0].space.rows;
        const bpt_row_space_t spaces[] = {k[0].space, k[1].space};
        bpt_lists_t l = lists_of(q.space.rows, spaces[0].rows + spaces[1].rows, 2, 1);
        for (int s = 0; s < 3; ++s)
            for (uint32_t i = 0; i < q.length[s]; ++i)
                for (int of = 0; of < 2; ++of)
                    for (uint32_t j = 0; j < k[of].length[s]; ++j) wanted.times[q.start[s] + i][k[of].start[s] + j] = 1;
        assert_int_equal(bpt_lists_all_of(&q.space, spaces, 2, &l), BPT_OK);
        assert_edges(&l, &wanted);
    }
}

static void segments_read_the_segment_that_they_are_aligned_with(void **state) {
    (void)state;
    const uint32_t sources[][3] = {{0, 1, 2}, {2, 0, 1}, {0, 0, 2}, {BPT_NO_ROW, 1, 1}};
    for (int b = 0; b < N_BATCHES; ++b)
        for (size_t a = 0; a < BPT_COUNT(sources); ++a) {
            rows_t q, k;
            edges_t wanted = {{{0}}};
            lay_out(&q, lengths[b], 3, 0), lay_out(&k, lengths[(b + 2) % N_BATCHES], 3, 1);
            bpt_lists_t l = lists_of(q.space.rows, k.space.rows, 1, 1);
            for (int s = 0; s < 3; ++s)
                for (uint32_t i = 0; i < q.length[s]; ++i)
                    for (uint32_t j = 0; sources[a][s] != BPT_NO_ROW && j < k.length[sources[a][s]]; ++j)
                        wanted.times[q.start[s] + i][k.start[sources[a][s]] + j] = 1;
            assert_int_equal(bpt_lists_aligned(&q.space, &k.space, sources[a], &l), BPT_OK);
            assert_edges(&l, &wanted);
        }
}

// A source segment that is read from two places needs two ranges: with one slot that is refused, never cut short.
static void too_few_slots_are_refused(void **state) {
    (void)state;
    rows_t q, k;
    const uint32_t source[] = {0, 1, 0};
    lay_out(&q, lengths[0], 3, 0), lay_out(&k, lengths[0], 3, 0);
    bpt_lists_t l = lists_of(q.space.rows, k.space.rows, 1, 1);
    assert_int_equal(bpt_lists_aligned(&q.space, &k.space, source, &l), BPT_ERR_INTERNAL);
    l.back_slots = 2;
    assert_int_equal(bpt_lists_aligned(&q.space, &k.space, source, &l), BPT_OK);
    test_lists_are_transposed(&l);
    assert_int_equal(bpt_lists_ring(&q.space, BPT_SATELLITE_NEIGHBOURS | BPT_SATELLITE_RELAY, &l), BPT_ERR_INTERNAL);
    l.keys += 1;
    assert_int_equal(bpt_lists_all(&q.space, &k.space, &l), BPT_ERR_INTERNAL);
}

static void satellites_read_a_ring_their_embedding_and_their_relay(void **state) {
    (void)state;
    for (int b = 0; b < N_BATCHES; ++b)
        for (int variant = 0; variant < 4; ++variant) {
            const bool ring = variant & 1, radical = variant & 2;
            rows_t r;
            edges_t wanted = {{{0}}};
            lay_out(&r, lengths[b], 3, (uint32_t)variant);
            const int64_t n_rows = r.space.rows;
            bpt_lists_t l = lists_of(n_rows, 2 * n_rows + 3, BPT_LISTS_RING_SLOTS, BPT_LISTS_RING_BACK_SLOTS);
            for (int s = 0; s < 3; ++s)
                for (uint32_t i = 0, n = r.length[s]; i < n; ++i) {
                    int *times = wanted.times[r.start[s] + i];
                    for (uint32_t step = 0; step < 3; ++step)
                        if (ring || step == 1) times[r.start[s] + (i + n + step - 1) % n]++;
                    times[n_rows + r.start[s] + i]++;
                    if (radical) times[2 * n_rows + s]++;
                }
            assert_int_equal(bpt_lists_ring(&r.space, (ring ? BPT_SATELLITE_NEIGHBOURS : 0u) | (radical ? BPT_SATELLITE_RELAY : 0u), &l),
                             BPT_OK);
            assert_edges(&l, &wanted);
        }
}

static void a_relay_reads_its_satellites_and_itself(void **state) {
    (void)state;
    for (int b = 0; b < N_BATCHES; ++b) {
        rows_t r;
        edges_t wanted = {{{0}}};
        lay_out(&r, lengths[b], 3, 1);
        bpt_lists_t l = lists_of(3, r.space.rows + 3, BPT_LISTS_RELAY_SLOTS, BPT_LISTS_RELAY_BACK_SLOTS);
        for (int s = 0; s < 3; ++s)
            for (uint32_t i = 0; i < r.length[s]; ++i) wanted.times[s][r.start[s] + i] = 1, wanted.times[s][r.space.rows + s] = 1;
        assert_int_equal(bpt_lists_relay(&r.space, &l), BPT_OK);
        assert_edges(&l, &wanted);
    }
}

// What the writers of both say of their tables is so, and cannot be said of rows of more edges.
static void tables_keep_their_bounds_and_others_are_refused(void **state) {
    (void)state;
    for (int b = 0; b < N_BATCHES; ++b)
        for (int variant = 0; variant < 4; ++variant) {
            rows_t r;
            lay_out(&r, lengths[b], 3, 1);
            const int64_t n = r.space.rows;
            int64_t longest = 0;
            for (int s = 0; s < 3; ++s)
                if (r.length[s] > longest) longest = r.length[s];
            bpt_table_bounds_t bounds = bpt_lists_ring_bounds(n, longest);
            bpt_lists_t l = lists_of(n, 2 * n + 3, BPT_LISTS_RING_SLOTS, BPT_LISTS_RING_BACK_SLOTS);
            assert_int_equal(bpt_lists_ring(&r.space, (unsigned)variant, &l), BPT_OK);
            assert_int_equal(bpt_lists_check(&l, &bounds), BPT_OK);
            bounds = bpt_lists_relay_bounds(longest);
            l = lists_of(3, n + 3, BPT_LISTS_RELAY_SLOTS, BPT_LISTS_RELAY_BACK_SLOTS);
            assert_int_equal(bpt_lists_relay(&r.space, &l), BPT_OK);
            assert_int_equal(bpt_lists_check(&l, &bounds), BPT_OK);
        }
    rows_t r;
    lay_out(&r, lengths[2], 3, 0);  // 7, 5 and 2 rows
    const int64_t n = r.space.rows;
    bpt_lists_t l = lists_of(n, 2 * n + 3, BPT_LISTS_RING_SLOTS, BPT_LISTS_RING_BACK_SLOTS);
    assert_int_equal(bpt_lists_ring(&r.space, BPT_SATELLITE_NEIGHBOURS | BPT_SATELLITE_RELAY, &l), BPT_OK);
    bpt_table_bounds_t bounds = bpt_lists_ring_bounds(n, 6);
    assert_int_equal(bpt_lists_check(&l, &bounds), BPT_ERR_INTERNAL);
    assert_non_null(strstr(bpt_error_message(), "key 28 has 7 edges; its call was built for at most 6"));
    bounds = bpt_lists_ring_bounds(n, 7), bounds.keys.light += 1;
    assert_int_equal(bpt_lists_check(&l, &bounds), BPT_ERR_INTERNAL);
    bounds = bpt_lists_ring_bounds(n, 7), bounds.queries.edges = 4;
    assert_int_equal(bpt_lists_check(&l, &bounds), BPT_ERR_INTERNAL);
    assert_non_null(strstr(bpt_error_message(), "query 0 has 5 edges; its call was built for at most 4"));
    bounds.queries.edges = 0;  // not known
    assert_int_equal(bpt_lists_check(&l, &bounds), BPT_OK);
    l.back = NULL, bounds.keys.edges = 1;
    assert_int_equal(bpt_lists_check(&l, &bounds), BPT_OK);
}

// ---- Trees

// Makes a tree over leaves [first, end) whose nodes are next[0] .., in post-order; returns its root. `shape` is a random number.
static uint32_t grow(uint32_t *links, uint32_t first, uint32_t end, uint32_t *next, uint64_t shape) {
    uint32_t child[4], n = 0;
    const uint32_t parts = end - first == 1 ? 0 : 2 + (uint32_t)(shape % 3);
    for (uint32_t i = 0, at = first; i < parts && at < end; ++i) {
        const uint32_t to = i + 1 == parts ? end : at + 1 + (uint32_t)(bpt_mix64(shape + i) % (end - at));
        if (to - at > 1 && to - at < end - first) child[n++] = grow(links, at, to, next, bpt_mix64(shape * 5 + i));
        at = to;
    }
    const uint32_t node = (*next)++;
    links[3 * node] = BPT_NO_ROW, links[3 * node + 1] = first, links[3 * node + 2] = end;
    for (uint32_t i = 0; i < n; ++i) links[3 * child[i]] = node;
    for (uint32_t leaf = first; leaf < end; ++leaf)
        if (links[3 * leaf] == BPT_NO_ROW) links[3 * leaf] = node;
    return node;
}

static bool is_above(const uint32_t *links, uint32_t node, uint32_t below) {
    for (; below != BPT_NO_ROW; below = links[3 * below])
        if (below == node) return true;
    return false;
}

static void leaves_read_leaves_and_nodes_read_their_subtrees(void **state) {
    (void)state;
    for (int b = 0; b < 60; ++b) {
        uint32_t links[MAX_ROWS * 3];
        rows_t leaves, nodes = {.space = {0}};
        edges_t wanted = {{{0}}};
        const uint32_t sizes[3] = {1 + (uint32_t)(bpt_mix64((uint64_t)b) % 30), b % 5 ? 1 + (uint32_t)b % 7 : 0, 2};
        lay_out(&leaves, sizes, 3, (uint32_t)b % 2);
        memset(links, 0xFF, sizeof links);
        uint32_t next = (uint32_t)leaves.space.rows;
        for (int s = 0; s < 3; ++s) {
            nodes.start[s] = next;
            if (sizes[s]) (void)grow(links, leaves.start[s], leaves.start[s] + sizes[s], &next, bpt_mix64((uint64_t)(b * 10 + s)));
            nodes.length[s] = next - nodes.start[s];
        }
        next += 2;  // padding
        nodes.space = (bpt_row_space_t){next - leaves.space.rows, 3, nodes.start, nodes.length};
        const int64_t back_slots = bpt_lists_subtrees_back_slots(&leaves.space, &nodes.space, links);
        bpt_lists_t l = lists_of(next, next, BPT_LISTS_SUBTREES_SLOTS, back_slots);
        for (int s = 0; s < 3; ++s)
            for (uint32_t i = 0; i < sizes[s]; ++i) {
                const uint32_t leaf = leaves.start[s] + i;
                for (uint32_t j = 0; j < sizes[s]; ++j) wanted.times[leaf][leaves.start[s] + j] = 1;
                for (uint32_t m = 0; m < nodes.length[s]; ++m)
                    if (is_above(links, nodes.start[s] + m, leaf)) wanted.times[nodes.start[s] + m][leaf] = 1;
            }
        for (int s = 0; s < 3; ++s)
            for (uint32_t m = 0; m < nodes.length[s]; ++m)
                for (uint32_t k = 0; k < nodes.length[s]; ++k)
                    if (is_above(links, nodes.start[s] + m, nodes.start[s] + k)) wanted.times[nodes.start[s] + m][nodes.start[s] + k] = 1;
        assert_int_equal(bpt_lists_subtrees(&leaves.space, &nodes.space, links, &l), BPT_OK);
        assert_edges(&l, &wanted);
        l.back_slots -= 1;
        assert_int_equal(bpt_lists_subtrees(&leaves.space, &nodes.space, links, &l), BPT_ERR_INTERNAL);
    }
}

// Slots that overlap and repeat keys: the transpose counts each as often as it is read.
static void any_table_is_transposed_with_its_repetitions(void **state) {
    (void)state;
    for (uint64_t t = 0; t < 200; ++t) {
        const int64_t queries = (int64_t)(bpt_mix64(t) % 40), keys = 1 + (int64_t)(bpt_mix64(t + 1000) % 20), slots = 1 + (int64_t)(t % 5);
        bpt_lists_t l = lists_of(queries, keys, slots, 0);
        static uint32_t room[MAX_ROWS * MAX_ROWS * 2];
        for (int64_t i = 0; i < queries * slots; ++i) {
            const uint64_t h = bpt_mix64(t * 4096 + (uint64_t)i);
            table[4 * i] = (uint32_t)(h % (uint64_t)keys), table[4 * i + 2] = BPT_NO_ROW, table[4 * i + 3] = 0;
            table[4 * i + 1] = (uint32_t)((h >> 20) % (uint64_t)(keys + 1));  // a third and more are empty
        }
        l.back = room;
        assert_int_equal(bpt_lists_transposed_slots(&l, &l.back_slots), BPT_OK);
        assert_true(keys * l.back_slots * 2 <= (int64_t)BPT_COUNT(room));
        assert_int_equal(bpt_lists_transposed(&l), BPT_OK);
        test_lists_are_transposed(&l);
        if (l.back_slots > 0) {
            l.back[2 * (bpt_mix64(t) % (uint64_t)(keys * l.back_slots)) + 1] += 1;  // one reader too many is noticed
            assert_false(test_lists_match(&l));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_query_reads_all_keys_of_its_sequence),
        cmocka_unit_test(every_query_reads_its_sequence_in_all_spaces),
        cmocka_unit_test(segments_read_the_segment_that_they_are_aligned_with),
        cmocka_unit_test(too_few_slots_are_refused),
        cmocka_unit_test(satellites_read_a_ring_their_embedding_and_their_relay),
        cmocka_unit_test(a_relay_reads_its_satellites_and_itself),
        cmocka_unit_test(tables_keep_their_bounds_and_others_are_refused),
        cmocka_unit_test(leaves_read_leaves_and_nodes_read_their_subtrees),
        cmocka_unit_test(any_table_is_transposed_with_its_repetitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
