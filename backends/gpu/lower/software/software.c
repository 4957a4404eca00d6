// What the lowerings for devices in software share (see software.h).
#include "backends/gpu/lower/software/software.h"

bool bpt_software_reads_texels(const bpt_lower_t *l) {
    return bpt_gpu_is_rasterizer(&l->device->base.info) && l->device->api->limits.max_texels > 0;
}

bool bpt_software_is_by_fours(const bpt_view_t *v) { return !v->present || (v->dtype == BPT_F32 && v->offset_bytes % 16 == 0); }

bool bpt_software_are_by_fours(const bpt_view_t *v, int count) {
    for (int i = 0; i < count; ++i)
        if (!bpt_software_is_by_fours(&v[i])) return false;
    return true;
}

uint32_t bpt_software_group(const bpt_lower_t *l) {
    const bpt_gpu_limits_t *limits = &l->device->api->limits;
    if (!bpt_gpu_is_rasterizer(&l->device->base.info)) return 1;
    return bpt_min(limits->subgroup_size ? limits->subgroup_size : 8, limits->max_group_size);
}
