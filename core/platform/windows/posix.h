// The functions of POSIX and glibc that the project uses and the C library of mingw-w64 lacks. Every source of the Windows build includes
// this first (tools/cmake/windows.cmake); none of them includes it by name.
#ifndef BPT_WINDOWS_POSIX_H
#define BPT_WINDOWS_POSIX_H

#ifndef __cplusplus
// Not what declares open, read and write: names that other sources have for functions of their own.
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define O_CLOEXEC 0x0080  // _O_NOINHERIT
#define O_NONBLOCK 0
#ifndef EDQUOT
#define EDQUOT 10069
#endif

// At a place in a file. Unlike elsewhere the file's own place moves too.
ssize_t pread(int file, void *bytes, size_t length, off_t offset);
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset);
int fsync(int file);
static inline int fchmod(int file, int mode) { return (void)file, (void)mode, 0; }  // files have no modes here
// With slashes between the folders; NULL where there is no such file or folder.
char *realpath(const char *path, char *resolved);
static inline int symlink(const char *target, const char *link) { return (void)target, (void)link, errno = ENOSYS, -1; }

static inline ssize_t readlink(const char *link, char *target, size_t bytes) { return (void)link, (void)target, (void)bytes, errno = EINVAL, -1; }
char *mkdtemp(char *pattern);

int setenv(const char *name, const char *value, int replace);
int unsetenv(const char *name);

void *memmem(const void *text, size_t length, const void *part, size_t part_length);
void *memrchr(const void *bytes, int byte, size_t length);
char *strerror_r(int error, char *text, size_t bytes);  // glibc's, which returns the text
int dprintf(int file, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
// A merge sort, as in glibc: what compares equal keeps its order.
void qsort_r(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b, void *user), void *user);
#endif

#endif
