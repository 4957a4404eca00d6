// Finds libcuda, NVRTC and cuBLASLt and their functions (see loader.h). The libraries stay loaded.
#include "backends/cuda/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/driver.h"
#include "bpt/library.h"
#include "bpt/platforms.h"

static struct {
    bpt_cuda_functions_t functions;
    char reason[512];  // why it cannot be used, "" when it can
} cuda;

static struct {
    bpt_nvrtc_functions_t functions;
    char reason[512];
} nvrtc;

static struct {
    bpt_cublaslt_functions_t functions;
    char text[256];  // name and version, or why it cannot be used
    bool there;
} cublaslt;

static void *find(void *library, const char *symbol, const char *what, char *reason, size_t bytes) {
    void *function = bpt_library_symbol(library, symbol);
    if (!function && !*reason) snprintf(reason, bytes, "%s is too old: it has no %s; update it", what, symbol);
    return function;
}

// ---- The driver ------------------------------------------------------------------------------------------------------

static void say_why_not(CUresult code) {
    const char *text = NULL;
    if (cuda.functions.cuGetErrorString(code, &text) != CUDA_SUCCESS || !text) text = "unknown error";
    snprintf(cuda.reason, sizeof cuda.reason,
             code == CUDA_ERROR_NO_DEVICE ? "the NVIDIA driver sees no GPU (%s, %d)"
                                          : "the NVIDIA driver does not start (%s, %d); after an update of the driver, restart the machine",
             text, (int)code);
}

static void load_cuda(void) {
    void *library = bpt_library_open(BPT_LIBRARY_CUDA, getenv("BPT_CUDA_LIBRARY"));
    if (!library) {
        snprintf(cuda.reason, sizeof cuda.reason, "no CUDA driver (%s); for an NVIDIA GPU %s", bpt_library_error(),
                 bpt_platform_remedy(BPT_NEED_CUDA));
        return;
    }
#define BPT_CUDA_FIND(name, symbol) \
    cuda.functions.name = (__typeof__(cuda.functions.name))find(library, symbol, "the NVIDIA driver", cuda.reason, sizeof cuda.reason);
    BPT_CUDA_FUNCTIONS(BPT_CUDA_FIND)
#undef BPT_CUDA_FIND
    if (*cuda.reason) return;
    CUresult code = cuda.functions.cuInit(0);
    if (code == CUDA_SUCCESS) code = cuda.functions.cuDriverGetVersion(&cuda.functions.version);
    if (code != CUDA_SUCCESS) say_why_not(code);
}

bpt_status_t bpt_cuda_load(const bpt_cuda_functions_t **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_cuda);
    if (*cuda.reason) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", cuda.reason);
    *out = &cuda.functions;
    return BPT_OK;
}

// There is one driver, which is a library.
static void read_file(bpt_driver_file_t *file) { snprintf(file->library, sizeof file->library, "%s", file->path); }

static int list_files(bpt_driver_file_t *files, int capacity) {
    const char *other = getenv("BPT_CUDA_LIBRARY");
    char path[256];
    int count = 0;
    bpt_gpu_library_path(other && *other ? other : bpt_library_name(BPT_LIBRARY_CUDA), path, sizeof path);
    if (*path) bpt_gpu_add_file(files, capacity, &count, path, read_file);
    return count;
}

const bpt_loader_t bpt_cuda_loader = {.list = list_files};

// ---- The compiler ----------------------------------------------------------------------------------------------------

static void say_nvrtc(const char *what) {
    snprintf(nvrtc.reason, sizeof nvrtc.reason, "%s; %s, or name the library by BPT_NVRTC_LIBRARY", what,
             bpt_platform_remedy(BPT_NEED_NVRTC));
}

