// The list of optimizers (see optimizer.h).
#include "models/optimizers/optimizer.h"

#define BPT_OPTIMIZER(id, name) extern const bpt_optimizer_spec_t bpt_optimizer_##name;
#include "models/optimizers/optimizers.def"
#undef BPT_OPTIMIZER

const bpt_optimizer_spec_t *const bpt_optimizers[] = {
#define BPT_OPTIMIZER(id, name) [BPT_OPTIMIZER_##id] = &bpt_optimizer_##name,
#include "models/optimizers/optimizers.def"
#undef BPT_OPTIMIZER
};

bpt_value_t bpt_update_elements(const bpt_update_nodes_t *u, bpt_value_t arena, int64_t begin, int64_t end) {
    return bpt_view(u->g, arena, (size_t)begin * sizeof(float), bpt_shape1(end - begin));
}
