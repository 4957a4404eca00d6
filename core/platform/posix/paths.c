// Files and folders by stat and glob, files without a name by O_TMPFILE (see bpt/paths.h).
#include "bpt/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"

bool bpt_path_info(const char *path, bpt_path_info_t *out) {
    struct stat info;
    if (stat(path, &info)) return false;
    *out = (bpt_path_info_t){.bytes = (uint64_t)info.st_size,
                             .seconds = info.st_mtim.tv_sec,
                             .nanoseconds = (int32_t)info.st_mtim.tv_nsec,
                             .regular = S_ISREG(info.st_mode)};
    return true;
}

bool bpt_paths_same(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void bpt_path_touch(const char *path) { (void)utimensat(AT_FDCWD, path, NULL, 0); }

void bpt_path_unlink(const char *path) { (void)unlink(path); }

void bpt_folder_drop(const char *path) { (void)rmdir(path); }

bool bpt_path_is_absolute(const char *path) { return *path == '/'; }

bool bpt_path_separates(char c) { return c == '/'; }

bpt_status_t bpt_paths_matching(const char *pattern, char ***paths, size_t *count) {
    glob_t found;
    size_t capacity = 0;
    *paths = NULL;
    *count = 0;
    if (glob(pattern, 0, NULL, &found)) return BPT_OK;
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < found.gl_pathc && status == BPT_OK; ++i) {
        status = bpt_grow(paths, *count, &capacity, sizeof **paths);
        if (status == BPT_OK) status = bpt_strdup(found.gl_pathv[i], *paths + *count);
        *count += status == BPT_OK;
    }
    globfree(&found);
    if (status != BPT_OK) {
        bpt_names_free(*paths, *count);
        *paths = NULL;
        *count = 0;
    }
    return status;
}

bool bpt_folder_temporary(char *path, size_t bytes) {
    const char *base = getenv("TMPDIR");
    snprintf(path, bytes, "%.40s/bpt-XXXXXX", base && *base && strlen(base) <= 40 ? base : "/tmp");
    return mkdtemp(path) != NULL;
}

// ---- Files without a name

const char *bpt_scratch_folder(void) {
    const char *named = getenv("TMPDIR");
    return named && *named ? named : bpt_folder_exists("/var/tmp") ? "/var/tmp" : "/tmp";
}

// A file system may not know files without names.
int bpt_scratch_open(const char *folder) {
    char *path;
#ifdef O_TMPFILE
    const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
#endif
    if (bpt_path_format(&path, "%s/.tmp-XXXXXX", folder) != BPT_OK) return -1;
    const int named = mkostemp(path, O_CLOEXEC), error = errno;
    if (named >= 0) (void)unlink(path);
    bpt_free(path);
    errno = error;
    return named;
}

int bpt_scratch_reserve(int file, uint64_t bytes) {
    const int error = posix_fallocate(file, 0, (off_t)bytes);
    return error == EOPNOTSUPP || error == EINVAL ? 0 : error;
}

void bpt_scratch_will_read(int file, uint64_t offset, uint64_t bytes) {
    (void)posix_fadvise(file, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
}

void *bpt_scratch_map(int file, size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void bpt_scratch_unmap(void *memory, size_t bytes) { munmap(memory, bytes); }
