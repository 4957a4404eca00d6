// A graph as the attention kernels see it (attention.h).
#include "backends/gpu/lower/attention_graph.h"

void bpt_gpu_graph_words(const bpt_intervals_t *g, int32_t word[4]) {
    const int32_t reach[] = {[BPT_GRAPH_BPT] = g->k < INT32_MAX ? g->k : INT32_MAX - 1,
                             [BPT_GRAPH_SEGTREE] = 1,
                             [BPT_GRAPH_DENSE] = (int32_t)g->n,
                             [BPT_GRAPH_WINDOW] = g->window,
                             [BPT_GRAPH_TABLE] = 0};
    word[0] = (int32_t)g->kind | g->causal << 3 | (g->kind == BPT_GRAPH_BPT && g->reference_rule) << 4 |
              (g->kind == BPT_GRAPH_SEGTREE && g->span_self) << 5 | g->root << 6 | g->trimmed << 7;
    word[1] = (int32_t)g->n;
    word[2] = reach[g->kind];
    word[3] = g->rel_levels;
}
