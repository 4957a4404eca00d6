// An NVRTC that compiles kernels for the processor, by the host's C++ compiler (EMULATOR_CXX): the text that NVRTC would get behind
// device.h. What comes out is a shared object, as "assembly" behind a line with its size. Checks of indices, alignment and shifts are
// compiled in (device.h). Its version has a hash of all that decides the outcome but text and options, so that caches keep apart.
#include <fcntl.h>
#include <nvrtc.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator/emulator.h"

extern char **environ;

struct _nvrtcProgram {
    char *text, *log, *image;
    size_t image_bytes;
    bool assembly;
    char architecture[32];  // as a definition for the compiler
};

enum { MOST_OPTIONS = 64, OWN_OPTIONS = 24 };

// clang-format off
static const char *const flags[] = {
    "-x", "c++", "-std=gnu++17", "-w", "-O1", "-fno-strict-aliasing", "-include", EMULATOR_FOLDER "/device.h",
    "-shared", "-fPIC", "-fvisibility=hidden", "-nostdlib", "-Wl,-Bsymbolic",  // its own handlers, also in a process with the sanitizer's
    "-fsanitize=alignment,bounds,shift,integer-divide-by-zero", "-fno-sanitize-recover=all"};
static const char library[] = "-lgcc";  // behind the text: __popcountdi2 and the like, which nothing else in the process need have
// clang-format on

// ---- Files -----------------------------------------------------------------------------------------------------------

static char *read_whole(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *content = NULL;
    *bytes = 0;
    if (!file) return NULL;
    if (!fseek(file, 0, SEEK_END)) {
        const long size = ftell(file);
        rewind(file);
        content = size >= 0 ? calloc((size_t)size + 1, 1) : NULL;
        if (content) *bytes = fread(content, 1, (size_t)size, file);
    }
    fclose(file);
    return content;
}

static bool write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    const bool ok = fprintf(file, "#line 1 \"kernel.cu\"\n%s\nEMULATED_KERNEL\n", text) > 0;
    return fclose(file) == 0 && ok;
}

// ---- What there is ---------------------------------------------------------------------------------------------------

static unsigned hash(unsigned h, const char *text) {
    for (; text && *text; ++text) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
    static const char *const files[] = {EMULATOR_FOLDER "/device.h", EMULATOR_FOLDER "/block.h", EMULATOR_FOLDER "/numbers.h"};
    unsigned h = hash(2166136261u, EMULATOR_CXX);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) h = hash(h, flags[i]);
    h = hash(h, library);
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        size_t bytes;
        char *content = read_whole(files[i], &bytes);
        h = hash(h, content);
        free(content);
    }
    *major = 13;
    *minor = (int)(h % 1000000000u);
    return NVRTC_SUCCESS;
}
const char *nvrtcGetErrorString(nvrtcResult code) { return code == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR"; }
nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    *count = 3;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int *archs) {
    archs[0] = 75, archs[1] = 80, archs[2] = 90;
    return NVRTC_SUCCESS;
}

// ---- Compiling -------------------------------------------------------------------------------------------------------

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int n_headers, const char *const *headers,
                               const char *const *names) {
    (void)name, (void)headers, (void)names;
    if (n_headers) return NVRTC_ERROR_INVALID_INPUT;
    *program = calloc(1, sizeof **program);
    if (!*program || !((*program)->text = strdup(text))) return NVRTC_ERROR_OUT_OF_MEMORY;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    free((*program)->text), free((*program)->log), free((*program)->image), free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

static bool run_compiler(const char *const *arguments, const char *log) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ) == 0 && waitpid(child, &status, 0) != child)
        status = -1;
    posix_spawn_file_actions_destroy(&actions);
    return status == 0;
}

static bool compile(nvrtcProgram program, const char *folder, int n_options, const char *const *options) {
    char text[600], object[600], log[600];
    const char *arguments[OWN_OPTIONS + MOST_OPTIONS] = {EMULATOR_CXX};
    int n = 1;
    size_t bytes;
    snprintf(text, sizeof text, "%s/kernel.cu", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) arguments[n++] = flags[i];
    for (int i = 0; i < n_options; ++i)
        if (!strncmp(options[i], "-D", 2)) arguments[n++] = options[i];
    arguments[n++] = program->architecture;
    arguments[n++] = "-o";
    arguments[n++] = object;
    arguments[n++] = text;
    arguments[n++] = library;
    const bool ok = write_text(text, program->text) && run_compiler(arguments, log);
    program->log = read_whole(log, &bytes);
    program->image = ok ? read_whole(object, &program->image_bytes) : NULL;
    unlink(text), unlink(object), unlink(log);
    return program->image;
}

// "--gpu-architecture=sm_90": a device, or compute_90: assembly.
static bool take_architecture(nvrtcProgram program, int n_options, const char *const *options) {
    static const char name[] = "--gpu-architecture=";
    for (int i = 0; i < n_options; ++i) {
        if (strncmp(options[i], name, sizeof name - 1)) continue;
        const char *value = options[i] + sizeof name - 1;
        program->assembly = !strncmp(value, "compute_", 8);
        const int number = atoi(value + (program->assembly ? 8 : 3));
        snprintf(program->architecture, sizeof program->architecture, "-D__CUDA_ARCH__=%d0", number);
        return (program->assembly || !strncmp(value, "sm_", 3)) && (number == 75 || number == 80 || number == 90);
    }
    return false;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options) {
    const char *parent = getenv("TMPDIR");
    char folder[512];
    size_t used = 0;
    emulator.options[0] = '\0';
    for (int i = 0; i < n_options && used < sizeof emulator.options; ++i)
        used += (size_t)snprintf(emulator.options + used, sizeof emulator.options - used, "%s ", options[i]);
    emulator.n_compiled++;
    if (n_options > MOST_OPTIONS || !take_architecture(program, n_options, options)) return NVRTC_ERROR_INVALID_OPTION;
    if (emulator.compile_log) {
        program->log = strdup(emulator.compile_log);
        return NVRTC_ERROR_COMPILATION;
    }
    snprintf(folder, sizeof folder, "%s/bpt-compile-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder)) return NVRTC_ERROR_PROGRAM_CREATION_FAILURE;
    const bool ok = compile(program, folder, n_options, options);
    rmdir(folder);
    return ok ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

// ---- Results ---------------------------------------------------------------------------------------------------------

enum { SIZE_LINE = 24 };  // in front of "assembly"

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
    *bytes = SIZE_LINE + program->image_bytes;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *image) {
    snprintf(image, SIZE_LINE + 1, "// %*zu\n", SIZE_LINE - 4, program->image_bytes);
    memcpy(image + SIZE_LINE, program->image, program->image_bytes);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
    *bytes = program->assembly ? 0 : program->image_bytes;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image) {
    if (program->assembly) return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(image, program->image, program->image_bytes);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    *bytes = program->log ? strlen(program->log) + 1 : 1;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    strcpy(log, program->log ? program->log : "");
    return NVRTC_SUCCESS;
}
