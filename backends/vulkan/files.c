// The files by which the Vulkan loader finds drivers: JSON, each with the path of a library (internal.h).
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/internal.h"
#include "bpt/json.h"

static void set_library(bpt_driver_file_t *file, const char *library) {
    const char *slash = strrchr(file->path, '/');
    char path[PATH_MAX];
    if (*library != '/' && strchr(library, '/') && slash) {  // beside the file
        if (snprintf(path, sizeof path, "%.*s/%s", (int)(slash - file->path), file->path, library) >= (int)sizeof path) return;
        library = path;
    }
    bpt_gpu_library_path(library, file->library, sizeof file->library);
}

static void read_file(bpt_driver_file_t *file) {
    json_t *json = NULL;
    if (bpt_json_read(file->path, &json) != BPT_OK) {
        const size_t length = strlen(file->path);
        const char *message = bpt_error_message(), *rest = strncmp(message, file->path, length) ? message : message + length;
        snprintf(file->damage, sizeof file->damage, "is damaged: %.170s", rest + strspn(rest, ": "));
        bpt_error_clear();
        return;
    }
    const char *library = json_string_value(json_object_get(json_object_get(json, "ICD"), "library_path"));
    if (library)
        set_library(file, library);
    else
        snprintf(file->damage, sizeof file->damage, "is damaged: it names no library (ICD, library_path)");
    json_decref(json);
}

typedef struct {
    bpt_driver_file_t *files;
    int capacity, count;
    const char *below;  // of a folder, where its files are
} found_t;

static void add_path(void *user, const char *path) {
    found_t *f = user;
    bpt_gpu_add_folder(f->files, f->capacity, &f->count, path, ".json", read_file);
    bpt_gpu_add_file(f->files, f->capacity, &f->count, path, read_file);
}

static void add_below(void *user, const char *folder) {
    const found_t *f = user;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s/vulkan/icd.d", folder, f->below) < (int)sizeof path) add_path(user, path);
}

static void add_folders(found_t *f, const char *own, const char *below_home, const char *shared, const char *usual) {
    const char *first = getenv(own), *home = getenv("HOME"), *more = getenv(shared);
    f->below = "";
    if (first && *first) {
        add_below(f, first);
    } else if (home && *home) {
        f->below = below_home;
        add_below(f, home);
        f->below = "";
    }
    bpt_gpu_each_path(more && *more ? more : usual, add_below, f);
}

// As the documentation of the loader has it (LoaderDriverInterface.md).
static int list_files(bpt_driver_file_t *files, int capacity) {
    found_t f = {.files = files, .capacity = capacity, .below = ""};
    const char *only = getenv("VK_DRIVER_FILES");
    if (!only || !*only) only = getenv("VK_ICD_FILENAMES");
    if (only && *only) {
        bpt_gpu_each_path(only, add_path, &f);
        return f.count;
    }
    bpt_gpu_each_path(getenv("VK_ADD_DRIVER_FILES"), add_path, &f);
    add_folders(&f, "XDG_CONFIG_HOME", "/.config", "XDG_CONFIG_DIRS", "/etc/xdg");
    bpt_gpu_each_path("/usr/local/etc:/etc", add_below, &f);
    add_folders(&f, "XDG_DATA_HOME", "/.local/share", "XDG_DATA_DIRS", "/usr/local/share:/usr/share");
    return f.count;
}

// Loaders before 1.3.207 know the second variable only.
const bpt_loader_t bpt_vulkan_loader = {.list = list_files, .lists = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}};
