// Graph and parameters of a configuration (see model.h).
#include "models/config/params_of.h"

#include <inttypes.h>

#include "models/kinds/kind.h"
#include "models/nn/names.h"

bpt_intervals_t bpt_model_intervals(const bpt_model_config_t *config, int64_t n) { return bpt_kind_of(config)->intervals(config, n); }

bpt_intervals_t bpt_model_needed_intervals(const bpt_model_config_t *config, int64_t n) {
    bpt_intervals_t graph = bpt_model_intervals(config, n);
    graph.trimmed = bpt_intervals_has_spans(&graph) && graph.causal;
    graph.root |= graph.trimmed && bpt_wants_root(config);
    return graph;
}

int64_t bpt_model_labels(const bpt_model_config_t *config) { return bpt_task_of(config)->labelled ? config->classes : config->node_labels; }

int bpt_model_stacks(const bpt_model_config_t *config) { return bpt_task_sides(bpt_task_of(config)); }

bpt_stack_t bpt_model_stack(const bpt_model_config_t *config, int side) {
    const bpt_kind_spec_t *kind = bpt_kind_of(config);
    bpt_stack_t s = {.config = *config,
                     .scope = "",
                     .embed_scope = "",
                     .side = side,
                     .owns_embedding = true,
                     .plain_embedding = kind->plain_embedding,
                     .scaled_embedding = kind->scaled_embedding};
    if (bpt_model_stacks(config) < 2) return s;
    if (side == 0) {
        s.config.vocab = config->source_vocab;
        s.config.tied = config->shared == BPT_SHARED_ALL;
        return s;
    }
    s.config.model = kind->decoder;
    s.config.layers = config->dec_layers;
    s.config.causal = true;
    s.config.tied = config->shared != BPT_SHARED_NONE;
    s.scope = BPT_NAME_DECODER;
    s.owns_embedding = config->shared != BPT_SHARED_ALL;
    if (s.owns_embedding) s.embed_scope = BPT_NAME_DECODER;
    s.reads_memory = true;
    s.reads_trees = kind->trees;
    return s;
}

bpt_stack_t bpt_model_last_stack(const bpt_model_config_t *config) { return bpt_model_stack(config, bpt_model_stacks(config) - 1); }

int64_t bpt_model_positions(const bpt_model_config_t *config) {
    return config->positions == BPT_POSITIONS_ABSOLUTE ? config->max_positions : 0;
}

static int64_t count_pairs(const bpt_model_config_t *config, int64_t n) {
    const bpt_intervals_t graph = bpt_model_intervals(config, n);
    int64_t all, contextual;
    bpt_intervals_count(&graph, n, &all, &contextual);
    return all;
}

// A text of double the length has about four times the pairs, where it has about two times those of a window or of a tree of spans.
bool bpt_model_is_dense(const bpt_model_config_t *config) {
    enum { LEAVES = 1 << 15 };
    const bpt_kind_spec_t *kind = bpt_kind_of(config);
    return kind->intervals ? count_pairs(config, 2 * LEAVES) > 3 * count_pairs(config, LEAVES) : kind->dense;
}

bpt_status_t bpt_model_check_length(const bpt_model_config_t *config, int64_t n) {
    const int64_t positions = bpt_model_positions(config);
    if (positions && n > positions)
        return bpt_fail(BPT_ERR_USAGE,
                        "%" PRId64 " tokens are more than the model's %" PRId64
                        " positions; give fewer, or train with a larger --max-positions",
                        n, positions);
    if (!bpt_kind_of(config)->intervals) return BPT_OK;
    const bpt_intervals_t graph = bpt_model_intervals(config, n);
    return bpt_intervals_check(&graph);
}

bpt_status_t bpt_model_params(const bpt_model_config_t *c, bpt_frozen_t frozen, bpt_params_t *out) {
    *out = (bpt_params_t){0};
    bpt_param_table_t table = {.params = out};
    for (int i = 0; i < bpt_model_stacks(c); ++i) {
        const bpt_stack_t stack = bpt_model_stack(c, i);
        if (stack.owns_embedding) bpt_embed_params(&table, &stack, frozen.embed);
        bpt_kind_of(&stack.config)->layers->params(&table, &stack, frozen.rel);
    }
    bpt_task_of(c)->params(&table, c);
    if (table.status != BPT_OK)
        bpt_params_free(out);
    else
        bpt_params_layout(out);
    return table.status;
}
