// See ocloc.h. The library works on files in memory; the program is an ELF file whose section .ze_info tells in YAML what a kernel takes.
#include "backends/opencl/ocloc.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/library.h"
#include "bpt/platforms.h"

// ocloc_api.h, which is C++.
typedef int invoke_t(unsigned n_arguments, const char **arguments, uint32_t n_sources, const uint8_t **sources, const uint64_t *lengths,
                     const char **names, uint32_t n_headers, const uint8_t **headers, const uint64_t *header_lengths,
                     const char **header_names, uint32_t *n_outputs, uint8_t ***outputs, uint64_t **output_lengths, char ***output_names);
typedef int free_output_t(uint32_t *n_outputs, uint8_t ***outputs, uint64_t **output_lengths, char ***output_names);

static struct {
    invoke_t *invoke;
    free_output_t *free_output;
    const char *name;
    char reason[256];
} library;

static void load(void) {
    const char *other = getenv("BPT_OCLOC_LIBRARY");
    library.name = other && *other ? other : bpt_library_name(BPT_LIBRARY_OCLOC);
    void *handle = bpt_library_open(BPT_LIBRARY_OCLOC, other);
    if (!handle) {
        snprintf(library.reason, sizeof library.reason, "Intel's compiler cannot be opened (%.120s); %s", bpt_library_error(),
                 bpt_platform_remedy(BPT_NEED_OCLOC));
        return;
    }
    library.invoke = (invoke_t *)bpt_library_symbol(handle, "oclocInvoke");
    library.free_output = (free_output_t *)bpt_library_symbol(handle, "oclocFreeOutput");
    if (!library.invoke || !library.free_output)
        snprintf(library.reason, sizeof library.reason, "%.120s has no oclocInvoke: it is too old", library.name);
}

bpt_status_t bpt_ocloc_load(const char **name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (*library.reason) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", library.reason);
    *name = library.name;
    return BPT_OK;
}

// ---- What it gives -------------------------------------------------------------------------------------------------------

typedef struct {
    uint32_t count;
    uint8_t **data;
    uint64_t *bytes;
    char **names;
} outputs_t;

// The section of an ELF file of 64 bits whose name begins so.
static bool find_section(const uint8_t *elf, uint64_t bytes, const char *name, uint64_t *offset, uint64_t *length) {
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    if (bytes < sizeof head) return false;
    memcpy(&head, elf, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shstrndx >= head.e_shnum ||
        head.e_shoff > bytes || (bytes - head.e_shoff) / sizeof section < head.e_shnum)
        return false;
    memcpy(&names, elf + head.e_shoff + head.e_shstrndx * sizeof section, sizeof names);
    for (unsigned i = 0; i < head.e_shnum; ++i) {
        memcpy(&section, elf + head.e_shoff + i * sizeof section, sizeof section);
        const uint64_t at = names.sh_offset + section.sh_name;
        if (at + strlen(name) > bytes || memcmp(elf + at, name, strlen(name))) continue;
        if (section.sh_offset > bytes || section.sh_size > bytes - section.sh_offset) return false;
        *offset = section.sh_offset;
        *length = section.sh_size;
        return true;
    }
    return false;
}

// The number behind "key:" in a line of the YAML, `otherwise` when no line has it.
static int64_t number_of(const char *yaml, const char *key, int64_t otherwise) {
    const char *at = strstr(yaml, key);
    long long number;
    return at && sscanf(at + strlen(key), " %lld", &number) == 1 ? number : otherwise;
}

// The size of the buffer of a thread that is used so; 0: there is none.
static int64_t buffer_of(const char *yaml, const char *usage) {
    const char *at = strstr(yaml, usage);
    return at ? number_of(at, "size:", 0) : 0;
}

