// Graph and parameters of a configuration (see model.h).
#include "models/model.h"

#include <inttypes.h>

#include "models/kinds/kind.h"

bpt_intervals_t bpt_model_intervals(const bpt_model_config_t *config, int64_t n) { return bpt_kind_of(config)->intervals(config, n); }

bpt_intervals_t bpt_model_needed_intervals(const bpt_model_config_t *config, int64_t n) {
    bpt_intervals_t graph = bpt_model_intervals(config, n);
    graph.trimmed = bpt_intervals_has_spans(&graph) && graph.causal;
    graph.root |= graph.trimmed && bpt_wants_root(config);
    return graph;
}

bpt_status_t bpt_model_check_length(const bpt_model_config_t *config, int64_t n) {
    if (config->positions == BPT_POSITIONS_ABSOLUTE && n > config->max_positions)
        return bpt_fail(BPT_ERR_USAGE,
                        "%" PRId64 " tokens are more than the model's %d positions; give fewer, or train with a larger --max-positions", n,
                        config->max_positions);
    if (!bpt_kind_of(config)->intervals) return BPT_OK;
    const bpt_intervals_t graph = bpt_model_intervals(config, n);
    return bpt_intervals_check(&graph);
}

bpt_status_t bpt_model_params(const bpt_model_config_t *c, bpt_frozen_t frozen, bpt_params_t *out) {
    *out = (bpt_params_t){0};
    bpt_param_table_t table = {.params = out};
    bpt_embed_params(&table, c, frozen.embed);
    bpt_kind_of(c)->layers->params(&table, c, frozen.rel);
    bpt_task_of(c)->params(&table, c);
    if (table.status != BPT_OK)
        bpt_params_free(out);
    else
        bpt_params_layout(out);
    return table.status;
}
