// Kernels compiled from their text with the constants of a variant, or taken from the cache (see compile.h). Knows no device.
#include "backends/cuda/compile.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/texts.h"
#include "backends/gpu/cache.h"
#include "backends/gpu/preprocess.h"
#include "bpt/alloc.h"

// Machine code runs on devices of the same major capability and the same or a later minor one.
bpt_status_t bpt_cuda_arch(const bpt_nvrtc_functions_t *nvrtc, int capability, char arch[24]) {
    int best = 0;
    for (int i = 0; i < nvrtc->n_archs; ++i)
        if (nvrtc->archs[i] <= capability && nvrtc->archs[i] > best) best = nvrtc->archs[i];
    snprintf(arch, 24, "%s_%d", best / 10 == capability / 10 ? "sm" : "compute", best);
    if (best) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED,
                    "it has compute capability %d.%d; NVRTC %d.%d compiles for %d.%d and later: install an older NVRTC", capability / 10,
                    capability % 10, nvrtc->major, nvrtc->minor, nvrtc->archs[0] / 10, nvrtc->archs[0] % 10);
}

// ---- Options ---------------------------------------------------------------------------------------------------------

enum { MOST_OPTIONS = 3 + BPT_GPU_MAX_CONSTANTS + BPT_GPU_MAX_BINDINGS };

typedef struct {
    char text[MOST_OPTIONS][64];
    const char *list[MOST_OPTIONS];
    int count;
} options_t;

static void add_number(options_t *o, const char *prefix, const char *name, uint32_t value) {
    snprintf(o->text[o->count], sizeof o->text[0], "-D%s%s=%uu", prefix, name, value);
    o->list[o->count] = o->text[o->count];
    o->count++;
}

// The architecture, and -D for the group size, the kernel's constants and the element types of its bindings.
static void make_options(const bpt_gpu_variant_t *variant, const char *arch, options_t *o) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[variant->kernel];
    snprintf(o->text[0], sizeof o->text[0], "--gpu-architecture=%s", arch);
    o->list[0] = o->text[0];
    o->count = 1;
    add_number(o, "", "WG", variant->group_size);
    for (int i = 0; i < BPT_GPU_MAX_CONSTANTS && info->constants[i]; ++i) add_number(o, "", info->constants[i], variant->constants[i]);
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS && info->bindings[i].name; ++i)
        if (bpt_gpu_binding_is_typed(info->bindings[i].kind)) add_number(o, "DT_", info->bindings[i].name, variant->dtypes[i]);
}

// ---- Compiling -------------------------------------------------------------------------------------------------------

static bpt_status_t check(const bpt_nvrtc_functions_t *nvrtc, nvrtcResult code, const char *what) {
    if (code == NVRTC_SUCCESS) return BPT_OK;
    return bpt_fail(code == NVRTC_ERROR_OUT_OF_MEMORY ? BPT_ERR_NO_MEMORY : BPT_ERR_UNSUPPORTED, "NVRTC %d.%d: %s failed with %s",
                    nvrtc->major, nvrtc->minor, what, nvrtc->nvrtcGetErrorString(code));
}

// The first line of the log that speaks of an error, else its first line.
static bpt_status_t fail_with_log(const bpt_nvrtc_functions_t *nvrtc, nvrtcProgram program, const options_t *options) {
    char line[400] = "it gives no reason", *log;
    size_t bytes = 0;
    if (nvrtc->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1) {
        BPT_TRY(bpt_alloc(bytes + 1, 1, &log));
        if (nvrtc->nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) {
            const char *start = strstr(log, "error:");
            if (!start) start = strstr(log, "error");
            while (start && start > log && start[-1] != '\n') --start;
            if (!start) start = log + strspn(log, "\n ");
            snprintf(line, sizeof line, "%.*s", (int)strcspn(start, "\n"), start);
        }
        bpt_free(log);
    }
    return bpt_fail(BPT_ERR_UNSUPPORTED, "NVRTC %d.%d cannot compile it (%s): %s", nvrtc->major, nvrtc->minor, options->text[0], line);
}

static bpt_status_t take_image(const bpt_nvrtc_functions_t *nvrtc, nvrtcProgram program, bool binary, char **image, size_t *bytes) {
    BPT_TRY(
        check(nvrtc, binary ? nvrtc->nvrtcGetCUBINSize(program, bytes) : nvrtc->nvrtcGetPTXSize(program, bytes), "the size of a program"));
    BPT_TRY(bpt_alloc(*bytes, 1, image));
    const bpt_status_t status =
        check(nvrtc, binary ? nvrtc->nvrtcGetCUBIN(program, *image) : nvrtc->nvrtcGetPTX(program, *image), "taking a program");
    if (status == BPT_OK) return BPT_OK;
    bpt_free(*image);
    *image = NULL;
    return status;
}