// Where the loader looks, then where toolkits lie that it was not told of.
static void *open_release(bpt_library_t which) {
    const char *const folders[] = {getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda", "/opt/cuda"};
    const char *name = bpt_library_name(which);
    char path[4096];
    void *library = bpt_library_open(which, NULL);
    const char *const parts[] = {"lib64", "bin/x64", "bin"};  // on Linux; on Windows, of CUDA 13 and 12
    for (size_t i = 0; i < BPT_COUNT(parts) * BPT_COUNT(folders) && !library; ++i) {
        const char *folder = folders[i / BPT_COUNT(parts)], *below = parts[i % BPT_COUNT(parts)];
        if (!folder || (size_t)snprintf(path, sizeof path, "%s/%s/%s", folder, below, name) >= sizeof path) continue;
        library = bpt_library_open_file(path, false);
    }
    return library;
}

static void *open_nvrtc(void) {
    const bpt_cuda_functions_t *driver;
    static const bpt_library_t releases[] = {BPT_LIBRARY_NVRTC_13, BPT_LIBRARY_NVRTC_12};
    const char *other = getenv("BPT_NVRTC_LIBRARY");
    if (other && *other) {
        void *library = bpt_library_open_file(other, false);
        if (!library) snprintf(nvrtc.reason, sizeof nvrtc.reason, "BPT_NVRTC_LIBRARY: %s", bpt_library_error());
        return library;
    }
    const size_t first = bpt_cuda_load(&driver) == BPT_OK && driver->version < 13000 ? 1 : 0;
    void *library = open_release(releases[first]);
    if (!library) library = open_release(releases[1 - first]);
    if (library) return library;
    char missing[128];
    snprintf(missing, sizeof missing, "no %s or %s, which compiles the kernels", bpt_library_name(BPT_LIBRARY_NVRTC_13),
             bpt_library_name(BPT_LIBRARY_NVRTC_12));
    say_nvrtc(missing);
    return library;
}

static void load_nvrtc(void) {
    bpt_nvrtc_functions_t *f = &nvrtc.functions;
    void *library = open_nvrtc();
    if (!library) return;
#define BPT_NVRTC_FIND(name) f->name = (__typeof__(f->name))find(library, #name, "NVRTC", nvrtc.reason, sizeof nvrtc.reason);
    BPT_NVRTC_FUNCTIONS(BPT_NVRTC_FIND)
#undef BPT_NVRTC_FIND
    if (*nvrtc.reason) return;
    if (f->nvrtcVersion(&f->major, &f->minor) != NVRTC_SUCCESS || f->nvrtcGetNumSupportedArchs(&f->n_archs) != NVRTC_SUCCESS ||
        f->n_archs < 1 || f->n_archs > (int)BPT_COUNT(f->archs) || f->nvrtcGetSupportedArchs(f->archs) != NVRTC_SUCCESS)
        say_nvrtc("NVRTC does not say what it compiles for");
}

bpt_status_t bpt_nvrtc_load(const bpt_nvrtc_functions_t **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_nvrtc);
    if (*nvrtc.reason) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", nvrtc.reason);
    *out = &nvrtc.functions;
    return BPT_OK;
}

// ---- The library of products -----------------------------------------------------------------------------------------

// The release of the driver, then an older one, which it understands too.
static void *open_cublaslt(int driver_major) {
    const char *other = getenv("BPT_CUBLASLT_LIBRARY");
    void *library = NULL;
    if (other && !strcmp(other, "none")) {
        snprintf(cublaslt.text, sizeof cublaslt.text, "cuBLASLt is switched off by BPT_CUBLASLT_LIBRARY=none");
    } else if (other && *other) {
        library = bpt_library_open_file(other, false);
        if (!library) snprintf(cublaslt.text, sizeof cublaslt.text, "BPT_CUBLASLT_LIBRARY: %.200s", bpt_library_error());
    } else {
        if (driver_major >= 13) library = open_release(BPT_LIBRARY_CUBLASLT_13);
        if (!library) library = open_release(BPT_LIBRARY_CUBLASLT_12);
        if (!library)
            snprintf(cublaslt.text, sizeof cublaslt.text, "no cuBLASLt (%s%s%s); it is optional: %.170s",
                     driver_major >= 13 ? bpt_library_name(BPT_LIBRARY_CUBLASLT_13) : "", driver_major >= 13 ? " or " : "",
                     bpt_library_name(BPT_LIBRARY_CUBLASLT_12), bpt_platform_remedy(BPT_NEED_NVRTC));
    }
    return library;
}

static void load_cublaslt(void) {
    const bpt_cuda_functions_t *driver;
    bpt_cublaslt_functions_t *f = &cublaslt.functions;
    if (bpt_cuda_load(&driver) != BPT_OK) {
        snprintf(cublaslt.text, sizeof cublaslt.text, "%.250s", bpt_error_message());
        bpt_error_clear();
        return;
    }
    const int driver_major = driver->version / 1000;
    void *library = open_cublaslt(driver_major);
    if (!library) return;
#define BPT_CUBLASLT_FIND(name) f->name = (__typeof__(f->name))find(library, #name, "cuBLASLt", cublaslt.text, sizeof cublaslt.text);
    BPT_CUBLASLT_FUNCTIONS(BPT_CUBLASLT_FIND)
#undef BPT_CUBLASLT_FIND
    if (*cublaslt.text) return;
    const int version = (int)f->cublasLtGetVersion();  // 130100 is 13.1.0
    f->major = version / 10000, f->minor = version / 100 % 100;
    cublaslt.there = f->major >= 12 && f->major <= driver_major;
    if (f->major < 12)
        snprintf(cublaslt.text, sizeof cublaslt.text, "cuBLASLt %d.%d is too old; 12 or newer is needed", f->major, f->minor);
    else if (!cublaslt.there)
        snprintf(cublaslt.text, sizeof cublaslt.text,
                 "cuBLASLt %d.%d needs a driver of CUDA %d, this one is of %d.%d; update the driver or install cuBLASLt %d", f->major,
                 f->minor, f->major, driver_major, driver->version % 1000 / 10, driver_major);
    else
        snprintf(cublaslt.text, sizeof cublaslt.text, "cuBLASLt %d.%d.%d", f->major, f->minor, version % 100);
}

bool bpt_cublaslt_describe(char *text, size_t bytes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_cublaslt);
    snprintf(text, bytes, "%s", cublaslt.text);
    return cublaslt.there;
}

bpt_status_t bpt_cublaslt_load(const bpt_cublaslt_functions_t **out) {
    char text[sizeof cublaslt.text];
    if (!bpt_cublaslt_describe(text, sizeof text)) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", text);
    *out = &cublaslt.functions;
    return BPT_OK;
}
