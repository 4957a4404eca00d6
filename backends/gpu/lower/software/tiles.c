// What tiles of attention want on devices in software (see attention.h).
#include "backends/gpu/lower/software/attention.h"

// Groups of one item for processors (see bpt_software_group). Mesa's rasterizer runs eight items at once.
const bpt_attention_tile_rule_t *bpt_software_tile_rule(const bpt_lower_t *l) {
    static const bpt_attention_tile_rule_t rasterizer = {
        .rows_per_tile = 8, .group_size = 8, .rows_per_item = 8, .sums = 16, .keys_per_step = 64, .heads = 8};
    static const bpt_attention_tile_rule_t processor = {
        .rows_per_tile = 16, .group_size = 1, .rows_per_item = 16, .sums = 16, .keys_per_step = 64, .heads = 8};
    return bpt_gpu_is_rasterizer(&l->device->base.info) ? &rasterizer : &processor;
}
