// Sequences that ranks share: what each rank reads is what the whole graph says, what one gives another is what that one takes, and little
// of it is exchanged. All ranks of a team are looked at in one process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "models/blocks/halo.h"
#include "support/attention.h"
#include "support/check.h"

enum { BATCH = 2, MOST_RANKS = 8 };

static const struct {
    bpt_intervals_t graph;
    int ranks;
} cases[] = {
    {{.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .k = 2, .n = 64, .rel_levels = 6}, 2},
    {{.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .k = 2, .n = 64, .rel_levels = 6}, 4},
    {{.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .k = 4, .n = 96, .rel_levels = 3}, 6},
    {{.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .reference_rule = true, .k = 3, .n = 128, .rel_levels = 7}, 4},
    {{.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .k = 1, .n = 8}, 2},
    {{.kind = BPT_INTERVALS_BPT, .k = 4, .n = 128, .rel_levels = 7}, 8},
    {{.kind = BPT_INTERVALS_BPT, .reference_rule = true, .k = 5, .n = 96, .rel_levels = 7}, 3},
    {{.kind = BPT_INTERVALS_WINDOW, .causal = true, .window = 5, .n = 30, .rel_levels = 5}, 3},
};

static bpt_halo_t *open_halo(size_t i, int rank) {
    bpt_halo_t *h;
    assert_ok(bpt_halo_create(&cases[i].graph, BATCH, &(bpt_shard_t){rank, cases[i].ranks}, &h));
    return h;
}

// The node of the whole graph that each key row stands for; -1: none.
typedef struct {
    int64_t *node, *sequence;
    int64_t rows;
} rows_t;

static void note_row(void *user, int64_t row, int64_t sequence, int64_t node) {
    rows_t *r = user;
    assert_in_range(row, 0, r->rows - 1);
    assert_true(r->node[row] < 0);  // one row for one node
    r->node[row] = node;
    r->sequence[row] = sequence;
}

static rows_t rows_of(const bpt_halo_t *h) {
    rows_t r = {.rows = h->key_rows};
    assert_ok(bpt_alloc((size_t)r.rows, sizeof *r.node, &r.node));
    assert_ok(bpt_alloc((size_t)r.rows, sizeof *r.sequence, &r.sequence));
    for (int64_t i = 0; i < r.rows; ++i) r.node[i] = -1;
    bpt_halo_visit(h, note_row, &r);
    return r;
}
static void free_rows(rows_t *r) {
    bpt_free(r->node);
    bpt_free(r->sequence);
}

// ---- Tables

// The edges of a row are those of its node, with the same rows of the table of relative positions.
static void check_row(const bpt_halo_t *h, const rows_t *rows, const uint32_t *table, int64_t row, int64_t length) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_keys(&h->graph, length, rows->node[row], slots);
    int64_t wanted = 0, found = 0;
    for (int s = 0; s < count; ++s) wanted += slots[s].end - slots[s].begin;
    for (const uint32_t *range = table + row * h->slots * 4; range < table + (row + 1) * h->slots * 4; range += 4)
        for (int64_t key = range[0]; key < range[1]; ++key, ++found) {
            const int32_t rel = range[2] == BPT_NO_ROW ? -1 : (int32_t)range[2] + (int32_t)(key - range[0]) * (int32_t)range[3];
            assert_int_equal(rows->sequence[key], rows->sequence[row]);
            assert_int_equal(rel, bpt_intervals_rel_row(&h->graph, length, rows->node[row], rows->node[key]));
        }
    assert_int_equal(found, wanted);
}

static void check_tables(const bpt_halo_t *h, const uint32_t lengths[BATCH]) {
    uint32_t *table, *back, *last;
    rows_t rows = rows_of(h);
    assert_ok(bpt_alloc((size_t)(h->own_rows * h->slots * 4), sizeof *table, &table));
    assert_ok(bpt_alloc((size_t)(h->key_rows * h->back_slots * 2), sizeof *back, &back));
    assert_ok(bpt_alloc((size_t)(h->key_rows * h->last_slots * 2), sizeof *last, &last));
    memset(back, 0xFF, (size_t)(h->key_rows * h->back_slots * 2) * sizeof *back);
    memset(last, 0xFF, (size_t)(h->key_rows * h->last_slots * 2) * sizeof *last);
    assert_ok(bpt_halo_write(h, lengths, table, back, last));
    for (int64_t row = 0; row < h->own_rows; ++row) check_row(h, &rows, table, row, lengths[rows.sequence[row]]);
    bpt_lists_t all = {h->own_rows, h->key_rows, h->slots, h->back_slots, table, back};
    test_lists_are_transposed(&all);
    assert_ok(bpt_lists_check(&all, &h->bounds));
    all.queries = h->batch * h->leaves, all.back_slots = h->last_slots, all.back = last;
    test_lists_are_transposed(&all);
    assert_ok(bpt_lists_check(&all, &h->last_bounds));
    bpt_free(table);
    bpt_free(back);
    bpt_free(last);
    free_rows(&rows);
}

