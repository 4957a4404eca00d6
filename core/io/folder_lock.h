// What the locks of folders have in common on all systems (see bpt/file.h, core/platform/*/folder_lock.c).
#ifndef BPT_CORE_FOLDER_LOCK_H
#define BPT_CORE_FOLDER_LOCK_H

#include "bpt/status.h"

// Fails: the folder is in use, by the process whose number is in its file `fd`.
bpt_status_t bpt_folder_lock_fail_held(int fd, const char *folder) BPT_MUST_USE;
// Fails: a folder, `length` bytes of its name, was deleted.
bpt_status_t bpt_folder_lock_fail_deleted(const char *folder, int length) BPT_MUST_USE;
// Whether a process holds the lock whose file is at `path`, by what the system has for that.
bpt_status_t bpt_folder_lock_look(const char *path, bool *held) BPT_MUST_USE;

#endif
