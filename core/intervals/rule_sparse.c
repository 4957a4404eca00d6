// The sparse transformer's fixed pattern: what the host asks of core/intervals/rules/rule_sparse.h beside its arithmetic.
#include <inttypes.h>
#include <stdio.h>

#include "core/intervals/rule.h"

static void describe(const bpt_intervals_t *g, char *text, size_t size) {
    snprintf(text, size, ", blocks of %" PRId32 ", tails of %" PRId32, g->stride, g->tail);
}

static bpt_status_t check(const bpt_intervals_t *g) {
    if (g->stride < 1) return bpt_fail(BPT_ERR_USAGE, "graph: stride is %d; a block must have at least 1 leaf", g->stride);
    if (g->tail < 1 || g->tail > g->stride)
        return bpt_fail(BPT_ERR_USAGE, "graph: tail is %d; the tail of a block of %d leaves must have 1 to %d", g->tail, g->stride,
                        g->stride);
    if (!g->causal) return bpt_fail(BPT_ERR_USAGE, "graph: a sparse graph reads to the left only; it must be causal");
    if (g->rel_levels) return bpt_fail(BPT_ERR_USAGE, "graph: rel_levels is %d; a sparse graph has no relative positions", g->rel_levels);
    const int64_t most = BPT_MAX_SLOTS - 1;  // the leaf itself has a slot of its own
    if ((g->n - 1) / g->stride + 1 > most)
        return bpt_fail(BPT_ERR_USAGE,
                        "graph: stride is %d; %" PRId64 " leaves are more than %" PRId64 " blocks, use a stride of at least %" PRId64,
                        g->stride, g->n, most, (g->n + most - 1) / most);
    return BPT_OK;
}

// A stride beyond n makes one block of all leaves, whatever the tail.
static void numbers(const bpt_intervals_t *g, int32_t *third, int32_t *last) {
    *third = (int32_t)max64(min64(g->stride, g->n), 1);
    *last = (int32_t)min64(g->tail, *third);
}
static int64_t reach(const bpt_intervals_t *g) { return g->n; }
static int64_t rel_rows(const bpt_intervals_t *g) {
    (void)g;
    return 0;
}

const bpt_intervals_rule_t bpt_rule_SPARSE = {
    .name = "sparse", .describe = describe, .check = check, .numbers = numbers, .reach = reach, .rel_rows = rel_rows};
