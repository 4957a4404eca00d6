// BP-Transformer: what the host asks of core/intervals/rules/rule_bpt.h beside its arithmetic.
#include <inttypes.h>
#include <stdio.h>

#include "core/intervals/rule.h"

static void describe(const bpt_intervals_t *g, char *text, size_t size) {
    snprintf(text, size, ", %s rule, k = %" PRId32, g->reference_rule ? "reference" : "paper", g->k);
}
static bpt_status_t check(const bpt_intervals_t *g) {
    if (g->k >= 1) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "graph: k is %d; the number of nodes per level and side must be at least 1", g->k);
}
static int32_t own_bits(const bpt_intervals_t *g) { return g->reference_rule ? GRAPH_REFERENCE : 0; }
static int64_t reach(const bpt_intervals_t *g) { return g->k; }
static int64_t block_rows(const bpt_intervals_t *g) { return (int64_t)g->k + 1; }
static int64_t rel_rows(const bpt_intervals_t *g) { return 1 + 2 * (int64_t)g->rel_levels * block_rows(g); }
static int64_t shift(const bpt_intervals_t *g) { return g->reference_rule ? g->k - 1 : g->k; }

const bpt_intervals_rule_t bpt_rule_BPT = {
    .name = "bpt",
    .describe = describe,
    .check = check,
    .fewer_rows = " or a smaller k",
    .bits = GRAPH_TREE | GRAPH_JOINED,
    .own_bits = own_bits,
    .reach = reach,
    .rel_rows = rel_rows,
    .block_rows = block_rows,
    .is_steady = true,
    .shift = shift,
};
