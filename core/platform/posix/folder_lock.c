// The lock of a folder by flock, and the folder itself by a descriptor, whatever its name becomes (see bpt/file.h).
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "core/io/folder_lock.h"
#include "core/io/path_error.h"
#include "core/io/temporary.h"

struct bpt_folder_lock {
    int fd;      // of the file
    int folder;  // of the folder, whatever its name
};

static bpt_status_t lock_file(int fd, const char *folder, const char *path) {
    if (flock(fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? bpt_folder_lock_fail_held(fd, folder) : bpt_fail_path("lock", path, errno);
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    errno = ENOSPC;  // the reason of a short write
    if (!ftruncate(fd, 0) && pwrite(fd, text, (size_t)length, 0) == length) return BPT_OK;
    const int error = errno;
    unlink(path);  // nobody else holds it
    return bpt_fail_path("write", path, error);
}

bpt_status_t bpt_folder_lock_acquire(const char *folder, bpt_folder_lock_t **out) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/.lock", folder));
    bpt_folder_lock_t *lock = NULL;
    bpt_status_t status = bpt_alloc(1, sizeof *lock, &lock);
    if (status == BPT_OK) {
        lock->folder = -1;
        lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        status = lock->fd < 0 ? bpt_fail_path("lock", path, errno) : lock_file(lock->fd, folder, path);
        if (status == BPT_OK && (lock->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
            status = bpt_fail_path("lock", folder, errno);
        if (status != BPT_OK) bpt_folder_lock_release(lock);
    }
    bpt_free(path);
    if (status == BPT_OK) *out = lock;
    return status;
}

bpt_status_t bpt_folder_lock_look(const char *path, bool *held) {
    *held = false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? BPT_OK : bpt_fail_path("open", path, errno);
    const int error = flock(fd, LOCK_SH | LOCK_NB) ? errno : 0;
    close(fd);
    *held = error == EWOULDBLOCK;
    return error && !*held ? bpt_fail_path("lock", path, error) : BPT_OK;
}

static bool has_name(const struct stat *folder, const char *name) {
    struct stat now;
    return !stat(name, &now) && now.st_dev == folder->st_dev && now.st_ino == folder->st_ino;
}

bpt_status_t bpt_folder_lock_find(const bpt_folder_lock_t *lock, const char *folder, char **moved) {
    struct stat info;
    char link[64], place[4096];
    *moved = NULL;
    if (fstat(lock->folder, &info)) return bpt_fail_path("find", folder, errno);
    if (has_name(&info, folder)) return BPT_OK;
    snprintf(link, sizeof link, "/proc/self/fd/%d", lock->folder);
    const ssize_t length = info.st_nlink ? readlink(link, place, sizeof place - 1) : 0;
    if (length > 0) {
        place[length] = 0;
        if (has_name(&info, place)) return bpt_strdup(place, moved);
    }
    return bpt_folder_lock_fail_deleted(folder, (int)strlen(folder));
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// What an attempt in the locked folder came to. In a folder that was deleted nothing can be made, and the reason that the system gives is
// only "No such file or directory".
static bpt_status_t explain(const bpt_folder_lock_t *lock, const char *path, bpt_status_t status) {
    struct stat info;
    if (status != BPT_ERR_IO || fstat(lock->folder, &info) || info.st_nlink) return status;
    const int folder = (int)(last_part(path) - path);
    return bpt_folder_lock_fail_deleted(path, folder > 1 ? folder - 1 : folder);
}

bpt_status_t bpt_folder_lock_append(const bpt_folder_lock_t *lock, const char *path, const void *bytes, size_t length) {
    return explain(lock, path, bpt_append_to(openat(lock->folder, last_part(path), BPT_APPEND_FLAGS, 0666), path, bytes, length));
}

bool bpt_folder_lock_has(const bpt_folder_lock_t *lock, const char *path) { return !faccessat(lock->folder, last_part(path), F_OK, 0); }

void bpt_folder_lock_remove(const bpt_folder_lock_t *lock, const char *path) { (void)unlinkat(lock->folder, last_part(path), 0); }

bpt_status_t bpt_folder_lock_ensure(const bpt_folder_lock_t *lock, const char *path, bool *created) {
    *created = false;
    if (bpt_folder_lock_has(lock, path)) return BPT_OK;
    if (mkdirat(lock->folder, last_part(path), 0777)) return explain(lock, path, bpt_fail_path("create folder", path, errno));
    *created = true;
    return BPT_OK;
}

void bpt_folder_lock_release(bpt_folder_lock_t *lock) {
    if (!lock) return;
    if (lock->folder >= 0) close(lock->folder);
    if (lock->fd >= 0) close(lock->fd);  // the file stays: removing it would let two processes lock two files of one name
    bpt_free(lock);
}
