// Attention over a table (see table.h).
#include "models/blocks/table.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 24 };

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

static const char *name_of(const char *projection, const char *what, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "%s%s", projection, what);
    return name;
}

void bpt_table_params(bpt_param_table_t *t, const bpt_model_config_t *c, const char *prefix) {
    static const char *const into[] = {BPT_NAME_Q_PROJ, BPT_NAME_K_PROJ, BPT_NAME_V_PROJ};
    const int64_t d = c->d_model, width = (int64_t)c->heads * c->head_dim;
    char name[NAME_BYTES];
    for (int i = 0; i < 3; ++i) {
        bpt_param_sort_t weight = bpt_param_hidden(width, d);
        weight.joined = i == 2;  // values directly behind keys
        bpt_param_table_matrix(t, weight, width, d, prefix, name_of(into[i], BPT_NAME_WEIGHT, name));
    }
    for (int i = 0; i < 3; ++i) {
        bpt_param_sort_t bias = bpt_param_zero();
        bias.joined = i == 2;
        bpt_param_table_vector(t, bias, width, prefix, name_of(into[i], BPT_NAME_BIAS, name));
    }
    bpt_param_table_matrix(t, bpt_param_hidden(d, width), d, width, prefix, name_of(BPT_NAME_OUT_PROJ, BPT_NAME_WEIGHT, name));
    bpt_param_table_vector(t, bpt_param_zero(), d, prefix, name_of(BPT_NAME_OUT_PROJ, BPT_NAME_BIAS, name));
}

bpt_value_t bpt_table_project(const bpt_builder_t *b, bpt_value_t x, const char *prefix, const char *projection, int joined) {
    char weight[NAME_BYTES], bias[NAME_BYTES];
    return bpt_linear(b->g, x, bpt_weight_factor(b->w, prefix, name_of(projection, BPT_NAME_WEIGHT, weight), joined),
                      bpt_weight_joined(b->w, prefix, name_of(projection, BPT_NAME_BIAS, bias), joined));
}