static bpt_status_t read_info(const uint8_t *elf, uint64_t bytes, bpt_gpu_resources_t *out) {
    uint64_t offset, length;
    char *yaml;
    if (!find_section(elf, bytes, ".ze_info", &offset, &length)) return BPT_OK;  // an older form of program, which says nothing
    BPT_TRY(bpt_alloc(length + 1, 1, &yaml));
    memcpy(yaml, elf + offset, length);
    out->subgroup = number_of(yaml, "simd_size:", -1);
    out->registers = number_of(yaml, "grf_count:", -1);
    out->local_bytes = number_of(yaml, "slm_size:", 0);
    out->spilled =
        number_of(yaml, "spill_size:", buffer_of(yaml, "usage: spill_fill_space") ? buffer_of(yaml, "usage: spill_fill_space") : 0);
    out->scratch_bytes = buffer_of(yaml, "usage: private_space");
    if (find_section(elf, bytes, ".text.", &offset, &length)) out->code_bytes = (int64_t)length;
    bpt_free(yaml);
    return BPT_OK;
}

// The line of the log that speaks of an error, else its beginning.
static void first_error(const outputs_t *o, char *line, size_t bytes) {
    snprintf(line, bytes, "it gives no reason");
    for (uint32_t i = 0; i < o->count; ++i) {
        if (strcmp(o->names[i], "stdout.log") || !o->bytes[i]) continue;
        const char *log = (const char *)o->data[i], *end = log + o->bytes[i], *start = log;
        for (const char *c = log; c + 6 <= end; ++c)
            if (!memcmp(c, "error:", 6)) {
                for (start = c; start > log && start[-1] != '\n';) --start;
                break;
            }
        const char *stop = memchr(start, '\n', (size_t)(end - start));
        snprintf(line, bytes, "%.*s", (int)((stop ? stop : end) - start), start);
    }
}

bpt_status_t bpt_ocloc_version(char *text, size_t bytes) {
    const char *name, *arguments[] = {"ocloc", "query", "OCL_DRIVER_VERSION"};
    outputs_t o = {0};
    BPT_TRY(bpt_ocloc_load(&name));
    snprintf(text, bytes, "ocloc");  // an older one does not tell
    library.invoke(BPT_COUNT(arguments), arguments, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, &o.count, &o.data, &o.bytes, &o.names);
    for (uint32_t i = 0; i < o.count; ++i)
        if (!strcmp(o.names[i], arguments[2])) snprintf(text, bytes, "ocloc %.*s", (int)o.bytes[i], (const char *)o.data[i]);
    library.free_output(&o.count, &o.data, &o.bytes, &o.names);
    return BPT_OK;
}

bpt_status_t bpt_ocloc_compile(const char *family, const char *text, const char *options, bpt_gpu_resources_t *out) {
    const char *name, *file = "kernel.cl";
    const char *arguments[] = {
        "ocloc",   "compile", "-file", file, "-device", family, "-options", options, "-internal_options", "-cl-intel-allow-zebin",
        "-output", "kernel",  "-q"};
    const uint8_t *source = (const uint8_t *)text;
    const uint64_t length = strlen(text) + 1;
    outputs_t o = {0};
    bpt_status_t status = BPT_OK;
    char line[300];
    BPT_TRY(bpt_ocloc_load(&name));
    const int code = library.invoke(BPT_COUNT(arguments), arguments, 1, &source, &length, &file, 0, NULL, NULL, NULL, &o.count, &o.data,
                                    &o.bytes, &o.names);
    if (code) {
        first_error(&o, line, sizeof line);
        status = bpt_fail(BPT_ERR_UNSUPPORTED, "ocloc cannot compile it for %s: %s", family, line);
    }
    for (uint32_t i = 0; i < o.count && status == BPT_OK; ++i)
        if (o.bytes[i] > SELFMAG && !memcmp(o.data[i], ELFMAG, SELFMAG)) status = read_info(o.data[i], o.bytes[i], out);
    library.free_output(&o.count, &o.data, &o.bytes, &o.names);
    return status;
}
