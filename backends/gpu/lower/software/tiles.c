// What tiles of attention want on devices in software (see attention.h).
#include "backends/gpu/lower/software/attention.h"

// Groups of one item for processors (see bpt_software_group). Mesa's rasterizer runs eight items at once.
const bpt_attention_tile_rule_t *bpt_software_tile_rule(const bpt_lower_t *l) {
    static const bpt_attention_tile_rule_t rasterizer = {.tile4 = 2, .group_size = 8, .vectors = 2, .sums = 16, .batch = 64, .heads = 8};
    static const bpt_attention_tile_rule_t processor = {.tile4 = 4, .group_size = 1, .vectors = 4, .sums = 16, .batch = 64, .heads = 8};
    return bpt_gpu_is_rasterizer(&l->device->base.info) ? &rasterizer : &processor;
}