static void each_rank_reads_what_the_whole_graph_says(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i)
        for (int rank = 0; rank < cases[i].ranks; ++rank) {
            const uint32_t n = (uint32_t)cases[i].graph.n, lengths[][BATCH] = {{n, n}, {n - 5, n}, {n / 2, 1}};
            bpt_halo_t *h = open_halo(i, rank);
            for (size_t l = 0; l < BPT_COUNT(lengths); ++l) check_tables(h, lengths[l]);
            bpt_halo_destroy(h);
        }
}

// ---- Exchanges

// Every rank owns its leaves and all spans in its range that are read, and no node has two owners.
static void every_node_that_is_read_has_one_owner(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        int64_t owned = 0, nodes = bpt_node_count(&cases[i].graph);
        int *owners, *read;
        assert_ok(bpt_alloc((size_t)nodes, sizeof *owners, &owners));
        assert_ok(bpt_alloc((size_t)nodes, sizeof *read, &read));
        for (int rank = 0; rank < cases[i].ranks; ++rank) {
            bpt_halo_t *h = open_halo(i, rank);
            rows_t rows = rows_of(h);
            for (int64_t row = 0; row < h->key_rows; ++row) {
                if (rows.node[row] < 0 || rows.sequence[row]) continue;
                read[rows.node[row]] = 1;
                owners[rows.node[row]] += row < h->own_rows;
                owned += row < h->own_rows;
            }
            free_rows(&rows);
            bpt_halo_destroy(h);
        }
        for (int64_t node = 0; node < nodes; ++node) assert_int_equal(owners[node], read[node]);
        assert_true(owned >= cases[i].graph.n);
        bpt_free(owners);
        bpt_free(read);
    }
}

static int64_t before(const int64_t *counts, int rank) {
    int64_t sum = 0;
    for (int r = 0; r < rank; ++r) sum += counts[r];
    return sum;
}

static void what_is_given_is_what_is_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_halo_t *h[MOST_RANKS];
        rows_t rows[MOST_RANKS];
        const int ranks = cases[i].ranks;
        for (int r = 0; r < ranks; ++r) h[r] = open_halo(i, r), rows[r] = rows_of(h[r]);
        for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to) {
                const int64_t count = h[from]->give_counts[to];
                assert_int_equal(count, h[to]->take_counts[from]);
                for (int64_t at = 0; at < count; ++at) {
                    const int64_t given = h[from]->give[before(h[from]->give_counts, to) + at];
                    const int64_t taken = h[to]->own_rows + h[to]->take[before(h[to]->take_counts, from) + at];
                    assert_int_equal(rows[from].node[given], rows[to].node[taken]);
                    assert_int_equal(rows[from].sequence[given], rows[to].sequence[taken]);
                }
            }
        for (int r = 0; r < ranks; ++r) {
            assert_int_equal(before(h[r]->take_counts, ranks), BATCH * h[r]->taken);
            free_rows(&rows[r]);
            bpt_halo_destroy(h[r]);
        }
    }
}

// ---- Volume and refusals

// Ring attention of a dense model would take 114,688 rows (docs/cluster.md): a hundredth of them.
static void little_is_exchanged(void **state) {
    (void)state;
    bpt_intervals_t graph = {.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .k = 64, .n = 131072};
    int64_t most = 0;
    for (int rank = 0; rank < 8; rank += 7) {
        bpt_halo_t *h;
        assert_ok(bpt_halo_create(&graph, 1, &(bpt_shard_t){rank, 8}, &h));
        if (h->taken > most) most = h->taken;
        assert_true(h->spans < h->leaves);
        bpt_halo_destroy(h);
    }
    assert_in_range(most, 64, 1200);
}

static void ranges_that_cut_a_span_are_refused(void **state) {
    (void)state;
    const bpt_intervals_t graph = {.kind = BPT_INTERVALS_BPT, .causal = true, .trimmed = true, .k = 2, .n = 40};
    bpt_halo_t *h;
    assert_int_equal(bpt_halo_create(&graph, 1, &(bpt_shard_t){0, 2}, &h), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "spans of up to 8 tokens"));
    assert_ok(bpt_halo_create(&graph, 1, &(bpt_shard_t){4, 5}, &h));
    bpt_halo_destroy(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_reads_what_the_whole_graph_says),
        cmocka_unit_test(every_node_that_is_read_has_one_owner),
        cmocka_unit_test(what_is_given_is_what_is_taken),
        cmocka_unit_test(little_is_exchanged),
        cmocka_unit_test(ranges_that_cut_a_span_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
