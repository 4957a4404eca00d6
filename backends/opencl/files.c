// The files by which OpenCL loaders find drivers: each holds the name of a library (internal.h).
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "bpt/alloc.h"
#include "bpt/file.h"

#define VENDORS "/etc/OpenCL/vendors"

static bool ends_with_icd(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".icd");
}

static void read_file(bpt_driver_file_t *file) {
    enum { MOST_BYTES = 65536 };
    char *text;
    size_t length;
    if (!ends_with_icd(file->path)) {
        snprintf(file->library, sizeof file->library, "%s", file->path);
        return;
    }
    if (bpt_file_read(file->path, MOST_BYTES, &text, &length) != BPT_OK) {
        snprintf(file->damage, sizeof file->damage, "cannot be read: %.170s", bpt_error_message());
        bpt_error_clear();
        return;
    }
    text[strcspn(text, "\r\n")] = '\0';
    if (*text)
        bpt_gpu_library_path(text, file->library, sizeof file->library);
    else
        snprintf(file->damage, sizeof file->damage, "is damaged: it names no library");
    bpt_free(text);
}

typedef struct {
    bpt_driver_file_t *files;
    int capacity, count;
} found_t;

static void add_library(void *user, const char *name) {
    found_t *f = user;
    char path[256];
    bpt_gpu_library_path(name, path, sizeof path);
    bpt_gpu_add_file(f->files, f->capacity, &f->count, path, read_file);
}

// As the manual page of ocl-icd has it; the loader of Khronos knows folders, and libraries in OCL_ICD_FILENAMES.
static int list_files(bpt_driver_file_t *files, int capacity) {
    found_t f = {.files = files, .capacity = capacity};
    const char *vendors = getenv("OCL_ICD_VENDORS"), *other = getenv("OPENCL_VENDOR_PATH");
    const char *folder = other && *other ? other : VENDORS;
    char path[PATH_MAX];
    if (!vendors || !*vendors) vendors = folder;
    if (bpt_folder_exists(vendors)) {
        bpt_gpu_add_folder(files, capacity, &f.count, vendors, ".icd", read_file);
    } else if (ends_with_icd(vendors)) {
        const bool inside = !strchr(vendors, '/') && snprintf(path, sizeof path, "%s/%s", folder, vendors) < (int)sizeof path;
        if (inside) bpt_gpu_add_file(files, capacity, &f.count, path, read_file);
        if (!f.count) bpt_gpu_add_file(files, capacity, &f.count, vendors, read_file);
    } else {
        add_library(&f, vendors);
    }
    bpt_gpu_each_path(getenv("OCL_ICD_FILENAMES"), add_library, &f);
    return f.count;
}

// ---- Mesa's rusticl --------------------------------------------------------------------------------------------------
// It lists devices of those drivers only that RUSTICL_ENABLE names.

static bool has_rusticl(void) {
    enum { MOST = 32 };
    bpt_driver_file_t *files;
    bool found = false;
    if (bpt_alloc(MOST, sizeof *files, &files) != BPT_OK) {
        bpt_error_clear();
        return false;
    }
    const int count = list_files(files, MOST);
    for (int i = 0; i < count; ++i) found = found || strstr(files[i].path, "usticl") || strstr(files[i].library, "usticl");
    bpt_free(files);
    return found;
}

static const char *unset_variable(void) {
    const char *enabled = getenv("RUSTICL_ENABLE");
    const unsigned vendors = bpt_gpu_vendors();
    if ((enabled && *enabled) || !has_rusticl()) return NULL;
    if (vendors == BPT_GPU_AMD) return "Mesa's rusticl is installed and lists GPUs of AMD only with RUSTICL_ENABLE=radeonsi: set that";
    if (vendors == BPT_GPU_INTEL) return "Mesa's rusticl is installed and lists GPUs of Intel only with RUSTICL_ENABLE=iris: set that";
    return "Mesa's rusticl is installed and lists only what RUSTICL_ENABLE names: set it to radeonsi (AMD), iris (Intel) or llvmpipe (this "
           "processor)";
}

const bpt_loader_t bpt_opencl_loader = {
    .list = list_files, .unset = unset_variable, .folder = "OCL_ICD_VENDORS", .further = "OCL_ICD_FILENAMES"};
