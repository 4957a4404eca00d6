// The list of attention graphs. A line of it is R(number of the kind, kind, rule): rule_<rule>.h has the arithmetic, with the functions that
// core/intervals/README.md lists, and core/intervals/rule_<rule>.c what only the host asks, bpt_rule_<kind>. Trees have spans over their
// leaves, the other graphs leaves only.
#include "core/intervals/rules/rule_bpt.h"
#include "core/intervals/rules/rule_segtree.h"
#include "core/intervals/rules/rule_flat.h"
#include "core/intervals/rules/rule_sparse.h"

#define GRAPH_TREES(R) R(0, BPT, bpt) R(1, SEGTREE, segtree)
#define GRAPH_RULES(R) GRAPH_TREES(R) R(2, DENSE, flat) R(3, WINDOW, flat) R(5, SPARSE, sparse)
