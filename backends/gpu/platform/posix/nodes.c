// The device files of GPUs on Linux (see backends/gpu/nodes.h).
#include "backends/gpu/nodes.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

const char *const bpt_gpu_node_files = "/dev/dri/renderD*";

// The group that owns the file is the one to join: render on most systems, video on older ones.
static void say_remedy(const char *path, char *reason, size_t bytes) {
    struct stat file;
    if (stat(path, &file)) {
        snprintf(reason, bytes, "it cannot be looked at: %s", strerror(errno));
        return;
    }
    const struct group *group = getgrgid(file.st_gid);
    if ((file.st_mode & (S_IRGRP | S_IWGRP)) != (S_IRGRP | S_IWGRP) || file.st_gid == 0)
        snprintf(reason, bytes,
                 "no permission to open it, and no group has it (mode %03o, group %u); the system's rules for devices (udev) decide that",
                 file.st_mode & 0777u, (unsigned)file.st_gid);
    else if (group)
        snprintf(reason, bytes, "no permission to open it; join its group, \"%s\": sudo usermod -aG %s $USER, then log in again",
                 group->gr_name, group->gr_name);
    else
        snprintf(reason, bytes, "no permission to open it; its group is number %u, which has no name here (in a container: --group-add %u)",
                 (unsigned)file.st_gid, (unsigned)file.st_gid);
}

void bpt_gpu_list_forbidden(bpt_device_info_t *infos, int capacity, int *count) {
    glob_t nodes;
    if (glob(bpt_gpu_node_files, 0, NULL, &nodes)) return;
    for (size_t i = 0; i < nodes.gl_pathc; ++i) {
        if (bpt_gpu_node_opens(nodes.gl_pathv[i])) continue;
        if (*count < capacity) {
            bpt_device_info_t *info = &infos[*count];
            *info = (bpt_device_info_t){.type = "other"};
            snprintf(info->name, sizeof info->name, "%s", nodes.gl_pathv[i]);
            say_remedy(nodes.gl_pathv[i], info->reason, sizeof info->reason);
        }
        ++*count;
    }
    globfree(&nodes);
}

// By the number of the maker on the bus.
static unsigned vendor_of(const char *node) {
    char path[80];
    struct stat file;
    unsigned number = 0;
    if (stat(node, &file)) return BPT_GPU_OTHER;
    snprintf(path, sizeof path, "/sys/dev/char/%u:%u/device/vendor", major(file.st_rdev), minor(file.st_rdev));
    FILE *text = fopen(path, "r");
    if (text && fscanf(text, "%x", &number) != 1) number = 0;
    if (text) fclose(text);
    return number == 0x1002 ? BPT_GPU_AMD : number == 0x8086 ? BPT_GPU_INTEL : BPT_GPU_OTHER;
}

unsigned bpt_gpu_vendors(void) {
    unsigned bits = 0;
    glob_t nodes;
    if (glob(bpt_gpu_node_files, 0, NULL, &nodes)) return 0;
    for (size_t i = 0; i < nodes.gl_pathc; ++i) bits |= vendor_of(nodes.gl_pathv[i]);
    globfree(&nodes);
    return bits;
}

bool bpt_gpu_may_be_there(void) {
    static const char *const files[] = {"/dev/dri/renderD*", "/dev/nvidia*", "/dev/dxg"};
    bool found = false;
    for (size_t i = 0; i < BPT_COUNT(files) && !found; ++i) {
        glob_t names;
        if (glob(files[i], GLOB_NOSORT, NULL, &names)) continue;
        found = names.gl_pathc > 0;
        globfree(&names);
    }
    return found;
}

bool bpt_gpu_node_opens(const char *path) { return access(path, R_OK | W_OK) == 0; }
