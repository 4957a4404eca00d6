// Attention over a table (see table.h).
#include "models/blocks/table.h"

#include <math.h>

bpt_value_t bpt_table_attention(const bpt_builder_t *b, const bpt_table_graph_t *graph, int32_t head_dim, bpt_value_t q, bpt_value_t kv) {
    const bpt_attention_attrs_t attrs = {.graph.kind = BPT_INTERVALS_TABLE,
                                         .bounds = graph->bounds,
                                         .batch = 1,
                                         .queries = BPT_QUERIES_ALL,
                                         .heads = b->config->heads,
                                         .head_dim = head_dim,
                                         .scale = 1 / sqrtf((float)head_dim),
                                         .p = b->p_attention};
    const bpt_attention_inputs_t in = {.q = q,
                                       .kv = kv,
                                       .rel = BPT_NO_VALUE,
                                       .lengths = BPT_NO_VALUE,
                                       .row_keys = graph->query_keys,
                                       .rng = b->rng,
                                       .table = graph->table,
                                       .back = graph->back,
                                       .key_codes = graph->key_codes};
    return bpt_attention(b->g, &attrs, &in);
}
