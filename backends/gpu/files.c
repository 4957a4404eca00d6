// The files by which loaders find drivers, and the libraries that they name (see driver.h). Knows no API.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/driver.h"
#include "bpt/file.h"

void bpt_gpu_add_file(bpt_driver_file_t *files, int capacity, int *count, const char *path, void (*read)(bpt_driver_file_t *file)) {
    if (*count >= capacity || strlen(path) >= sizeof files->path || !bpt_file_exists(path)) return;
    for (int i = 0; i < *count; ++i)
        if (!strcmp(files[i].path, path)) return;
    bpt_driver_file_t *file = &files[(*count)++];
    *file = (bpt_driver_file_t){.library = ""};
    snprintf(file->path, sizeof file->path, "%s", path);
    read(file);
}

void bpt_gpu_add_folder(bpt_driver_file_t *files, int capacity, int *count, const char *folder, const char *ending,
                        void (*read)(bpt_driver_file_t *file)) {
    char **names, path[PATH_MAX];
    size_t n;
    if (!bpt_folder_exists(folder)) return;
    if (bpt_folder_list(folder, &names, &n) != BPT_OK) {
        bpt_error_clear();
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        const size_t length = strlen(names[i]), end = strlen(ending);
        if (length <= end || strcmp(names[i] + length - end, ending)) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path) bpt_gpu_add_file(files, capacity, count, path, read);
    }
    bpt_names_free(names, n);
}

void bpt_gpu_each_path(const char *list, void (*add)(void *user, const char *path), void *user) {
    char path[PATH_MAX];
    for (; list && *list; list += strcspn(list, ":"), list += *list == ':') {
        const int length = (int)strcspn(list, ":");
        if (length && snprintf(path, sizeof path, "%.*s", length, list) < (int)sizeof path) add(user, path);
    }
}

typedef struct {
    const char *name;
    char *path;
    size_t bytes;
} search_t;

static void look_in(void *user, const char *folder) {
    const search_t *s = user;
    char path[PATH_MAX];
    if (*s->path || snprintf(path, sizeof path, "%s/%s", folder, s->name) >= (int)sizeof path || strlen(path) >= s->bytes) return;
    if (bpt_file_exists(path)) memcpy(s->path, path, strlen(path) + 1);
}

void bpt_gpu_library_path(const char *name, char *path, size_t bytes) {
    search_t search = {name, path, bytes};
    path[0] = '\0';
    if (strchr(name, '/')) {
        if (bpt_file_exists(name)) snprintf(path, bytes, "%s", name);
        return;
    }
    bpt_gpu_each_path(getenv("LD_LIBRARY_PATH"), look_in, &search);
    bpt_gpu_each_path("/usr/local/lib:/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:/usr/lib/wsl/lib", look_in,
                      &search);
}