static bpt_status_t take_log(const bpt_nvrtc_functions_t *nvrtc, nvrtcProgram program, char **log) {
    size_t bytes = 0;
    BPT_TRY(check(nvrtc, nvrtc->nvrtcGetProgramLogSize(program, &bytes), "the size of a log"));
    BPT_TRY(bpt_alloc(bytes + 1, 1, log));
    const bpt_status_t status = check(nvrtc, nvrtc->nvrtcGetProgramLog(program, *log), "taking a log");
    if (status != BPT_OK) bpt_free(*log);
    return status;
}

// With `listing` (unless NULL) the log as well.
static bpt_status_t compile(const bpt_nvrtc_functions_t *nvrtc, const char *text, const options_t *options, bool binary, char **image,
                            size_t *bytes, char **listing) {
    nvrtcProgram program = NULL;
    BPT_TRY(check(nvrtc, nvrtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL), "loading a text"));
    const nvrtcResult code = nvrtc->nvrtcCompileProgram(program, options->count, options->list);
    bpt_status_t status = code == NVRTC_ERROR_COMPILATION ? fail_with_log(nvrtc, program, options) : check(nvrtc, code, options->text[0]);
    if (status == BPT_OK) status = take_image(nvrtc, program, binary, image, bytes);
    if (status == BPT_OK && listing) status = take_log(nvrtc, program, listing);
    nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

// All that decides the image; neither device nor driver does.
static bpt_cache_key_t key_of(const bpt_nvrtc_functions_t *nvrtc, const char *text, const options_t *options) {
    const char *parts[MOST_OPTIONS + 2];
    char version[32];
    snprintf(version, sizeof version, "%d.%d", nvrtc->major, nvrtc->minor);
    parts[0] = text;
    parts[1] = version;
    for (int i = 0; i < options->count; ++i) parts[2 + i] = options->list[i];
    return bpt_cache_key("cuda", parts, 2 + options->count);
}

bpt_status_t bpt_cuda_compile(const bpt_nvrtc_functions_t *nvrtc, const bpt_gpu_variant_t *variant, const char *arch, char **image,
                              size_t *bytes) {
    const char *text = bpt_gpu_cuda_text[variant->kernel];
    options_t options;
    void *cached;
    make_options(variant, arch, &options);
    const bpt_cache_key_t key = key_of(nvrtc, text, &options);
    if (bpt_cache_get(&key, &cached, bytes)) {
        *image = cached;
        return BPT_OK;
    }
    BPT_TRY(compile(nvrtc, text, &options, !strncmp(arch, "sm_", 3), image, bytes, NULL));
    bpt_cache_put(&key, *image, *bytes);
    return BPT_OK;
}

bpt_status_t bpt_cuda_source(const bpt_gpu_variant_t *variant, int capability, char **out) {
    char arch[24], words[MOST_OPTIONS * 65];
    size_t used;
    options_t options;
    snprintf(arch, sizeof arch, "sm_%d", capability);
    make_options(variant, arch, &options);
    used = (size_t)snprintf(words, sizeof words, "-D__CUDA_ARCH__=%d", capability * 10);
    for (int i = 0; i < options.count; ++i) used += (size_t)snprintf(words + used, sizeof words - used, " %s", options.list[i]);
    return bpt_gpu_preprocess(bpt_gpu_cuda_text[variant->kernel], words, out);
}

// ---- What the compiler says ------------------------------------------------------------------------------------------

// Bytes of the section of machine code, ".text.<kernel>", in an ELF image of 64 bits; 0: there is none.
static size_t code_bytes(const char *image, size_t bytes) {
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    if (bytes < sizeof head) return 0;
    memcpy(&head, image, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_shstrndx >= head.e_shnum || head.e_shoff > bytes ||
        (bytes - head.e_shoff) / sizeof section < head.e_shnum)
        return 0;
    memcpy(&names, image + head.e_shoff + head.e_shstrndx * sizeof section, sizeof names);
    for (unsigned i = 0; i < head.e_shnum; ++i) {
        memcpy(&section, image + head.e_shoff + i * sizeof section, sizeof section);
        const uint64_t name = names.sh_offset + section.sh_name;
        if (name + 6 <= bytes && !memcmp(image + name, ".text.", 6)) return section.sh_size;
    }
    return 0;
}

bpt_status_t bpt_cuda_list(const bpt_nvrtc_functions_t *nvrtc, const bpt_gpu_variant_t *variant, const char *arch, char **listing,
                           size_t *code) {
    const bool binary = !strncmp(arch, "sm_", 3);
    char *image = NULL;
    size_t bytes = 0;
    options_t options;
    make_options(variant, arch, &options);
    if (binary) options.list[options.count++] = "--ptxas-options=-v";
    BPT_TRY(compile(nvrtc, bpt_gpu_cuda_text[variant->kernel], &options, binary, &image, &bytes, listing));
    *code = binary ? code_bytes(image, bytes) : 0;
    bpt_free(image);
    return BPT_OK;
}
