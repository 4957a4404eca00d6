// The optimiser's update by float4s, read as texels (see software.h).
#include "backends/gpu/lower/software/software.h"

_Static_assert(sizeof(adam_params_t) == sizeof(adam_fours_params_t) && (int)adam_square_sum == (int)adam_fours_square_sum &&
                   (int)adam_DECOUPLED == (int)adam_fours_DECOUPLED,
               "cl/rows/adam.inc and cl/software/adam_fours.inc differ in what they share");

bool bpt_software_adam(bpt_lower_t *l, const bpt_kernel_call_t *k, const adam_params_t *params) {
    if (!bpt_software_reads_texels(l) || params->count % 4 != 0 || !bpt_software_are_by_fours(&k->bindings[adam_value], 4)) return false;
    bpt_kernel_call_t fours = *k;
    adam_params_t p = *params;
    p.count /= 4;
    fours.kernel = BPT_GPU_adam_fours;
    fours.bindings[adam_fours_old_value] = k->bindings[adam_value];
    fours.bindings[adam_fours_old_first] = k->bindings[adam_first];
    fours.bindings[adam_fours_old_second] = k->bindings[adam_second];
    bpt_lower_emit_items(l, &fours, &p, p.count);
    return true;
}
