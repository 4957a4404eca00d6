// The list of rules (core/intervals/rules/rules.h) as a table, and what a graph's rule answers (see bpt/intervals.h).
#include "core/intervals/rule.h"

#define RULE_OF_KIND(number, kind, rule) [BPT_INTERVALS_##kind] = &bpt_rule_##kind,
const bpt_intervals_rule_t *const bpt_intervals_rules[GRAPH_KIND + 1] = {GRAPH_RULES(RULE_OF_KIND)};

#define KIND_HAS_NUMBER(number, kind, rule) \
    _Static_assert((int)BPT_INTERVALS_##kind == number, "the list has the numbers of bpt_intervals_kind_t");
GRAPH_RULES(KIND_HAS_NUMBER)

bool bpt_intervals_is_table(const bpt_intervals_t *g) { return g->kind == BPT_INTERVALS_TABLE; }
bool bpt_intervals_has_spans(const bpt_intervals_t *g) { return is_tree(g); }

// GRAPH_ bits of what the caller chose.
static int32_t chosen_bits(const bpt_intervals_t *g) {
    return (g->causal ? GRAPH_CAUSAL : 0) | (g->root ? GRAPH_ROOT : 0) | (g->trimmed ? GRAPH_TRIMMED : 0) |
           (g->rel_levels > 0 ? GRAPH_ROWS : 0);
}

void bpt_intervals_words(const bpt_intervals_t *g, int32_t word[4]) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    word[0] = (int32_t)g->kind | chosen_bits(g) | (rule ? rule->bits : GRAPH_TABLE);
    word[1] = (int32_t)g->n;
    word[2] = rule ? (int32_t)min64(rule->reach(g), INT32_MAX - 1) : 0;
    word[3] = g->rel_levels;
    if (rule && rule->own_bits) word[0] |= rule->own_bits(g);
    if (rule && rule->numbers) rule->numbers(g, &word[2], &word[3]);
}

bool bpt_intervals_spans_read_themselves(const bpt_intervals_t *g) { return is_tree(g) && graph_has(words_of(g), GRAPH_SPAN_SELF); }

int64_t bpt_intervals_reach(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule ? min64(rule->reach(g), g->n) : g->n;
}

bool bpt_intervals_is_window(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule && rule->is_window;
}
bool bpt_intervals_is_steady(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule && rule->is_steady;
}

int64_t bpt_intervals_shift(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule && rule->shift ? rule->shift(g) : 0;
}
int64_t bpt_intervals_block_rows(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule && rule->block_rows ? rule->block_rows(g) : 0;
}

int bpt_intervals_parts(const bpt_intervals_t *g) { return rule_parts(words_of(g)); }
int bpt_intervals_most_keys(const bpt_intervals_t *g) { return query_ranges(words_of(g), (int32_t)g->n, 0); }
int bpt_intervals_most_consumers(const bpt_intervals_t *g) { return key_ranges(words_of(g), (int32_t)g->n, 0); }

// A range's nodes, and as many as its ends move; two ranges of a level and side share its reach.
int64_t bpt_intervals_block_nodes(const bpt_intervals_t *g, int64_t leaves) {
    const int64_t parts = bpt_intervals_parts(g), reach = bpt_intervals_reach(g);
    const int sides = graph_sides(words_of(g)), levels = is_tree(g) ? bpt_tree_levels(g) : 1;
    int64_t nodes = min64(leaves, g->n);
    for (int level = 0; level < levels; ++level) {
        const int64_t moves = (leaves - 2 + ((int64_t)1 << level)) >> level;
        nodes += sides * min64(reach + parts * (moves + 1), parts * bpt_level_size(g->n, level));
    }
    return nodes;
}

int64_t bpt_intervals_wait(const bpt_intervals_t *g, int level) {
    const int4 w = words_of(g);
    int64_t wait = g->n;
    for (int r = 0; level < bpt_levels(g->n) && r < RULE_READERS; ++r) {
        const int4 range = rule_readers(w, w.y, level, 0, r);
        if (range.x < range.y && range.x >= 1 << level) wait = min64(wait, range.x - (1 << level));
    }
    return wait;
}

int64_t bpt_rel_rows(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule && g->rel_levels ? rule->rel_rows(g) : 0;  // a table's own table has as many rows as the op's input
}

bpt_status_t bpt_intervals_check(const bpt_intervals_t *g) {
    const int64_t most = (int64_t)1 << (BPT_MAX_LEVELS - 1);
    const bpt_intervals_rule_t *rule = rule_of(g);
    if (!rule && !bpt_intervals_is_table(g)) return bpt_fail(BPT_ERR_USAGE, "graph: kind %d is unknown", (int)g->kind);
    if (g->n < 1 || g->n > most)
        return bpt_fail(BPT_ERR_USAGE, "graph: n is %lld; the number of leaves must be 1 to %lld", (long long)g->n, (long long)most);
    if (!rule) return BPT_OK;
    if (rule->check) BPT_TRY(rule->check(g));
    if (g->rel_levels < 0)
        return bpt_fail(BPT_ERR_USAGE, "graph: rel_levels is %d; it must be at least 0 (0 = no relative positions)", g->rel_levels);
    if (g->trimmed && !(is_tree(g) && g->causal))
        return bpt_fail(BPT_ERR_USAGE, "graph: trimmed; only causal trees have spans that no leaf reads");
    if (max64(bpt_rel_rows(g), 1 + 3 * (int64_t)g->rel_levels) > INT32_MAX)
        return bpt_fail(BPT_ERR_USAGE,
                        "graph: rel_levels is %d; the relative position table would have more than 2^31 rows, use fewer levels%s",
                        g->rel_levels, rule->fewer_rows ? rule->fewer_rows : "");
    return BPT_OK;
}
