// Programs and libraries of the build look for libraries in fixed folders and beside themselves, never in the current folder, where an
// empty or relative entry of a run path would look. Arguments: folders to go through with all below, instead of the two of this build.
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/check.h"

static char **folders;  // of the arguments
static int seen, with_paths, faults;

typedef struct {
    const char *path, *bytes;
    size_t length;
} elf_t;

static const void *at(const elf_t *e, uint64_t offset, uint64_t length) {
    if (offset > e->length || length > e->length - offset) fail_msg("%s is cut off", e->path);
    return e->bytes + offset;
}

static const char *text_at(const elf_t *e, uint64_t offset) {
    const char *text = at(e, offset, 1);
    if (!memchr(text, '\0', e->length - offset)) fail_msg("%s is cut off", e->path);
    return text;
}

// The place in the file of what is loaded at an address.
static uint64_t place_of(const elf_t *e, const Elf64_Ehdr *header, uint64_t address) {
    for (int i = 0; i < header->e_phnum; ++i) {
        const Elf64_Phdr *p = at(e, header->e_phoff + (uint64_t)i * sizeof *p, sizeof *p);
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz) return address - p->p_vaddr + p->p_offset;
    }
    fail_msg("%s has no place for address %llx", e->path, (unsigned long long)address);
    return 0;
}

static bool is_fixed(const char *entry, size_t length) {
    static const char beside[] = "$ORIGIN";
    const size_t n = sizeof beside - 1;
    return *entry == '/' || (length >= n && !strncmp(entry, beside, n) && (length == n || entry[n] == '/'));
}

static void check_run_path(const elf_t *e, const char *paths) {
    ++with_paths;
    for (const char *entry = paths;; ++entry) {
        const size_t length = strcspn(entry, ":");
        if (!is_fixed(entry, length)) {
            print_error("%s: the run path \"%s\" has the entry \"%.*s\"\n", e->path, paths, (int)length, entry);
            ++faults;
            return;
        }
        entry += length;
        if (!*entry) return;
    }
}

// A needed library by its plain name is searched for; a path to it must be a fixed one.
static void check_needed(const elf_t *e, const char *name) {
    if (!strchr(name, '/') || is_fixed(name, strlen(name))) return;
    print_error("%s: it needs \"%s\", a path from the current folder\n", e->path, name);
    ++faults;
}

static void check_dynamic(const elf_t *e, const Elf64_Ehdr *header, const Elf64_Phdr *p) {
    const size_t count = p->p_filesz / sizeof(Elf64_Dyn);
    const Elf64_Dyn *entries = at(e, p->p_offset, p->p_filesz);
    uint64_t texts = 0;
    for (size_t i = 0; i < count; ++i)
        if (entries[i].d_tag == DT_STRTAB) texts = place_of(e, header, entries[i].d_un.d_ptr);
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
        const Elf64_Sxword tag = entries[i].d_tag;
        if (tag == DT_RUNPATH || tag == DT_RPATH) check_run_path(e, text_at(e, texts + entries[i].d_un.d_val));
        if (tag == DT_NEEDED) check_needed(e, text_at(e, texts + entries[i].d_un.d_val));
    }
}

static void check_elf(const elf_t *e) {
    const Elf64_Ehdr *header = at(e, 0, sizeof *header);
    assert_int_equal(header->e_ident[EI_CLASS], ELFCLASS64);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN) return;  // not linked yet
    ++seen;
    for (int i = 0; i < header->e_phnum; ++i) {
        const Elf64_Phdr *p = at(e, header->e_phoff + (uint64_t)i * sizeof *p, sizeof *p);
        if (p->p_type == PT_DYNAMIC) check_dynamic(e, header, p);
    }
}

static void check_file(const char *path, size_t length) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = length >= SELFMAG ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    assert_true(file >= 0 && bytes != MAP_FAILED);
    close(file);
    if (!bytes) return;
    if (!memcmp(bytes, ELFMAG, SELFMAG)) check_elf(&(elf_t){.path = path, .bytes = bytes, .length = length});
    munmap(bytes, length);
}

static void go_through(const char *folder, bool below) {
    char **names, path[PATH_MAX];
    size_t count;
    assert_ok(bpt_folder_list(folder, &names, &count));
    for (size_t i = 0; i < count; ++i) {
        struct stat info;
        assert_true(snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path);
        if (lstat(path, &info)) continue;  // removed meanwhile
        if (S_ISREG(info.st_mode)) check_file(path, (size_t)info.st_size);
        if (S_ISDIR(info.st_mode) && below && strcmp(names[i], "CMakeFiles")) go_through(path, true);  // that one has CMake's own trials
    }
    bpt_names_free(names, count);
}

// The folder of this program, with all tests and what they load, and the one above it, with the program and its module.
static void go_through_this_build(void) {
    char path[PATH_MAX] = "";
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    for (int i = 0; i < 2; ++i) {
        *strrchr(path, '/') = '\0';
        go_through(path, false);
    }
}

static void no_library_is_searched_for_in_the_current_folder(void **state) {
    (void)state;
    for (char **folder = folders; *folder; ++folder) go_through(*folder, true);
    if (!*folders) go_through_this_build();
    print_message("%d programs and libraries, %d with a run path\n", seen, with_paths);
    assert_true(seen > 0 && with_paths > 0);
    assert_int_equal(faults, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_library_is_searched_for_in_the_current_folder)};
    (void)argc;
    folders = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
