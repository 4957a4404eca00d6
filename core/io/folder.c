// Folders, links and free space (see bpt/file.h).
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/paths.h"
#include "core/io/path_error.h"
#include "core/io/temporary.h"
#include "core/platform/files.h"

bpt_status_t bpt_folder_create(const char *path) {
    const int error = bpt_folder_make(path);
    if (!error) return bpt_parent_sync(path);
    if (error == EEXIST) return bpt_folder_exists(path) ? BPT_OK : bpt_fail_path("create folder", path, ENOTDIR);
    return bpt_fail_path("create folder", path, error);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bpt_status_t bpt_user_folder(const char *own, const char *xdg, const char *below_home, char **out) {
    const char *first = variable(own), *second = variable(xdg), *home = bpt_home_folder();
    *out = NULL;
    if (first) return bpt_strdup(first, out);
    if (second && bpt_path_is_absolute(second)) return bpt_path_format(out, "%s/bpt", second);
    return home ? bpt_path_format(out, "%s/%s/bpt", home, below_home) : BPT_OK;
}

bpt_status_t bpt_parents_create(const char *path) {
    char *above;
    BPT_TRY(bpt_strdup(path, &above));
    bpt_status_t status = BPT_OK;
    for (char *at = above; status == BPT_OK && *at && *++at;) {
        const char separator = *at;
        if (!bpt_path_separates(separator)) continue;
        *at = '\0';
        if (!bpt_folder_exists(above)) status = bpt_folder_create(above);
        *at = separator;
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
    const int error = bpt_path_flush(path);
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
    int error = bpt_name_replace(to, aside);
    if (error) return error;
    error = bpt_name_replace(from, to);
    const int back = bpt_name_replace(aside, error ? to : from);
    return back ? back : error;
}

bpt_status_t bpt_folder_rename(const char *from, const char *to) {
    int error = bpt_name_replace(from, to);
    if (!error) return bpt_parent_sync(to);
    if (error != ENOTEMPTY && error != EEXIST) return bpt_fail_path("rename to", to, error);
    error = bpt_names_exchange(from, to);
    if (error == EINVAL || error == ENOSYS) {
        char *aside;
        BPT_TRY(bpt_temporary_name(to, &aside));
        error = exchange_by_hand(from, to, aside);
        bpt_free(aside);
    }
    return error ? bpt_fail_path("replace", to, error) : bpt_parent_sync(to);
}

static bpt_status_t remove_name(const char *path, bool folder) {
    const int error = bpt_name_remove(path, folder);
    return error && error != ENOENT ? bpt_fail_path("remove", path, error) : BPT_OK;
}

static bpt_status_t remove_tree(const char *path, int depth) {
    bool folder = false;
    const int error = bpt_is_folder(path, &folder);
    if (error) return error == ENOENT ? BPT_OK : bpt_fail_path("remove", path, error);
    if (!folder) return remove_name(path, false);
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
    if (status == BPT_OK) status = remove_name(path, true);
done:
    bpt_names_free(names, count);
    return status;
}

bpt_status_t bpt_path_remove(const char *path) { return remove_tree(path, 0); }

// ---- links
// Where a system lets no user make links, and in copies that know none, a link is a file whose one line is the target.

static bool read_line(const char *path, char *target, size_t bytes) {
    enum { MOST = 256 };
    bpt_path_info_t info;
    if (!bpt_path_info(path, &info) || !info.regular || !info.bytes || info.bytes > MOST || info.bytes >= bytes) return false;
    FILE *file = fopen(path, "rb");
    const size_t length = file ? fread(target, 1, (size_t)info.bytes, file) : 0;
    if (file) fclose(file);
    target[length] = '\0';
    const size_t line = strcspn(target, "\r\n");
    const bool whole = line && strspn(target + line, "\r\n") == length - line;
    target[line] = '\0';
    return whole;
}

bool bpt_link_read(const char *link, char *target, size_t bytes) {
    return bpt_link_target(link, target, bytes) || read_line(link, target, bytes);
}

bpt_status_t bpt_link_swap(const char *link, const char *target) {
    char before[4096];
    bool folder;
    const bool taken = !bpt_is_folder(link, &folder) && !bpt_is_link(link) && !read_line(link, before, sizeof before);
    if (taken) return bpt_fail_path("replace link", link, EEXIST);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        char *temporary;
        BPT_TRY(bpt_temporary_name(link, &temporary));
        int error = bpt_link_make(target, temporary);
        const bool again = error == EEXIST;
        if (!error) {
            error = bpt_name_replace(temporary, link);
            if (error) (void)bpt_name_remove(temporary, false);
        }
        bpt_free(temporary);
        if (again) continue;
        return error ? bpt_fail_path("replace link", link, error) : bpt_parent_sync(link);
    }
    return bpt_fail_path("replace link", link, EEXIST);
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
    uint64_t free_bytes;
    const int error = bpt_disk_free(path, &free_bytes);
    if (error) return bpt_fail_path("find the free space of", path, error);
    if (bytes <= free_bytes) return BPT_OK;
    char need[32], have[32];
    human_bytes(bytes, need);
    human_bytes(free_bytes, have);
    return bpt_fail(BPT_ERR_IO, "%s needs %s but only %s are free on the disk of %s; free some space or choose a place on another disk",
                    purpose, need, have, path);
}
