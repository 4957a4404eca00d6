// See posix.h.
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdint.h>
#include <windows.h>

#include "core/platform/windows/errors.h"

// ---- Files

static OVERLAPPED place(off_t offset) {
    return (OVERLAPPED){.Offset = (DWORD)((uint64_t)offset & 0xffffffff), .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
}

static DWORD at_most(size_t length) { return length < (1u << 30) ? (DWORD)length : 1u << 30; }

ssize_t pread(int file, void *bytes, size_t length, off_t offset) {
    OVERLAPPED at = place(offset);
    DWORD got = 0;
    if (ReadFile((HANDLE)_get_osfhandle(file), bytes, at_most(length), &got, &at)) return (ssize_t)got;
    if (GetLastError() == ERROR_HANDLE_EOF) return 0;
    errno = bpt_windows_errno(GetLastError());
    return -1;
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    OVERLAPPED at = place(offset);
    DWORD put = 0;
    if (WriteFile((HANDLE)_get_osfhandle(file), bytes, at_most(length), &put, &at)) return (ssize_t)put;
    errno = bpt_windows_errno(GetLastError());
    return -1;
}

int fsync(int file) { return _commit(file); }

char *realpath(const char *path, char *resolved) {
    char full[MAX_PATH * 4];
    const DWORD length = GetFullPathNameA(path, sizeof full, full, NULL);
    if (!length || length >= sizeof full || GetFileAttributesA(full) == INVALID_FILE_ATTRIBUTES) {
        errno = bpt_windows_errno(GetLastError());
        return NULL;
    }
    for (char *c = full; *c; ++c)
        if (*c == '\\') *c = '/';
    return resolved ? strcpy(resolved, full) : _strdup(full);
}

// The pattern ends in XXXXXX.
char *mkdtemp(char *pattern) {
    static LONG serial;
    char *end = pattern + strlen(pattern) - 6;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        snprintf(end, 7, "%06x", ((unsigned)GetCurrentProcessId() * 4099 + (unsigned)InterlockedIncrement(&serial)) & 0xffffff);
        if (CreateDirectoryA(pattern, NULL)) return pattern;
        errno = bpt_windows_failed();
        if (errno != EEXIST) return NULL;
    }
    return NULL;
}

// ---- The environment

int setenv(const char *name, const char *value, int replace) {
    if (!replace && getenv(name)) return 0;
    return _putenv_s(name, value) ? -1 : 0;
}

int unsetenv(const char *name) { return _putenv_s(name, "") ? -1 : 0; }

// ---- Texts

void *memmem(const void *text, size_t length, const void *part, size_t part_length) {
    const char *at = text;
    if (!part_length) return (void *)text;
    for (size_t left = length; left >= part_length; ++at, left = length - (size_t)(at - (const char *)text)) {
        at = memchr(at, *(const char *)part, left - part_length + 1);
        if (!at) return NULL;
        if (!memcmp(at, part, part_length)) return (void *)at;
    }
    return NULL;
}

void *memrchr(const void *bytes, int byte, size_t length) {
    const unsigned char *first = bytes;
    while (length-- > 0)
        if (first[length] == (unsigned char)byte) return (void *)(first + length);
    return NULL;
}

char *strerror_r(int error, char *text, size_t bytes) {
    if (strerror_s(text, bytes, error)) snprintf(text, bytes, "error %d", error);
    return text;
}

int dprintf(int file, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t shown = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
    return length < 0 ? -1 : (int)write(file, text, (unsigned)shown);
}

// ---- Sorting

typedef struct {
    size_t size;
    int (*compare)(const void *a, const void *b, void *user);
    void *user;
    char *other;  // room for all items
} sort_t;

static void sort(const sort_t *s, char *items, size_t count) {
    if (count < 2) return;
    const size_t half = count / 2, size = s->size;
    sort(s, items, half);
    sort(s, items + half * size, count - half);
    size_t a = 0, b = half;
    for (size_t i = 0; i < count; ++i) {
        const bool first = b == count || (a < half && s->compare(items + a * size, items + b * size, s->user) <= 0);
        memcpy(s->other + i * size, items + (first ? a++ : b++) * size, size);
    }
    memcpy(items, s->other, count * size);
}

// Without memory for the copy by insertion, which is slow and has the same result.
void qsort_r(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b, void *user), void *user) {
    const sort_t s = {size, compare, user, malloc(count ? count * size : 1)};
    if (s.other) sort(&s, items, count);
    for (size_t i = 1; i < count && !s.other; ++i)
        for (char *at = (char *)items + i * size; at > (char *)items && compare(at - size, at, user) > 0; at -= size)
            for (size_t k = 0; k < size; ++k) {
                const char byte = at[k];
                at[k] = at[(ptrdiff_t)k - (ptrdiff_t)size];
                at[(ptrdiff_t)k - (ptrdiff_t)size] = byte;
            }
    free(s.other);
}
