// Dense and window graphs: what the host asks of core/intervals/rules/rule_flat.h beside its arithmetic.
#include <inttypes.h>
#include <stdio.h>

#include "core/intervals/rule.h"

static int64_t dense_reach(const bpt_intervals_t *g) { return g->n; }
static int64_t window_reach(const bpt_intervals_t *g) { return g->window; }
static int64_t rel_rows(const bpt_intervals_t *g) { return 1 + 2 * (int64_t)g->rel_levels; }
static void describe_window(const bpt_intervals_t *g, char *text, size_t size) {
    snprintf(text, size, ", distance up to %" PRId32, g->window);
}
static bpt_status_t check_window(const bpt_intervals_t *g) {
    if (g->window >= 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "graph: window is %d; the largest distance must be at least 0", g->window);
}

const bpt_intervals_rule_t bpt_rule_DENSE = {
    .name = "dense", .reach = dense_reach, .rel_rows = rel_rows, .is_window = true, .is_steady = true};
const bpt_intervals_rule_t bpt_rule_WINDOW = {.name = "window",
                                              .describe = describe_window,
                                              .check = check_window,
                                              .reach = window_reach,
                                              .rel_rows = rel_rows,
                                              .is_window = true,
                                              .is_steady = true};
