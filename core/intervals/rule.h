// Private to core/intervals: what the host asks of a rule beside its arithmetic (rules/rule_*.h), and the list of rules as a table.
#ifndef BPT_INTERVALS_RULE_H
#define BPT_INTERVALS_RULE_H

#include "bpt/intervals.h"
#include "core/intervals/dialect.h"

enum { NO_ROW = -1, NO_EDGE = -2 };

// Functions that may be NULL give what the comment says.
typedef struct {
    const char *name;                                                          // in titles
    void (*describe)(const bpt_intervals_t *g, char *text, size_t size);       // its numbers, ", k = 4"; NULL: it has none
    bpt_status_t (*check)(const bpt_intervals_t *g);                           // of its own fields; NULL: it has none
    const char *fewer_rows;                                                    // what makes the table of positions smaller, or NULL
    int32_t bits;                                                              // GRAPH_ bits that all its graphs have
    int32_t (*own_bits)(const bpt_intervals_t *g);                             // and those that this one has; NULL: none
    void (*numbers)(const bpt_intervals_t *g, int32_t *third, int32_t *last);  // of the graph's int4; NULL: reach, rel_levels
    int64_t (*reach)(const bpt_intervals_t *g);                                // see bpt_intervals_reach
    int64_t (*rel_rows)(const bpt_intervals_t *g);                             // of a graph with a table
    int64_t (*block_rows)(const bpt_intervals_t *g);                           // see bpt_intervals_block_rows; NULL: 0
    bool is_window, is_steady;                                                 // see bpt_intervals_is_window, bpt_intervals_is_steady
    int64_t (*shift)(const bpt_intervals_t *g);                                // see bpt_intervals_shift; NULL: 0
} bpt_intervals_rule_t;

#define DECLARE_RULE(number, kind, rule) extern const bpt_intervals_rule_t bpt_rule_##kind;
GRAPH_RULES(DECLARE_RULE)
#undef DECLARE_RULE

// NULL: the graph is a table, or the kind is unknown.
extern const bpt_intervals_rule_t *const bpt_intervals_rules[GRAPH_KIND + 1];
static inline const bpt_intervals_rule_t *rule_of(const bpt_intervals_t *g) {
    return (uint32_t)g->kind <= GRAPH_KIND ? bpt_intervals_rules[g->kind] : NULL;
}
static inline bool is_tree(const bpt_intervals_t *g) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    return rule && rule->bits & GRAPH_TREE;
}

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int4 words_of(const bpt_intervals_t *g) {
    int32_t word[4];
    bpt_intervals_words(g, word);
    return INT4(word[0], word[1], word[2], word[3]);
}

// Of a whole tree {0, 0, 0, 0}, else rule_trimmed; nodes of a level of the bucket, quicker than bucket_nodes when many levels are asked
// for.
static inline int4 trimmed_of(int4 w) { return graph_has(w, GRAPH_TRIMMED) ? rule_trimmed(w) : INT4(0, 0, 0, 0); }
static inline int32_t nodes_of(int4 w, int4 trimmed, int level) {
    if (level == 0 || !graph_has(w, GRAPH_TRIMMED)) return level_nodes(w.y, level);
    return max(trimmed_nodes(trimmed, level), graph_has(w, GRAPH_ROOT) ? 1 : 0);
}

#endif
