// The device files of GPUs (see driver.h). Knows no API.
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "backends/gpu/driver.h"

void bpt_gpu_list_forbidden(bpt_device_info_t *infos, int capacity, int *count) {
    glob_t nodes;
    if (glob("/dev/dri/renderD*", 0, NULL, &nodes)) return;
    for (size_t i = 0; i < nodes.gl_pathc; ++i) {
        if (access(nodes.gl_pathv[i], R_OK | W_OK) == 0) continue;
        if (*count < capacity) {
            bpt_device_info_t *info = &infos[*count];
            *info = (bpt_device_info_t){.type = "other"};
            snprintf(info->name, sizeof info->name, "%s", nodes.gl_pathv[i]);
            snprintf(info->reason, sizeof info->reason,
                     "no permission to open it; join its group, usually \"render\": sudo usermod -aG render $USER, then log in again");
        }
        ++*count;
    }
    globfree(&nodes);
}
