// Names, links and the disk (see core/platform/files.h).
#include "core/platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int bpt_name_replace(const char *from, const char *to) { return rename(from, to) ? errno : 0; }

int bpt_names_exchange(const char *a, const char *b) { return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) ? errno : 0; }

static int flush(const char *path, int flags) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0) return errno;
    const int error = fsync(fd) && errno != EINVAL ? errno : 0;  // EINVAL: a file system without folder sync
    close(fd);
    return error;
}

int bpt_path_flush(const char *path) { return flush(path, 0); }
int bpt_folder_flush(const char *path) { return flush(path, O_DIRECTORY); }

int bpt_folder_make(const char *path) { return mkdir(path, 0777) ? errno : 0; }

int bpt_path_leads(const char *path, bool *folder) {
    struct stat info;
    if (stat(path, &info)) return errno;
    *folder = S_ISDIR(info.st_mode);
    return 0;
}

int bpt_is_folder(const char *path, bool *folder) {
    struct stat info;
    if (lstat(path, &info)) return errno;
    *folder = S_ISDIR(info.st_mode);
    return 0;
}

int bpt_name_remove(const char *path, bool folder) { return (folder ? rmdir(path) : unlink(path)) ? errno : 0; }

int bpt_link_make(const char *target, const char *link) { return symlink(target, link) ? errno : 0; }

bool bpt_is_link(const char *path) {
    struct stat info;
    return !lstat(path, &info) && S_ISLNK(info.st_mode);
}

bool bpt_link_target(const char *link, char *target, size_t bytes) {
    const ssize_t length = readlink(link, target, bytes - 1);
    if (length <= 0) return false;
    target[length] = 0;
    return true;
}

const char *bpt_home_folder(void) {
    const char *home = getenv("HOME");
    return home && *home ? home : NULL;
}

int bpt_file_is_endless(int file, bool *endless) {
    struct stat info, null;
    if (fstat(file, &info)) return errno;
    *endless = S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && !isatty(file) &&
                                         (stat("/dev/null", &null) || info.st_rdev != null.st_rdev));
    return 0;
}

void bpt_pipe_widen(int file, int bytes) { (void)fcntl(file, F_SETPIPE_SZ, bytes); }

bool bpt_file_has_input(int file) {
    struct pollfd input = {.fd = file, .events = POLLIN};
    return poll(&input, 1, 0) != 0;
}

int bpt_disk_free(const char *path, uint64_t *bytes) {
    struct statvfs info;
    *bytes = UINT64_MAX;
    if (statvfs(path, &info)) return errno;
    if (info.f_blocks && __builtin_mul_overflow((uint64_t)info.f_bavail, (uint64_t)info.f_frsize, bytes)) *bytes = UINT64_MAX;
    return 0;
}
