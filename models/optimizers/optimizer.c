// The list of optimizers (see optimizer.h).
#include "models/optimizers/optimizer.h"

#include <string.h>

#define BPT_OPTIMIZER(id, name) extern const bpt_optimizer_spec_t bpt_optimizer_##name;
#include "models/optimizers/optimizers.def"
#undef BPT_OPTIMIZER

const bpt_optimizer_spec_t *const bpt_optimizers[] = {
#define BPT_OPTIMIZER(id, name) [BPT_OPTIMIZER_##id] = &bpt_optimizer_##name,
#include "models/optimizers/optimizers.def"
#undef BPT_OPTIMIZER
};

bpt_status_t bpt_optimizer_named(const char *name, bpt_optimizer_t *out) {
    for (size_t i = 0; i < BPT_COUNT(bpt_optimizers); ++i) {
        if (strcmp(bpt_optimizers[i]->name, name)) continue;
        *out = (bpt_optimizer_t)i;
        return BPT_OK;
    }
#define BPT_OPTIMIZER(id, name) " " #name
    return bpt_fail(BPT_ERR_USAGE, "no optimizer is called '%s'; there are:"
#include "models/optimizers/optimizers.def"
                    ,
                    name);
#undef BPT_OPTIMIZER
}

bpt_value_t bpt_update_elements(const bpt_update_nodes_t *u, bpt_value_t arena, int64_t begin, int64_t end) {
    return bpt_view(u->g, arena, (size_t)begin * sizeof(float), bpt_shape1(end - begin));
}
