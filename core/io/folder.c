// Folders, links, the folder lock and free space (see bpt/file.h).
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "core/io/path_error.h"
#include "core/io/temporary.h"

bpt_status_t bpt_folder_create(const char *path) {
    if (!mkdir(path, 0777)) return bpt_parent_sync(path);
    const int error = errno;
    if (error == EEXIST) return bpt_folder_exists(path) ? BPT_OK : bpt_fail_path("create folder", path, ENOTDIR);
    return bpt_fail_path("create folder", path, error);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bpt_status_t bpt_user_folder(const char *own, const char *xdg, const char *below_home, char **out) {
    const char *first = variable(own), *second = variable(xdg), *home = variable("HOME");
    *out = NULL;
    if (first) return bpt_strdup(first, out);
    if (second && *second == '/') return bpt_path_format(out, "%s/bpt", second);
    return home ? bpt_path_format(out, "%s/%s/bpt", home, below_home) : BPT_OK;
}

bpt_status_t bpt_parents_create(const char *path) {
    char *above;
    BPT_TRY(bpt_strdup(path, &above));
    bpt_status_t status = BPT_OK;
    for (char *slash = above; status == BPT_OK && *slash && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (!bpt_folder_exists(above)) status = bpt_folder_create(above);
        *slash = '/';
    }
    bpt_free(above);
    return status;
}

bpt_status_t bpt_folders_create(const char *path) {
    BPT_TRY(bpt_parents_create(path));
    return bpt_folder_exists(path) ? BPT_OK : bpt_folder_create(path);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void bpt_names_free(char **names, size_t count) {
    for (size_t i = 0; i < count; ++i) bpt_free(names[i]);
    bpt_free(names);
}

static bpt_status_t list(DIR *folder, const char *path, char ***names, size_t *count) {
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) return errno ? bpt_fail_path("list folder", path, errno) : BPT_OK;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        BPT_TRY(bpt_grow(names, *count, &capacity, sizeof **names));
        BPT_TRY(bpt_strdup(entry->d_name, *names + *count));
        ++*count;
    }
}

bpt_status_t bpt_folder_list(const char *path, char ***names, size_t *count) {
    *names = NULL;
    *count = 0;
    DIR *folder = opendir(path);
    if (!folder) return bpt_fail_path("list folder", path, errno);
    const bpt_status_t status = list(folder, path, names, count);
    closedir(folder);
    if (status != BPT_OK) {
        bpt_names_free(*names, *count);
        *names = NULL;
        *count = 0;
        return status;
    }
    if (*count) qsort(*names, *count, sizeof **names, by_bytes);
    return BPT_OK;
}

bpt_status_t bpt_file_sync(const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return bpt_fail_path("sync", path, errno);
    const int error = fsync(fd) && errno != EINVAL ? errno : 0;
    close(fd);
    return error ? bpt_fail_path("sync", path, error) : BPT_OK;
}

bpt_status_t bpt_folder_sync(const char *path) {
    char **names;
    size_t count;
    BPT_TRY(bpt_folder_list(path, &names, &count));
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < count && status == BPT_OK; ++i) {
        char *file;
        BPT_TRY_GOTO(bpt_path_format(&file, "%s/%s", path, names[i]), done);
        status = bpt_file_sync(file);
        bpt_free(file);
    }
    if (status == BPT_OK) status = bpt_file_sync(path);
done:
    bpt_names_free(names, count);
    return status;
}

// For file systems that cannot exchange two names (NFS): the only moment in which `to` does not exist.
static int exchange_by_hand(const char *from, const char *to, const char *aside) {  // 0 or an errno value
    if (rename(to, aside)) return errno;
    if (!rename(from, to)) return rename(aside, from) ? errno : 0;
    const int error = errno;
    return rename(aside, to) ? errno : error;
}

bpt_status_t bpt_folder_rename(const char *from, const char *to) {
    if (!rename(from, to)) return bpt_parent_sync(to);
    if (errno != ENOTEMPTY && errno != EEXIST) return bpt_fail_path("rename to", to, errno);
    int error = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) ? errno : 0;
    if (error == EINVAL || error == ENOSYS) {
        char *aside;
        BPT_TRY(bpt_temporary_name(to, &aside));
        error = exchange_by_hand(from, to, aside);
        bpt_free(aside);
    }
    return error ? bpt_fail_path("replace", to, error) : bpt_parent_sync(to);
}

