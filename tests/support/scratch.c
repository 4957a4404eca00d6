// Scratch folder of a test program (see scratch.h). Plain C library only: the code under test must not make its own tests pass.
#include "support/scratch.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];
static pid_t owner;

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static void clean(void) {
    if (getpid() == owner) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);  // a forked child must not clean up
}

static void fail(const char *what) {
    perror(what);
    abort();
}

const char *test_scratch_dir(void) {
    if (folder[0]) return folder;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/bpt-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) fail(folder);
    owner = getpid();
    atexit(clean);
    return folder;
}

const char *test_path(const char *format, ...) {
    static char paths[16][8192];
    static unsigned next;
    char *path = paths[next++ % 16];
    const int used = snprintf(path, sizeof paths[0], "%s/", test_scratch_dir());
    va_list args;
    va_start(args, format);
    vsnprintf(path + used, sizeof paths[0] - (size_t)used, format, args);
    va_end(args);
    return path;
}

void test_make_folder(const char *path) {
#ifdef _WIN32
    if (mkdir(path)) fail(path);
#else
    if (mkdir(path, 0777)) fail(path);
#endif
}

void test_write_file(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) fail(path);
}

char *test_read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *bytes = size < 0 ? NULL : calloc((size_t)size + 1, 1);
    if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) fail(path);
    fclose(file);
    if (length) *length = (size_t)size;
    return bytes;
}

int test_open_file_in(const char *in) {
    DIR *dir = opendir("/proc/self/fd");
    int found = -1;
    if (!dir) return -1;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[64], target[1024];
        snprintf(path, sizeof path, "/proc/self/fd/%.20s", e->d_name);
        const ssize_t n = readlink(path, target, sizeof target - 1);
        if (n <= 0) continue;
        target[n] = 0;
        if (!strncmp(target, in, strlen(in))) found = atoi(e->d_name);
    }
    closedir(dir);
    return found;
}
