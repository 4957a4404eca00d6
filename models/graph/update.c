// Parts of the arena and what an optimizer does with each (see update.h).
#include "models/graph/update.h"

typedef void (*bpt_update_fn_t)(const bpt_update_nodes_t *u, const bpt_update_part_t *part, float decay);

static void direct(const bpt_update_nodes_t *u, const bpt_update_part_t *part, float decay) {
    (void)decay;  // matrices decay with their step
    bpt_optimizers[u->options->kind]->direction(u, part);
}

// The elements from *at on that are before `end`; *at is then behind them, and moments behind theirs.
static void take(const bpt_update_nodes_t *u, bpt_update_part_t *at, int64_t last, int64_t end, bool second, bpt_update_fn_t update,
                 float decay) {
    bpt_update_part_t part = *at;
    part.end = end < last ? end : last;
    if (part.begin >= part.end) return;
    update(u, &part, decay);
    at->begin = part.end;
    at->m += part.end - part.begin;
    if (second) at->v += part.end - part.begin;
}

void bpt_update_numbers(const bpt_update_nodes_t *u, const bpt_params_t *params, const bpt_shard_t *shard) {
    const bpt_optimizer_spec_t *spec = bpt_optimizers[u->options->kind];
    const int64_t count = params->trained_elements;
    const float decay = u->options->weight_decay;
    const bool sharded = shard->size > 1;
    bpt_update_part_t at = {0};
    for (int64_t i = 0; i < (sharded ? bpt_buckets(count) : 1); ++i) {
        const bpt_elements_t own = sharded ? bpt_own_slice(shard, count, i) : (bpt_elements_t){0, count};
        at.begin = own.begin;
        take(u, &at, own.end, params->matrix_elements, false, direct, 0);
        if (decay > 0) take(u, &at, own.end, params->decay_elements, true, spec->numbers, decay);
        take(u, &at, own.end, count, true, spec->numbers, 0);
    }
}

void bpt_update_matrices(const bpt_update_nodes_t *u, const bpt_params_t *params) {
    for (size_t i = 0; i < params->count; ++i)
        if (params->items[i].group == BPT_GROUP_MATRIX) bpt_optimizers[u->options->kind]->matrix(u, &params->items[i]);
}
