// See folder_lock.h.
#include "core/io/folder_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "core/platform/files.h"

bpt_status_t bpt_folder_lock_fail_held(int fd, const char *folder) {
    char holder[32] = "";
    const ssize_t got = pread(fd, holder, sizeof holder - 1, 0);
    const long pid = got > 0 ? strtol(holder, NULL, 10) : 0;
    char who[64] = "another process";
    if (pid > 0) snprintf(who, sizeof who, "process %ld", pid);
    return bpt_fail(BPT_ERR_IO, "%s is in use by %s; wait for it to end, stop it, or choose another folder", folder, who);
}

bpt_status_t bpt_folder_lock_fail_deleted(const char *folder, int length) {
    return bpt_fail(BPT_ERR_IO, "%.*s was deleted while it was in use; start again, or go on from a copy of it", length, folder);
}

bpt_status_t bpt_folder_lock_is_held(const char *folder, bool *held) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/.lock", folder));
    const bpt_status_t status = bpt_folder_lock_look(path, held);
    bpt_free(path);
    return status;
}