static bpt_status_t remove_tree(const char *path, int depth) {
    struct stat info;
    if (lstat(path, &info)) return errno == ENOENT ? BPT_OK : bpt_fail_path("remove", path, errno);
    if (!S_ISDIR(info.st_mode)) return unlink(path) && errno != ENOENT ? bpt_fail_path("remove", path, errno) : BPT_OK;
    if (depth > 32) return bpt_fail(BPT_ERR_IO, "%s has too many folders inside each other; remove it by hand", path);
    char **names;
    size_t count;
    BPT_TRY(bpt_folder_list(path, &names, &count));
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < count && status == BPT_OK; ++i) {
        char *inner;
        BPT_TRY_GOTO(bpt_path_format(&inner, "%s/%s", path, names[i]), done);
        status = remove_tree(inner, depth + 1);
        bpt_free(inner);
    }
    if (status == BPT_OK && rmdir(path) && errno != ENOENT) status = bpt_fail_path("remove", path, errno);
done:
    bpt_names_free(names, count);
    return status;
}

bpt_status_t bpt_path_remove(const char *path) { return remove_tree(path, 0); }

bpt_status_t bpt_link_swap(const char *link, const char *target) {
    struct stat info;
    if (!lstat(link, &info) && !S_ISLNK(info.st_mode)) return bpt_fail_path("replace link", link, EEXIST);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        char *temporary;
        BPT_TRY(bpt_temporary_name(link, &temporary));
        int error = symlink(target, temporary) ? errno : 0;
        const bool taken = error == EEXIST;
        if (!error && rename(temporary, link)) {
            error = errno;
            unlink(temporary);
        }
        bpt_free(temporary);
        if (taken) continue;
        return error ? bpt_fail_path("replace link", link, error) : bpt_parent_sync(link);
    }
    return bpt_fail_path("replace link", link, EEXIST);
}

// ---- lock

struct bpt_folder_lock {
    int fd;      // of the file
    int folder;  // of the folder, whatever its name
};

static bpt_status_t held_by_another(int fd, const char *folder) {
    char holder[32] = "";
    const ssize_t got = pread(fd, holder, sizeof holder - 1, 0);
    const long pid = got > 0 ? strtol(holder, NULL, 10) : 0;
    char who[64] = "another process";
    if (pid > 0) snprintf(who, sizeof who, "process %ld", pid);
    return bpt_fail(BPT_ERR_IO, "%s is in use by %s; wait for it to end, stop it, or choose another folder", folder, who);
}

static bpt_status_t lock_file(int fd, const char *folder, const char *path) {
    if (flock(fd, LOCK_EX | LOCK_NB)) return errno == EWOULDBLOCK ? held_by_another(fd, folder) : bpt_fail_path("lock", path, errno);
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

static bpt_status_t look_at_lock(const char *path, bool *held) {
    *held = false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? BPT_OK : bpt_fail_path("open", path, errno);
    const int error = flock(fd, LOCK_SH | LOCK_NB) ? errno : 0;
    close(fd);
    *held = error == EWOULDBLOCK;
    return error && !*held ? bpt_fail_path("lock", path, error) : BPT_OK;
}

bpt_status_t bpt_folder_lock_is_held(const char *folder, bool *held) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/.lock", folder));
    const bpt_status_t status = look_at_lock(path, held);
    bpt_free(path);
    return status;
}

static bool has_name(const struct stat *folder, const char *name) {
    struct stat now;
    return !stat(name, &now) && now.st_dev == folder->st_dev && now.st_ino == folder->st_ino;
}

static bpt_status_t fail_deleted(const char *folder, int length) {
    return bpt_fail(BPT_ERR_IO, "%.*s was deleted while it was in use; start again, or go on from a copy of it", length, folder);
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
    return fail_deleted(folder, (int)strlen(folder));
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
    return fail_deleted(path, folder > 1 ? folder - 1 : folder);
}

bpt_status_t bpt_folder_lock_append(const bpt_folder_lock_t *lock, const char *path, const void *bytes, size_t length) {
    return explain(lock, path, bpt_append_at(lock->folder, last_part(path), path, bytes, length));
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

// ---- space

static void human_bytes(uint64_t bytes, char text[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < BPT_COUNT(units)) {
        value /= 1024;
        ++unit;
    }
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

bpt_status_t bpt_disk_require(const char *path, uint64_t bytes, const char *purpose) {
    struct statvfs info;
    if (statvfs(path, &info)) return bpt_fail_path("find the free space of", path, errno);
    uint64_t free_bytes;
    if (info.f_blocks == 0) return BPT_OK;  // a file system that does not tell
    if (__builtin_mul_overflow((uint64_t)info.f_bavail, (uint64_t)info.f_frsize, &free_bytes)) return BPT_OK;
    if (bytes <= free_bytes) return BPT_OK;
    char need[32], have[32];
    human_bytes(bytes, need);
    human_bytes(free_bytes, have);
    return bpt_fail(BPT_ERR_IO, "%s needs %s but only %s are free on the disk of %s; free some space or choose a place on another disk",
                    purpose, need, have, path);
}
