// What to say where no driver has a device (see nodes.h).
#include "backends/gpu/nodes.h"

#include "backends/gpu/pretended.h"

bpt_status_t bpt_gpu_no_driver(const char *what, const char *install) {
    bpt_device_info_t forbidden;
    int count = 0;
    bpt_gpu_list_forbidden(&forbidden, 1, &count);
    if (count) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s; %s: %s", what, forbidden.name, forbidden.reason);
    const char *pretended = bpt_gpu_pretended_remedy();
    return bpt_fail(BPT_ERR_UNAVAILABLE, "%s; %s", what, pretended ? pretended : install);
}
